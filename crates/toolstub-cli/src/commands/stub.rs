//! `toolstub stub`: the stub of a content, nothing stored.

use sha2::Digest as _;
use toolstub_core::Sha256;
use toolstub_render::Header;

use super::Outcome;
use crate::args::Stub;
use crate::context::Context;
use crate::describe::{Answer, Describe};
use crate::failure::Failure;
use crate::{input, output};

pub(crate) fn run(args: &Stub, context: &Context) -> Result<Outcome, Failure> {
    let describe = Describe::new(&args.described, &context.config);
    let bytes = input::read(&args.file)?;
    let sha256 = Sha256::from_bytes(sha2::Sha256::digest(&bytes).into());
    let (detection, synopsis) = describe.content(&bytes);
    let (kind, chars) = (detection.kind(), detection.census.chars);
    let header = Header::unstored(&args.described.tool_name, kind, chars, describe.preview_chars)
        .with_sha256(sha256);
    let stub = describe.stub(&header, &detection, &synopsis);
    if context.json {
        output::write_json(&Answer::unstored(&detection, sha256, &synopsis, Some(&stub)))?;
    } else {
        output::write(stub.as_bytes())?;
    }
    Ok(Outcome::Done)
}
