//! Many processes on the same ids: one record each, and all of them agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};

use super::content::Content;
use super::holdings::Place;
use super::random::Random;
use super::subject::{Running, Subject, text};
use crate::say;

/// What a put answered.
struct Put {
    sha256: String,
    reference: String,
    stub: String,
}

pub(super) fn run(
    program: &Path,
    location: &str,
    place: &Place,
    (processes, puts): (u64, u64),
    seed: u64,
) -> anyhow::Result<bool> {
    say(format_args!("race: {processes} processes x {puts} puts on {location}, seed {seed}"));
    ensure!(place.holdings()?.is_empty(), "{location} holds something; give an empty place");
    let subject = Subject::new(program, location, "race");
    let begun = Instant::now();
    let lanes: Vec<anyhow::Result<(Vec<Put>, Vec<String>)>> = std::thread::scope(|scope| {
        let lane = |lane| lane_of_puts(&subject, lane, puts, seed);
        let lanes: Vec<_> = (0..processes).map(|n| scope.spawn(move || lane(n))).collect();
        let join = |lane: std::thread::ScopedJoinHandle<'_, _>| {
            lane.join().unwrap_or_else(|_| Err(anyhow::Error::msg("a thread failed")))
        };
        lanes.into_iter().map(join).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (mut wanted, mut stubs) = (BTreeMap::new(), BTreeMap::<_, BTreeSet<String>>::new());
    let mut faults = Vec::new();
    for lane in lanes {
        let (done, failed) = lane?;
        faults.extend(failed);
        for put in done {
            stubs.entry(put.reference.clone()).or_default().insert(put.stub);
            wanted.insert(put.reference, put.sha256);
        }
    }
    // Whoever lost a race answers with the winner's record.
    let split = stubs.iter().filter(|(_, stubs)| stubs.len() > 1);
    faults.extend(split.map(|(told, stubs)| format!("{told} has {} stubs", stubs.len())));
    let records = subject.list()?;
    let (whole, damaged) = subject.verify()?;
    faults.extend(damaged);
    let shared = puts / 2;
    let expected = shared + processes * (puts - shared);
    let holdings = place.holdings()?;
    for (told, count) in [
        ("acknowledged", wanted.len() as u64),
        ("listed", records.len() as u64),
        ("whole", whole),
        ("there", holdings.results.len() as u64),
    ] {
        if count != expected {
            faults.push(format!("{count} results are {told}, not {expected}"));
        }
    }
    for (reference, sha256) in &wanted {
        if records.get(reference).is_none_or(|record| record["sha256"] != **sha256) {
            faults.push(format!("{reference} is not listed with its content"));
        }
    }
    faults.extend(holdings.strays().into_iter().map(|told| format!("left: {told}")));
    for fault in &faults {
        say(format_args!("FAIL: {fault}"));
    }
    let all = processes * puts;
    say(format_args!(
        "{all} puts in {seconds:.1} s ({:.0} a second), {shared} ids by all {processes}; \
         {expected} results wanted, {whole} whole; {holdings}; {} faults",
        all as f64 / seconds,
        faults.len(),
    ));
    Ok(faults.is_empty())
}

/// One after the other, every second content is everybody's.
fn lane_of_puts(
    subject: &Subject,
    lane: u64,
    puts: u64,
    seed: u64,
) -> anyhow::Result<(Vec<Put>, Vec<String>)> {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    let name = format!("lane-{lane}");
    for put in 0..puts {
        let owner = if put % 2 == 1 { 0 } else { lane + 1 };
        let mut random = Random::new(seed ^ (owner << 40) ^ (put << 8));
        let size = random.size(500, 50_000);
        let content = Arc::new(Content::new(random.next(), size));
        let args = ["--json", "put", "-", "--tool-name", &name];
        let ended =
            Running::start(subject.command(&[], &args), Some(Arc::clone(&content)))?.end()?;
        if !ended.status.success() {
            failed.push(format!("{name}: put {put}: {}", ended.told()));
            continue;
        }
        let answer = ended.answer()?;
        let reference = text(&answer, "ref")?;
        if reference != content.reference(subject.session()) {
            failed.push(format!("{name}: put {put}: {reference} for {}", content.sha256));
        }
        let stub = text(&answer, "stub").context("a put answers with a stub")?;
        done.push(Put { sha256: content.sha256.clone(), reference, stub });
    }
    Ok((done, failed))
}
