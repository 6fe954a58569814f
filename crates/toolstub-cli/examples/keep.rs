//! Keeps what comes on standard input, in a few MiB of memory, and prints the stub.
//!
//! The store is in `target/store`; `s3://bucket/prefix` would do as well, by the `AWS_*` variables.
//!
//! `seq 9000000 | cargo run -p toolstub-cli --example keep`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io::{self, Read};

use toolstub_core::{Reason, SessionId};
use toolstub_detect::Content;
use toolstub_render::{Body, Header, Options, render};
use toolstub_store::{BackendError, DEFAULT_HARD_CAP, ResultStore, WriteRequest};
use toolstub_store_object::{OpenOptions, Variables, open};
use toolstub_summarize::describe;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stub = runtime.block_on(keep("target/store", io::stdin().lock()))?;
    print!("{stub}");
    Ok(())
}

async fn keep(location: &str, mut input: impl Read) -> Result<String, Box<dyn Error>> {
    let options = OpenOptions { variables: Variables::of_process(), ..OpenOptions::default() };
    let store = ResultStore::new(open(location, &options)?);

    let mut intake = store.intake(DEFAULT_HARD_CAP);
    let mut piece = vec![0; 65_536];
    while let length @ 1.. = input.read(&mut piece)? {
        intake.push(&piece[..length]).await?;
    }
    let original = intake.finish().await?;
    let (_, synopsis) = describe(&mut Pieces(original.body(), Vec::new()), None, 2000)?;
    let request = WriteRequest {
        tool_name: "my_tool".to_owned(),
        preview_chars: 2000,
        ..WriteRequest::new(SessionId::new("s1")?, synopsis, "2026-01-02T03:04:05Z")
    };
    let receipt = store.write(&original, request).await?;

    let body = Body::Synopsis(&receipt.metadata().synopsis);
    Ok(render(&Header::stored(&receipt, Reason::Requested), &body, &Options::default()))
}

/// What was taken in, in memory or in a spool, for `describe`.
struct Pieces<'a>(&'a toolstub_store::Body, Vec<u8>);

impl Content for Pieces<'_> {
    type Error = BackendError;

    fn piece(&mut self, at: u64) -> Result<&[u8], BackendError> {
        let Self(body, buffer) = self;
        buffer.resize(256 << 10, 0);
        let length = body.read_at(at, buffer)?;
        Ok(&buffer[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spooled_content_is_described_and_kept() {
        let content = "a line of a log\n".repeat(700_000);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let stub = runtime.block_on(keep("memory:", content.as_bytes())).unwrap();
        assert!(stub.contains("\nkind: text\noriginal_chars: 11200000\n"), "{stub}");
        assert!(stub.contains("\nref: toolstub://session/s1/tool-results/tr_"), "{stub}");
    }

    #[test]
    fn documents_quote_what_compiles() {
        let lines = |text: &str| -> String {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(|line| format!("{line}\n")).collect()
        };
        let this = lines(include_str!("keep.rs"));
        let readme = include_str!("../../../README.md");
        let backends = include_str!("../../../docs/storage-backends.md");
        for document in [readme, backends] {
            let code = document.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
            let code = lines(code.unwrap_or_default());
            assert!(!code.is_empty() && this.contains(&code), "not in keep.rs:\n{code}");
        }
    }
}
