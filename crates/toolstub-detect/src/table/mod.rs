//! Tables: delimited text that is regular as a whole.

mod cell;
mod rows;
mod survey;
#[cfg(test)]
mod tests;
mod verdict;

use memchr::memchr;

use self::rows::{Cell, Dialect, Rows};
use self::survey::Survey;
use crate::census::Census;

/// How many column names and cells of the first row are kept.
const MAX_COLUMNS: usize = 50;
/// How many lines of one cell may stand before a table as its title.
const MAX_TITLE_LINES: u64 = 10;

/// The evidence of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What stands between two cells.
    pub delimiter: Delimiter,
    /// The names of the columns, without quotes; at most 50, empty where there is none.
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
    /// Data rows of another width than `column_count`.
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

impl Delimiter {
    fn byte(self) -> u8 {
        match self {
            Self::Tab => b'\t',
            Self::Comma => b',',
            Self::Semicolon => b';',
        }
    }
}

pub(crate) fn scan(content: &[u8], census: &Census) -> Option<Table> {
    let body = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    let table = |delimiter: Delimiter| {
        memchr(delimiter.byte(), body)?;
        read(body, delimiter, census.lines)
    };
    table(Delimiter::Tab).or_else(|| {
        // A decimal comma is as regular as a delimiter; it leaves more lines out, or fewer columns.
        let left_out = |table: &Table| {
            (table.preamble_lines + table.ragged_rows, std::cmp::Reverse(table.column_count))
        };
        let readings = [table(Delimiter::Comma), table(Delimiter::Semicolon)];
        readings.into_iter().flatten().min_by_key(left_out)
    })
}

/// Reads `body` as a table, in the way that makes it most regular.
fn read(body: &[u8], delimiter: Delimiter, lines: u64) -> Option<Table> {
    // In TSV a quote is literal, elsewhere it encloses, unless the other way is more regular. Where
    // the first line has quotes around every cell, they enclose.
    let quotes = delimiter != Delimiter::Tab || is_quoted(body);
    let usual = survey(body, delimiter, quotes, lines);
    let doubtful = !usual.closed || !usual.survey.is_regular() || usual.survey.ragged() > 0;
    let reading = if doubtful && memchr(b'"', body).is_some() {
        let other = survey(body, delimiter, !quotes, lines);
        if other.is_better_than(&usual) { other } else { usual }
    } else {
        usual
    };
    reading.into_table(body, delimiter)
}

/// Whether each cell of the first line stands in quotes.
fn is_quoted(body: &[u8]) -> bool {
    let end = memchr(b'\n', body).unwrap_or(body.len());
    let mut cells = body[..end].trim_ascii().split(|&b| b == b'\t');
    cells.all(|cell| cell.len() > 1 && cell[0] == b'"' && cell.ends_with(b"\""))
}

/// What one way of reading gave.
struct Reading {
    survey: Survey,
    /// Whether the text does not end inside quotes.
    closed: bool,
}

fn survey(body: &[u8], delimiter: Delimiter, quotes: bool, lines: u64) -> Reading {
    let run = |comments| {
        let mut survey = Survey::new(lines);
        let mut rows = Rows::new(Dialect { delimiter: delimiter.byte(), quotes, comments });
        let heard_all = rows.feed(body, &mut survey);
        let closed = !heard_all || rows.finish(&mut survey);
        Reading { survey, closed }
    };
    let reading = run(true);
    let Survey { rows, preamble, late_comments, .. } = reading.survey;
    // Where `#` lines stand only among the rows, or where there is nothing else, they are rows.
    if rows == 0 || preamble == 0 && late_comments > 0 { run(false) } else { reading }
}

impl Reading {
    fn is_better_than(&self, other: &Self) -> bool {
        let rank = |reading: &Self| {
            (reading.closed && reading.survey.is_regular(), reading.survey.width() >= 2)
        };
        let (this, that) = (&self.survey, &other.survey);
        rank(self) > rank(other)
            || rank(self) == rank(other)
                && rank(self).0
                && this.ragged() * that.rows < that.ragged() * this.rows
    }

    fn into_table(self, body: &[u8], delimiter: Delimiter) -> Option<Table> {
        let Self { mut survey, closed } = self;
        if !closed || survey.rows < 2 {
            return None;
        }
        let width = survey.width();
        if width >= 2 && survey.last_width == 1 && has_footer(body) {
            survey.drop_single(1);
        }
        let mut preamble_lines = survey.preamble;
        let lead = survey.lead_rows;
        if width >= 3 && (1..=MAX_TITLE_LINES).contains(&lead) && survey.rows >= lead + 3 {
            survey.drop_single(lead);
            preamble_lines += lead;
        }
        if !survey.is_regular() || !verdict::is_table(&survey, delimiter) {
            return None;
        }
        let named = named_in_preamble(&survey, delimiter, width);
        let header = named.is_some() || verdict::has_header(&survey.first, &survey.look.columns);
        let first_is_data = named.is_some() || !header;
        let first_width = survey.first_width;
        let columns = match named {
            Some(found) => found,
            None if header => header_names(&survey.first, first_width, width),
            None => vec![String::new(); MAX_COLUMNS.min(width as usize)],
        };
        let first_ragged = u64::from(!first_is_data && first_width != width);
        let first_row = if first_is_data { &survey.first } else { &survey.second };
        Some(Table {
            delimiter,
            columns,
            column_count: width,
            rows: survey.rows - u64::from(!first_is_data),
            header,
            first_row: first_row.iter().take(MAX_COLUMNS).map(cell_text).collect(),
            preamble_lines,
            ragged_rows: survey.ragged() - first_ragged,
        })
    }
}

fn cell_text(cell: &Cell) -> String {
    crate::excerpt(cell.text.trim_ascii(), rows::MAX_CELL)
}

/// The names in the first row, one for each of `width` columns at most.
fn header_names(first: &[Cell], first_width: u64, width: u64) -> Vec<String> {
    // A header that lacks one name lacks that of the row names, which come first.
    let missing = (first_width + 1 == width).then(String::new);
    let cap = MAX_COLUMNS.min(width as usize);
    missing.into_iter().chain(first.iter().map(cell_text)).take(cap).collect()
}

/// The names of the columns, if the preamble holds them: in a `#fields` line, or in its last line.
fn named_in_preamble(survey: &Survey, delimiter: Delimiter, width: u64) -> Option<Vec<String>> {
    let fields = survey.fields.as_ref().map(|line| &line["#fields".len()..]);
    let last = survey.comments.last().map(|line| line.trim_ascii_start());
    let last = last.map(|line| &line[line.iter().take_while(|&&b| b == b'#').count()..]);
    let lines = fields.map(<[u8]>::trim_ascii_start).into_iter().chain(last);
    lines.map(|line| names_in(line, delimiter)).find(|names| names.len() as u64 == width).map(
        |mut names| {
            names.truncate(MAX_COLUMNS);
            names
        },
    )
}

fn names_in(line: &[u8], delimiter: Delimiter) -> Vec<String> {
    let name = |cell: &[u8]| {
        let cell = cell.trim_ascii();
        let inner = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
        String::from_utf8_lossy(inner.unwrap_or(cell)).into_owned()
    };
    line.split(|&b| b == delimiter.byte()).map(name).collect()
}

/// Whether the last line says how many rows there are, as `(12 rows)` does.
fn has_footer(body: &[u8]) -> bool {
    let body = body.trim_ascii_end();
    let start = memchr::memrchr(b'\n', body).map_or(0, |feed| feed + 1);
    let line = body[start..].trim_ascii();
    let inner = line.strip_prefix(b"(").and_then(|line| line.strip_suffix(b")")).unwrap_or(line);
    let digits = inner.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = inner[digits..].trim_ascii();
    digits > 0 && (rest.starts_with(b"row") || rest.starts_with(b"record"))
}
