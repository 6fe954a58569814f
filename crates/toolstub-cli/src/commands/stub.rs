//! `toolstub stub`: the stub of a content, nothing stored.

use serde::Serialize;
use sha2::Digest as _;
use toolstub_core::{Kind, Sha256, Synopsis};
use toolstub_render::{Body, Head, Header};

use crate::args::{Described, Stub, Style};
use crate::commands::Outcome;
use crate::failure::Failure;
use crate::{input, output};

/// The answer to `stub` and `put`.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    externalized: bool,
    #[serde(rename = "ref")]
    reference: Option<String>,
    tool_result_id: Option<String>,
    kind: Kind,
    original_chars: u64,
    original_bytes: u64,
    sha256: Sha256,
    not_stored_bytes: u64,
    synopsis: &'a Synopsis,
    stub: &'a str,
}

pub(crate) fn run(args: &Stub, json: bool) -> Result<Outcome, Failure> {
    let Described { mime, preview_chars, tool_name, .. } = &args.described;
    let content = input::read(&args.file)?;
    let sha256 = Sha256::from_bytes(sha2::Sha256::digest(&content).into());
    let detection = toolstub_detect::detect(
        &content,
        &toolstub_detect::Options {
            mime: mime.as_deref(),
            sample_chars: usize::try_from(*preview_chars).unwrap_or(0),
        },
    );
    let options = toolstub_summarize::Options { preview_chars: *preview_chars };
    let synopsis = toolstub_summarize::summarize(&detection, &options);
    let census = &detection.census;
    let header = Header::unstored(tool_name, detection.kind(), census.chars, *preview_chars)
        .with_sha256(sha256);
    let options = toolstub_render::Options { tool_prefix: &args.described.tool_prefix };
    let head;
    let body = match args.described.style {
        Style::Typed => Body::Synopsis(&synopsis),
        Style::Head => {
            let lines = args.described.head_lines;
            head = Head::new(&census.head, lines, *preview_chars, census.bytes, census.lines);
            Body::Head(&head)
        }
    };
    let stub = toolstub_render::render(&header, &body, &options);
    if json {
        output::write_json(&Answer {
            externalized: false,
            reference: None,
            tool_result_id: None,
            kind: detection.kind(),
            original_chars: census.chars,
            original_bytes: census.bytes,
            sha256,
            not_stored_bytes: 0,
            synopsis: &synopsis,
            stub: &stub,
        })?;
    } else {
        output::write(stub.as_bytes())?;
    }
    Ok(Outcome::Done)
}
