//! `read`, `read_all`, `search` and `list`: an original is gone back to.

use serde_json::{Map, Value};
use toolstub_store::{ReadRequest, SearchRequest};

use super::{Answer, Done, Failure, Fields, Outcome};
use crate::cases::run::State;
use crate::cases::subject::{Place, whole};

/// How many reads a read of everything may take before it counts as endless.
const MAX_READS: usize = 2_000_000;

/// Where a step reads, or that it is not to.
enum Where {
    At(Place),
    /// The put that the step goes back to was refused.
    Refused,
}

pub(super) fn read(
    fields: &Fields<'_>,
    expect: &Map<String, Value>,
    state: &mut State,
) -> Result<Outcome, String> {
    let place = place(fields, state)?;
    let ReadRequest { offset, limit, .. } = ReadRequest::default();
    let offset = fields.integer_or("offset", offset)?;
    let limit = fields.integer_or("limit", limit)?;
    fields.finish()?;
    let Some(place) = unless_refused(place, expect)? else { return Ok(Outcome::Skipped) };
    let subject = state.subject()?;
    let request = |offset| ReadRequest { offset, limit, ..ReadRequest::default() };
    let piece = subject.read(&place, &request(offset)).map_err(Failure::from);
    // A page past the end must not be the first page again: the first page is there to compare.
    let first = subject.read(&place, &request(0)).ok();
    let answer = piece.map(|piece| Answer::Piece(Box::new(piece), Box::new(first)));
    Ok(Outcome::Done(Done::new(answer)))
}

pub(super) fn read_all(
    fields: &Fields<'_>,
    expect: &Map<String, Value>,
    state: &mut State,
) -> Result<Outcome, String> {
    let place = place(fields, state)?;
    let limit = fields.integer("limit")?;
    fields.finish()?;
    let Some(place) = unless_refused(place, expect)? else { return Ok(Outcome::Skipped) };
    let subject = state.subject()?;
    let mut content = Vec::new();
    let (mut offset, mut reads) = (0, 0);
    let answer = loop {
        let request = ReadRequest { offset, limit, ..ReadRequest::default() };
        let piece = match subject.read(&place, &request) {
            Ok(piece) => piece,
            Err(error) => break Err(error.into()),
        };
        reads += 1;
        content.extend_from_slice(&piece.bytes);
        if !piece.has_more {
            let sha256 = toolstub_corpus_tests::sha256(&content).to_string();
            break Ok(Answer::Whole { sha256, reads });
        }
        let next = i128::from(piece.next_offset);
        if next <= offset || reads == MAX_READS {
            let text = format!("reading does not get on: from {offset} to {next}");
            break Err(Failure::from(text));
        }
        offset = next;
    };
    Ok(Outcome::Done(Done::new(answer)))
}

pub(super) fn search(
    fields: &Fields<'_>,
    expect: &Map<String, Value>,
    state: &mut State,
) -> Result<Outcome, String> {
    let place = place(fields, state)?;
    let query = fields.text("query")?.to_owned();
    let defaults = SearchRequest::new(query.as_str());
    let limit = fields.integer_or("limit", defaults.limit)?;
    let ignore_case = fields.flag("ignore_case")?;
    fields.finish()?;
    let Some(place) = unless_refused(place, expect)? else { return Ok(Outcome::Skipped) };
    let subject = state.subject()?;
    let request = SearchRequest { limit, ignore_case, ..defaults };
    let found = subject.search(&place, &request).map_err(Failure::from);
    let answer = found.and_then(|searched| {
        // The offsets in bytes are counted over what a read gives back, not over the input.
        let wanted = expect.contains_key("offsets_bytes");
        let content = wanted.then(|| subject.read(&place, &whole())).transpose()?;
        let content = content.map(|piece| piece.bytes.to_vec()).unwrap_or_default();
        Ok(Answer::Found { searched, query, content })
    });
    Ok(Outcome::Done(Done::new(answer)))
}

pub(super) fn list(fields: &Fields<'_>, state: &mut State) -> Result<Outcome, String> {
    let session = fields.text("session")?.to_owned();
    fields.finish()?;
    let listed = state.subject()?.list(&session);
    let answer = listed.map(|records| Answer::Listed(records.len())).map_err(Failure::from);
    Ok(Outcome::Done(Done::new(answer)))
}

/// The place that a step's `ref` means: a name, `literal` words, or a name with `mangle`.
fn place(fields: &Fields<'_>, state: &State) -> Result<Where, String> {
    let session = fields.optional_text("as_session")?.map(str::to_owned);
    let from_stub = fields.flag("ref_from_stub_text")?;
    let named = |name: &str| named(name, from_stub, state);
    let at = |reference| Where::At(Place { reference, session: session.clone() });
    match fields.value("ref").ok_or("`ref` is missing")? {
        Value::String(name) => Ok(named(name)?.map_or(Where::Refused, at)),
        Value::Object(spec) if spec.len() == 1 => match spec.iter().next() {
            Some((word, Value::String(literal))) if word == "literal" => Ok(at(literal.clone())),
            Some((word, Value::Array(parts))) if word == "mangle" => {
                let [Value::String(name), Value::String(how)] = parts.as_slice() else {
                    return Err("`mangle` is a name and a word".to_owned());
                };
                let Some(reference) = named(name)? else { return Ok(Where::Refused) };
                Ok(at(mangle(&reference, how)?))
            }
            _ => Err(format!("unknown ref {}", Value::Object(spec.clone()))),
        },
        other => Err(format!("unknown ref {other}")),
    }
}

/// The ref of an earlier result; `None` where its put was refused.
fn named(name: &str, from_stub: bool, state: &State) -> Result<Option<String>, String> {
    let result = state.results.get(name).ok_or(format!("no earlier step is called {name}"))?;
    let Some(said) = result else { return Ok(None) };
    if !from_stub {
        return said.reference().map(Some).ok_or(format!("{name} has no ref"));
    }
    let line = said.stub.lines().find_map(|line| line.strip_prefix("ref: "));
    line.map(|reference| Some(reference.to_owned())).ok_or(format!("the stub of {name} has no ref"))
}

fn mangle(reference: &str, how: &str) -> Result<String, String> {
    match how {
        "truncate_last_4" => {
            let cut = reference.char_indices().rev().nth(3).map_or(0, |(index, _)| index);
            Ok(reference[..cut].to_owned())
        }
        "append_x" => Ok(format!("{reference}x")),
        "upper" => Ok(reference.to_uppercase()),
        "other_session" => Place::in_session(reference, "another-session"),
        _ => Err(format!("unknown way to mangle `{how}`")),
    }
}

/// Where to read; `None` where the step is not to be carried out.
fn unless_refused(place: Where, expect: &Map<String, Value>) -> Result<Option<Place>, String> {
    match place {
        Where::At(place) => Ok(Some(place)),
        Where::Refused if expect.get("unless").is_some_and(|word| word == "error") => Ok(None),
        Where::Refused => Err("the put that it goes back to was refused".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn mangles(how: &str, expected: &str) {
        let reference = "toolstub://session/s/tool-results/tr_00112233445566778899aabbccddeeff";
        assert_eq!(mangle(reference, how).unwrap(), expected);
    }

    #[test]
    fn refs_are_mangled_as_the_word_says() {
        let cut = "toolstub://session/s/tool-results/tr_00112233445566778899aabbccdd";
        mangles("truncate_last_4", cut);
        mangles("append_x", &format!("{cut}eeffx"));
        mangles("upper", "TOOLSTUB://SESSION/S/TOOL-RESULTS/TR_00112233445566778899AABBCCDDEEFF");
        let other =
            "toolstub://session/another-session/tool-results/tr_00112233445566778899aabbccddeeff";
        mangles("other_session", other);
        assert!(mangle("x", "reverse").is_err());
    }
}
