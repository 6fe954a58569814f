//! What toolstub says of a case.

use std::fmt::Write as _;

use toolstub_core::{Kind, Synopsis};
use toolstub_render::{Body, Head, Header, render};
use toolstub_summarize::describe;

use crate::case::{Case, CorpusError, Profile};
use crate::ledger::LedgerRow;
use crate::sha256;

/// The cap of samples and heads, in characters.
const PREVIEW_CHARS: i64 = 2000;
/// How many lines a head has.
const HEAD_LINES: i64 = 40;

/// What toolstub says of a case.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The case's id.
    pub id: String,
    /// The input's size in bytes.
    pub input_bytes: u64,
    /// The SHA-256 of the input, in hex.
    pub sha256: String,
    /// The kind that was detected.
    pub kind: Kind,
    /// The synopsis.
    pub synopsis: Synopsis,
    /// The stub of each of the case's profiles.
    pub stubs: Vec<(Profile, String)>,
}

impl Outcome {
    /// Detects, summarizes and renders a case's input.
    pub fn of(case: &Case) -> Result<Self, CorpusError> {
        let content = case.content()?;
        let digest = sha256(&content);
        let mime = case.described.mime.as_deref();
        let Ok((detection, synopsis)) = describe(&mut content.as_slice(), mime, PREVIEW_CHARS);
        let census = &detection.census;
        let kind = detection.kind();
        let header = Header::unstored("", kind, census.chars, PREVIEW_CHARS).with_sha256(digest);
        let stub = |&profile: &Profile| {
            let head;
            let body = match profile {
                Profile::Typed => Body::Synopsis(&synopsis),
                Profile::Head => {
                    head = Head::new(
                        &census.head,
                        HEAD_LINES,
                        PREVIEW_CHARS,
                        census.bytes,
                        census.lines,
                    );
                    Body::Head(&head)
                }
            };
            (profile, render(&header, &body, &toolstub_render::Options::default()))
        };
        let stubs = case.described.profiles.iter().map(stub).collect();
        let (id, input_bytes) = (case.id.clone(), content.len() as u64);
        Ok(Self { id, input_bytes, sha256: digest.to_string(), kind, synopsis, stubs })
    }

    /// What the case states and the outcome does not show, a line each.
    pub fn misses(&self, case: &Case) -> Vec<String> {
        let described = &case.described;
        let mut misses = Vec::new();
        if self.kind != described.kind {
            misses.push(format!("its kind is {}, not {}", self.kind, described.kind));
        }
        let synopsis = &self.synopsis;
        let lines: Vec<&String> = [&synopsis.summary, &synopsis.structure, &synopsis.notable_items]
            .into_iter()
            .flatten()
            .collect();
        for fact in &described.facts {
            if !lines.contains(&fact) {
                misses.push(format!("no line of its synopsis is `{fact}`"));
            }
        }
        for word in &described.mentions {
            if !lines.iter().any(|line| line.contains(word)) {
                misses.push(format!("no line of its synopsis mentions `{word}`"));
            }
        }
        misses
    }

    /// The text of the snapshot: the case's facts, then each stub with its size and digest.
    pub fn body(&self, case: &Case) -> String {
        let mut body = format!("kind: {}\ninput: {} bytes\n", self.kind, self.input_bytes);
        if let Some(mime) = &case.described.mime {
            let _ = writeln!(body, "mime: {mime}");
        }
        if let Some(issue) = &case.described.known_issue {
            let _ = writeln!(body, "known issue: {issue}");
        }
        for fact in &case.described.facts {
            let _ = writeln!(body, "fact: {fact}");
        }
        for word in &case.described.mentions {
            let _ = writeln!(body, "mentions: {word}");
        }
        for (profile, stub) in &self.stubs {
            let digest = sha256(stub.as_bytes());
            let (chars, digest) = (stub.chars().count(), digest.hex_prefix(12));
            let _ = write!(body, "\n== {}: {chars} chars, {digest}\n{stub}", profile.as_str());
        }
        body
    }

    /// The case's row in the ledger.
    pub fn row(&self) -> LedgerRow {
        let size = |profile| {
            let stub = self.stubs.iter().find(|(other, _)| *other == profile);
            stub.map(|(_, stub)| stub.chars().count() as u64)
        };
        LedgerRow {
            id: self.id.clone(),
            kind: self.kind,
            input_bytes: self.input_bytes,
            stub_chars: Profile::ALL.map(size),
        }
    }
}
