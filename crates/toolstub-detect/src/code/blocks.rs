//! The blocks that are open at a place in a source.

/// How many open blocks are told apart; deeper ones are only counted.
pub(super) const DEPTH: usize = 64;

/// What stands between the braces that a statement opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    /// Code, which is not looked into.
    Body,
    /// Members of a type.
    Type,
    /// More of the same level: a namespace.
    Through,
    /// A part of the statement, which goes on behind it.
    Group,
    /// A nameless or named type whose further name stands behind the braces.
    Named,
    /// The code inside a template literal.
    Template,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    opens: Opens,
    /// The open parentheses around the block.
    parens: u16,
}

/// The open blocks, outermost first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks {
    stack: [Block; DEPTH],
    pub(super) depth: usize,
    /// How many of them hide what is inside.
    pub(super) hiding: usize,
    /// How many are types.
    pub(super) types: usize,
    /// The open parentheses in the innermost one.
    pub(super) parens: u16,
}

impl Blocks {
    pub(super) fn new() -> Self {
        let empty = Block { opens: Opens::Body, parens: 0 };
        Self { stack: [empty; DEPTH], depth: 0, hiding: 0, types: 0, parens: 0 }
    }

    pub(super) fn push(&mut self, opens: Opens) {
        if let Some(slot) = self.stack.get_mut(self.depth) {
            *slot = Block { opens, parens: self.parens };
        }
        self.depth += 1;
        self.parens = 0;
        match opens {
            Opens::Type if self.depth <= DEPTH => self.types += 1,
            Opens::Through if self.depth <= DEPTH => {}
            _ => self.hiding += 1,
        }
    }

    pub(super) fn pop(&mut self) -> Option<Opens> {
        self.depth = self.depth.checked_sub(1)?;
        let Block { opens, parens } =
            self.stack.get(self.depth).copied().unwrap_or(Block { opens: Opens::Body, parens: 0 });
        match opens {
            Opens::Type => self.types -= 1,
            Opens::Through => {}
            _ => self.hiding -= 1,
        }
        self.parens = parens;
        Some(opens)
    }
}
