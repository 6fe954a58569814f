//! What is said of CSV and TSV.

use toolstub_core::text::clean;
use toolstub_detect::table::{Delimiter, Table};

use crate::draft::{Draft, Line, List, name};

/// The longest sample of the first row, in characters.
const MAX_ROW: usize = 180;

pub(crate) fn draft(table: &Table) -> Draft {
    let Table { rows, column_count, .. } = table;
    let columns: Vec<_> = table.columns.iter().enumerate().map(column).collect();
    let mut structure: Vec<Line> = vec![
        Line::List(List::new("columns", columns, *column_count)),
        format!("column_count: {column_count}").into(),
        format!("rows: {rows}").into(),
    ];
    if !table.first_row.is_empty() {
        let cells: Vec<_> = table.first_row.iter().map(|cell| clean(cell, MAX_ROW)).collect();
        structure.push(format!("first row sample: {}", clean(&cells.join(", "), MAX_ROW)).into());
    }
    if !table.header {
        structure.push("header: none".into());
    }
    if table.delimiter == Delimiter::Semicolon {
        structure.push("delimiter: ;".into());
    }
    if table.preamble_lines > 0 {
        structure.push(format!("preamble_lines: {}", table.preamble_lines).into());
    }
    if table.ragged_rows > 0 {
        structure.push(format!("ragged_rows: {}", table.ragged_rows).into());
    }
    let title = if table.delimiter == Delimiter::Tab { "TSV table" } else { "CSV table" };
    Draft {
        title: title.to_owned(),
        summary: vec![format!("{rows} data rows, {column_count} columns").into()],
        structure,
        ..Draft::default()
    }
}

fn column((index, raw): (usize, &String)) -> String {
    let name = name(raw);
    if name.is_empty() { format!("column_{}", index + 1) } else { name }
}
