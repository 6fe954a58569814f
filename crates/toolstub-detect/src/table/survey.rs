//! What is gathered about the rows of a table while they pass.

use std::collections::BTreeMap;

use super::cell::Class;
use super::rows::{Cell, Listener, MAX_CELLS, Row};

/// So many rows from the start are looked at closely, and one in [`STRIDE`] after them.
const CLOSE_ROWS: u64 = 256;
const STRIDE: u64 = 64;
/// More rows than that are never looked at closely.
const MAX_CLOSE_ROWS: u64 = 4096;
/// How many comment lines at the end of the preamble are kept.
const MAX_COMMENTS: usize = 4;
/// More different widths than that make no table.
const MAX_WIDTHS: usize = 4096;
/// One row in so many may have another width than the others.
pub(super) const RAGGED: u64 = 50;

/// Gathers while rows pass.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// More rows than lines there cannot be.
    lines: u64,
    /// How many rows have each width.
    widths: BTreeMap<u64, u64>,
    /// The largest number in `widths`.
    mode_rows: u64,
    /// Rows that are not blank.
    pub(super) rows: u64,
    /// Rows of one cell before the first of several.
    pub(super) lead_rows: u64,
    /// The width of the last row.
    pub(super) last_width: u64,
    /// Comment lines before the first row.
    pub(super) preamble: u64,
    /// Comment lines after it.
    pub(super) late_comments: u64,
    /// The last comment lines of the preamble, and a `#fields` line.
    pub(super) comments: Vec<Vec<u8>>,
    pub(super) fields: Option<Vec<u8>>,
    /// The first two rows of several cells.
    pub(super) first: Vec<Cell>,
    pub(super) first_width: u64,
    pub(super) second: Vec<Cell>,
    /// What was seen in the rows looked at closely, the first one aside.
    pub(super) look: Look,
    close_rows: u64,
    irregular: bool,
}

/// Counts over the rows that were looked at closely, the first one aside.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) columns: Vec<Column>,
    pub(super) rows: u64,
    pub(super) cells: u64,
    pub(super) words: u64,
    /// Delimiters, and those with a space behind them.
    pub(super) delimiters: u64,
    pub(super) spaced: u64,
    pub(super) quoted_cells: u64,
    /// Quoted cells that need their quotes.
    pub(super) needed_quotes: u64,
    /// Rows with a terminal escape.
    pub(super) escapes: u64,
    /// Rows with a cell whose brackets do not pair.
    pub(super) unpaired: u64,
    /// Rows with brackets that pair over several cells.
    pub(super) split_brackets: u64,
    /// Rows that begin like `path:12:`.
    pub(super) located: u64,
    /// Rows whose first delimiter splits a number: `10:00:00,123 INFO`, `1,234 bytes`.
    pub(super) split_numbers: u64,
    /// Those of them where it splits a time.
    pub(super) split_times: u64,
    /// Rows that end in a number which their last delimiter groups: `read 1,234`.
    pub(super) grouped: u64,
    /// Rows that end like a sentence.
    pub(super) sentences: u64,
    /// Rows that end like a statement.
    pub(super) statements: u64,
    /// Rows that begin with a delimiter.
    pub(super) empty_first: u64,
    /// Rows that end in a delimiter.
    pub(super) empty_last: u64,
    /// Rows that end in a delimiter or have a cell whose brackets do not pair.
    pub(super) entries: u64,
    /// Rows with white space before their first cell, and rows whose first cell is quoted.
    pub(super) inset: u64,
    pub(super) quoted_first: u64,
    /// Rows whose first cell goes on counting from that of the row looked at before.
    pub(super) consecutive: u64,
    /// Rows whose first cell is a number set in a field of spaces, as wide as in the first row.
    pub(super) padded: u64,
    /// Rows whose second cell begins with white space or is empty.
    pub(super) indented: u64,
    /// Rows with as many words as the row before.
    pub(super) same_words: u64,
    previous_words: u64,
    /// The number in the first cell of the row looked at before, and where that row stands.
    previous_number: Option<(u64, u64)>,
}

/// Counts over a column.
#[derive(Debug, Default)]
pub(super) struct Column {
    pub(super) filled: u64,
    pub(super) typed: u64,
    pub(super) flags: u64,
    pub(super) stamps: u64,
    pub(super) with_digit: u64,
    /// Cells equal to the first row's.
    pub(super) like_first: u64,
    /// Cells as long as the first row's.
    pub(super) long_as_first: u64,
    /// Cells that begin with the same `key=` or `key:` as the first row's.
    pub(super) keyed: u64,
}

impl Survey {
    pub(super) fn new(lines: u64) -> Self {
        Self { lines, ..Self::default() }
    }

    /// The most frequent width; of several, the smallest.
    pub(super) fn width(&self) -> u64 {
        let mode = self.widths.iter().find(|(_, rows)| **rows == self.mode_rows);
        mode.map_or(0, |(width, _)| *width)
    }

    /// Rows of another width than the most frequent.
    pub(super) fn ragged(&self) -> u64 {
        self.rows - self.mode_rows
    }

    /// Whether the rows that passed are regular enough for a table.
    pub(super) fn is_regular(&self) -> bool {
        !self.irregular && self.rows >= 2 && self.width() >= 2 && {
            self.ragged() * RAGGED <= self.rows
        }
    }

    /// Takes back a row of one cell that turned out to be no row.
    pub(super) fn drop_single(&mut self, count: u64) {
        self.rows -= count;
        if let Some(singles) = self.widths.get_mut(&1) {
            *singles = singles.saturating_sub(count);
        }
    }
}

impl Listener for Survey {
    fn wants_cells(&self) -> bool {
        self.rows < CLOSE_ROWS
            || self.second.is_empty()
            || (self.rows.is_multiple_of(STRIDE) && self.close_rows < MAX_CLOSE_ROWS)
    }

    fn row(&mut self, row: &Row<'_>) -> bool {
        self.rows += 1;
        self.last_width = row.width;
        let same = self.widths.entry(row.width).or_default();
        *same += 1;
        self.mode_rows = self.mode_rows.max(*same);
        if row.width == 1 && self.first.is_empty() {
            self.lead_rows += 1;
        } else if self.first.is_empty() {
            self.first = row.cells.to_vec();
            self.first_width = row.width;
            self.look.previous_number =
                self.first.first().and_then(number).map(|number| (self.rows, number));
            self.look.columns.resize_with(self.first.len(), Column::default);
        } else if !row.cells.is_empty() {
            if self.second.is_empty() && row.width > 1 {
                self.second = row.cells.to_vec();
            }
            self.close_rows += 1;
            self.look.row(row, self.rows, &self.first);
        }
        // Too many rows of other widths already: no rest can make that good.
        if self.rows.is_multiple_of(CLOSE_ROWS)
            && (self.ragged() * RAGGED > self.lines + CLOSE_ROWS || self.widths.len() > MAX_WIDTHS)
        {
            self.irregular = true;
        }
        !self.irregular
    }

    fn comment(&mut self, line: &[u8]) {
        if self.rows > 0 {
            self.late_comments += 1;
            return;
        }
        self.preamble += 1;
        if line.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"#fields")) {
            self.fields = Some(line.to_vec());
        }
        if self.comments.len() == MAX_COMMENTS {
            self.comments.remove(0);
        }
        self.comments.push(line.to_vec());
    }
}

impl Look {
    /// Looks at the row that is the `place`th.
    fn row(&mut self, row: &Row<'_>, place: u64, first: &[Cell]) {
        self.rows += 1;
        let cells = row.cells;
        let mut words = 0;
        let (mut escape, mut unpaired) = (false, false);
        let mut brackets = Brackets::default();
        let mut across = [false; 3];
        for (index, cell) in cells.iter().enumerate() {
            let text = &cell.text[..];
            self.cells += 1;
            words +=
                text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count() as u64;
            escape |= text.contains(&0x1b);
            if !cell.quoted && text.len() < 400 {
                let open = Brackets::of(text);
                unpaired |= open != Brackets::default();
                brackets.add(&open, &mut across);
            }
            if index > 0 {
                self.delimiters += 1;
                self.spaced += u64::from(text.first() == Some(&b' '));
            }
            if cell.quoted {
                self.quoted_cells += 1;
                self.needed_quotes +=
                    u64::from(text.iter().any(|b| matches!(b, b',' | b';' | b'\t' | b'\n' | b'"')));
            }
            if let (Some(column), Some(head)) = (self.columns.get_mut(index), first.get(index)) {
                column.cell(text, &head.text);
            }
        }
        self.words += words;
        self.escapes += u64::from(escape);
        self.unpaired += u64::from(unpaired);
        self.split_brackets += u64::from(across != [false; 3]);
        self.same_words += u64::from(words == self.previous_words);
        self.previous_words = words;
        let [head, .., last] = cells else { return };
        let whole = row.width <= MAX_CELLS as u64;
        let end = last.text.trim_ascii_end().last().copied().filter(|_| whole && !last.quoted);
        self.sentences += u64::from(matches!(end, Some(b'.' | b'!' | b'?')));
        self.statements += u64::from(matches!(end, Some(b';' | b'{' | b'(' | b'\\')));
        self.empty_first += u64::from(head.text.trim_ascii().is_empty());
        let is_open = whole && !last.quoted && last.text.trim_ascii().is_empty();
        self.empty_last += u64::from(is_open);
        self.entries += u64::from(is_open || unpaired);
        self.inset += u64::from(head.text.first().is_some_and(u8::is_ascii_whitespace));
        self.quoted_first += u64::from(is_quoted(head));
        self.located += u64::from(is_located(&head.text));
        let split = splits_number(&head.text, &cells[1].text);
        self.split_numbers += u64::from(split);
        self.grouped += u64::from(ends_in_grouped(&cells[cells.len() - 2].text, &last.text));
        self.split_times += u64::from(split && memchr::memchr_iter(b':', &head.text).count() >= 2);
        self.indented += u64::from(cells[1].text.first().is_none_or(u8::is_ascii_whitespace));
        self.numbered(head, place, first);
    }

    /// Looks at the number in the first cell of the row that is the `place`th.
    fn numbered(&mut self, head: &Cell, place: u64, first: &[Cell]) {
        let number = number(head);
        if let Some(number) = number {
            let in_field = first.first().is_some_and(|first| is_in_field(head, first));
            self.padded += u64::from(in_field || head.text.first() == Some(&b' '));
            let goes_on = self.previous_number.is_some_and(|(before, previous)| {
                // The headings of pages are rows that have no number; blank lines are no rows, but
                // may have one.
                let rows = place - before;
                let step = number.saturating_sub(previous);
                (rows - rows / 8..=rows * 2).contains(&step)
            });
            self.consecutive += u64::from(goes_on);
        }
        self.previous_number = number.map(|number| (place, number));
    }
}

impl Column {
    fn cell(&mut self, text: &[u8], first: &[u8]) {
        let (text, first) = (text.trim_ascii(), first.trim_ascii());
        if text.is_empty() {
            return;
        }
        self.filled += 1;
        let class = Class::of(text);
        self.typed += u64::from(class.is_typed());
        self.flags += u64::from(class == Class::Flag);
        self.stamps += u64::from(class == Class::Stamp);
        self.with_digit += u64::from(text.iter().any(u8::is_ascii_digit));
        self.like_first += u64::from(text == first);
        self.long_as_first += u64::from(text.len() == first.len());
        let keyed = key(text).is_some_and(|key| Some(key) == self::key(first));
        self.keyed += u64::from(keyed && class != Class::Stamp);
    }
}

/// The number in a cell that holds nothing else.
fn number(cell: &Cell) -> Option<u64> {
    std::str::from_utf8(cell.text.trim_ascii()).ok()?.parse().ok()
}

/// Whether a cell stands in quotes, of which those of a source may be single.
pub(super) fn is_quoted(cell: &Cell) -> bool {
    cell.quoted || matches!(cell.text.trim_ascii().first(), Some(b'"' | b'\'' | b'`'))
}

/// Whether a number stands in a field of at least the width that `first` is filled up to.
fn is_in_field(cell: &Cell, first: &Cell) -> bool {
    let filled = first.text.trim_ascii().len() < first.text.len();
    filled && cell.text.len() >= first.text.len()
}

/// The key of `key=value` or `key: value`.
fn key(cell: &[u8]) -> Option<&[u8]> {
    let length = cell
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' '));
    let length = length.count();
    let separated = match cell.get(length)? {
        b'=' => true,
        b':' => !matches!(cell.get(length + 1), Some(b'/' | b'\\')),
        _ => false,
    };
    (separated && cell[0].is_ascii_alphabetic()).then_some(&cell[..length])
}

/// How many brackets of each kind are open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Brackets([i32; 3]);

impl Brackets {
    /// What a cell leaves open, or closes; an interval that is half open does neither.
    fn of(cell: &[u8]) -> Self {
        let mut open = [0_i32; 3];
        let mut count = 0;
        for byte in cell {
            let (kind, step) = match byte {
                b'(' => (0, 1),
                b')' => (0, -1),
                b'[' => (1, 1),
                b']' => (1, -1),
                b'{' => (2, 1),
                b'}' => (2, -1),
                _ => continue,
            };
            open[kind] += step;
            count += 1;
        }
        let interval =
            matches!(cell.trim_ascii(), [b'[', .., b')'] | [b'(', .., b']']) && count == 2;
        Self(if interval { [0; 3] } else { open })
    }

    /// Goes on behind a cell; notes in `across` which kinds an earlier cell opened and it closed.
    fn add(&mut self, cell: &Self, across: &mut [bool; 3]) {
        for ((open, step), across) in self.0.iter_mut().zip(cell.0).zip(across) {
            *across |= *open > 0 && step < 0;
            *open = (*open + step).max(0);
        }
    }
}

/// Whether a cell begins like the location that grep or a compiler prints: `path:12:`; a time that
/// stands alone does not.
pub(super) fn is_located(cell: &[u8]) -> bool {
    let mut parts = cell.splitn(3, |&b| b == b':');
    let (Some(path), Some(line), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_path = !path.is_empty() && !path.iter().any(u8::is_ascii_whitespace);
    let numeric_path = path.iter().all(u8::is_ascii_digit);
    let is_line = !line.is_empty() && line.iter().all(u8::is_ascii_digit);
    is_path && !numeric_path && is_line && Class::of(cell) != Class::Stamp
}

/// Whether the delimiter between two cells groups the digits of a number behind words.
fn ends_in_grouped(left: &[u8], right: &[u8]) -> bool {
    let digits = left.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let before = left[..left.len() - digits].last();
    (1..=3).contains(&digits)
        && before == Some(&b' ')
        && right.len() == 3
        && right.iter().all(u8::is_ascii_digit)
}

/// Whether the delimiter between two cells stands inside a number, with words after it.
fn splits_number(left: &[u8], right: &[u8]) -> bool {
    let digits = right.iter().take_while(|b| b.is_ascii_digit()).count();
    left.last().is_some_and(u8::is_ascii_digit)
        && digits == 3
        && right.len() > 3
        && !right[3..].trim_ascii().is_empty()
}
