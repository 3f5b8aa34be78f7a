//! Reads and writes the file between an export and an import. docs/formats/export.md describes the bytes.

use super::copy::Source;
use super::item::TransferItem;
use anyhow::{Context, Result, bail, ensure};
use scurry_cluster_client::Totals;
use scurry_codec::{ChunkWriter, Chunked, FRAME_LEN_MAX, Positions, Seal, read_chunk};
use scurry_engine::checksum;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 10] = b"SCUREXP\0\x01\0";
/// Length from which a chunk is closed, bytes.
const CHUNK_LEN: usize = 1 << 20;
/// Number that seals the chunks of an export, in place of a log's id.
const SEAL_ID: u64 = u64::from_le_bytes(*b"SCUREXP\0");
/// Upper bound of the end record, bytes.
const END_LEN_MAX: usize = 64 << 20;

/// Record after the last chunk.
#[derive(Debug, Serialize, Deserialize)]
struct End {
    keys: u64,
    totals: Totals,
}

fn seal() -> Seal {
    Seal::new(checksum, SEAL_ID)
}

pub(super) struct Writer<W> {
    out: W,
    chunks: ChunkWriter,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut out: W) -> Result<Writer<W>> {
        out.write_all(MAGIC)?;
        Ok(Writer { out, chunks: ChunkWriter::new(seal()), buffer: Vec::new() })
    }

    pub(super) fn put(&mut self, items: &[TransferItem]) -> Result<()> {
        for item in items {
            self.chunks.entry(&item.entry());
            if self.chunks.open_len() >= CHUNK_LEN {
                self.write_chunk()?;
            }
        }
        Ok(())
    }

    /// Writes the end record, and returns the writer.
    pub(super) fn finish(mut self, totals: &Totals, keys: u64) -> Result<W> {
        if !self.chunks.is_empty() {
            self.write_chunk()?;
        }
        let end = serde_json::to_vec(&End { keys, totals: totals.clone() })?;
        // Length 0 marks the end: a chunk is never this short.
        self.out.write_all(&0_u32.to_le_bytes())?;
        self.out.write_all(&u32::try_from(end.len())?.to_le_bytes())?;
        self.out.write_all(&checksum(0, &end).to_le_bytes())?;
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_chunk(&mut self) -> Result<()> {
        ensure!(self.chunks.open_len() <= FRAME_LEN_MAX, "a value is longer than a file can hold");
        self.chunks.seal(Positions { from: 0, to: 0 }, 0);
        self.chunks.take_sealed(&mut self.buffer);
        Ok(self.out.write_all(&self.buffer)?)
    }
}

/// Reader of an export file. It checks the whole file first and reads it a second time for the keys, so that no key of
/// a damaged file is written anywhere.
pub(super) struct ExportReader<R> {
    name: String,
    from: R,
    end: End,
    /// Keys read so far.
    keys: u64,
}

impl ExportReader<BufReader<File>> {
    pub(super) fn open(path: &Path) -> Result<ExportReader<BufReader<File>>> {
        let name = path.display().to_string();
        let open = || -> Result<BufReader<File>> {
            Ok(BufReader::new(
                File::open(path).with_context(|| format!("{name} cannot be opened"))?,
            ))
        };
        let mut check = open()?;
        let end = survey(&mut check).with_context(|| {
            format!("{name} is no whole export: write it again with scurry export")
        })?;
        let mut from = open()?;
        begin(&mut from)?;
        Ok(ExportReader { name, from, end, keys: 0 })
    }
}

impl<R: Read> Source for ExportReader<R> {
    fn totals(&self) -> &Totals {
        &self.end.totals
    }

    fn keys(&self) -> u64 {
        self.end.keys
    }

    fn next(&mut self) -> Result<Option<Vec<TransferItem>>> {
        let items = match part(&mut self.from)? {
            FilePart::Items(items) => items,
            FilePart::End(_) => return Ok(None),
        };
        self.keys += items.len() as u64;
        Ok(Some(items))
    }

    fn finish(&mut self) -> Result<Totals> {
        ensure!(self.keys == self.end.keys, "{} was changed while it was read", self.name);
        Ok(self.end.totals.clone())
    }
}

enum FilePart {
    Items(Vec<TransferItem>),
    End(End),
}

/// Checks the whole file and returns its end record.
fn survey(from: &mut impl Read) -> Result<End> {
    begin(from)?;
    let mut keys = 0;
    loop {
        match part(from)? {
            FilePart::Items(items) => keys += items.len() as u64,
            FilePart::End(end) => {
                ensure!(keys == end.keys, "it has {keys} keys and says it has {}", end.keys);
                ensure!(from.read(&mut [0])? == 0, "something stands behind its end");
                return Ok(end);
            }
        }
    }
}

fn begin(from: &mut impl Read) -> Result<()> {
    let magic = read_exactly(from, MAGIC.len())?;
    ensure!(magic[..8] == MAGIC[..8], "it is no export");
    ensure!(magic == MAGIC, "a newer Scurry has written it: import it with that one");
    Ok(())
}

fn part(from: &mut impl Read) -> Result<FilePart> {
    let head = read_exactly(from, 4)?;
    let len = number(&head);
    if len == 0 {
        return end(from).map(FilePart::End);
    }
    ensure!((4..=FRAME_LEN_MAX).contains(&len), "a chunk has a length that cannot be");
    let mut chunk = head;
    chunk.extend(read_exactly(from, len - 4)?);
    let Chunked::Chunk(chunk) = read_chunk(seal(), &chunk) else { bail!("a chunk is damaged") };
    let items = chunk
        .entries()
        .map(|entry| Ok(TransferItem::from_entry(&entry?)))
        .collect::<Result<_>>()?;
    Ok(FilePart::Items(items))
}

fn end(from: &mut impl Read) -> Result<End> {
    let (len, sum) = (number(&read_exactly(from, 4)?), read_exactly(from, 4)?);
    ensure!(len <= END_LEN_MAX, "its end has a length that cannot be");
    let end = read_exactly(from, len)?;
    ensure!(checksum(0, &end).to_le_bytes()[..] == sum[..], "its end is damaged");
    Ok(serde_json::from_slice(&end)?)
}

/// Reads exactly `len` bytes. The buffer grows with the bytes that arrive, so a damaged length allocates nothing.
fn read_exactly(from: &mut impl Read, len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(len as u64).read_to_end(&mut bytes)?;
    ensure!(bytes.len() == len, "it ends early");
    Ok(bytes)
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

#[cfg(test)]
mod tests {
    use super::super::item::ItemContent;
    use super::*;
    use scurry_ledger::Time;

    fn items() -> Vec<TransferItem> {
        let item = |key: &[u8], content| TransferItem { key: key.to_vec(), content };
        vec![
            item(b"alice", ItemContent::Account { image: b"image".to_vec() }),
            item(b"", ItemContent::Value { expires: Some(Time(7)), value: b"\0\xff".to_vec() }),
            item(b"e", ItemContent::Entity { version: 9, expires: None, value: Vec::new() }),
        ]
    }

    fn file() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).expect("it begins");
        writer.put(&items()).expect("it is written");
        let totals = Totals { accounts: 1, ..Totals::default() };
        writer.finish(&totals, 3).expect("it ends")
    }

    #[test]
    fn what_is_written_is_read_and_the_bytes_stay_what_they_are() {
        let file = file();
        let mut from = &file[..];
        begin(&mut from).expect("a file");
        let FilePart::Items(read) = part(&mut from).expect("a chunk") else { panic!("no chunk") };
        assert_eq!(read, items());
        let end = survey(&mut &file[..]).expect("it is whole");
        assert_eq!((end.keys, end.totals.accounts), (3, 1));
        assert_eq!(checksum(0, &file), 308_735_839, "the bytes of version 1");
    }

    #[test]
    fn a_deletion_is_read_as_it_was_written() {
        let content = ItemContent::Deleted { version: 10, forget_at: Time(8) };
        let deleted = vec![TransferItem { key: b"d".to_vec(), content }];
        let mut writer = Writer::new(Vec::new()).expect("it begins");
        writer.put(&deleted).expect("it is written");
        let file = writer.finish(&Totals::default(), 1).expect("it ends");
        let mut from = &file[..];
        begin(&mut from).expect("a file");
        let FilePart::Items(read) = part(&mut from).expect("a chunk") else { panic!("no chunk") };
        assert_eq!(read, deleted);
    }

    #[test]
    fn every_damaged_byte_and_every_lost_end_is_noticed() {
        let file = file();
        for at in 0..file.len() {
            assert!(survey(&mut &file[..at]).is_err(), "cut at {at}");
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            assert!(survey(&mut &damaged[..]).is_err(), "damaged at {at}");
        }
        let mut longer = file;
        longer.push(0);
        assert!(survey(&mut &longer[..]).is_err());
    }
}
