//! Expectations: words that a step's answer is held to.

mod answers;
mod facts;
mod stub;
mod turn;

use serde_json::{Map, Value};

use super::operations::{Answer, Done, Failure};
use super::run::State;

/// What a word comes to: it holds, it does not, or it is not known here.
pub(super) enum Held {
    Yes,
    No(String),
    Unknown,
}

impl Held {
    fn when(holds: bool, otherwise: impl FnOnce() -> String) -> Self {
        if holds { Self::Yes } else { Self::No(otherwise()) }
    }

    /// Whether two values are the same.
    fn same(word: &str, wanted: &Value, found: &Value) -> Self {
        Self::when(wanted == found, || format!("{word} is {}, not {}", brief(found), brief(wanted)))
    }
}

/// What of a block does not hold.
pub(super) fn judge(block: &Map<String, Value>, done: &Done, state: &State) -> Vec<String> {
    let mut failures = Vec::new();
    for (word, wanted) in block {
        match hold(word, wanted, block, done, state) {
            Held::Yes => {}
            Held::No(why) => failures.push(why),
            Held::Unknown => failures.push(format!("unknown expectation `{word}`")),
        }
    }
    failures
}

fn hold(
    word: &str,
    wanted: &Value,
    block: &Map<String, Value>,
    done: &Done,
    state: &State,
) -> Held {
    match word {
        "max_seconds" => match wanted.as_f64() {
            Some(limit) => Held::when(done.seconds <= limit, || {
                format!("took {:.1} s, more than {limit} s", done.seconds)
            }),
            None => Held::No("`max_seconds` is not a number".to_owned()),
        },
        "max_rss_mib" => match (wanted.as_u64(), done.peak_mib) {
            (Some(limit), Some(peak)) => Held::when(peak <= limit, || {
                format!("took {peak} MiB of memory, more than {limit}")
            }),
            (None, _) => Held::No("`max_rss_mib` is not a size".to_owned()),
            (_, None) => Held::No("this system does not tell the peak of memory".to_owned()),
        },
        "ok" | "error" => match wanted.as_bool() {
            Some(wanted) => an_error(wanted == (word == "error"), done),
            None => Held::No(format!("`{word}` is not true or false")),
        },
        "error_mentions" => error_mentions(wanted, done),
        "unless" => Held::when(wanted == "error", || format!("unknown condition {wanted}")),
        "any_of" => any_of(wanted, done),
        _ => match &done.answer {
            Ok(answer) => answers::hold(word, wanted, answer, state),
            // Where an error is fine, it stands in place of an answer; the words are still known.
            Err(_) if block.contains_key("any_of") || block.contains_key("error") => {
                Held::when(answers::is_known(word), || format!("unknown expectation `{word}`"))
            }
            Err(error) => Held::No(format!("failed: {error}")),
        },
    }
}

fn an_error(wanted: bool, done: &Done) -> Held {
    match &done.answer {
        Ok(_) => Held::when(!wanted, || "no error".to_owned()),
        Err(Failure { text, .. }) if wanted => {
            Held::when(!text.trim().is_empty(), || "an error without a word".to_owned())
        }
        Err(error) => Held::No(format!("failed: {error}")),
    }
}

fn error_mentions(wanted: &Value, done: &Done) -> Held {
    let words: Option<Vec<&str>> = match wanted {
        Value::String(word) => Some(vec![word]),
        Value::Array(words) => words.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let Some(words) = words else {
        return Held::No("`error_mentions` is not a list of words".to_owned());
    };
    let Err(error) = &done.answer else { return Held::No("no error".to_owned()) };
    let text = error.text.to_lowercase();
    let found = words.iter().any(|word| text.contains(&word.to_lowercase()));
    Held::when(found, || format!("the error `{text}` mentions none of {}", brief(wanted)))
}

/// Whether one of several outcomes holds. Every one of them must be in the vocabulary.
fn any_of(wanted: &Value, done: &Done) -> Held {
    let words: Option<Vec<&str>> =
        wanted.as_array().and_then(|words| words.iter().map(Value::as_str).collect());
    let Some(words) = words else { return Held::No("`any_of` is not a list of words".to_owned()) };
    let mut holds = false;
    for word in &words {
        match outcome(word, done) {
            Some(true) => holds = true,
            Some(false) => {}
            None => return Held::No(format!("unknown outcome `{word}`")),
        }
    }
    Held::when(holds, || format!("none of the outcomes {} holds", words.join(", ")))
}

/// Whether an outcome holds; `None` where it is not known.
fn outcome(word: &str, done: &Done) -> Option<bool> {
    let refused = matches!(&done.answer, Err(error) if !error.text.trim().is_empty());
    let holds = match word {
        "ok" => done.answer.is_ok(),
        "error" | "refused_per_failure_mode" => refused,
        "integrity_reported" => matches!(&done.answer, Err(Failure { damage: true, .. })),
        "stored_bytes_identical" => {
            matches!(&done.answer, Ok(Answer::Said { kept, .. }) if kept.identical)
        }
        "lossy_reported" => {
            matches!(&done.answer, Ok(Answer::Said { kept, .. }) if kept.lossy_reported)
        }
        "stored_and_cap_reported" => match &done.answer {
            Ok(Answer::Said { said, .. }) => said.receipt.as_ref().is_some_and(|receipt| {
                let cut = receipt.metadata().not_stored_bytes;
                cut > 0 && said.stub.lines().any(|line| line == format!("not_stored_bytes: {cut}"))
            }),
            _ => false,
        },
        "empty_content_and_no_more" | "empty_content_and_has_more" => {
            let more = word == "empty_content_and_has_more";
            matches!(&done.answer, Ok(Answer::Piece(piece, _))
                if piece.bytes.is_empty() && piece.has_more == more)
        }
        "same_as_offset_0" => matches!(&done.answer, Ok(Answer::Piece(piece, first))
            if first.as_ref().as_ref().is_some_and(|first| first.bytes == piece.bytes)),
        "no_hits" => {
            matches!(&done.answer, Ok(Answer::Found { searched, .. }) if searched.matches.is_empty())
        }
        "externalized_and_readable" | "inline_unchanged" => match &done.answer {
            Ok(Answer::Turned(turned)) => return turn::outcome(word, turned),
            _ => false,
        },
        _ => return None,
    };
    Some(holds)
}

/// A value, cut where it is long.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 100 {
        return text;
    }
    text.chars().take(97).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn done(answer: Result<Answer, Failure>) -> Done {
        Done { answer, broken: Vec::new(), seconds: 0.5, peak_mib: Some(20) }
    }

    #[track_caller]
    fn judges(block: &Value, done: &Done, failures: &[&str]) {
        let state = State {
            outside: std::path::PathBuf::new(),
            root: std::path::PathBuf::new(),
            subject: None,
            sources: super::super::content::Sources::default(),
            results: std::collections::BTreeMap::new(),
            limit: None,
            sessions: Vec::new(),
            conversations: std::collections::BTreeMap::new(),
            last: None,
        };
        assert_eq!(judge(block.as_object().unwrap(), done, &state), failures);
    }

    #[test]
    fn word_that_is_not_known_fails() {
        let listed = done(Ok(Answer::Listed(2)));
        judges(&json!({"count": 2}), &listed, &[]);
        judges(&json!({"colour": 2}), &listed, &["unknown expectation `colour`"]);
        judges(&json!({"content": "x"}), &listed, &["unknown expectation `content`"]);
        judges(&json!({"any_of": ["ok", "perhaps"]}), &listed, &["unknown outcome `perhaps`"]);
    }

    #[test]
    fn limits_are_held() {
        let listed = done(Ok(Answer::Listed(2)));
        judges(&json!({"max_seconds": 1, "max_rss_mib": 20}), &listed, &[]);
        judges(&json!({"max_seconds": 0.1}), &listed, &["took 0.5 s, more than 0.1 s"]);
        judges(&json!({"max_rss_mib": 8}), &listed, &["took 20 MiB of memory, more than 8"]);
    }

    #[test]
    fn errors_are_told_from_answers() {
        let refused = done(Err("Not found: x".to_owned().into()));
        judges(&json!({"error": true, "error_mentions": ["NOT FOUND", "unknown"]}), &refused, &[]);
        judges(&json!({"ok": true}), &refused, &["failed: Not found: x"]);
        judges(&json!({"any_of": ["ok", "error"]}), &refused, &[]);
        judges(&json!({"error": true}), &done(Ok(Answer::Nothing)), &["no error"]);
        let silent = done(Err(String::new().into()));
        judges(&json!({"error": true}), &silent, &["an error without a word"]);
    }
}
