//! `toolstub stub`: the stub of a content, nothing stored.

use toolstub_render::Header;
use toolstub_store::Intake;

use super::Outcome;
use crate::args::Stub;
use crate::context::{Context, block_on};
use crate::describe::{Answer, Describe};
use crate::failure::Failure;
use crate::input::Input;
use crate::output;

pub(crate) fn run(args: &Stub, context: &Context) -> Result<Outcome, Failure> {
    let describe = Describe::new(&args.described, &context.config);
    let mut input = Input::open(&args.file)?;
    let original = block_on(input.pour_into(Intake::unstored(u64::MAX)))?;
    let (detection, synopsis) = describe.original(&original)?;
    let (name, kind) = (&args.described.tool_name, detection.kind());
    let header = Header::unstored(name, kind, original.chars(), describe.preview_chars)
        .with_sha256(original.sha256());
    let stub = describe.stub(&header, &detection, &synopsis);
    if context.json {
        output::write_json(&Answer::unstored(&original, &synopsis, Some(&stub)))?;
    } else {
        output::write(stub.as_bytes())?;
    }
    Ok(Outcome::Done)
}
