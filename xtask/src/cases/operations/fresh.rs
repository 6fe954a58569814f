//! `repeat_fresh`: the last content described is described again, each time by a new process.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};

use super::{Answer, Done, Failure, Fields, Outcome};
use crate::cases::run::State;
use crate::cases::subject::{Subject, Told};

/// More processes than this prove nothing more.
const MAX_TIMES: i128 = 100;

pub(super) fn repeat(fields: &Fields<'_>, state: &mut State) -> Result<Outcome, String> {
    let times = fields.integer("times")?;
    fields.finish()?;
    if !(1..=MAX_TIMES).contains(&times) {
        return Err(format!("`times` is {times}, not 1 to {MAX_TIMES}"));
    }
    let step = state.last.clone().ok_or("nothing was described before")?;
    let content = state.sources.content(step.get("content").unwrap_or(&Value::Null))?;
    let file = state.outside.with_file_name("content");
    std::fs::write(&file, content).map_err(|error| error.to_string())?;
    let mut stubs = Vec::new();
    for time in 0..times {
        // Another store each time, or the first record would answer for all.
        let store = state.outside.with_file_name(format!("store-{time}"));
        match one(&step, &file, &store, time) {
            Ok(stub) => stubs.push(stub),
            Err(error) => {
                let failure = Failure::from(format!("{error:#}"));
                return Ok(Outcome::Done(Done::new(Err(failure))));
            }
        }
    }
    let alike = stubs.windows(2).all(|pair| pair[0] == pair[1]);
    Ok(Outcome::Done(Done::new(Ok(Answer::Repeated { alike }))))
}

fn one(
    step: &Map<String, Value>,
    file: &Path,
    store: &Path,
    time: i128,
) -> anyhow::Result<Vec<u8>> {
    // The machine's settings differ from process to process: no stub may.
    let zones = ["UTC", "Asia/Tokyo", "America/St_Johns"];
    let locales = ["C", "de_DE.UTF-8", "tr_TR.UTF-8"];
    let place = usize::try_from(time).unwrap_or(0) % zones.len();
    let mut child = Command::new(std::env::current_exe()?)
        .arg("stub")
        .env("TZ", zones[place])
        .env("LC_ALL", locales[place])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start a process")?;
    let request = json!({"step": step, "file": file, "store": store});
    let mut stdin = child.stdin.take().context("the process has no standard input")?;
    stdin.write_all(request.to_string().as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "a fresh process failed ({})", output.status);
    Ok(output.stdout)
}

/// What a fresh process prints: the stub of the step that it is asked for.
pub(crate) fn stub(request: &str) -> anyhow::Result<String> {
    let request: Value = serde_json::from_str(request)?;
    let path = |name: &str| request.get(name).and_then(Value::as_str).context("a path is missing");
    let step = request.get("step").and_then(Value::as_object).context("a step is missing")?;
    let content = std::fs::read(path("file")?)?;
    let fields = Fields::new(step);
    let text = |name: &str| fields.optional_text(name).map(Option::unwrap_or_default);
    let config = super::describe::config(&fields).map_err(anyhow::Error::msg)?;
    let told = Told {
        content: &content,
        mime: fields.optional_text("mime").map_err(anyhow::Error::msg)?,
        tool_name: text("tool_name").map_err(anyhow::Error::msg)?,
        tool_id: text("tool_call_id").map_err(anyhow::Error::msg)?,
        session: text("session").map_err(anyhow::Error::msg)?,
        hard_cap: config.hard_cap,
        preview_chars: config.preview_chars,
    };
    if text("op").map_err(anyhow::Error::msg)? == "put" {
        let store = Subject::open(Path::new(path("store")?))?;
        return Ok(store.put(&told)?.stub);
    }
    Ok(Subject::summarize(&told).stub)
}
