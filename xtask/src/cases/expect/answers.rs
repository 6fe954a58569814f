//! What an answer is held to, by the kind of answer.

use serde_json::{Value, json};
use toolstub_store::Searched;

use super::{Held, facts, stub, turn};
use crate::cases::operations::Answer;
use crate::cases::run::State;
use crate::cases::subject::Said;

/// Every word that some kind of answer is held to.
const WORDS: [&str; 38] = [
    "kind",
    "not_kind",
    "facts",
    "facts_any",
    "stub_contains",
    "stub_not_contains",
    "stub_not_matches",
    "stub_in_order",
    "stub_max_chars",
    "stub_well_formed",
    "ref_differs_from",
    "same_ref_as",
    "same_stub_as",
    "ref_from_stub_text",
    "content",
    "content_chars",
    "total_chars",
    "has_more",
    "sha256",
    "reads",
    "max_reads",
    "offsets",
    "offsets_bytes",
    "first_offset",
    "count",
    "count_any_of",
    "count_at_most",
    "truncated",
    "snippet_contains",
    "snippet_max_chars",
    "session_bytes_on_disk",
    "outside_root_files",
    "max_name_bytes",
    "identical_stub_bytes",
    "any_of",
    "unless",
    "error",
    "ok",
];

pub(super) fn is_known(word: &str) -> bool {
    WORDS.contains(&word) || turn::is_known(word)
}

pub(super) fn hold(word: &str, wanted: &Value, answer: &Answer, state: &State) -> Held {
    match answer {
        Answer::Said { said, content, .. } => of_said(word, wanted, said, content, state),
        Answer::Piece(piece, _) => {
            let content = piece.content();
            let found = match word {
                "content" => json!(content),
                "content_chars" => json!(content.chars().count()),
                "total_chars" => json!(piece.total_chars),
                "has_more" => json!(piece.has_more),
                _ => return Held::Unknown,
            };
            Held::same(word, wanted, &found)
        }
        Answer::Whole { sha256, reads } => match word {
            "sha256" => Held::same(word, wanted, &json!(sha256)),
            "reads" => Held::same(word, wanted, &json!(reads)),
            "max_reads" => at_most(word, wanted, *reads),
            _ => Held::Unknown,
        },
        Answer::Found { searched, query, content } => {
            of_search(word, wanted, searched, query, content)
        }
        Answer::Listed(count) => match word {
            "count" => Held::same(word, wanted, &json!(count)),
            "count_at_most" => at_most(word, wanted, *count),
            _ => Held::Unknown,
        },
        Answer::Deleted { bytes_left, files_left } => match word {
            "session_bytes_on_disk" if wanted == 0 && *files_left > 0 => {
                Held::No(format!("{files_left} files of the session are left"))
            }
            "session_bytes_on_disk" => Held::same(word, wanted, &json!(bytes_left)),
            _ => Held::Unknown,
        },
        Answer::Disk { outside_root, longest_name } => match word {
            "outside_root_files" => {
                let found = json!(outside_root.len());
                Held::when(*wanted == found, || {
                    format!("outside of the root: {}", outside_root.join(", "))
                })
            }
            "max_name_bytes" => at_most(word, wanted, *longest_name),
            _ => Held::Unknown,
        },
        Answer::Repeated { alike } => match word {
            "identical_stub_bytes" => Held::same(word, wanted, &json!(alike)),
            _ => Held::Unknown,
        },
        Answer::Turned(turned) => turn::hold(word, wanted, turned),
        Answer::Nothing => Held::Unknown,
    }
}

fn of_said(word: &str, wanted: &Value, said: &Said, content: &[u8], state: &State) -> Held {
    match word {
        "kind" => {
            let kinds = wanted.get("any_of").unwrap_or(wanted);
            let kind = said.kind.as_str();
            match kinds {
                Value::String(wanted) => {
                    Held::when(kind == wanted, || format!("kind is {kind}, not {wanted}"))
                }
                Value::Array(wanted) => {
                    Held::when(wanted.iter().any(|wanted| wanted == kind), || {
                        format!("kind is {kind}, none of {kinds}")
                    })
                }
                _ => Held::No("`kind` is not a kind".to_owned()),
            }
        }
        "not_kind" => match wanted.as_array() {
            Some(kinds) => {
                let kind = said.kind.as_str();
                Held::when(!kinds.iter().any(|wanted| wanted == kind), || format!("kind is {kind}"))
            }
            None => Held::No("`not_kind` is not a list".to_owned()),
        },
        "facts" => facts::hold(wanted, said),
        "facts_any" => {
            let Some(alternatives) = wanted.as_array() else {
                return Held::No("`facts_any` is not a list".to_owned());
            };
            let mut why = Vec::new();
            for alternative in alternatives {
                match facts::hold(alternative, said) {
                    Held::No(miss) => why.push(miss),
                    held => return held,
                }
            }
            Held::No(format!("no alternative holds: {}", why.join(", or ")))
        }
        "ref_differs_from" | "same_ref_as" | "same_stub_as" => {
            of_another(word, wanted, said, state)
        }
        "ref_from_stub_text" => {
            let line = said.stub.lines().find_map(|line| line.strip_prefix("ref: "));
            let same = line.is_some() && line == said.reference().as_deref();
            Held::when(wanted == true && same, || "the stub's text has another ref".to_owned())
        }
        _ => stub::hold(word, wanted, &said.stub, content),
    }
}

fn of_another(word: &str, wanted: &Value, said: &Said, state: &State) -> Held {
    let other = wanted.as_str().and_then(|name| state.results.get(name));
    let Some(Some(other)) = other else {
        return Held::No(format!("there is no earlier result {wanted}"));
    };
    let (reference, another) = (said.reference(), other.reference());
    match word {
        "ref_differs_from" => {
            Held::when(reference != another, || format!("the ref is that of {wanted}"))
        }
        "same_ref_as" => {
            Held::when(reference == another, || format!("the ref is not that of {wanted}"))
        }
        _ => Held::when(said.stub == other.stub, || format!("the stub is not that of {wanted}")),
    }
}

fn of_search(word: &str, wanted: &Value, searched: &Searched, query: &str, content: &[u8]) -> Held {
    let matches = &searched.matches;
    match word {
        "offsets" => {
            let found: Vec<u64> = matches.iter().map(|found| found.offset).collect();
            Held::same(word, wanted, &json!(found))
        }
        "offsets_bytes" => {
            let offsets: Vec<u64> = matches.iter().map(|found| found.offset).collect();
            Held::same(word, wanted, &json!(bytes_of(&offsets, content)))
        }
        "first_offset" => {
            Held::same(word, wanted, &json!(matches.first().map(|found| found.offset)))
        }
        "count" => Held::same(word, wanted, &json!(matches.len())),
        "count_any_of" => match wanted.as_array() {
            Some(counts) => Held::when(counts.contains(&json!(matches.len())), || {
                format!("count is {}, none of {wanted}", matches.len())
            }),
            None => Held::No("`count_any_of` is not a list".to_owned()),
        },
        "truncated" => Held::same(word, wanted, &json!(searched.has_more)),
        "snippet_contains" => match wanted.as_str() {
            Some(words) => {
                Held::when(matches.iter().any(|found| found.snippet.contains(words)), || {
                    format!("no snippet of `{query}` contains `{words}`")
                })
            }
            None => Held::No("`snippet_contains` is not a string".to_owned()),
        },
        "snippet_max_chars" => {
            let chars = matches.iter().map(|found| found.snippet.chars().count());
            at_most(word, wanted, chars.max().unwrap_or(0))
        }
        _ => Held::Unknown,
    }
}

/// The offsets in bytes of characters, where bytes that are not UTF-8 count as the store has it.
fn bytes_of(offsets: &[u64], content: &[u8]) -> Vec<u64> {
    let mut found = Vec::new();
    let (mut chars, mut bytes) = (0, 0);
    let mut offsets = offsets.iter().peekable();
    for chunk in content.utf8_chunks() {
        for c in chunk.valid().chars() {
            while offsets.next_if(|offset| **offset == chars).is_some() {
                found.push(bytes);
            }
            chars += 1;
            bytes += c.len_utf8() as u64;
        }
        if !chunk.invalid().is_empty() {
            chars += 1;
            bytes += chunk.invalid().len() as u64;
        }
    }
    found
}

fn at_most(word: &str, wanted: &Value, found: usize) -> Held {
    match wanted.as_u64() {
        Some(most) => {
            Held::when(found as u64 <= most, || format!("{word}: {found} is more than {most}"))
        }
        None => Held::No(format!("`{word}` is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_in_bytes_are_counted_over_what_is_stored() {
        assert_eq!(bytes_of(&[0, 1, 3], "é🎯ab".as_bytes()), [0, 2, 7]);
        assert_eq!(bytes_of(&[2], b"a\xffb"), [2]);
    }
}
