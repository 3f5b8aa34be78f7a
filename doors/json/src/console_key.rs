//! Transaction ids of the console, `console:USER:RANDOM`: the door proves the user's name in them, so that events and
//! statements tell who did what.

use scurry_server::Admitted;

/// Begin of the console's transaction ids. Other requests may use it for their own user only.
const BEGIN: &str = "console:";
/// Number of hexadecimal digits at the end.
const DIGITS: usize = 32;

/// Checks that a transaction id with the console's begin has the name of the user who sends it. The end has a fixed
/// length, so a name may contain colons.
///
/// # Errors
/// Why the id is refused.
pub(crate) fn check(id: &str, user: Option<&Admitted>) -> Result<(), String> {
    let Some(rest) = id.strip_prefix(BEGIN) else { return Ok(()) };
    let name = user.map_or("default", |user| &user.name);
    let digits = rest.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(is_hex)) {
        return Ok(());
    }
    Err(format!(
        "begins with {BEGIN}, which is for the console: use {BEGIN}{name}: and {DIGITS} hexadecimal digits, or \
         another id"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_server::Roles;

    #[test]
    fn only_the_own_name_is_let_in() {
        let digits = "0123456789abcdef0123456789abcdef";
        let user = |name: &str| Admitted { name: name.to_owned(), roles: Roles::default() };
        let (al, colon) = (user("al"), user("al:bob"));
        for id in ["order-77", "console", "console-1", "Console:bob:1"] {
            assert_eq!(check(id, Some(&al)), Ok(()), "{id}");
        }
        assert_eq!(check(&format!("console:al:{digits}"), Some(&al)), Ok(()));
        assert_eq!(check(&format!("console:al:bob:{digits}"), Some(&colon)), Ok(()));
        assert_eq!(check(&format!("console:default:{digits}"), None), Ok(()));
        for id in [
            format!("console:bob:{digits}"),
            format!("console:al:bob:{digits}"),
            format!("console:alice:{digits}"),
            format!("console:al{digits}"),
            format!("console:al:{digits}0"),
            format!("console:al:{}", &digits[1..]),
            format!("console:al:{}", digits.to_uppercase()),
            "console:al:".to_owned(),
            "console:".to_owned(),
        ] {
            let why = check(&id, Some(&al)).expect_err(&id);
            assert!(why.contains("use console:al: and 32 hexadecimal digits"), "{why}");
        }
    }
}
