//! The largest results in little memory: a put through a pipe, a read at the end, a search.

use std::io::{BufWriter, Read as _, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use wait4::Wait4 as _;

use super::subject::{Subject, text};
use crate::say;

const LIMIT_MIB: u64 = 64;
const READ_CHARS: u64 = 20_000;
/// What stands in the last line alone.
const NEEDLE: &str = "the needle at the end";

/// Writes what the content begins with, its item of a number, or what it ends with.
type Part = fn(&mut Vec<u8>, Option<u64>);

struct Kind {
    name: &'static str,
    begin: &'static str,
    item: Part,
    end: &'static str,
}

fn line(out: &mut Vec<u8>, number: Option<u64>) {
    let _ = match number {
        Some(n) => writeln!(out, "2026-01-01 INFO worker {n} has done its part of the work, é"),
        None => writeln!(out, "{NEEDLE}"),
    };
}

fn row(out: &mut Vec<u8>, number: Option<u64>) {
    let _ = match number {
        Some(n) => writeln!(out, "{n},\"name, {n}\",{},plain words here,{}", n * 7, n % 13),
        None => writeln!(out, "0,{NEEDLE},0,plain words here,0"),
    };
}

fn item(out: &mut Vec<u8>, number: Option<u64>) {
    let _ = match number {
        Some(n) => {
            writeln!(out, "{{\"id\": {n}, \"name\": \"item {n}\", \"tags\": [\"a\", {n}]}},")
        }
        None => write!(out, "{{\"id\": 0, \"name\": \"{NEEDLE}\", \"tags\": []}}"),
    };
}

const KINDS: [Kind; 3] = [
    Kind { name: "json", begin: "[\n", item, end: "\n]\n" },
    Kind { name: "csv", begin: "id,name,product,words,rest\n", item: row, end: "" },
    Kind { name: "text", begin: "", item: line, end: "" },
];

pub(super) fn run(program: &Path, mib: u64) -> anyhow::Result<bool> {
    say(format_args!("memory: results of {mib} MiB, at most {LIMIT_MIB} MiB resident"));
    let mut failed = 0;
    for kind in &KINDS {
        let folder = tempfile::tempdir()?;
        let subject = Subject::in_folder(program, &folder.path().join("store"), "memory");
        let put = measured(subject.command(&[], &["--json", "put", "-"]), Some((kind, mib << 20)))?;
        let answer: Value = serde_json::from_slice(&put.out)
            .with_context(|| format!("the put of {} failed: {}", kind.name, put.told))?;
        ensure!(answer["kind"] == kind.name, "{} is taken for {}", kind.name, answer["kind"]);
        let reference = text(&answer, "ref")?;
        let chars = answer["original_chars"].as_u64().context("a put counts characters")?;
        let offset = chars.saturating_sub(READ_CHARS).to_string();
        let read =
            measured(subject.command(&[], &["read", &reference, "--offset", &offset]), None)?;
        let tail = String::from_utf8_lossy(&read.out);
        ensure!(
            tail.contains(NEEDLE),
            "the read at the end gave {} bytes: {}",
            tail.len(),
            read.told
        );
        let args = ["--json", "search", &reference, NEEDLE, "--count"];
        let search = measured(subject.command(&[], &args), None)?;
        let found: Value = serde_json::from_slice(&search.out).context("a search answers")?;
        ensure!(found["total_matches"] == 1, "the search found {}", found["total_matches"]);
        for (what, done) in [("put", &put), ("read", &read), ("search", &search)] {
            let over = done.peak_mib > LIMIT_MIB;
            failed += usize::from(over);
            say(format_args!(
                "{:<5} {what:<7} {:>7.2} s {:>5} MiB {}",
                kind.name,
                done.seconds,
                done.peak_mib,
                if over { "FAIL" } else { "pass" },
            ));
        }
    }
    say(format_args!("{failed} over the limit"));
    Ok(failed == 0)
}

struct Measured {
    out: Vec<u8>,
    told: String,
    seconds: f64,
    peak_mib: u64,
}

fn measured(mut command: Command, input: Option<(&Kind, u64)>) -> anyhow::Result<Measured> {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    command.stderr(Stdio::null());
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let mut stdout = child.stdout.take().context("it has an output")?;
    let reader = std::thread::spawn(move || {
        let mut out = Vec::new();
        stdout.read_to_end(&mut out).map(|_| out)
    });
    if let (Some((kind, size)), Some(stdin)) = (input, child.stdin.take()) {
        // A program that has failed reads no more, and says so below.
        let _ = write(kind, size, stdin);
    }
    let done = child.wait4()?;
    let out = reader.join().ok().context("the output was read")??;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Measured { out, told: done.status.to_string(), seconds, peak_mib: done.rusage.maxrss >> 20 })
}

/// Writes a content of a little less than a size.
fn write(kind: &Kind, size: u64, out: impl Write) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, out);
    out.write_all(kind.begin.as_bytes())?;
    let (mut written, mut number) = (4096, 0);
    let mut part = Vec::new();
    while written < size {
        part.clear();
        (kind.item)(&mut part, Some(number));
        out.write_all(&part)?;
        written += part.len() as u64;
        number += 1;
    }
    part.clear();
    (kind.item)(&mut part, None);
    out.write_all(&part)?;
    out.write_all(kind.end.as_bytes())?;
    out.flush()
}
