//! `scurry inspect`: reports what data files contain and whether they are intact.

mod node;
mod records;
mod report;

use crate::store::{
    CoreFiles, CoreSurvey, DataDirectory, PathKind, Progress, survey_files, surveyed,
};
use anyhow::{Result, bail};
use clap::Args;
use node::NodeReport;
use records::{RecordFilter, print_entries, print_records};
use scurry_engine::{RequiredExtent, segment_name, segment_of, snapshot_name};
use serde_json::json;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  scurry inspect /var/lib/scurry
  scurry inspect /var/lib/scurry/g1/0 --records --from 4711 --count 20
  scurry inspect /var/lib/scurry --records --json | jq 'select(.key == \"alice\")'";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Inspect {
    /// A data directory, the directory g<generation>/<core> of a core, a log segment, or a snapshot
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Print the records of the log, one a line, or the entries of a snapshot
    #[arg(long)]
    records: bool,

    /// Begin with the record of this sequence, in each core
    #[arg(long, value_name = "SEQ", requires = "records")]
    from: Option<u64>,

    /// Print so many records at most, of each core
    #[arg(long, value_name = "N", requires = "records")]
    count: Option<u64>,

    /// Print JSON: one object, or one for each record
    #[arg(long)]
    json: bool,
}

/// A core or some of its files, with their name in the report.
struct ReportPart {
    name: String,
    survey: CoreSurvey,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<()> {
        let kind = PathKind::find(&self.path)?;
        let mut out = BufWriter::new(io::stdout().lock());
        let outcome = match self.records {
            true => self.print(&kind, &mut out),
            false => self.report(&kind, &mut out),
        };
        match outcome.and_then(|problems| Ok(out.flush().map(|()| problems)?)) {
            Ok(0) => Ok(()),
            Ok(1) => bail!("1 thing is wrong with {}: see above", self.path.display()),
            Ok(problems) => {
                bail!("{problems} things are wrong with {}: see above", self.path.display())
            }
            // The reader of the pipe has closed it, as `head` does.
            Err(error) if is_broken_pipe(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Prints the report. Returns the number of problems.
    fn report(&self, kind: &PathKind, out: &mut impl Write) -> Result<usize> {
        let mut bar = Progress::new();
        let parts = match kind {
            PathKind::Data(directory) => parts(directory, &mut bar)?,
            PathKind::Core(path) => {
                vec![ReportPart {
                    name: core_of(path),
                    survey: surveyed(path, RequiredExtent::default(), &mut bar, "reading")?.1,
                }]
            }
            PathKind::Segment(path, first) => vec![segment(path, *first, &mut bar)?],
            PathKind::Snapshot(path, begun) => {
                let mut pinned = CoreFiles::open_file(path, snapshot_name(*begun))?;
                let survey = survey_files(&mut pinned, &mut bar);
                vec![ReportPart { name: path.display().to_string(), survey }]
            }
        };
        let (manifest, node) = match kind {
            PathKind::Data(directory) => {
                (Some(directory.manifest), Some(NodeReport::read(directory)))
            }
            _ => (None, None),
        };
        if self.json {
            let cores: Vec<_> =
                parts.iter().map(|part| report::json(&part.name, &part.survey)).collect();
            let manifest = manifest.flatten().map(|manifest| report::manifest_json(&manifest));
            let path = self.path.display().to_string();
            let node = node.as_ref().map(NodeReport::json);
            let object = json!({"path": path, "manifest": manifest, "node": node, "cores": cores});
            writeln!(out, "{object:#}")?;
        } else {
            if let Some(manifest) = manifest {
                report::print_manifest(&self.path, manifest.as_ref(), out)?;
            }
            if let Some(node) = &node {
                node.print(out)?;
            }
            for part in &parts {
                report::print(&part.name, &part.survey, out)?;
            }
        }
        let wrong =
            |part: &ReportPart| part.survey.problems.len() + part.survey.bad_snapshots.len();
        let wrong_with_node = node.map_or(0, |node| node.problems.len());
        Ok(wrong_with_node + parts.iter().map(wrong).sum::<usize>())
    }

    /// Prints records of a log or entries of a snapshot.
    fn print(&self, kind: &PathKind, out: &mut impl Write) -> Result<usize> {
        let mut wanted = RecordFilter {
            from: self.from,
            count: self.count.unwrap_or(u64::MAX),
            is_json: self.json,
            core: None,
        };
        match kind {
            PathKind::Data(directory) => {
                let cores = directory.cores();
                for (core, (_, path)) in (0..).zip(&cores) {
                    wanted.core = (cores.len() > 1).then_some(core);
                    print_records(|| CoreFiles::open(path), &wanted, out)?;
                }
            }
            PathKind::Core(path) => print_records(|| CoreFiles::open(path), &wanted, out)?,
            PathKind::Segment(path, first) => {
                print_records(|| CoreFiles::open_file(path, segment_name(*first)), &wanted, out)?;
            }
            PathKind::Snapshot(path, begun) => {
                let mut pinned = CoreFiles::open_file(path, snapshot_name(*begun))?;
                print_entries(&mut pinned, *begun, &wanted, out)?;
            }
        }
        Ok(0)
    }
}

/// Surveys the cores of a data directory.
fn parts(directory: &DataDirectory, bar: &mut Progress) -> Result<Vec<ReportPart>> {
    let mut parts = Vec::new();
    for (core, (name, path)) in (0..).zip(directory.cores()) {
        let (least, problem) = match directory.least(core) {
            Ok(least) => (least, None),
            Err(error) => (RequiredExtent::default(), Some(error.to_string())),
        };
        // The directory is missing if a first start was interrupted before it was created.
        let mut survey = match path.is_dir() {
            true => surveyed(&path, least, bar, &format!("{name}: reading"))?.1,
            false => CoreSurvey::default(),
        };
        survey.problems.extend(problem);
        parts.push(ReportPart { name, survey });
    }
    Ok(parts)
}

/// Surveys one segment. If the next segment lies beside it, this one must reach up to it.
fn segment(path: &Path, first: u64, bar: &mut Progress) -> Result<ReportPart> {
    let mut pinned = CoreFiles::open_file(path, segment_name(first))?;
    let mut survey = survey_files(&mut pinned, bar);
    let beside = path.parent().filter(|_| path.ends_with(segment_name(first)));
    let beside =
        beside.map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    let names = beside.and_then(|above| above.read_dir().ok()).into_iter().flatten().flatten();
    let later = names.filter_map(|entry| segment_of(entry.file_name().to_str()?));
    if let Some(next) = later.filter(|&later| later > first).min()
        && survey.problems.is_empty()
        && survey.last() + 1 != next
    {
        let end = survey.segments.last().map_or(0, |segment| segment.end);
        survey.problems.push(format!(
            "{} ends at byte {end} with sequence {}, and {} begins with {next}: what is between is \
             damaged or missing",
            segment_name(first),
            survey.last(),
            segment_name(next),
        ));
    }
    Ok(ReportPart { name: path.display().to_string(), survey })
}

fn core_of(path: &Path) -> String {
    path.display().to_string()
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
