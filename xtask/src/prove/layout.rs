//! Exactly the documented keys; and a root that is moved keeps every ref.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::ensure;

use super::content::Content;
use super::holdings::Place;
use super::subject::{Running, Subject};
use crate::say;

/// Session, event, tool call; and the folder that they make, but for the end of the id.
const RESULTS: [(&str, &str, &str, &str); 6] = [
    ("s1", "", "", "sessions/s1/tool-results/tr_"),
    ("s1", "", "call_1", "sessions/s1/tool-results/tr_call_1_"),
    ("s1", "e1", "call_1", "sessions/s1/events/e1/tool-results/tr_call_1_"),
    ("agent:main:7", "", "", "sessions/agent%3Amain%3A7/tool-results/tr_"),
    ("a/b é", ".", "x/y:z", "sessions/a%2Fb%20%C3%A9/events/%2E/tool-results/tr_x_y_z_"),
    ("s1.", "e..2", "", "sessions/s1%2E/events/e..2/tool-results/tr_"),
];
const SIZES: [usize; 4] = [0, 1, 70_000, 9_000_000];

pub(super) fn run(program: &Path, location: &str, place: &Place) -> anyhow::Result<bool> {
    say(format_args!("layout: on {location}"));
    ensure!(place.holdings()?.is_empty(), "{location} holds something; give an empty place");
    let mut faults = Vec::new();
    let (mut wanted, mut refs) = (BTreeSet::new(), BTreeMap::new());
    let subject = Subject::new(program, location, "");
    for (index, (session, event, tool_id, folder)) in RESULTS.iter().enumerate() {
        for size in SIZES {
            let content = Arc::new(Content::new(index as u64, size));
            let mut args = vec!["--json", "put", "-", "--session", session, "--tool-id", tool_id];
            if !event.is_empty() {
                args.extend(["--event", event]);
            }
            let put = subject.command(&[], &args);
            let ended = Running::start(put, Some(Arc::clone(&content)))?.end()?;
            let Some(reference) = ended.acknowledged() else {
                faults.push(format!("{session}: a put failed: {}", ended.told()));
                continue;
            };
            wanted.insert(format!("{folder}{}", &content.sha256[..32]));
            refs.insert(reference, content.sha256.clone());
        }
    }
    let holdings = place.holdings()?;
    faults.extend(holdings.results.difference(&wanted).map(|key| format!("not documented: {key}")));
    faults.extend(wanted.difference(&holdings.results).map(|key| format!("not there: {key}")));
    faults.extend(holdings.strays().into_iter().map(|told| format!("not documented: {told}")));
    let moved = move_root(location, place)?;
    let subject = Subject::new(program, moved.as_str(), "");
    for (reference, sha256) in &refs {
        faults.extend(subject.fault(reference, sha256)?);
    }
    for fault in &faults {
        say(format_args!("FAIL: {fault}"));
    }
    let (keys, count) = (2 * holdings.results.len(), refs.len());
    say(format_args!("{keys} keys, {count} refs read at {moved}; {} faults", faults.len()));
    Ok(faults.is_empty())
}

/// Moves a folder, or copies a bucket; where the store is then.
fn move_root(location: &str, place: &Place) -> anyhow::Result<String> {
    match place {
        Place::Folder(root) => {
            let moved = root.with_file_name("moved");
            std::fs::rename(root, &moved)?;
            Ok(moved.to_string_lossy().into_owned())
        }
        Place::Bucket { bucket, .. } => {
            let target = format!("{bucket}-moved");
            place.copy_to(&target)?;
            Ok(location.replacen(bucket.as_str(), &target, 1))
        }
    }
}
