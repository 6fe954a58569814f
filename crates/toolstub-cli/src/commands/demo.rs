//! `toolstub demo`: a tool result on its way, from the call to the one line that matters.

use std::fmt::Write as _;

use toolstub_core::{Reason, SessionId};
use toolstub_render::Header;
use toolstub_store::{
    DEFAULT_HARD_CAP, Original, ReadRequest, SearchRequest, Selector, WriteRequest,
};

use super::{Outcome, put, search};
use crate::args::Described;
use crate::context::{Context, block_on};
use crate::describe::{Answer, Describe};
use crate::failure::Failure;
use crate::output;

/// The session that a demonstration is kept in, unless another is given.
const SESSION: &str = "demo";
const TOOL: &str = "list_orders";
const ORDERS: usize = 1500;
/// The order that went wrong, and what tells it from the others.
const FAILED: usize = 1042;
const QUERY: &str = "\"payment_failed\"";

pub(crate) fn run(context: &Context) -> Result<Outcome, Failure> {
    let session = match &context.session {
        Some(_) => context.session()?,
        None => SessionId::new(SESSION).map_err(Failure::input)?,
    };
    let described = Described { tool_name: TOOL.to_owned(), ..Described::default() };
    let describe = Describe::new(&described, &context.config);
    let original = Original::new(orders(), DEFAULT_HARD_CAP);
    let (detection, synopsis) = describe.original(&original)?;
    let store = context.open_lasting()?;
    let request = WriteRequest {
        event: context.event()?,
        tool_name: described.tool_name.clone(),
        preview_chars: describe.preview_chars.max(0).unsigned_abs(),
        ..WriteRequest::new(session.clone(), synopsis, put::now()?)
    };
    let receipt = block_on(async { Ok(store.write(&original, request).await?) })?;
    let header = Header::stored(&receipt, Reason::SingleThreshold);
    let stub = describe.stub(&header, &detection, &receipt.metadata().synopsis);
    if context.json {
        output::write_json(&Answer::stored(&receipt, &stub))?;
        return Ok(Outcome::Done);
    }
    let reference = receipt.reference();
    let pointer = format!("/orders/{FAILED}");
    let read = ReadRequest { include_metadata: false, ..ReadRequest::default() };
    let asked = SearchRequest { context_chars: 60, ..SearchRequest::new(QUERY) };
    let (found, piece) = block_on(async {
        let found = store.search(reference, &asked).await?;
        let selector = Selector::pointer(&pointer)?;
        Ok((found, store.read_selected(reference, &selector, &read).await?))
    })?;
    let (chars, left) = (original.chars(), stub.chars().count());
    let mut told = format!(
        "An agent called the tool {TOOL}, which returned {chars} characters of JSON. All of them are kept,\n\
         outside the context. These {left} enter it instead:\n\n{stub}\n"
    );
    let _ = write!(
        told,
        "An order went wrong somewhere in there. The model searches the original:\n\n\
         $ toolstub search {reference} '{QUERY}' --context-chars {}\n{}\n\
         It reads what it needs, as the tool wrote it:\n\n\
         $ toolstub read {reference} --pointer {pointer}\n{}\n\n",
        asked.context_chars,
        search::shown(&found),
        String::from_utf8_lossy(&piece.bytes),
    );
    let given = if context.store.is_some() { ", with the same --store," } else { "" };
    let _ = write!(
        told,
        "Both commands work{given} until\n\n$ toolstub rm {reference}\n\n\
         takes the demonstration away. `toolstub put FILE` does the same to a file of yours, `toolstub init HOST`\n\
         to the results of your agent, and `toolstub proxy` to those of an MCP server.\n"
    );
    output::write(told.as_bytes())?;
    Ok(Outcome::Done)
}

/// What the tool returned: the same each time.
fn orders() -> Vec<u8> {
    const TOWNS: [&str; 7] = ["Lisboa", "Wien", "Århus", "Genève", "Kraków", "Oulu", "Brno"];
    let mut text = String::from("{\n  \"orders\": [");
    for number in 0..ORDERS {
        let status = match number {
            FAILED => "payment_failed",
            _ if number % 5 == 0 => "packed",
            _ => "shipped",
        };
        let _ = write!(
            text,
            "{}\n    {{\"id\": {}, \"town\": \"{}\", \"items\": {}, \"total\": \"{}.{:02}\", \"status\": \"{status}\"}}",
            if number == 0 { "" } else { "," },
            700_000 + number,
            TOWNS[number * 31 % TOWNS.len()],
            number * 13 % 9 + 1,
            number * 7919 % 900 + 5,
            number * 37 % 100,
        );
    }
    let _ = write!(text, "\n  ],\n  \"count\": {ORDERS}\n}}\n");
    text.into_bytes()
}
