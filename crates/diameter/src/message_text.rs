//! A message as text, for a probe, for people and for tests: the header, then each AVP by its name, groups in braces.

use crate::avp::Avp;
use crate::avps::Avps;
use crate::dictionary::{AvpType, find};
use crate::message::Message;
use std::fmt;

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.header.flags;
        write!(f, "{}", self.header.command)?;
        for (is_set, letter) in [
            (flags.is_request(), 'R'),
            (flags.is_proxiable(), 'P'),
            (flags.is_error(), 'E'),
            (flags.is_retransmitted(), 'T'),
        ] {
            if is_set {
                write!(f, "{letter}")?;
            }
        }
        write_avps(f, self.avps())
    }
}

fn write_avps(f: &mut fmt::Formatter<'_>, avps: Avps<'_>) -> fmt::Result {
    for avp in avps {
        match avp {
            Ok(avp) => write_avp(f, &avp)?,
            Err(refusal) => return write!(f, " [{refusal}]"),
        }
    }
    Ok(())
}

fn write_avp(f: &mut fmt::Formatter<'_>, avp: &Avp<'_>) -> fmt::Result {
    let Some(known) = find(avp.vendor, avp.code) else {
        return write!(f, " {}:{}={:?}", avp.vendor, avp.code, avp.data);
    };
    write!(f, " {}=", known.name)?;
    let value = match known.kind {
        AvpType::Grouped => match Avps::within(avp) {
            Ok(avps) => {
                f.write_str("{")?;
                write_avps(f, avps)?;
                return f.write_str(" }");
            }
            Err(_) => None,
        },
        AvpType::Utf8String | AvpType::Identity => avp.text().ok().map(str::to_owned),
        AvpType::Unsigned32 | AvpType::Enumerated => avp.u32().ok().map(|n| n.to_string()),
        AvpType::Integer32 => avp.i32().ok().map(|n| n.to_string()),
        AvpType::Unsigned64 => avp.u64().ok().map(|n| n.to_string()),
        AvpType::Integer64 => avp.i64().ok().map(|n| n.to_string()),
        AvpType::Time => avp.time().ok().map(|n| n.to_string()),
        AvpType::Address => avp.address().ok().flatten().map(|address| address.to_string()),
        AvpType::OctetString => {
            is_plain(avp.data).then(|| avp.text().ok()).flatten().map(str::to_owned)
        }
        AvpType::Float32 | AvpType::Float64 => None,
    };
    match value {
        Some(value) => f.write_str(&value),
        None => write!(f, "{:?}", avp.data),
    }
}

fn is_plain(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}
