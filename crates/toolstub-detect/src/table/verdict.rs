//! Whether regular rows are a table, and whether the first of them is its header.

use super::Delimiter;
use super::cell::Class;
use super::rows::Cell;
use super::survey::{Column, Look, Survey, is_located, is_quoted};

/// What commas and semicolons must score to be taken for delimiters.
const ENOUGH: i32 = 3;
/// So many values in a column are not typed by chance.
const MANY_VALUES: u64 = 8;

/// Whether regular rows look like a table: prose and logs can be regular, too.
pub(super) fn is_table(survey: &Survey, delimiter: Delimiter) -> bool {
    let look = &survey.look;
    if look.rows == 0 {
        return false;
    }
    let width = survey.width();
    if is_something_else(survey, width, delimiter) {
        return false;
    }
    if delimiter == Delimiter::Tab {
        return true;
    }
    score(survey, width, delimiter) >= ENOUGH
}

/// Whether at least `percent` of the rows show a sign.
fn most(look: &Look, rows: u64, percent: u64) -> bool {
    rows * 100 >= look.rows * percent
}

/// Regular texts that are no tables, each with the sign that gives it away.
fn is_something_else(survey: &Survey, width: u64, delimiter: Delimiter) -> bool {
    let look = &survey.look;
    let numbered = survey.first.first().is_some_and(|cell| Class::of(&cell.text) == Class::Number);
    let indented = delimiter == Delimiter::Tab && width == 2 && most(look, look.indented, 10);
    let columns = &look.columns[..look.columns.len().min(width as usize)];
    let alone = delimiter == Delimiter::Tab
        || width == 2 && columns.get(1).is_some_and(|text| !text.is_typed());
    let padded = alone && most(look, look.padded, 50);
    let listing = numbered && most(look, look.consecutive, 90) && (padded || indented);
    let keyed = columns.iter().filter(|column| most(look, column.keyed, 90)).count();
    let tight = look.spaced * 10 <= look.delimiters;
    let coloured = most(look, look.escapes, 10);
    let named = tight && has_header(&survey.first, columns);
    let split = most(look, look.split_brackets, 30) || most(look, look.unpaired, 30) && !named;
    // A table of such places has a header that is none.
    let headed = tight && !survey.first.first().is_some_and(|cell| is_located(&cell.text));
    let hits = most(look, look.located, 80) && !headed;
    let numbers = width == 2 && most(look, look.split_numbers + look.grouped, 80)
        || most(look, look.split_times, 80);
    let values = named && columns.iter().any(Column::is_typed);
    let statements =
        delimiter != Delimiter::Semicolon && most(look, look.statements, 50) && !values;
    let list = is_list(survey, width, delimiter);
    // Where lines are indented, it is numbers that are set in columns, or a header stands above.
    let block = delimiter != Delimiter::Tab
        && most(look, look.inset, 50)
        && !columns.first().is_some_and(Column::is_typed)
        && !has_header(&survey.first, columns);
    let pairs = keyed * 2 >= columns.len();
    listing || pairs || coloured || split || hits || numbers || statements || list || block
}

/// Whether the rows are the entries of a list in a source: each with a delimiter behind it, or one
/// before it, and nothing that makes a table of them.
fn is_list(survey: &Survey, width: u64, delimiter: Delimiter) -> bool {
    let look = &survey.look;
    let columns = &look.columns[..look.columns.len().min(width as usize)];
    let leading = most(look, look.empty_first, 90);
    let trailing = most(look, look.empty_last, 90)
        || width == 2 && most(look, look.empty_last, 30) && most(look, look.entries, 90);
    if !leading && !trailing {
        return false;
    }
    if leading && survey.first.first().is_some_and(|cell| cell.text.trim_ascii().is_empty()) {
        return true;
    }
    let inset = most(look, look.inset, 50);
    let spaced = look.spaced * 10 >= look.delimiters * 5;
    if delimiter != Delimiter::Tab && trailing && (inset || spaced) {
        return true;
    }
    let [head, .., last] = &survey.first[..] else { return true };
    let is_named = has_header(&survey.first, columns);
    if width > 2 {
        // Some writers end each row with a delimiter.
        let values = columns.iter().any(Column::is_typed) && delimiter != Delimiter::Semicolon;
        return !is_named && (leading || !values);
    }
    // A table of one column that has values is one if its header says so.
    let alike = is_quoted(head) == most(look, look.quoted_first, 50);
    let begins = survey.first_width == width && survey.ragged() == 0 && survey.lead_rows == 0;
    let spaced_head = last.text.first() == Some(&b' ');
    !is_named || !alike || !begins || spaced_head || last.text.trim_ascii().is_empty()
}

/// How much rows look like a table, from what their cells are and how they are set.
fn score(survey: &Survey, width: u64, delimiter: Delimiter) -> i32 {
    let look = &survey.look;
    let columns = &look.columns[..look.columns.len().min(width as usize)];
    let typed = columns.iter().filter(|column| column.is_typed()).count();
    let all_typed = typed > 0 && typed as u64 == width;
    let spaced = look.spaced * 10 >= look.delimiters * 9;
    let tight = look.spaced * 10 <= look.delimiters;
    let quoted = look.needed_quotes > 0 || look.quoted_cells * 10 >= look.cells * 3;
    let words = look.words / look.cells.max(1);
    let listing =
        width == 2 && look.words >= look.rows * (width + 2) && most(look, look.same_words + 1, 98);
    let mut score = 0;
    let mut weigh = |sign: bool, weight: i32| score += if sign { weight } else { 0 };
    weigh(typed > 0, if spaced { 2 } else { 3 });
    weigh(all_typed, 2);
    weigh(quoted, 3);
    weigh(tight, 2);
    weigh(spaced && !all_typed, -2);
    weigh(width == 3, 1);
    weigh(width >= 4, 2);
    weigh(has_header(&survey.first, columns), 2);
    weigh(tight && survey.rows >= 10 && words <= 1, 1);
    // Without a space behind the delimiter, neither words in quotes are prose, nor such as stand
    // beside a column of values and a semicolon.
    let values = delimiter == Delimiter::Semicolon && typed > 0;
    let prose = !(tight && (quoted || values));
    weigh(prose && words > 3, -2);
    weigh(prose && words > 6, -3);
    weigh(most(look, look.sentences, 30), -3);
    weigh(listing && !(tight && typed > 0), -4);
    score
}

impl Column {
    /// Whether the column holds values rather than words.
    fn is_typed(&self) -> bool {
        self.filled > 0 && self.typed * 10 >= self.filled * 8
    }
}

/// Whether the first row names the columns that follow.
pub(super) fn has_header(first: &[Cell], columns: &[Column]) -> bool {
    let years = are_years(first);
    let votes: i32 =
        first.iter().zip(columns).map(|(cell, column)| vote(&cell.text, column, years)).sum();
    votes > 0
}

/// What one column says: above zero that the first cell names it, below that it is a value.
fn vote(first: &[u8], column: &Column, years: bool) -> i32 {
    let first = first.trim_ascii();
    let class = Class::of(first);
    if class == Class::Empty {
        return -1;
    }
    // A flag among other values is a name: `no`, `na`, `f`.
    if class.is_typed() && (class != Class::Flag || column.flags * 10 >= column.filled * 8) {
        return match () {
            () if years && class == Class::Number => 1,
            // A date over numbers names a time series' column.
            () if class == Class::Stamp && column.is_typed() && column.stamps == 0 => 8,
            () if column.is_typed() => -8,
            () => -4,
        };
    }
    if column.filled == 0 {
        return 1;
    }
    if column.is_typed() {
        // Words over many values without an exception are no value: that decides a tie.
        let only_values = column.typed == column.filled && column.filled >= MANY_VALUES;
        let decides = only_values && !class.is_typed();
        return if decides { 9 } else { 8 };
    }
    if column.like_first > 0 {
        return -6;
    }
    let has_digit = first.iter().any(u8::is_ascii_digit);
    let words = first.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    let plain = first.len() <= 40
        && words <= 4
        && !first.iter().any(|b| matches!(b, b'/' | b'\\' | b'@' | b'=' | b'<' | b'{'));
    let mut vote = if plain { 2 } else { -2 };
    if column.with_digit * 10 >= column.filled * 8 {
        vote += if has_digit { -2 } else { 4 };
    }
    if first.len() >= 6 && column.long_as_first * 10 >= column.filled * 9 {
        vote -= 4;
    }
    vote
}

/// Whether the numbers in the first row are consecutive years, as headings of a time series are.
fn are_years(first: &[Cell]) -> bool {
    let number =
        |cell: &Cell| std::str::from_utf8(cell.text.trim_ascii()).ok()?.parse::<u32>().ok();
    let years: Vec<u32> = first.iter().filter_map(number).collect();
    years.len() >= 2
        && years.iter().all(|year| (1000..=2999).contains(year))
        && years.windows(2).all(|pair| pair[0] + 1 == pair[1])
}
