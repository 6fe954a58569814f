//! Finding rows of a table.
//!
//! The content is known to be a table, and its synopsis says how it is written: the delimiter,
//! whether there is a header, how many lines stand before it, how many rows there are. What it does not
//! say, whether quotes enclose cells, matters only where a quoted cell holds a line break: then the
//! reading that gives the known number of rows is taken.

use std::ops::Range;

use memchr::{memchr, memchr2};
use toolstub_core::text::clean_bytes;
use toolstub_core::{Kind, Synopsis};

use super::{Selected, Span};
use crate::StoreError;
use crate::store::StoredOriginal;

/// The most columns that are named.
const MAX_COLUMNS: u64 = 1000;
/// The longest name of a column, in characters.
const MAX_NAME: usize = 80;
/// How much of a header or a comment is looked at, in bytes.
const MAX_LINE: usize = 1 << 16;

/// How a table is written, by its synopsis.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layout {
    delimiter: u8,
    header: bool,
    preamble_lines: u64,
    columns: u64,
    /// The number of data rows, where it is known.
    rows: Option<u64>,
}

impl Layout {
    fn new(synopsis: &Synopsis) -> Self {
        let lines = &synopsis.structure;
        let says = |line: &str| lines.iter().any(|other| other == line);
        let number =
            |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok());
        let delimiter = match synopsis.kind {
            Kind::Tsv => b'\t',
            _ if says("delimiter: ;") => b';',
            _ => b',',
        };
        Self {
            delimiter,
            header: !says("header: none"),
            preamble_lines: number("preamble_lines: ").unwrap_or(0),
            columns: number("column_count: ").unwrap_or(0),
            rows: number("rows: "),
        }
    }
}

impl StoredOriginal<'_> {
    /// The bytes of the rows with the columns' names, or what is there instead.
    pub(super) async fn find_rows(
        &self,
        rows: Span,
    ) -> Result<Result<Selected, String>, StoreError> {
        let layout = Layout::new(&self.metadata.synopsis);
        let mut table = self.read_rows(&layout, rows, true, false).await?;
        if table.reader.broken {
            let usual = self.metadata.synopsis_kind != Kind::Tsv;
            table = self.read_rows(&layout, rows, usual, true).await?;
            // By how many rows a reading is wrong. A footer is no row, and reads like one.
            let known = layout.rows.unwrap_or(table.rows);
            let wrong = table.rows.abs_diff(known);
            if wrong > 0 {
                let other = self.read_rows(&layout, rows, !usual, true).await?;
                if other.rows.abs_diff(known) < wrong {
                    table = other;
                }
            }
        }
        let columns = table.columns(&layout);
        Ok(match table.found {
            Some(bytes) => Ok(Selected { bytes, columns: Some(columns) }),
            None => Err(format!("the table has {} rows", layout.rows.unwrap_or(table.rows))),
        })
    }

    async fn read_rows(
        &self,
        layout: &Layout,
        wanted: Span,
        quotes: bool,
        to_the_end: bool,
    ) -> Result<Table, StoreError> {
        let mut table = Table::new(layout, wanted, quotes, to_the_end);
        self.scan(|base, piece| table.feed(layout, base, piece)).await?;
        table.finish(layout, self.index.bytes());
        Ok(table)
    }
}

/// Where in a row the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    LineStart,
    Comment,
    /// At the start of a cell; spaces before a quote do not count.
    CellStart,
    /// In a cell that is not quoted, or behind its closing quote.
    Plain,
    Quoted,
    /// Behind a quote that ends a quoted cell or stands for one.
    Quote,
}

/// Tells rows apart.
#[derive(Debug)]
struct Reader {
    delimiter: u8,
    quotes: bool,
    /// Whether lines that begin with `#` are comments; `None` until the first line tells.
    comments: Option<bool>,
    state: State,
    row: Row,
    /// The text of the row or comment at hand, while it may be a header.
    line: Option<Vec<u8>>,
    /// Whether a line break stood in a quoted cell.
    broken: bool,
}

/// The row or comment at hand.
#[derive(Debug)]
struct Row {
    start: u64,
    /// Whether it has several cells.
    several: bool,
    /// Whether nothing but white space stood in it so far.
    blank: bool,
}

/// A row, or a comment, that is complete.
enum Line {
    Row(Range<u64>),
    Comment,
}

impl Reader {
    /// Reads on at `piece[*at..]` to the end of a line that is not blank.
    fn next(&mut self, base: u64, piece: &[u8], at: &mut usize) -> Option<Line> {
        while let Some(&byte) = piece.get(*at) {
            let rest = &piece[*at..];
            let begin = *at;
            let mut line = None;
            match self.state {
                State::LineStart => {
                    self.row = Row { start: base + *at as u64, several: false, blank: true };
                    if let Some(line) = &mut self.line {
                        line.clear();
                    }
                    let comment = byte == b'#' && self.comments != Some(false);
                    self.state = if comment { State::Comment } else { State::CellStart };
                    continue;
                }
                State::Comment => {
                    let end = memchr(b'\n', rest);
                    *at += end.map_or(rest.len(), |end| end + 1);
                    if end.is_some() {
                        self.state = State::LineStart;
                        line = Some(Line::Comment);
                    }
                }
                State::CellStart => match byte {
                    b'"' if self.quotes => {
                        self.row.blank = false;
                        self.state = State::Quoted;
                        *at += 1;
                    }
                    b' ' if self.quotes => *at += 1,
                    _ => {
                        self.state = State::Plain;
                        continue;
                    }
                },
                State::Plain => {
                    let end = memchr2(self.delimiter, b'\n', rest);
                    let text = &rest[..end.unwrap_or(rest.len())];
                    self.row.blank = self.row.blank && text.iter().all(u8::is_ascii_whitespace);
                    *at += text.len() + usize::from(end.is_some());
                    match end.map(|end| rest[end]) {
                        Some(b'\n') => {
                            self.state = State::LineStart;
                            line = self.end_row(base + *at as u64);
                        }
                        Some(_) => {
                            self.row.several = true;
                            self.state = State::CellStart;
                        }
                        None => {}
                    }
                }
                State::Quoted => {
                    let end = memchr(b'"', rest);
                    let text = &rest[..end.unwrap_or(rest.len())];
                    self.broken = self.broken || memchr(b'\n', text).is_some();
                    *at += text.len() + usize::from(end.is_some());
                    if end.is_some() {
                        self.state = State::Quote;
                    }
                }
                State::Quote => {
                    if byte == b'"' {
                        self.state = State::Quoted;
                        *at += 1;
                    } else {
                        self.state = State::Plain;
                        continue;
                    }
                }
            }
            if let Some(line) = &mut self.line {
                let room = MAX_LINE.saturating_sub(line.len());
                let read = &piece[begin..*at];
                line.extend_from_slice(&read[..read.len().min(room)]);
            }
            if line.is_some() {
                return line;
            }
        }
        None
    }

    /// The row that ends here; a line of tabs is white space, one of commas a row without values.
    fn end_row(&self, end: u64) -> Option<Line> {
        let blank = self.row.blank && (!self.row.several || self.delimiter == b'\t');
        (!blank).then_some(Line::Row(self.row.start..end))
    }

    /// The line that the content ends in.
    fn finish(&self, end: u64) -> Option<Line> {
        match self.state {
            State::LineStart => None,
            State::Comment => Some(Line::Comment),
            _ => self.end_row(end),
        }
    }
}

/// Counts rows and notes where those wanted are.
#[derive(Debug)]
struct Table {
    reader: Reader,
    wanted: Span,
    to_the_end: bool,
    /// The comments before the first row: how many, the last, and one that begins with `#fields`.
    comments: u64,
    last_comment: Option<Vec<u8>>,
    fields: Option<Vec<u8>>,
    /// Rows of a title that are still to be left out; `None` before the first row.
    title: Option<u64>,
    /// The header, or empty where there is none; `None` before it.
    header: Option<Vec<String>>,
    /// The data rows so far.
    rows: u64,
    found: Option<Range<u64>>,
}

impl Table {
    fn new(layout: &Layout, wanted: Span, quotes: bool, to_the_end: bool) -> Self {
        let reader = Reader {
            delimiter: layout.delimiter,
            quotes,
            comments: (layout.preamble_lines == 0).then_some(false),
            state: State::LineStart,
            row: Row { start: 0, several: false, blank: true },
            line: Some(Vec::new()),
            broken: false,
        };
        let last = layout.rows.map_or(wanted.last, |rows| wanted.last.min(rows));
        Self {
            reader,
            wanted: Span { first: wanted.first, last },
            to_the_end,
            comments: 0,
            last_comment: None,
            fields: None,
            title: None,
            header: None,
            rows: 0,
            found: None,
        }
    }

    /// Takes the next piece; false once the rows are found.
    fn feed(&mut self, layout: &Layout, base: u64, piece: &[u8]) -> bool {
        let mut at = 0;
        while let Some(line) = self.reader.next(base, piece, &mut at) {
            self.take(layout, line);
            if self.rows >= self.wanted.last && self.header.is_some() && !self.to_the_end {
                return false;
            }
        }
        true
    }

    fn finish(&mut self, layout: &Layout, end: u64) {
        let more = self.rows < self.wanted.last || self.to_the_end;
        if let Some(line) = self.reader.finish(end).filter(|_| more) {
            self.take(layout, line);
        }
    }

    fn take(&mut self, layout: &Layout, line: Line) {
        // Comments are comments if the first line is one.
        let commented = matches!(line, Line::Comment);
        self.reader.comments.get_or_insert(commented);
        let Line::Row(row) = line else {
            if self.title.is_none() {
                self.comments += 1;
                let line = self.reader.line.as_deref().unwrap_or_default().trim_ascii_end();
                if line.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"#fields")) {
                    self.fields = Some(line.to_vec());
                }
                self.last_comment = Some(line.to_vec());
            }
            return;
        };
        let left = layout.preamble_lines.saturating_sub(self.comments);
        let title = self.title.get_or_insert(left);
        if *title > 0 {
            *title -= 1;
            return;
        }
        if self.header.is_none() {
            let in_preamble = self.names_in_preamble(layout);
            let first = layout.header && in_preamble.is_none();
            self.header = Some(if first {
                let line = self.reader.line.as_deref().unwrap_or_default().trim_ascii_end();
                let mut names = cells(line, layout.delimiter, self.reader.quotes);
                // A header that lacks one name lacks that of the row names, which come first.
                if names.len() as u64 + 1 == layout.columns {
                    names.insert(0, String::new());
                }
                names
            } else {
                in_preamble.unwrap_or_default()
            });
            self.reader.line = None;
            if first {
                return;
            }
        }
        self.rows += 1;
        if (self.wanted.first..=self.wanted.last).contains(&self.rows) {
            let start = self.found.as_ref().map_or(row.start, |found| found.start);
            self.found = Some(start..row.end);
        }
    }

    fn names_in_preamble(&self, layout: &Layout) -> Option<Vec<String>> {
        if !layout.header {
            return None;
        }
        let fields = self.fields.as_deref().map(|line| line["#fields".len()..].trim_ascii_start());
        let last = self.last_comment.as_deref().map(|line| {
            let marks = line.iter().take_while(|&&byte| byte == b'#').count();
            &line[marks..]
        });
        let lines = fields.into_iter().chain(last);
        lines
            .map(|line| {
                let names = line.split(|&byte| byte == layout.delimiter).map(name);
                names.collect::<Vec<_>>()
            })
            .find(|names| names.len() as u64 == layout.columns)
    }

    /// The name of every column, as far as they are named.
    fn columns(&self, layout: &Layout) -> Vec<String> {
        let header = self.header.as_deref().unwrap_or_default();
        let count = layout.columns.max(header.len() as u64).min(MAX_COLUMNS) as usize;
        let name = |index: usize| match header.get(index) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("column_{}", index + 1),
        };
        (0..count).map(name).collect()
    }
}

fn name(cell: &[u8]) -> String {
    let cell = cell.trim_ascii();
    let inner = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
    clean_bytes(inner.unwrap_or(cell), MAX_NAME)
}

/// The cells of a row, without the quotes that enclose them.
fn cells(line: &[u8], delimiter: u8, quotes: bool) -> Vec<String> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let start = rest.trim_ascii_start();
        let enclosed = quotes && start.first() == Some(&b'"');
        let mut text = Vec::new();
        if enclosed {
            rest = &start[1..];
            while let Some(end) = memchr(b'"', rest) {
                text.extend_from_slice(&rest[..end]);
                rest = &rest[end + 1..];
                if rest.first() != Some(&b'"') {
                    break;
                }
                text.push(b'"');
                rest = &rest[1..];
            }
        }
        let end = memchr(delimiter, rest);
        text.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
        cells.push(clean_bytes(text.trim_ascii(), MAX_NAME));
        match end {
            Some(end) => rest = &rest[end + 1..],
            None => return cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(kind: Kind, structure: &[&str]) -> Layout {
        Layout::new(&Synopsis {
            kind,
            title: String::new(),
            summary: vec![],
            structure: structure.iter().map(ToString::to_string).collect(),
            notable_items: vec![],
            sample: String::new(),
        })
    }

    #[track_caller]
    fn selects(content: &str, layout: &Layout, rows: &str, expected: (&str, &[&str])) {
        let wanted = Span::parse("rows", rows).unwrap();
        for piece in [1, 2, 5, 1000] {
            let mut table = Table::new(layout, wanted, layout.delimiter != b'\t', false);
            for (number, bytes) in content.as_bytes().chunks(piece).enumerate() {
                if !table.feed(layout, (number * piece) as u64, bytes) {
                    break;
                }
            }
            table.finish(layout, content.len() as u64);
            let found = table.found.clone().unwrap_or(0..0);
            let found = &content[found.start as usize..found.end as usize];
            let columns = table.columns(layout);
            let columns: Vec<_> = columns.iter().map(String::as_str).collect();
            assert_eq!((found, &columns[..]), expected, "{rows} of {content:?} by {piece}");
        }
    }

    #[test]
    fn rows_are_the_lines_of_the_source() {
        let plain = layout(Kind::Csv, &["column_count: 2", "rows: 3"]);
        let content = "id,\"na,me\"\r\n1,a\r\n\r\n2,\"b\n,\"\"c\"\r\n3, \"d\"";
        let columns = ["id", "na,me"];
        selects(content, &plain, "1", ("1,a\r\n", &columns));
        selects(content, &plain, "2", ("2,\"b\n,\"\"c\"\r\n", &columns));
        selects(content, &plain, "1-2", ("1,a\r\n\r\n2,\"b\n,\"\"c\"\r\n", &columns));
        selects(content, &plain, "3-9", ("3, \"d\"", &columns));
        selects(content, &plain, "2-", ("2,\"b\n,\"\"c\"\r\n3, \"d\"", &columns));
        selects(content, &plain, "4", ("", &columns));
        // A footer is no row.
        selects("a,b\n1,2\n3,4\n5,6\n(3 rows)\n", &plain, "3-4", ("5,6\n", &["a", "b"]));
    }

    #[test]
    fn the_synopsis_tells_how_a_table_is_written() {
        let none =
            layout(Kind::Csv, &["column_count: 2", "rows: 2", "header: none", "delimiter: ;"]);
        selects("1;2\n3;4\n", &none, "1", ("1;2\n", &["column_1", "column_2"]));
        let titled = layout(Kind::Csv, &["column_count: 3", "rows: 2", "preamble_lines: 2"]);
        selects("T\nU\na,b,c\n1,2,3\n4,5,6\n", &titled, "2", ("4,5,6\n", &["a", "b", "c"]));
        let named = layout(Kind::Tsv, &["column_count: 2", "rows: 2", "preamble_lines: 2"]);
        selects("# x\n#a\tb\n1\t2\n# y\n3\t4\n", &named, "1-2", ("1\t2\n# y\n3\t4\n", &["a", "b"]));
        selects("#fields a\tb\n# x\n1\t2\n", &named, "1", ("1\t2\n", &["a", "b"]));
        let commented = layout(Kind::Csv, &["column_count: 2", "rows: 1", "preamble_lines: 1"]);
        selects("# x\na,b\n1,2\n", &commented, "1", ("1,2\n", &["a", "b"]));
        let marked = layout(Kind::Csv, &["column_count: 2", "rows: 2"]);
        selects("a,b\n#1,2\n3,4\n", &marked, "1", ("#1,2\n", &["a", "b"]));
        let unnamed = layout(Kind::Csv, &["column_count: 3", "rows: 1"]);
        selects("a,b\nx,1,2\n", &unnamed, "1", ("x,1,2\n", &["column_1", "a", "b"]));
        let literal = layout(Kind::Tsv, &["column_count: 2", "rows: 2"]);
        selects("a\tb\n\"1\t2\n3\t4\n", &literal, "1", ("\"1\t2\n", &["a", "b"]));
    }
}
