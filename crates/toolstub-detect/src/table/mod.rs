//! Tables: delimited text that is regular as a whole.

mod cell;
mod rows;
mod survey;
#[cfg(test)]
mod tests;
mod verdict;

use std::ops::ControlFlow;

use memchr::memchr;

use self::rows::{Cell, Dialect, Rows};
use self::survey::Survey;
use crate::census::Census;
use crate::content::{Content, each_piece, window};

/// How many column names and cells of the first row are kept.
const MAX_COLUMNS: usize = 50;
/// How many lines of one cell may stand before a table as its title.
const MAX_TITLE_LINES: u64 = 10;
/// How much of the end is searched for a footer.
const FOOTER_BYTES: u64 = 4096;

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

pub(crate) fn scan<C: Content>(
    content: &mut C,
    census: &Census,
) -> Result<Option<Table>, C::Error> {
    let bom = "\u{feff}".as_bytes();
    let start = if census.head.starts_with(bom) { bom.len() as u64 } else { 0 };
    let mut body = Body { content, start, end: census.bytes, lines: census.lines };
    if let Some(table) = body.table(Delimiter::Tab)? {
        return Ok(Some(table));
    }
    // A decimal comma is as regular as a delimiter; it leaves more lines out, or fewer columns.
    let left_out = |table: &Table| {
        (table.preamble_lines + table.ragged_rows, std::cmp::Reverse(table.column_count))
    };
    let readings = [body.table(Delimiter::Comma)?, body.table(Delimiter::Semicolon)?];
    Ok(readings.into_iter().flatten().min_by_key(left_out))
}

/// A content that may be a table.
struct Body<'c, C> {
    content: &'c mut C,
    /// Where it begins, behind a byte order mark.
    start: u64,
    end: u64,
    lines: u64,
}

/// What one way of reading gave.
struct Reading {
    survey: Survey,
    /// Whether the text does not end inside quotes.
    closed: bool,
}

impl<C: Content> Body<'_, C> {
    /// Reads the content as a table, in the way that makes it most regular.
    fn table(&mut self, delimiter: Delimiter) -> Result<Option<Table>, C::Error> {
        if !self.contains(delimiter.byte())? {
            return Ok(None);
        }
        // In TSV a quote is literal, elsewhere it encloses, unless the other way is more regular.
        // Where the first line has quotes around every cell, they enclose.
        let quotes = delimiter != Delimiter::Tab || self.is_quoted()?;
        let mut reading = self.survey(delimiter, quotes)?;
        let Reading { survey, closed } = &reading;
        let doubtful = !closed || !survey.is_regular() || survey.ragged() > 0;
        if doubtful && self.contains(b'"')? {
            let other = self.survey(delimiter, !quotes)?;
            if other.is_better_than(&reading) {
                reading = other;
            }
        }
        if reading.may_have_footer() && self.has_footer()? {
            reading.survey.drop_single(1);
        }
        Ok(reading.into_table(delimiter))
    }

    fn contains(&mut self, byte: u8) -> Result<bool, C::Error> {
        let found = each_piece(self.content, self.start, |piece| match memchr(byte, piece) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        })?;
        Ok(found.is_some())
    }

    /// Whether each cell of the first line stands in quotes.
    fn is_quoted(&mut self) -> Result<bool, C::Error> {
        let mut line = QuotedLine::default();
        each_piece(self.content, self.start, |piece| line.feed(piece))?;
        Ok(line.finish())
    }

    fn survey(&mut self, delimiter: Delimiter, quotes: bool) -> Result<Reading, C::Error> {
        let reading = self.run(delimiter, quotes, true)?;
        let Survey { rows, preamble, late_comments, .. } = reading.survey;
        // Where `#` lines stand only among the rows, or where there is nothing else, they are rows.
        if rows == 0 || preamble == 0 && late_comments > 0 {
            self.run(delimiter, quotes, false)
        } else {
            Ok(reading)
        }
    }

    fn run(
        &mut self,
        delimiter: Delimiter,
        quotes: bool,
        comments: bool,
    ) -> Result<Reading, C::Error> {
        let mut survey = Survey::new(self.lines);
        let mut rows = Rows::new(Dialect { delimiter: delimiter.byte(), quotes, comments });
        let heard_enough = each_piece(self.content, self.start, |piece| {
            if rows.feed(piece, &mut survey) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        let closed = heard_enough.is_some() || rows.finish(&mut survey);
        Ok(Reading { survey, closed })
    }

    /// Whether the last line says how many rows there are, as `(12 rows)` does.
    fn has_footer(&mut self) -> Result<bool, C::Error> {
        let start = self.end.saturating_sub(FOOTER_BYTES).max(self.start);
        let end = window(self.content, start, FOOTER_BYTES as usize)?;
        let end = end.trim_ascii_end();
        let line = match memchr::memrchr(b'\n', end) {
            Some(feed) => &end[feed + 1..],
            None if start == self.start => end,
            None => return Ok(false),
        };
        Ok(is_footer(line.trim_ascii()))
    }
}

/// Whether each cell of a line of tabs stands in quotes, white space at the ends of the line aside.
#[derive(Debug, Default)]
struct QuotedLine {
    /// Whether anything but white space was seen.
    begun: bool,
    /// The length of the cell at hand, as far as it matters, and its last byte.
    cell: (u8, u8),
    /// White space that may end the line.
    spaces: Spaces,
    refused: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Spaces {
    #[default]
    None,
    /// Only such as may stand inside of a cell.
    Inside,
    /// One tab.
    Tab,
    /// A tab and more.
    Mixed,
}

impl QuotedLine {
    fn feed(&mut self, piece: &[u8]) -> ControlFlow<()> {
        for &byte in piece {
            match byte {
                b'\n' => return ControlFlow::Break(()),
                _ if !self.begun && byte.is_ascii_whitespace() => {}
                _ if byte.is_ascii_whitespace() => {
                    self.spaces = match (self.spaces, byte) {
                        (Spaces::None, b'\t') => Spaces::Tab,
                        (Spaces::Inside, b'\t') | (Spaces::Tab | Spaces::Mixed, _) => Spaces::Mixed,
                        (Spaces::None | Spaces::Inside, _) => Spaces::Inside,
                    };
                }
                _ => {
                    self.begun = true;
                    match std::mem::take(&mut self.spaces) {
                        Spaces::None | Spaces::Inside => {}
                        Spaces::Tab => {
                            self.refused |= !self.is_cell_quoted();
                            self.cell = (0, 0);
                        }
                        Spaces::Mixed => self.refused = true,
                    }
                    self.refused |= self.cell.0 == 0 && byte != b'"';
                    self.cell = (self.cell.0.saturating_add(1), byte);
                    if self.refused {
                        return ControlFlow::Break(());
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn is_cell_quoted(&self) -> bool {
        self.cell.0 > 1 && self.cell.1 == b'"'
    }

    fn finish(&self) -> bool {
        !self.refused && self.is_cell_quoted()
    }
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

    /// Whether the last row may be something else.
    fn may_have_footer(&self) -> bool {
        let Self { survey, closed } = self;
        *closed && survey.rows >= 2 && survey.width() >= 2 && survey.last_width == 1
    }

    fn into_table(self, delimiter: Delimiter) -> Option<Table> {
        let Self { mut survey, closed } = self;
        if !closed || survey.rows < 2 {
            return None;
        }
        let width = survey.width();
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

/// Whether a line says how many rows there are.
fn is_footer(line: &[u8]) -> bool {
    let inner = line.strip_prefix(b"(").and_then(|line| line.strip_suffix(b")")).unwrap_or(line);
    let digits = inner.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = inner[digits..].trim_ascii();
    digits > 0 && (rest.starts_with(b"row") || rest.starts_with(b"record"))
}
