//! Report on a core, as text for people and as JSON for programs.

use crate::size::format_bytes;
use crate::store::{CoreSurvey, GroupSurvey, SegmentSurvey, SnapshotSurvey, count_text, time_text};
use scurry_disk::Manifest;
use scurry_engine::{LogBase, Sequence, segment_name, snapshot_name};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

pub(super) fn print_manifest(
    path: &Path,
    manifest: Option<&Manifest>,
    out: &mut impl Write,
) -> io::Result<()> {
    let path = path.display();
    let Some(manifest) = manifest else {
        return writeln!(out, "data directory {path}: nothing was written to it yet");
    };
    let Manifest { store, generation, threads, .. } = manifest;
    let threads = count_text(u64::from(*threads), "thread");
    let format = scurry_disk::FORMAT;
    writeln!(
        out,
        "data directory {path}: format {format}, store {store:016x}, generation {generation}, {threads}"
    )?;
    if manifest.restored > 0 {
        let events = manifest.generation_of_events();
        writeln!(out, "restored: positions of events begin with {events}")?;
    }
    Ok(())
}

pub(super) fn manifest_json(manifest: &Manifest) -> Value {
    json!({
        "format": scurry_disk::FORMAT,
        "store": format!("{:016x}", manifest.store),
        "generation": manifest.generation,
        "generation_of_events": manifest.generation_of_events(),
        "threads": manifest.threads,
    })
}

pub(super) fn print(name: &str, survey: &CoreSurvey, out: &mut impl Write) -> io::Result<()> {
    match survey.log {
        Some(log) => writeln!(out, "{name}: log {:016x} of core {}", log.id, log.core)?,
        None => writeln!(out, "{name}: no file of a log")?,
    }
    if let Some(group) = &survey.group {
        print_group(group, out)?;
    }
    if !survey.segments.is_empty() {
        print_log(survey, out)?;
    }
    for snapshot in &survey.snapshots {
        print_snapshot(snapshot, out)?;
    }
    if let Some(cut) = &survey.cut {
        writeln!(
            out,
            "  {} bytes behind the last good frame, from byte {} of {} on: no client was promised \
             them, the next start cuts them off",
            cut.bytes, cut.offset, cut.file
        )?;
    }
    for &first in &survey.cut_off {
        writeln!(out, "  {} lies behind them and goes too", segment_name(first))?;
    }
    for other in &survey.others {
        let what = match other.as_str() {
            name if name.ends_with(".new") => "a snapshot that is not finished",
            name if name.starts_with("incoming-") => "a snapshot that another node was sending",
            "next-base" => "a base that does not count yet",
            _ => "ignored",
        };
        writeln!(out, "  {other}: {what}")?;
    }
    for problem in survey.problems.iter().chain(&survey.bad_snapshots) {
        writeln!(out, "  WRONG: {problem}")?;
    }
    if survey.is_sound() {
        writeln!(out, "  every checksum holds")?;
    }
    Ok(())
}

fn print_log(survey: &CoreSurvey, out: &mut impl Write) -> io::Result<()> {
    let (records, segments) = (survey.records(), &survey.segments);
    let frames: u64 = segments.iter().map(|segment| segment.frames).sum();
    let bytes: u64 = segments.iter().map(|segment| segment.end).sum();
    let sum = records.sum();
    write!(
        out,
        "  {} in {}, {}",
        count_text(sum, "record"),
        count_text(frames, "frame"),
        format_bytes(bytes)
    )?;
    match bytes.checked_div(sum) {
        Some(each) => writeln!(out, ", {each} bytes per record: {}", records.text())?,
        None => writeln!(out)?,
    }
    for SegmentSurvey { first, next, frames, marks, records, end, times, synced } in segments {
        let name = segment_name(*first);
        write!(out, "  {name}: ")?;
        match next - first {
            0 => write!(out, "no records")?,
            _ => write!(out, "sequence {first} to {}", next - 1)?,
        }
        let frames = count_text(*frames, "frame");
        write!(out, ", {frames} ({})", count_text(*marks, "mark"))?;
        write!(out, ", {}", format_bytes(*end))?;
        if records.sum() > 0 {
            write!(out, ", {}", records.text())?;
        }
        if let Some((from, to)) = times {
            write!(out, ", {} to {}", time_text(*from), time_text(*to))?;
        }
        writeln!(out, ", {synced} was synced")?;
    }
    Ok(())
}

fn print_group(group: &GroupSurvey, out: &mut impl Write) -> io::Result<()> {
    if let Some(base) = &group.base {
        let (index, term, sequence) = (base.index.get(), base.term.get(), base.sequence.get());
        writeln!(
            out,
            "  base: the log begins behind entry {index} of term {term}, sequence {sequence}"
        )?;
    }
    let entries = count_text(group.entries as u64, "entry");
    match (group.indices, group.terms) {
        (Some((first, last)), Some((from, to))) => {
            let (first, last, from, to) = (first.get(), last.get(), from.get(), to.get());
            writeln!(out, "  {entries}: {first} to {last}, terms {from} to {to}")?;
        }
        _ => writeln!(out, "  {entries}")?,
    }
    let (index, sequence) = (group.committed.index.get(), group.committed.sequence.get());
    write!(out, "  committed: entry {index}, sequence {sequence}")?;
    match group.last.get().saturating_sub(sequence) {
        0 => writeln!(out)?,
        behind => {
            writeln!(out, "; of {} behind it that is not known", count_text(behind, "record"))?
        }
    }
    if let Some(as_of) = group.waits_for {
        writeln!(
            out,
            "  the snapshot can be used when the log is committed up to sequence {}: the node has not caught up",
            as_of.get()
        )?;
    }
    Ok(())
}

fn print_snapshot(snapshot: &SnapshotSurvey, out: &mut impl Write) -> io::Result<()> {
    let SnapshotSurvey { begun, header, footer, ranges, entries, len } = snapshot;
    writeln!(
        out,
        "  {}: begun at sequence {begun}, shows up to {} in {}, {} ({}) in {}, {}, {} to {}",
        snapshot_name(*begun),
        footer.as_of,
        count_text(*ranges as u64, "range"),
        count_text(footer.entries, "entry"),
        entries.text(),
        count_text(footer.chunks, "chunk"),
        format_bytes(*len),
        time_text(header.at),
        time_text(footer.at),
    )
}

pub(super) fn json(name: &str, survey: &CoreSurvey) -> Value {
    let segments: Vec<Value> = survey.segments.iter().map(segment_json).collect();
    let snapshots: Vec<Value> = survey.snapshots.iter().map(snapshot_json).collect();
    let problems = [&survey.problems[..], &survey.bad_snapshots[..]].concat();
    let cut = survey.cut.as_ref();
    let cut = cut.map(|cut| json!({"file": cut.file, "offset": cut.offset, "bytes": cut.bytes}));
    let names =
        |firsts: &[u64]| firsts.iter().map(|&first| segment_name(first)).collect::<Vec<_>>();
    json!({
        "name": name,
        "log_id": survey.log.map(|log| format!("{:016x}", log.id)),
        "core": survey.log.map(|log| log.core),
        "last_sequence": survey.last(),
        "earliest_point": survey.earliest(),
        "records": survey.records().json(),
        "group": survey.group.as_ref().map(group_json),
        "segments": segments,
        "snapshots": snapshots,
        "cut": cut,
        "cut_off": names(&survey.cut_off),
        "other_files": survey.others,
        "problems": problems,
    })
}

fn group_json(group: &GroupSurvey) -> Value {
    let base = |base: &LogBase| {
        json!({
            "index": base.index.get(), "term": base.term.get(), "sequence": base.sequence.get(),
            "at_ms": base.at,
        })
    };
    json!({
        "base": group.base.as_ref().map(base),
        "entries": group.entries,
        "first_index": group.indices.map(|(first, _)| first.get()),
        "last_index": group.indices.map(|(_, last)| last.get()),
        "first_term": group.terms.map(|(first, _)| first.get()),
        "last_term": group.terms.map(|(_, last)| last.get()),
        "committed_index": group.committed.index.get(),
        "committed_sequence": group.committed.sequence.get(),
        "waits_for_sequence": group.waits_for.map(Sequence::get),
    })
}

fn segment_json(segment: &SegmentSurvey) -> Value {
    json!({
        "file": segment_name(segment.first),
        "first_sequence": segment.first,
        "next_sequence": segment.next,
        "frames": segment.frames,
        "marks": segment.marks,
        "records": segment.records.json(),
        "bytes": segment.end,
        "from_ms": segment.times.map(|(from, _)| from.0),
        "to_ms": segment.times.map(|(_, to)| to.0),
        "synced_sequence": segment.synced,
    })
}

fn snapshot_json(snapshot: &SnapshotSurvey) -> Value {
    json!({
        "file": snapshot_name(snapshot.begun),
        "begun_sequence": snapshot.begun,
        "as_of_sequence": snapshot.footer.as_of,
        "ranges": snapshot.ranges,
        "chunks": snapshot.footer.chunks,
        "entries": snapshot.entries.json(),
        "bytes": snapshot.len,
        "version_last": snapshot.footer.version_last,
        "from_ms": snapshot.header.at.0,
        "to_ms": snapshot.footer.at.0,
    })
}
