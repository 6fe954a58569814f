//! Tables: delimited text that is regular as a whole.

use crate::census::Census;

/// The evidence of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What stands between two cells.
    pub delimiter: Delimiter,
    /// The cells of the header, as written without their quotes; at most 50.
    pub columns: Vec<String>,
    /// The most frequent number of cells in a row.
    pub column_count: u64,
    /// Data rows; the header is not one.
    pub rows: u64,
    /// Whether the columns have names.
    pub header: bool,
    /// The first data row, at most 50 cells.
    pub first_row: Vec<String>,
    /// Lines before the table that are not rows.
    pub preamble_lines: u64,
    /// Rows of another width than `column_count`.
    pub ragged_rows: u64,
}

/// What stands between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimiter {
    /// A tab.
    Tab,
    /// A comma.
    Comma,
    /// A semicolon.
    Semicolon,
}

pub(crate) fn scan(_content: &[u8], _census: &Census) -> Option<Table> {
    None
}
