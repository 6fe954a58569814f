//! What a turn is held to.

use serde_json::{Value, json};

use super::Held;
use crate::cases::operations::turn::{Turned, TurnedPart};

/// The words that a turn is held to.
const WORDS: [&str; 13] = [
    "parts",
    "externalized_count",
    "total_after_max",
    "no_part_grows",
    "inline_unchanged",
    "inline",
    "original_chars",
    "no_ref",
    "error_recorded",
    "stub_says_not_retrievable",
    "earlier_parts_unchanged",
    "all_parts_unchanged",
    "list_count",
];

pub(super) fn is_known(word: &str) -> bool {
    WORDS.contains(&word)
}

pub(super) fn hold(word: &str, wanted: &Value, turned: &Turned) -> Held {
    let parts = &turned.parts;
    let chars = |text: &str| text.chars().count();
    let flag = |holds: bool, otherwise: &str| match wanted {
        Value::Bool(true) => Held::when(holds, || otherwise.to_owned()),
        _ => Held::No(format!("`{word}` is {wanted}, not true")),
    };
    match word {
        "parts" => each(wanted, parts, |part, wanted| {
            let state = part.state();
            let states = wanted.get("any_of").and_then(Value::as_array);
            let fits = |wanted: &Value| match wanted.as_str() {
                Some("inline" | "externalized" | "source_read") => Some(wanted == state),
                _ => None,
            };
            let one = std::slice::from_ref(wanted);
            let held: Option<Vec<bool>> =
                states.map_or(one, Vec::as_slice).iter().map(fits).collect();
            match held {
                Some(held) => Held::when(held.contains(&true), || {
                    format!("{} is {state}, not {wanted}", part.name)
                }),
                None => Held::No(format!("unknown state {wanted}")),
            }
        }),
        "externalized_count" => {
            let count = parts.iter().filter(|part| part.state() != "inline").count();
            Held::same(word, wanted, &json!(count))
        }
        "total_after_max" => {
            let total: usize = parts.iter().map(|part| chars(&part.after)).sum();
            match wanted.as_u64() {
                Some(most) => Held::when(total as u64 <= most, || {
                    format!("{total} characters stand in the turn, more than {most}")
                }),
                None => Held::No(format!("`{word}` is not a number")),
            }
        }
        "no_part_grows" => {
            flag(parts.iter().all(|p| chars(&p.after) <= chars(&p.before)), "a part grew")
        }
        "inline_unchanged" => {
            let mut inline = parts.iter().filter(|part| part.state() == "inline");
            flag(inline.all(|part| part.after == part.before), "an inline part changed")
        }
        "inline" => {
            let Some(names) = wanted.as_array() else {
                return Held::No("`inline` is not a list".to_owned());
            };
            let out = names.iter().find(|name| {
                !parts.iter().any(|part| **name == json!(part.name) && part.state() == "inline")
            });
            Held::when(out.is_none(), || format!("not inline: {}", out.unwrap_or(&Value::Null)))
        }
        "original_chars" => each(wanted, parts, |part, wanted| {
            let field = part.fields.get("tool_output_original_chars");
            let line = format!("\noriginal_chars: {wanted}\n");
            Held::when(field == Some(wanted) && part.after.contains(&line), || {
                format!("{} does not state {wanted} characters", part.name)
            })
        }),
        "no_ref" => {
            let none = |part: &TurnedPart| {
                part.text("tool_output_ref").is_empty() && !part.after.contains("toolstub://")
            };
            flag(parts.iter().all(none), "there is a ref")
        }
        "error_recorded" => {
            let recorded = |p: &TurnedPart| !p.text("tool_output_externalization_error").is_empty();
            flag(parts.iter().any(recorded), "no error is recorded")
        }
        "stub_says_not_retrievable" => {
            let says = |part: &TurnedPart| part.after.contains("cannot be retrieved");
            let mut stubs = parts.iter().filter(|part| part.state() != "inline").peekable();
            let any = stubs.peek().is_some();
            flag(any && stubs.all(says), "a stub does not say that its original is gone")
        }
        "earlier_parts_unchanged" => {
            let Some(names) = wanted.as_array() else {
                return Held::No(format!("`{word}` is not a list"));
            };
            let changed = names.iter().find(|name| {
                let texts = name.as_str().and_then(|name| turned.texts.get(name));
                texts.is_none_or(|(before, after)| before != after)
            });
            Held::when(changed.is_none(), || format!("changed: {}", changed.unwrap_or(&json!(""))))
        }
        "all_parts_unchanged" => {
            let same = turned.texts.values().all(|(before, after)| before == after);
            flag(same, "a part changed")
        }
        "list_count" => Held::same(word, wanted, &json!(turned.stored)),
        _ => Held::Unknown,
    }
}

/// Whether one of the outcomes of a turn holds; `None` where it is not known.
pub(super) fn outcome(word: &str, turned: &Turned) -> Option<bool> {
    let all = |holds: fn(&TurnedPart) -> bool| Some(turned.parts.iter().all(holds));
    match word {
        "externalized_and_readable" => {
            all(|part| part.state() != "inline" && matches!(part.readable, Some(Ok(true))))
        }
        "inline_unchanged" => all(|part| part.state() == "inline" && part.after == part.before),
        _ => None,
    }
}

/// Holds the parts that an object names to what it says of each.
fn each(
    wanted: &Value,
    parts: &[TurnedPart],
    mut check: impl FnMut(&TurnedPart, &Value) -> Held,
) -> Held {
    let Some(wanted) = wanted.as_object() else {
        return Held::No("the expectation is not an object".to_owned());
    };
    for (name, wanted) in wanted {
        let Some(part) = parts.iter().find(|part| part.name == *name) else {
            return Held::No(format!("the turn has no part {name}"));
        };
        match check(part, wanted) {
            Held::Yes => {}
            held => return held,
        }
    }
    Held::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn holds(word: &str, wanted: &Value, expected: bool) {
        let part = |name: &str, fields: Value, after: &str| TurnedPart {
            name: name.to_owned(),
            before: "x".repeat(100),
            after: after.to_owned(),
            fields,
            readable: None,
        };
        let stub = json!({"tool_output_truncated": true, "tool_output_ref": "toolstub://x"});
        let texts = [("z".to_owned(), ("t".to_owned(), "t".to_owned()))];
        let turned = Turned {
            parts: vec![part("a", stub, "stub"), part("b", json!({}), &"x".repeat(100))],
            texts: texts.into_iter().collect(),
            stored: 1,
        };
        assert_eq!(matches!(hold(word, wanted, &turned), Held::Yes), expected, "{word}");
    }

    #[test]
    fn parts_are_held_to_their_states() {
        holds("parts", &json!({"a": "externalized", "b": {"any_of": ["inline"]}}), true);
        holds("parts", &json!({"a": "inline"}), false);
        holds("parts", &json!({"c": "inline"}), false);
        holds("parts", &json!({"a": "gone"}), false);
        holds("inline", &json!(["b"]), true);
        holds("inline", &json!(["a"]), false);
    }

    #[test]
    fn turn_is_held_to_its_sums() {
        holds("externalized_count", &json!(1), true);
        holds("total_after_max", &json!(103), false);
        holds("total_after_max", &json!(104), true);
        holds("no_ref", &json!(true), false);
        holds("earlier_parts_unchanged", &json!(["z"]), true);
        holds("earlier_parts_unchanged", &json!(["y"]), false);
        holds("list_count", &json!(2), false);
    }
}
