//! Source code: its language, imports and top-level symbols.

use crate::census::Census;

/// The evidence of source code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The language that fits best, in lower case (`rust`, `c`, `csharp`, `makefile`).
    pub language: &'static str,
    /// Modules imported, as the language writes them, each once, in source order; the first 12.
    pub imports: Vec<String>,
    /// How many different modules are imported.
    pub import_count: u64,
    /// Heads of top-level declarations up to their names, in source order; the first 24.
    pub symbols: Vec<String>,
    /// How many such heads there are.
    pub symbol_count: u64,
}

pub(crate) fn scan(_content: &[u8], _census: &Census) -> Option<Code> {
    None
}
