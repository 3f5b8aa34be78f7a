//! Writes zeros to files that will be overwritten later. They bypass the page cache: otherwise pages would be cleared,
//! copied and written back, and push out others, for bytes that are never read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Block length that every device accepts for direct writes, bytes.
const BLOCK_LEN: usize = 4096;
const PIECE_LEN: usize = 1 << 20;

/// Memory aligned for direct writes.
#[repr(C, align(4096))]
struct Zeros([u8; PIECE_LEN]);

// A device refuses a direct write that is not in whole blocks, from memory that begins at one.
const _: () = assert!(PIECE_LEN.is_multiple_of(BLOCK_LEN));
const _: () = assert!(align_of::<Zeros>() >= BLOCK_LEN);

static ZEROS: Zeros = Zeros([0; PIECE_LEN]);

/// Writes zeros. When direct writes are not possible they go through the cache and are synced.
pub(crate) fn fill(file: &File, offset: u64, len: usize) -> io::Result<()> {
    let is_whole = offset.is_multiple_of(BLOCK_LEN as u64) && len.is_multiple_of(BLOCK_LEN);
    if is_whole && set_direct(file, true).is_ok() {
        let outcome = write(file, offset, len);
        set_direct(file, false)?;
        // Some file systems refuse direct writes only at the write itself.
        if !outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput) {
            return outcome;
        }
    }
    write(file, offset, len)?;
    file.sync_data()
}

fn write(file: &File, mut offset: u64, len: usize) -> io::Result<()> {
    let mut left = len;
    while left > 0 {
        let piece = left.min(PIECE_LEN);
        file.write_all_at(&ZEROS.0[..piece], offset)?;
        offset += piece as u64;
        left -= piece;
    }
    Ok(())
}

/// Sets whether writes bypass the page cache.
#[cfg(target_os = "linux")]
fn set_direct(file: &File, direct: bool) -> nix::Result<()> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let mut flags = OFlag::from_bits_retain(fcntl(file, FcntlArg::F_GETFL)?);
    flags.set(OFlag::O_DIRECT, direct);
    fcntl(file, FcntlArg::F_SETFL(flags)).map(drop)
}

/// Other systems have different ways.
#[cfg(not(target_os = "linux"))]
fn set_direct(_: &File, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    /// Runs the check in memory, which may not support direct writes, and on a disk.
    fn in_directories(check: impl Fn(&File)) {
        for directory in [std::env::temp_dir(), "/dev/shm".into()] {
            let directory = tempfile::tempdir_in(directory).expect("a directory");
            let path = directory.path().join("file");
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(true);
            check(&options.open(path).expect("a file"));
        }
    }

    #[test]
    fn a_range_becomes_zeros_and_what_is_beside_it_stays() {
        in_directories(|file| {
            let len = 3 * PIECE_LEN;
            for (offset, zeros) in [(0, len), (8192, 2 * PIECE_LEN + 4096), (100, 5000), (4096, 1)]
            {
                file.write_all_at(&vec![7; len], 0).expect("written");
                fill(file, offset as u64, zeros).expect("filled");
                let mut expected = vec![7; len];
                expected[offset..offset + zeros].fill(0);
                let mut found = vec![1; len];
                file.read_exact_at(&mut found, 0).expect("read");
                assert!(found == expected, "{zeros} zeros at {offset}");
                // The file again accepts writes of any offset and length.
                file.write_all_at(&[9; 3], 5).expect("any offset and length");
            }
        });
    }
}
