//! Tables as they are read back: by the reader of the crate that writes them, and as text. Other readers are in
//! testing/analytics.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use scurry_tables::{
    Cell, CsvFile, Format, ParquetFile, TableDirectory, TableError, rfc3339, table, text_of,
};
use std::fs::{self, File};
use std::path::Path;

struct Row<'a> {
    text: &'a [u8],
    wide: i128,
    data: Option<&'a [u8]>,
    time: Option<i64>,
    is_last: bool,
}

table! {
    /// A table with a column of each type.
    ALL, cells, row: Row<'a>, "all", "A row.";
    "text" Text required "Text." => Cell::id(row.text);
    "json" Json required "JSON." => Cell::text("{}");
    "int" Int optional "A number." => Cell::of(row.time, Cell::Int);
    "wide" Wide required "A sum." => Cell::Wide(row.wide);
    "data" Bytes optional "Bytes." => Cell::of(row.data, |data| Cell::Bytes(data.into()));
    "time" Time optional "A moment." => Cell::of(row.time, Cell::Time);
    "is_last" Bool required "Whether it is the last." => Cell::Bool(row.is_last);
}

const WIDE: i128 = 10_i128.pow(38) - 1;

fn rows() -> [Row<'static>; 3] {
    [
        Row { text: b"a,\"\n", wide: WIDE, data: Some(b"\0\xff"), time: Some(0), is_last: false },
        Row { text: b"", wide: -WIDE, data: None, time: None, is_last: false },
        Row {
            text: b"\xffz",
            wide: -1,
            data: Some(b""),
            time: Some(1_795_298_403_119),
            is_last: true,
        },
    ]
}

fn about() -> Vec<(String, String)> {
    vec![("scurry.store".to_owned(), "00c0ffee00c0ffee".to_owned())]
}

fn open(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).expect("it is there")).expect("a file of Parquet")
}

fn read(path: &Path) -> Vec<Vec<Field>> {
    let reader = open(path);
    let rows = reader.get_row_iter(None).expect("rows");
    let fields = |row: parquet::record::Row| row.get_column_iter().map(|of| of.1.clone()).collect();
    rows.map(|row| fields(row.expect("a row"))).collect()
}

#[test]
fn parquet_has_what_was_written() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("tables");
    let mut directory = TableDirectory::open(&path, Format::Parquet).expect("it is new");
    let mut table = directory.begin(&ALL).expect("it begins");
    for row in rows() {
        table.push(&cells(&row)).expect("it fits");
    }
    assert!(!path.join("all.parquet").exists(), "it is not complete");
    directory.complete(vec![table], &about()).expect("it is written");
    let path = path.join("all.parquet");
    let read = read(&path);
    let texts: Vec<String> = read.iter().map(|row| row[0].to_string()).collect();
    assert_eq!(texts, ["\"a,\"\n\"", "\"\"", "\"\\xffz\""]);
    let nulls = |row: &[Field]| row.iter().filter(|field| **field == Field::Null).count();
    assert_eq!(read.iter().map(|row| nulls(row)).collect::<Vec<_>>(), [0, 3, 0]);
    // This reader shows the point of a decimal without digits after it.
    assert_eq!(read[0][3].to_string(), format!("{WIDE}."));
    assert_eq!(read[1][3].to_string(), format!("-{WIDE}."));
    assert_eq!(read[0][4], Field::Bytes(b"\0\xff".to_vec().into()));
    assert_eq!(read[2][5], Field::TimestampMillis(1_795_298_403_119));
    assert_eq!(read[2][2], Field::Long(1_795_298_403_119));
    assert_eq!((&read[1][6], &read[2][6]), (&Field::Bool(false), &Field::Bool(true)));
    let metadata = open(&path);
    let pairs = metadata.metadata().file_metadata().key_value_metadata().expect("texts");
    assert!(pairs.iter().any(
        |pair| pair.key == "scurry.store" && pair.value.as_deref() == Some("00c0ffee00c0ffee")
    ));
}

#[test]
fn csv_has_the_same_as_text() {
    let mut file = CsvFile::begin(&ALL, Vec::new()).expect("it begins");
    for row in rows() {
        file.push(&cells(&row)).expect("it fits");
    }
    let text = String::from_utf8(file.finish().expect("it is written")).expect("text");
    let wide = "9".repeat(38);
    let expected = format!(
        "text,json,int,wide,data,time,is_last\r\n\
         \"a,\"\"\n\",{{}},0,{wide},AP8=,1970-01-01T00:00:00Z,false\r\n\
         ,{{}},,-{wide},,,false\r\n\
         \\xffz,{{}},1795298403119,-1,,2026-11-21T22:00:03.119Z,true\r\n"
    );
    assert_eq!(text, expected);
    assert_eq!(rfc3339((1 << 47) - 1).as_deref(), Some("6429-10-17T02:45:55.327Z"));
    assert_eq!(rfc3339(i64::MAX), None);
    assert_eq!(text_of(b"z\xc3\xa9\xc3"), "zé\\xc3");
}

#[test]
fn row_groups_are_bounded_by_rows_and_by_bytes() {
    let groups = |count: usize, text: &[u8]| {
        let mut file =
            ParquetFile::begin(&ALL, tempfile::tempfile().expect("a file")).expect("it begins");
        for _ in 0..count {
            let row = Row { text, wide: 1, data: None, time: None, is_last: false };
            file.push(&cells(&row)).expect("it fits");
        }
        let file = file.finish(&[]).expect("it is written");
        let reader = SerializedFileReader::new(file).expect("a file of Parquet");
        let groups = reader.metadata().row_groups().iter();
        groups.map(|group| usize::try_from(group.num_rows()).expect("rows")).collect::<Vec<_>>()
    };
    let by_rows = groups(130_000, b"a");
    assert_eq!((by_rows[0], by_rows.iter().sum::<usize>()), (122_880, 130_000));
    let by_bytes = groups(9, &[b'a'; 4 << 20]);
    assert_eq!(by_bytes, [4, 4, 1]);
    assert_eq!(groups(0, b""), [0; 0]);
}

#[test]
fn a_row_that_does_not_fit_is_refused_whole() {
    let mut parquet =
        ParquetFile::begin(&ALL, tempfile::tempfile().expect("a file")).expect("it begins");
    let mut csv = CsvFile::begin(&ALL, Vec::new()).expect("it begins");
    let row = &rows()[0];
    let wrong = [
        (0, Cell::Null),
        (0, Cell::Int(1)),
        (2, Cell::Time(1)),
        (3, Cell::Wide(WIDE + 1)),
        (3, Cell::Wide(i128::MIN)),
        (6, Cell::text("true")),
    ];
    for (at, cell) in wrong {
        let mut row = cells(row);
        row[at] = cell;
        assert!(parquet.push(&row).is_err(), "{:?}", row[at]);
        assert!(csv.push(&row).is_err(), "{:?}", row[at]);
    }
    assert!(parquet.push(&cells(row)[..6]).is_err());
    assert_eq!((parquet.rows(), csv.rows()), (0, 0));
    let text = String::from_utf8(csv.finish().expect("it is written")).expect("text");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_directory_is_complete_or_not_there() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("tables");
    let begin = || {
        let mut directory = TableDirectory::open(&path, Format::Csv)?;
        let table = directory.begin(&ALL)?;
        Ok::<_, TableError>((directory, table))
    };
    let (directory, table) = begin().expect("it is new");
    assert!(path.join("all.csv.part").exists());
    let error = begin().err().expect("it is in use").to_string();
    assert!(
        error.ends_with("is not empty: give a directory that is empty or not there yet"),
        "{error}"
    );
    drop((table, directory));
    assert!(!path.exists());
    fs::create_dir(&path).expect("made");
    drop(begin().expect("it is empty"));
    assert!(path.exists() && fs::read_dir(&path).expect("it is there").next().is_none());
    let (directory, table) = begin().expect("it is empty");
    directory.complete(vec![table], &about()).expect("it is written");
    let about = fs::read_to_string(path.join("export.json")).expect("text");
    let about: serde_json::Value = serde_json::from_str(&about).expect("JSON");
    let expected = serde_json::json!({"scurry.store": "00c0ffee00c0ffee", "rows": {"all": 0}});
    assert_eq!(about, expected);
    assert!(begin().is_err());
}
