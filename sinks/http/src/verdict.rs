//! What the status of an answer says about the events of a request.

/// What a status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The receiver has the events.
    Delivered,
    /// It may take them later.
    Later,
    /// It will not take these events.
    Refused,
    /// It takes no events at this address, or none of this sender.
    Misaddressed,
}

/// Judges a status. What concerns the address or the sender would concern the next event too, and is no reason to put one
/// event after the other into the dead letters.
pub(crate) fn verdict(status: u16) -> Verdict {
    match status {
        200..=299 => Verdict::Delivered,
        408 | 425 | 429 | 500..=599 => Verdict::Later,
        401 | 403 | 404 | 405 | 407 | 410 => Verdict::Misaddressed,
        400..=499 => Verdict::Refused,
        _ => Verdict::Misaddressed,
    }
}

/// Returns what to do about a status.
pub(crate) fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "redirects are not followed: give the address that it names",
        401 | 403 | 407 => {
            "check the credentials: --header, SCURRY_WEBHOOK_HEADERS or --header-file"
        }
        404 | 405 | 410 => "check the address",
        413 => "send fewer events in a batch (--batch), or give it a higher bound",
        415 => "check whether it takes CloudEvents in JSON, and batches (--batch)",
        400..=499 => {
            "correct the receiver, leave such events out (--event), or let them go to a file (--dead-letter)"
        }
        _ => "check the address",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_verdict() {
        let of =
            |statuses: &[u16]| statuses.iter().map(|&status| verdict(status)).collect::<Vec<_>>();
        assert_eq!(of(&[200, 202, 204, 299]), [Verdict::Delivered; 4]);
        assert_eq!(of(&[408, 425, 429, 500, 503, 599]), [Verdict::Later; 6]);
        assert_eq!(of(&[400, 402, 409, 413, 415, 422, 499]), [Verdict::Refused; 7]);
        assert_eq!(
            of(&[101, 301, 308, 401, 403, 404, 405, 407, 410, 600, 999]),
            [Verdict::Misaddressed; 11]
        );
    }
}
