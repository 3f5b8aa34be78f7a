//! The query of a URL, after `?`: names and values of any bytes, each name once, or several times.

use crate::problem::Problem;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode};
use serde_json::json;

/// Characters that are percent-encoded in a query, beside all that are not ASCII.
pub const ESCAPED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'&').add(b'+').add(b'<').add(b'>');

/// Parses `query`, in which only `names` may occur, each once. Returns the value of each name, in the order of `names`.
pub fn read<const N: usize>(
    query: Option<&str>,
    names: [&str; N],
) -> Result<[Option<Vec<u8>>; N], Problem> {
    let mut values = [const { None }; N];
    for (value, (name, mut given)) in
        values.iter_mut().zip(names.iter().zip(read_all(query, names)?))
    {
        *value = given.pop();
        if !given.is_empty() {
            return Err(wrong(name, &format!("{name} stands twice")));
        }
    }
    Ok(values)
}

/// Parses `query`, in which only `names` may occur, each also several times. Returns the values of each name, in the order
/// of `names`.
pub fn read_all<const N: usize>(
    query: Option<&str>,
    names: [&str; N],
) -> Result<[Vec<Vec<u8>>; N], Problem> {
    let mut values = [const { Vec::new() }; N];
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(at) = names.iter().position(|known| *known == name) else {
            let name: String = name.chars().take(40).collect();
            let known = names.join(", ");
            let why = match N {
                0 => format!("no parameter is `{name}`: there are none here"),
                _ => format!("no parameter is `{name}`: there is {known}"),
            };
            return Err(wrong(&name, &why));
        };
        let plain = value.replace('+', " ");
        values[at].push(percent_decode(plain.as_bytes()).collect());
    }
    Ok(values)
}

/// Returns a 400 that names the parameter.
fn wrong(name: &str, why: &str) -> Problem {
    Problem::bad_request(why).with("errors", json!([{ "parameter": name, "detail": why }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_bytes() {
        let [id, replicas] = read(Some("id=a%00%ffb+c%2B"), ["id", "replicas"]).unwrap();
        assert_eq!(id.unwrap(), b"a\0\xffb c+");
        assert_eq!(replicas, None);
        assert_eq!(read(None, ["id"]).unwrap(), [None]);
        assert_eq!(read(Some("id="), ["id"]).unwrap(), [Some(vec![])]);
    }

    #[test]
    fn what_is_misspelt_or_doubled_is_refused() {
        assert!(read(Some("replica=2/3"), ["replicas"]).is_err());
        assert!(read(Some("id=1&id=2"), ["id"]).is_err());
    }
}
