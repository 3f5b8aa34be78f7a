//! The account image: no bytes make the decoder panic, what it accepts it also writes, and what
//! it read before leaves no trace in what it reads now.

use scurry_codec::{decode_account, encode_account};
use scurry_ledger::{Account, Status};

/// The input is an image; the second half of it is decoded before, into the same buffers.
pub fn check(data: &[u8]) {
    let mut fresh = Account::empty(Status::Active);
    let outcome = decode_account(data, &mut fresh);
    let mut used = Account::empty(Status::Closed);
    // Whatever becomes of this one, it must not show below.
    let _ = decode_account(&data[data.len() / 2..], &mut used);
    let _ = decode_account(&data[..data.len() / 2], &mut used);
    assert_eq!(decode_account(data, &mut used), outcome, "the buffers change the outcome");
    if outcome.is_ok() {
        assert_eq!(used, fresh, "what was decoded before shows");
        comes_back(&fresh);
    }
}

/// Encoded and decoded, an account is the same, and so are its bytes, which are the result.
pub(crate) fn comes_back(account: &Account) -> Vec<u8> {
    let (mut image, mut again) = (Vec::new(), Vec::new());
    encode_account(account, &mut image);
    let mut decoded = Account::empty(Status::Active);
    assert_eq!(decode_account(&image, &mut decoded), Ok(()), "its own image is refused");
    assert_eq!(&decoded, account, "an image does not come back as it was");
    encode_account(&decoded, &mut again);
    assert_eq!(again, image, "one account has two images");
    image
}
