//! Codex: `PostToolUse`. A result is replaced by blocking it, with the stub for a reason; the model sees the
//! reason alone. What a command put out was cut before, to a number of tokens.

use serde_json::json;
use toolstub_session::Replacement;
use toolstub_session::splice::Object;

use super::taken::Taken;

/// How long a text has to be where nothing is said. What a command put out comes cut to about 10,000 characters:
/// the default of all others would never be reached.
pub(super) const THRESHOLD: u64 = 8_000;

/// What stands where something was cut: `…9819 tokens truncated…`.
const CUT: &str = " truncated…";

pub(super) fn take<'a>(fields: &Object<'a>) -> Option<Taken<'a>> {
    let body = fields.given("tool_response")?;
    let mut taken = Taken::new(body);
    // Where a server gives structured content, the model is shown that in place of the text.
    let structured = Object::parse(body).and_then(|result| result.given("structuredContent"));
    match structured {
        Some(structured) => taken.json(body, structured),
        None => taken.mcp(body, body),
    }
    let is_cut = taken.texts.iter().any(|text| is_cut(&text.result.content));
    taken.cut_by = is_cut.then_some("Codex");
    // A reason is text: an image would be lost.
    (!taken.has_more).then_some(taken)
}

pub(super) fn answer(taken: &Taken<'_>, stubs: &[Option<&Replacement>]) -> String {
    json!({"decision": "block", "reason": taken.joined(stubs)}).to_string()
}

fn is_cut(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    text.match_indices(CUT).any(|(at, _)| {
        let before = &text[..at];
        let before = before.strip_suffix(" tokens").or_else(|| before.strip_suffix(" chars"));
        let digits = before.map(|before| before.trim_end_matches(|c: char| c.is_ascii_digit()));
        digits.is_some_and(|rest| rest.ends_with('…') && Some(rest) != before)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_is_known_by_its_mark() {
        assert!(is_cut("begin…9819 tokens truncated…end".as_bytes()));
        assert!(is_cut("begin…12 chars truncated…end".as_bytes()));
        for whole in ["", "… tokens truncated…", "9819 tokens truncated…", "it was truncated…"]
        {
            assert!(!is_cut(whole.as_bytes()), "{whole}");
        }
    }
}
