//! What is said of source code.

use toolstub_core::text::clean;
use toolstub_detect::census::Census;
use toolstub_detect::code::Code;

use crate::draft::{Draft, Items, Line, List};

/// The longest module name, in characters.
const MAX_IMPORT: usize = 180;
/// The longest head of a declaration, in characters.
const MAX_SYMBOL: usize = 200;

pub(crate) fn draft(code: &Code, census: &Census) -> Draft {
    let lines = census.lines;
    let mut structure: Vec<Line> = vec![format!("line_count: {lines}").into()];
    if !code.imports.is_empty() {
        let imports = code.imports.iter().map(|module| clean(module, MAX_IMPORT)).collect();
        structure.push(Line::List(List::new("imports", imports, code.import_count)));
    }
    let symbol = |head: &String| -> Line { clean(head, MAX_SYMBOL).into() };
    Draft {
        title: format!("{} source code", code.language),
        summary: vec![format!("{lines} lines of {}", code.language).into()],
        structure,
        notable: Items::new(code.symbols.iter().map(symbol).collect(), code.symbol_count),
        ..Draft::default()
    }
}
