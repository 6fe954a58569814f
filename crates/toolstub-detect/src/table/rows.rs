//! Splitting delimited text into rows and cells, in pieces, without keeping either.

use memchr::{memchr, memchr2};

/// How much of a cell is kept, in bytes: more than is ever shown.
pub(super) const MAX_CELL: usize = 800;
/// How many cells of a row are kept.
pub(super) const MAX_CELLS: usize = 64;
/// How much of a comment or of a one-cell line is kept, in bytes.
const MAX_LINE: usize = 16_384;

/// How text is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    /// Whether a quote at the start of a cell encloses it.
    pub(super) quotes: bool,
    /// Whether leading lines that begin with `#` are comments.
    pub(super) comments: bool,
}

/// A cell of a kept row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// The start of what stands between the delimiters, without enclosing quotes.
    pub(super) text: Vec<u8>,
    pub(super) quoted: bool,
}

/// A row that is complete.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// The number of cells.
    pub(super) width: u64,
    /// The first cells, if the listener wanted them.
    pub(super) cells: &'a [Cell],
}

/// Who is told of rows.
pub(super) trait Listener {
    /// Whether the cells of the next row are wanted.
    fn wants_cells(&self) -> bool;
    /// A row that is not blank; false ends the run.
    fn row(&mut self, row: &Row<'_>) -> bool;
    /// A comment line, from its `#` on.
    fn comment(&mut self, line: &[u8]);
}

/// Where in a row the scanner stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a line: a comment or the first cell.
    LineStart,
    /// In a comment.
    Comment,
    /// At the start of a cell; white space before a quote does not count.
    CellStart,
    /// In a cell that is not quoted, or behind its closing quote.
    Plain,
    /// Between quotes.
    Quoted,
    /// Behind a quote that ends a quoted cell or stands for one.
    Quote,
}

/// The scanner.
#[derive(Debug)]
pub(super) struct Rows {
    dialect: Dialect,
    state: State,
    width: u64,
    /// Whether nothing but white space stood in the row so far.
    blank: bool,
    /// Whether cells of this row are kept.
    keep: bool,
    cells: Vec<Cell>,
    used: usize,
    comment: Vec<u8>,
}

impl Rows {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            state: State::LineStart,
            width: 0,
            blank: true,
            keep: false,
            cells: Vec::new(),
            used: 0,
            comment: Vec::new(),
        }
    }

    /// Takes the next piece; false if the listener has heard enough.
    pub(super) fn feed(&mut self, piece: &[u8], listener: &mut impl Listener) -> bool {
        let Dialect { delimiter, quotes, comments } = self.dialect;
        let mut i = 0;
        while i < piece.len() {
            let rest = &piece[i..];
            match self.state {
                State::LineStart => {
                    self.keep = listener.wants_cells();
                    self.used = 0;
                    self.width = 0;
                    self.blank = true;
                    if rest[0] == b'#' && comments {
                        self.comment.clear();
                        self.state = State::Comment;
                    } else {
                        self.begin_cell();
                    }
                }
                State::Comment => {
                    let end = memchr(b'\n', rest);
                    let line = &rest[..end.unwrap_or(rest.len())];
                    let room = MAX_LINE.saturating_sub(self.comment.len());
                    self.comment.extend_from_slice(&line[..line.len().min(room)]);
                    i += line.len();
                    if end.is_some() {
                        i += 1;
                        listener.comment(&self.comment);
                        self.state = State::LineStart;
                    }
                }
                State::CellStart => match rest[0] {
                    b'"' if quotes => {
                        self.blank = false;
                        if self.keep
                            && let Some(cell) = self.cell()
                        {
                            cell.text.clear();
                            cell.quoted = true;
                        }
                        self.state = State::Quoted;
                        i += 1;
                    }
                    b' ' if quotes => {
                        self.push(b" ");
                        i += 1;
                    }
                    _ => self.state = State::Plain,
                },
                State::Plain => {
                    let end = memchr2(delimiter, b'\n', rest);
                    let text = &rest[..end.unwrap_or(rest.len())];
                    if self.keep {
                        self.push(text);
                    }
                    if self.blank && !text.iter().all(u8::is_ascii_whitespace) {
                        self.blank = false;
                    }
                    i += text.len();
                    let Some(_) = end else { break };
                    i += 1;
                    self.width += 1;
                    if rest[text.len()] == delimiter {
                        self.begin_cell();
                    } else {
                        self.state = State::LineStart;
                        if !self.end_row(listener) {
                            return false;
                        }
                    }
                }
                State::Quoted => {
                    let end = memchr(b'"', rest);
                    let text = &rest[..end.unwrap_or(rest.len())];
                    if self.keep {
                        self.push(text);
                    }
                    i += text.len();
                    if end.is_some() {
                        i += 1;
                        self.state = State::Quote;
                    }
                }
                State::Quote => {
                    if rest[0] == b'"' {
                        self.push(b"\"");
                        self.state = State::Quoted;
                        i += 1;
                    } else {
                        self.state = State::Plain;
                    }
                }
            }
        }
        true
    }

    /// Ends the text; true if it does not end inside quotes.
    pub(super) fn finish(mut self, listener: &mut impl Listener) -> bool {
        match self.state {
            State::LineStart => return true,
            State::Comment => listener.comment(&self.comment),
            State::CellStart | State::Plain | State::Quoted | State::Quote => {
                self.width += 1;
                self.end_row(listener);
            }
        }
        self.state != State::Quoted
    }

    fn begin_cell(&mut self) {
        self.state = State::CellStart;
        let index = self.width as usize;
        if self.keep && index < MAX_CELLS {
            if index == self.cells.len() {
                self.cells.push(Cell::default());
            }
            self.cells[index].text.clear();
            self.cells[index].quoted = false;
            self.used = index + 1;
        }
    }

    /// The cell at hand, if it is kept.
    fn cell(&mut self) -> Option<&mut Cell> {
        let index = self.width as usize;
        (index < self.used).then(|| &mut self.cells[index])
    }

    fn push(&mut self, text: &[u8]) {
        if !self.keep {
            return;
        }
        if let Some(cell) = self.cell() {
            // One byte more tells that the cell is longer.
            let room = (MAX_CELL + 1).saturating_sub(cell.text.len());
            cell.text.extend_from_slice(&text[..text.len().min(room)]);
        }
    }

    fn end_row(&mut self, listener: &mut impl Listener) -> bool {
        // A line of tabs is white space; a line of commas is a row without values.
        if self.blank && (self.width == 1 || self.dialect.delimiter == b'\t') {
            return true;
        }
        let cells = &mut self.cells[..self.used];
        if let Some(last) = cells.last_mut()
            && last.text.last() == Some(&b'\r')
        {
            last.text.pop();
        }
        listener.row(&Row { width: self.width, cells })
    }
}
