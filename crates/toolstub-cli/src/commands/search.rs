//! `toolstub search`: where a text stands in an original.

use std::fmt::Write as _;

use toolstub_core::text::sample_head;
use toolstub_store::{SearchMode, SearchRequest, Searched};

use super::Outcome;
use crate::args::Search;
use crate::context::{Context, block_on};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Search, context: &Context) -> Result<Outcome, Failure> {
    let (store, reference) = context.target(&args.target)?;
    let request = SearchRequest {
        mode: if args.regex { SearchMode::Regex } else { SearchMode::Literal },
        count: args.count,
        ignore_case: args.ignore_case,
        offset: args.offset,
        limit: args.limit,
        context_chars: args.context_chars,
        ..SearchRequest::new(args.query.as_str())
    };
    let found = block_on(async { Ok(store.search(&reference, &request).await?) })?;
    if context.json {
        output::write_json(&found)?;
    } else {
        output::write(shown(&found).as_bytes())?;
        if found.has_more {
            output::remark(&format!("there is more; go on with --offset {}", found.next_offset));
        } else if !found.complete {
            output::remark(
                "the pattern prefers longer matches than are looked for; some may have been missed",
            );
        }
    }
    Ok(if found.matches.is_empty() { Outcome::Nothing } else { Outcome::Done })
}

/// What was found, as a terminal shows it.
pub(super) fn shown(found: &Searched) -> String {
    let mut text = String::new();
    if let Some(total) = found.total_matches {
        let at_least = if found.complete { "" } else { "at least " };
        let what = if total == 1 { "match" } else { "matches" };
        let _ = writeln!(text, "{at_least}{total} {what}");
    }
    for found in &found.matches {
        let _ = writeln!(text, "line {}, offset {}:", found.line, found.offset);
        // A snippet is content: nothing in it may move the terminal's cursor.
        let snippet = sample_head(found.snippet.as_bytes(), usize::MAX).shown;
        for line in snippet.strip_suffix('\n').unwrap_or(&snippet).split('\n') {
            let _ = writeln!(text, "| {line}");
        }
    }
    text
}
