//! The account image: no bytes make the decoder panic, an accepted image encodes to the same bytes, and buffers used
//! before leave no trace in the result.

use scurry_codec::{decode_account, encode_account};
use scurry_ledger::{Account, Status};

/// Decodes the input as an image; its halves are decoded before into the same buffers.
pub fn check(data: &[u8]) {
    let mut fresh = Account::empty(Status::Active);
    let outcome = decode_account(data, &mut fresh);
    let mut used = Account::empty(Status::Closed);
    // The results do not matter, but must leave no trace below.
    let _ = decode_account(&data[data.len() / 2..], &mut used);
    let _ = decode_account(&data[..data.len() / 2], &mut used);
    assert_eq!(decode_account(data, &mut used), outcome, "the buffers change the outcome");
    if outcome.is_ok() {
        assert_eq!(used, fresh, "what was decoded before shows");
        comes_back(&fresh);
    }
}

/// Checks that an account is unchanged by encoding and decoding, and so are its bytes, which are returned.
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
