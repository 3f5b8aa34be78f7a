//! `scurry-lab ammo`: requests for the HTTP door in the formats that yandex-tank's phantom and
//! pandora read.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write, stdout};

use anyhow::{Context, Result};
use serde_json::json;

use crate::arguments::{AmmoArguments, AmmoFormat};
use crate::names::key_text;
use crate::random::Random;

/// Writes the file.
///
/// # Errors
/// When the arguments contradict each other, or it cannot be written.
pub fn ammo(arguments: &AmmoArguments) -> Result<()> {
    arguments.check()?;
    match &arguments.out {
        None => write(arguments, &mut stdout().lock()),
        Some(path) => {
            let file = File::create(path);
            let file = file.with_context(|| format!("writing {}", path.display()))?;
            write(arguments, &mut BufWriter::new(file))
        }
    }
    .context("writing the ammunition")
}

fn write(arguments: &AmmoArguments, out: &mut dyn Write) -> Result<()> {
    let mut random = Random::seeded(arguments.seed);
    if arguments.format == AmmoFormat::Uri {
        writeln!(out, "[Host: {}]", arguments.door)?;
    }
    for number in 0..arguments.requests {
        let request = AmmoRequest::draw(arguments, number, &mut random);
        match arguments.format {
            AmmoFormat::Raw => {
                let text = request.raw(arguments);
                write!(out, "{} {}\n{text}\n", text.len(), request.tag())?;
            }
            AmmoFormat::Uri => writeln!(out, "{} {}", request.path, request.tag())?,
            AmmoFormat::HttpJson => writeln!(out, "{}", request.json(arguments))?,
        }
    }
    out.flush()?;
    Ok(())
}

struct AmmoRequest {
    method: &'static str,
    path: String,
    /// Of a PUT.
    body: Option<String>,
}

impl AmmoRequest {
    fn draw(arguments: &AmmoArguments, number: u32, random: &mut Random) -> AmmoRequest {
        let AmmoArguments { get_share, put_share, delete_share, .. } = *arguments;
        let drawn = random.below(get_share + put_share + delete_share);
        let key = key_text(random.below(arguments.keys));
        // Letters, digits and a colon, which stand for themselves in a URL.
        let mut path = format!("/v0/entity?id={}", String::from_utf8_lossy(&key));
        if let Some(replicas) = &arguments.replicas {
            let _ = write!(path, "&replicas={replicas}");
        }
        let method = match drawn {
            drawn if drawn < get_share => "GET",
            drawn if drawn < get_share + put_share => "PUT",
            _ => "DELETE",
        };
        let body = (method == "PUT").then(|| {
            let mut value = format!("{number:08}");
            value.extend(std::iter::repeat_n('x', arguments.value_size.saturating_sub(8)));
            value.truncate(arguments.value_size);
            value
        });
        AmmoRequest { method, path, body }
    }

    /// Tag by which a report groups requests.
    fn tag(&self) -> String {
        self.method.to_lowercase()
    }

    fn raw(&self, arguments: &AmmoArguments) -> String {
        let mut text =
            format!("{} {} HTTP/1.1\r\nHost: {}\r\n", self.method, self.path, arguments.door);
        if let Some(body) = &self.body {
            let _ = write!(text, "Content-Length: {}\r\n", body.len());
        }
        text + "\r\n" + self.body.as_deref().unwrap_or_default()
    }

    fn json(&self, arguments: &AmmoArguments) -> serde_json::Value {
        json!({
            "tag": self.tag(),
            "method": self.method,
            "uri": self.path,
            "host": arguments.door.to_string(),
            "headers": {},
            "body": self.body.as_deref().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn text(line: &str) -> Result<String> {
        let LabCommand::Ammo(arguments) = parse_words(&format!("ammo {line}"))? else {
            anyhow::bail!("no ammunition");
        };
        arguments.check()?;
        let mut out = Vec::new();
        write(&arguments, &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    #[test]
    fn a_raw_request_has_its_length_before_it() {
        let line = "--format raw --requests 50 --value-size 20 --replicas 2/3 --delete-share 20";
        let all = text(line).unwrap();
        let mut rest = all.as_str();
        let mut methods = [0; 3];
        while !rest.is_empty() {
            let (head, body) = rest.split_once('\n').unwrap();
            let (length, tag) = head.split_once(' ').unwrap();
            let request = &body[..length.parse().unwrap()];
            let (head, value) = request.split_once("\r\n\r\n").unwrap();
            let at = ["get", "put", "delete"].iter().position(|name| *name == tag).unwrap();
            methods[at] += 1;
            assert!(head.starts_with(&tag.to_uppercase()), "{head}");
            assert!(
                head.contains("/v0/entity?id=key:0") && head.contains("&replicas=2/3 HTTP/1.1")
            );
            assert_eq!(value.len(), if tag == "put" { 20 } else { 0 });
            assert_eq!(head.contains("Content-Length: 20"), tag == "put");
            rest = body[request.len()..].strip_prefix('\n').unwrap();
        }
        assert_eq!(methods.iter().sum::<u32>(), 50);
        assert!(methods.iter().all(|count| *count > 0), "{methods:?}");
        assert_eq!(all, text(line).unwrap(), "the same seed gives the same file");
    }

    #[test]
    fn the_other_formats_have_one_request_a_line() {
        let uri = text("--format uri --put-share 0 --requests 2 --door 10.0.0.1:80").unwrap();
        let lines: Vec<&str> = uri.lines().collect();
        assert_eq!(lines[0], "[Host: 10.0.0.1:80]");
        assert!(lines.len() == 3 && lines[1].ends_with(" get"), "{uri}");
        let json = text("--format http-json --get-share 0 --requests 2 --value-size 9").unwrap();
        for line in json.lines() {
            let request: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(request["method"], "PUT");
            assert_eq!(request["body"].as_str().unwrap().len(), 9);
        }
        assert_eq!(json.lines().count(), 2);
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("--format uri", "GET only"),
            ("--format raw --replicas 3/2", "must be ack/from"),
            ("--format raw --get-share 0 --put-share 0", "one of them above 0"),
            ("--format raw --requests 0", "--requests must be"),
            ("--format raw --value-size 0", "--value-size must be"),
            ("--format phantom", "raw, uri, http-json"),
        ] {
            let error = text(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
