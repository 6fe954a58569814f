//! What is stored comes back byte for byte, in pieces of any size, in every unit.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use toolstub_core::{Kind, OffsetUnit, Ref, SessionId, Synopsis};
use toolstub_store::{DEFAULT_HARD_CAP, Original, ReadRequest, ResultStore, WriteRequest};
use toolstub_store_object::{OpenOptions, open};

use crate::say;

/// Pieces for every content, and finer ones for small contents.
const PIECES: [i128; 2] = [1000, 20_000];
const FINE_PIECES: [i128; 2] = [1, 7];
const SMALL: usize = 64 << 10;

pub(super) fn run(files: &[PathBuf]) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    let location = folder.path().to_str().context("the temporary folder's name is not UTF-8")?;
    let options = OpenOptions { fsync: false, ..OpenOptions::default() };
    let local = ResultStore::new(open(location, &options)?);
    // Pieces of a character are many: they are read from memory.
    let memory = ResultStore::new(open("memory:", &options)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut joined, mut pieces, mut failed) = (0, 0, 0);
    for file in files {
        let content = std::fs::read(file)?;
        let reference = runtime.block_on(write(&local, content.clone()))?;
        ensure!(reference == runtime.block_on(write(&memory, content.clone()))?, "two refs");
        for unit in [OffsetUnit::UnicodeCodePoint, OffsetUnit::Byte, OffsetUnit::Line] {
            let coarse = PIECES.map(|limit| (&local, limit));
            let fine = FINE_PIECES.map(|limit| (&memory, limit));
            let fine = fine.into_iter().filter(|_| content.len() <= SMALL);
            for (store, limit) in coarse.into_iter().chain(fine) {
                let (back, count) = runtime.block_on(read_all(store, &reference, unit, limit))?;
                joined += 1;
                pieces += count;
                if back != content {
                    failed += 1;
                    say(format_args!("{}: differs in pieces of {limit} {unit}", file.display()));
                }
            }
        }
    }
    let count = files.len();
    say(format_args!("{count} files, {joined} joins of {pieces} pieces, {failed} failed"));
    Ok(failed == 0)
}

async fn write(store: &ResultStore, content: Vec<u8>) -> anyhow::Result<Ref> {
    let synopsis = Synopsis {
        kind: Kind::Unknown,
        title: String::new(),
        summary: Vec::new(),
        structure: Vec::new(),
        notable_items: Vec::new(),
        sample: String::new(),
    };
    let original = Original::new(content, DEFAULT_HARD_CAP);
    let request =
        WriteRequest::new(SessionId::new("round-trip")?, synopsis, "2026-01-01T00:00:00Z");
    Ok(store.write(&original, request).await?.reference().clone())
}

async fn read_all(
    store: &ResultStore,
    reference: &Ref,
    unit: OffsetUnit,
    limit: i128,
) -> anyhow::Result<(Vec<u8>, u64)> {
    let (mut back, mut count, mut offset) = (Vec::new(), 0, 0);
    loop {
        let request = ReadRequest { offset, limit, unit, include_metadata: false };
        let piece = store.read(reference, &request).await?;
        back.extend_from_slice(&piece.bytes);
        count += 1;
        if !piece.has_more {
            return Ok((back, count));
        }
        let next = i128::from(piece.next_offset);
        ensure!(next > offset, "next_offset {next} does not go on from {offset}");
        offset = next;
    }
}
