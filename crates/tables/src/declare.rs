//! Declares a table and how a row becomes cells, a column in one line, so that neither can forget a column of the other.

/// Declares a table, and a function that returns the cells of a row in the order of the columns:
///
/// ```
/// use scurry_tables::{Cell, table};
///
/// pub struct Book<'a> {
///     title: &'a str,
///     pages: Option<i64>,
/// }
///
/// table! {
///     /// Books.
///     pub BOOKS, book_cells, book: Book<'a>, "books", "A book.";
///     "title" Text required "Its title." => Cell::text(book.title);
///     "pages" Int optional "Number of its pages." => Cell::of(book.pages, Cell::Int);
/// }
/// assert_eq!(BOOKS.columns[1].name, "pages");
/// assert_eq!(book_cells(&Book { title: "Ledger", pages: None })[1], Cell::Null);
/// ```
#[macro_export]
macro_rules! table {
    (
        $(#[$doc:meta])*
        $vis:vis $table:ident, $cells:ident, $row:ident: $type:ty, $name:literal, $about:literal;
        $($column:literal $kind:ident $null:ident $meaning:literal => $cell:expr;)*
    ) => {
        $(#[$doc])*
        $vis const $table: $crate::Table = $crate::Table {
            name: $name,
            about: $about,
            columns: &[$($crate::Column::$null($column, $crate::Kind::$kind, $meaning)),*],
        };

        /// Returns the cells of a row.
        $vis fn $cells<'a>($row: &'a $type) -> [$crate::Cell<'a>; { $table.columns.len() }] {
            [$($cell),*]
        }
    };
}
