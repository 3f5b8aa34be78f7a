//! `scurry export --backup`: what it refuses, and what it leaves when it fails. testing/analytics reads the tables, in the
//! tests of clusters.

use crate::data::{Data, flip};
use crate::support::{Said, scurry};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn export(from: &Path, form: &str, to: &Path) -> Said {
    scurry(&[Path::new("export"), Path::new("--backup"), from, Path::new(form), to])
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it is there");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).to_str().expect("text").to_owned()).collect();
    names.sort();
    names
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("text");
    text.split("\r\n").filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_backup_has_all_tables_as_of_its_end() {
    let data = Data::full();
    let (parquet, csv) = (data.beside("parquet"), data.beside("csv"));
    let said = export(&data.path(), "--parquet", &parquet).well();
    assert!(
        said.contains("accounts 36, identities 0, buckets 36, sessions 36, items 36, holds 36, "),
        "{said}"
    );
    assert!(said.contains("as of the positions 1.0:109 of store 0000000000c0ffee"), "{said}");
    export(&data.path(), "--csv", &csv).well();
    assert_eq!(names(&parquet).len(), 13);
    let stems = |names: Vec<String>| -> Vec<String> {
        names.iter().map(|name| name.split('.').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(stems(names(&parquet)), stems(names(&csv)));
    let holds = lines(&csv.join("holds.csv"));
    assert_eq!(holds.len(), 37);
    assert!(
        holds[0].starts_with("account,session,item,unit,bucket,bucket_no,amount,"),
        "{}",
        holds[0]
    );
    let hold = holds.iter().find(|line| line.starts_with("a0,")).expect("a hold");
    assert_eq!(
        hold,
        "a0,s,1,EUR,main,0,40,2023-11-14T22:13:20Z,2023-11-14T22:13:20Z,2023-11-14T22:33:20Z"
    );
    let totals = lines(&csv.join("totals.csv"));
    assert_eq!(totals[1], "EUR,2160,1440,3600,0,0,0,0,0,0,0,true");
    let about = fs::read_to_string(csv.join("export.json")).expect("text");
    assert!(about.contains(r#""scurry.positions": "1.0:109""#), "{about}");
    assert!(about.contains(r#""scurry.time": "2023-11-14T22:13:20.036Z""#), "{about}");
}

#[test]
fn a_directory_in_use_and_damage_are_refused() {
    let mut data = Data::new(2);
    data.cores[0].fill("a", 3);
    data.cores[1].fill("b", 12);
    let to = data.beside("full");
    fs::create_dir(&to).expect("made");
    export(&data.path(), "--parquet", &to).well();
    export(&data.path(), "--parquet", &to).refused(&["full is not empty"]);
    export(&data.path(), "--csv", &data.path()).refused(&["data is not empty"]);
    export(&data.path(), "--csv", &data.path().join("tables")).refused(&["is within"]);
    export(&data.path(), "--csv", &data.beside("a/b"))
        .refused(&["Make the directory above it first"]);
    export(&data.beside("none"), "--csv", &data.beside("x")).refused(&["there is no"]);
    assert!(!data.path().join("tables").exists() && !data.beside("x").exists());
    // The first core is whole, and its rows are not taken for all.
    flip(&data.cores[1].files("log-")[0], 60);
    let to = data.beside("damaged");
    export(&data.path(), "--parquet", &to).refused(&["is damaged"]);
    assert!(!to.exists());
    fs::create_dir(&to).expect("made");
    export(&data.path(), "--csv", &to).refused(&["is damaged"]);
    assert_eq!(names(&to), [""; 0]);
}

#[test]
fn a_disk_that_fills_leaves_no_table() {
    let mut data = Data::new(1);
    data.core().fill("a", 600);
    for form in ["--parquet", "--csv"] {
        let to = data.beside("tables");
        // The limit of a file's size: a write beyond it fails like one to a full disk.
        let mut command = Command::new("prlimit");
        command.args(["--fsize=9000", env!("CARGO_BIN_EXE_scurry"), "export", "--backup"]);
        command.arg(data.path()).arg(form).arg(&to).stdin(Stdio::null());
        let output = command.output().expect("prlimit (util-linux) runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("tables/") && said.contains("cannot be written: "), "{said}");
        assert!(said.contains("ulimit -f"), "{said}");
        assert!(!to.exists());
    }
}
