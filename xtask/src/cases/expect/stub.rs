//! What the text of a stub is held to.

use regex::Regex;
use serde_json::Value;

use super::Held;

pub(super) fn hold(word: &str, wanted: &Value, stub: &str, content: &[u8]) -> Held {
    match word {
        "stub_contains" => each(word, wanted, |words| {
            Held::when(stub.contains(words), || format!("the stub does not contain `{words}`"))
        }),
        "stub_not_contains" => each(word, wanted, |words| {
            Held::when(!stub.contains(words), || format!("the stub contains {words:?}"))
        }),
        "stub_not_matches" => each(word, wanted, |pattern| match Regex::new(pattern) {
            Ok(regex) => {
                Held::when(!regex.is_match(stub), || format!("the stub matches {pattern:?}"))
            }
            Err(error) => Held::No(format!("{pattern:?} is not a pattern: {error}")),
        }),
        "stub_in_order" => {
            let mut rest = stub;
            each(word, wanted, |words| match rest.split_once(words) {
                Some((_, after)) => {
                    rest = after;
                    Held::Yes
                }
                None => Held::No(format!("`{words}` is not in its place in the stub")),
            })
        }
        "stub_max_chars" => {
            let chars = stub.chars().count() as u64;
            match wanted.as_u64() {
                Some(most) => {
                    Held::when(chars <= most, || format!("the stub has {chars} characters"))
                }
                None => Held::No("`stub_max_chars` is not a number".to_owned()),
            }
        }
        "stub_well_formed" => {
            let replaced =
                stub.contains('\u{fffd}') && !String::from_utf8_lossy(content).contains('\u{fffd}');
            let control = stub.contains(['\0', '\u{1b}']);
            Held::when(wanted == true && !replaced && !control, || {
                "the stub has U+FFFD, NUL or ESC that it should not".to_owned()
            })
        }
        _ => Held::Unknown,
    }
}

/// Holds every string of a list, or the one string.
fn each(word: &str, wanted: &Value, mut check: impl FnMut(&str) -> Held) -> Held {
    let one = std::slice::from_ref(wanted);
    for words in wanted.as_array().map_or(one, Vec::as_slice) {
        let Some(words) = words.as_str() else {
            return Held::No(format!("`{word}` is not a list of strings"));
        };
        match check(words) {
            Held::Yes => {}
            held => return held,
        }
    }
    Held::Yes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn holds(word: &str, wanted: &Value, stub: &str, expected: bool) {
        assert_eq!(matches!(hold(word, wanted, stub, b"abc"), Held::Yes), expected);
    }

    #[test]
    fn words_are_found_or_not() {
        holds("stub_contains", &json!(["a", "b"]), "a b", true);
        holds("stub_contains", &json!(["a", "c"]), "a b", false);
        holds("stub_not_contains", &json!(["c"]), "a b", true);
        holds("stub_not_contains", &json!(["c", "a"]), "a b", false);
        holds("stub_in_order", &json!(["a", "b"]), "a b", true);
        holds("stub_in_order", &json!(["b", "a"]), "a b", false);
    }

    #[test]
    fn patterns_are_patterns() {
        holds("stub_not_matches", &json!(["^b", "[0-9]{3}"]), "a 12", true);
        holds("stub_not_matches", &json!(["(?m)^b"]), "a\nb", false);
        holds("stub_not_matches", &json!(["("]), "a", false);
    }

    #[test]
    fn stub_is_well_formed_without_controls_and_without_replacements_of_its_own() {
        holds("stub_well_formed", &json!(true), "é\n", true);
        for bad in ["\u{1b}[m", "\0", "\u{fffd}"] {
            holds("stub_well_formed", &json!(true), bad, false);
        }
        assert!(matches!(hold("stub_well_formed", &json!(true), "\u{fffd}", b"\xff"), Held::Yes));
    }
}
