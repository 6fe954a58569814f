//! SIGKILL at any moment: what was acknowledged stays, and nothing else is seen.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::content::Content;
use super::holdings::{Holdings, Place};
use super::random::Random;
use super::subject::{Ended, Running, Subject};
use crate::say;

const SMALLEST: usize = 1000;
const LARGEST: usize = 64_000_000;
/// How many rounds pass between two looks at everything.
const BATCH: u64 = 20;
/// Less than so many of a hundred processes killed, and nothing is proved.
const MIN_KILLED: usize = 30;
/// Of fewer processes than these a third of that will do: chance has more of a say.
const FEW: usize = 100;

pub(super) fn run(
    program: &Path,
    location: &str,
    place: &Place,
    rounds: u64,
    seed: u64,
) -> anyhow::Result<bool> {
    say(format_args!("kill: {rounds} rounds on {location}, seed {seed}"));
    ensure!(place.holdings()?.is_empty(), "{location} holds something; give an empty place");
    let subject = Subject::new(program, location, "kill");
    let mut clock = Clock::measure(&subject)?;
    say(format_args!("a put takes {clock}"));
    let mut proof = Proof::new(subject, seed);
    for round in 1..=rounds {
        proof.round(&mut clock)?;
        if round % BATCH == 0 || round == rounds {
            proof.look()?;
        }
    }
    let before = place.holdings()?;
    say(format_args!("left behind: {before}"));
    let (objects, bytes) = proof.subject.gc()?;
    say(format_args!("gc removed {objects} leftovers of {bytes} bytes"));
    let mut after = place.holdings()?;
    let unnamed = after.excuse_unnamed(&before);
    if unnamed > 0 {
        say(format_args!("{unnamed} uploads are left that only the bucket knows of"));
    }
    proof.end(&after)?;
    Ok(proof.told(seed))
}

/// How long a put takes, by the size of what is put.
struct Clock {
    smallest: Duration,
    per_byte: f64,
    /// How much longer than measured at first a put seems to take: other work comes and goes.
    pace: f64,
}

impl Clock {
    fn measure(subject: &Subject) -> anyhow::Result<Self> {
        let time = |seed, size| {
            let content = Arc::new(Content::new(seed, size));
            let begun = Instant::now();
            subject.must_put(&content)?;
            Ok::<_, anyhow::Error>(begun.elapsed())
        };
        time(0, SMALLEST)?;
        let smallest = (time(1, SMALLEST)? + time(2, SMALLEST)?) / 2;
        let large = LARGEST / 8;
        let larger = time(3, large)?.max(time(4, large)?);
        let per_byte = larger.saturating_sub(smallest).as_secs_f64() / large as f64;
        Ok(Self { smallest, per_byte, pace: 1.0 })
    }

    fn whole(&self, size: usize) -> f64 {
        (self.smallest.as_secs_f64() + self.per_byte * size as f64) * self.pace
    }

    /// Keeps pace: of the processes, about half are to be killed.
    fn learn(&mut self, killed: bool) {
        let step = if killed { 1.04 } else { 0.96 };
        self.pace = (self.pace * step).clamp(0.05, 20.0);
    }

    /// A moment in the life of a put: soon after its start, around its end, or any.
    fn moment(&self, size: usize, random: &mut Random) -> Duration {
        let whole = self.whole(size);
        let seconds = match random.below(10) {
            0 => random.between(0.0, 0.003),
            1..=3 => random.between(0.8, 1.2) * whole,
            _ => random.between(0.0, 1.5) * whole,
        };
        Duration::from_secs_f64(seconds)
    }
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (least, most) = (self.whole(SMALLEST) * 1e3, self.whole(LARGEST) * 1e3);
        write!(f, "{least:.1} ms for the smallest content, {most:.0} ms for the largest")
    }
}

/// A content as it can be made again.
type Recipe = (u64, usize);

struct Proof {
    subject: Subject,
    random: Random,
    contents: u64,
    /// What was tried, by the ref that it has if it is stored.
    tried: BTreeMap<String, (String, Recipe)>,
    acknowledged: BTreeSet<String>,
    /// Acknowledged since the last look.
    fresh: BTreeSet<String>,
    killed: usize,
    killed_but_acknowledged: usize,
    ended: usize,
    faults: Vec<String>,
    listed: usize,
}

impl Proof {
    fn new(subject: Subject, seed: u64) -> Self {
        Self {
            subject,
            random: Random::new(seed),
            contents: 0,
            tried: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            fresh: BTreeSet::new(),
            killed: 0,
            killed_but_acknowledged: 0,
            ended: 0,
            faults: Vec::new(),
            listed: 0,
        }
    }

    /// One content, one process or two at once, each killed at a moment of its own.
    fn round(&mut self, clock: &mut Clock) -> anyhow::Result<()> {
        let again = self.random.percent(20) && !self.tried.is_empty();
        let recipe = if again {
            let at = self.random.below(self.tried.len() as u64) as usize;
            self.tried.values().nth(at).map_or((0, SMALLEST), |(_, recipe)| *recipe)
        } else {
            self.contents += 1;
            let seed = self.random.next() ^ self.contents;
            (seed, self.random.size(SMALLEST, LARGEST))
        };
        let content = Arc::new(Content::new(recipe.0, recipe.1));
        let reference = content.reference(self.subject.session());
        self.tried.insert(reference.clone(), (content.sha256.clone(), recipe));
        let racers = if self.random.percent(25) { 2 } else { 1 };
        let mut running = Vec::new();
        for _ in 0..racers {
            let moment = clock.moment(recipe.1, &mut self.random);
            let begun = Instant::now();
            running.push((self.subject.begin_put(&content)?, begun, moment));
        }
        for ended in kill_each(running)? {
            let acknowledged = ended.acknowledged();
            let killed = ended.status.signal() == Some(9);
            clock.learn(killed);
            self.killed += usize::from(killed);
            self.ended += usize::from(!killed);
            self.killed_but_acknowledged += usize::from(killed && acknowledged.is_some());
            match acknowledged {
                Some(told) if told == reference => {
                    self.acknowledged.insert(told.clone());
                    self.fresh.insert(told);
                }
                Some(told) => self.faults.push(format!("{told} was handed out for {reference}")),
                None if killed => {}
                None => self.faults.push(format!("a put failed by itself: {}", ended.told())),
            }
        }
        Ok(())
    }

    /// Looks at what is acknowledged anew, at the list, and at everything that is stored.
    fn look(&mut self) -> anyhow::Result<()> {
        let fresh = std::mem::take(&mut self.fresh);
        self.read_back(&fresh)?;
        let records = self.subject.list()?;
        let (whole, damaged) = self.subject.verify()?;
        self.faults.extend(damaged.into_iter().map(|told| format!("damaged: {told}")));
        self.listed = records.len();
        // The contents that the clock was set by are stored too.
        if whole != records.len() as u64 {
            self.faults.push(format!("{} are listed and {whole} are whole", records.len()));
        }
        for reference in self.acknowledged.iter().filter(|told| !records.contains_key(*told)) {
            self.faults.push(format!("{reference} was acknowledged and is not listed"));
        }
        for (reference, (sha256, _)) in &self.tried {
            match records.get(reference) {
                Some(record) if record["sha256"] != **sha256 => {
                    self.faults.push(format!("{reference} is listed with another content"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_back(&mut self, references: &BTreeSet<String>) -> anyhow::Result<()> {
        for reference in references {
            let (sha256, _) = &self.tried[reference];
            self.faults.extend(self.subject.fault(reference, sha256)?);
        }
        Ok(())
    }

    /// Looks at everything once more, now that nothing may be left but results.
    fn end(&mut self, holdings: &Holdings) -> anyhow::Result<()> {
        self.look()?;
        let records = self.subject.list()?;
        let references: Vec<_> = self.tried.keys().cloned().collect();
        for reference in references {
            let (sha256, _) = self.tried[&reference].clone();
            if records.contains_key(&reference) {
                // Acknowledged or not: what is seen is whole.
                self.faults.extend(self.subject.fault(&reference, &sha256)?);
                continue;
            }
            match self.subject.read(&reference)? {
                Ok(_) => self.faults.push(format!("{reference} is not listed and can be read")),
                Err(ended) if ended.status.code() == Some(1) => {}
                Err(ended) => self.faults.push(format!("{reference}: {}", ended.told())),
            }
        }
        self.faults.extend(holdings.strays().into_iter().map(|told| format!("left: {told}")));
        if holdings.results.len() != records.len() {
            let (held, listed) = (holdings.results.len(), records.len());
            self.faults.push(format!("{held} results are there and {listed} are listed"));
        }
        Ok(())
    }

    fn told(&self, seed: u64) -> bool {
        for fault in &self.faults {
            say(format_args!("FAIL: {fault}"));
        }
        let contents = self.tried.len();
        say(format_args!(
            "{} processes killed, {} ended before; {} of {contents} contents acknowledged \
             ({} by processes killed after); {} results in all; {} faults",
            self.killed,
            self.ended,
            self.acknowledged.len(),
            self.killed_but_acknowledged,
            self.listed,
            self.faults.len(),
        ));
        let all = self.killed + self.ended;
        let least = if all < FEW { MIN_KILLED / 3 } else { MIN_KILLED };
        let bites = self.killed * 100 >= least * all;
        if !bites {
            say("FAIL: too few processes were killed for this to prove anything");
        }
        let held = self.faults.is_empty() && bites;
        if !held {
            say(format_args!("the seed was {seed}"));
        }
        held
    }
}

/// Kills each process at its moment after its start, and returns how each ended.
fn kill_each(mut running: Vec<(Running, Instant, Duration)>) -> anyhow::Result<Vec<Ended>> {
    let mut over = vec![false; running.len()];
    while over.contains(&false) {
        for ((running, begun, moment), over) in running.iter_mut().zip(&mut over) {
            if *over {
                continue;
            }
            if running.has_ended()? {
                *over = true;
            } else if begun.elapsed() >= *moment {
                running.kill()?;
                *over = true;
            }
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    running.into_iter().map(|(running, ..)| running.end()).collect()
}
