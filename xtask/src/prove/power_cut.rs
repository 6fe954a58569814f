//! Power cuts: a file system is shut down under writers, and only what it had put on the disk is
//! there when it is mounted again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::content::Content;
use super::holdings::Place;
use super::mount::{Mount, folder, require, system};
use super::random::Random;
use super::subject::{Running, Subject};
use crate::say;

const WRITERS: u64 = 3;
const IMAGE_BYTES: u64 = 512 << 20;
/// When the power is cut, in seconds.
const CUT: (f64, f64) = (0.15, 1.2);
/// Shuts an ext4 file system down without writing its journal (`EXT4_IOC_SHUTDOWN`).
const SHUT_DOWN: &str = "import fcntl, os, struct, sys\n\
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))";

/// What came of a number of cuts.
#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    acknowledged: usize,
    lost: Vec<String>,
    damaged: Vec<String>,
    strays: Vec<String>,
    leftovers: u64,
}

pub(super) fn run(program: &Path, rounds: u64, seed: u64) -> anyhow::Result<bool> {
    require(&["chmod", "mkfs.ext4", "mount", "python3", "umount"])?;
    say(format_args!("power cut: {rounds} rounds of {WRITERS} writers, seed {seed}"));
    let folder = folder()?;
    let mut random = Random::new(seed);
    let with = cuts(program, folder.path(), rounds, true, &mut random)?;
    let without = cuts(program, folder.path(), rounds.div_ceil(5).max(3), false, &mut random)?;
    for told in with.lost.iter().chain(&with.damaged).chain(&with.strays) {
        say(format_args!("FAIL: {told}"));
    }
    with.say("waiting for the disk");
    without.say("not waiting for it (the control)");
    let bites = !without.lost.is_empty() && with.acknowledged > 0;
    if !bites {
        say("FAIL: the control lost nothing: the cuts do not bite, and nothing is proved");
    }
    let held = with.lost.is_empty() && with.damaged.is_empty() && with.strays.is_empty();
    if !(held && bites) {
        say(format_args!("the seed was {seed}"));
    }
    Ok(held && bites)
}

impl Tally {
    fn say(&self, how: &str) {
        say(format_args!(
            "{how}: {} cuts, {} results acknowledged, {} lost, {} damaged, {} leftovers removed, \
             {} strays after that",
            self.cuts,
            self.acknowledged,
            self.lost.len(),
            self.damaged.len(),
            self.leftovers,
            self.strays.len(),
        ));
    }
}

fn cuts(
    program: &Path,
    folder: &Path,
    rounds: u64,
    fsync: bool,
    random: &mut Random,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for _ in 0..rounds {
        let image = folder.join("image");
        std::fs::File::create(&image)?.set_len(IMAGE_BYTES)?;
        let image = image.to_string_lossy().into_owned();
        system(&["mkfs.ext4", "-q", "-F", &image])?;
        let at = folder.join("disk");
        let mounted = Mount::first(&["-o", "loop", &image], &at)?;
        let root = at.join("store");
        let subject = Subject::in_folder(program, &root, "power");
        let moment = Duration::from_secs_f64(random.between(CUT.0, CUT.1));
        let acknowledged = write_until_cut(&subject, &at, moment, fsync, random)?;
        mounted.end()?;
        let mounted = Mount::new(&["-o", "loop", &image], &at)?;
        tally.cuts += 1;
        tally.acknowledged += acknowledged.len();
        for (reference, sha256) in &acknowledged {
            tally.lost.extend(subject.fault(reference, sha256)?);
        }
        match subject.verify() {
            Ok((_, damaged)) => tally.damaged.extend(damaged),
            Err(error) if fsync => return Err(error),
            Err(error) => tally.damaged.push(format!("{error:#}")),
        }
        tally.leftovers += subject.gc()?.0;
        let holdings = Place::Folder(root).holdings()?;
        tally.strays.extend(holdings.strays());
        mounted.end()?;
    }
    Ok(tally)
}

/// Writers store one content after the other until the power is cut under them; what they were told
/// is stored, by its ref.
fn write_until_cut(
    subject: &Subject,
    at: &Path,
    moment: Duration,
    fsync: bool,
    random: &mut Random,
) -> anyhow::Result<BTreeMap<String, String>> {
    let acknowledged = Mutex::new(BTreeMap::new());
    let stop = AtomicBool::new(false);
    let seeds: Vec<_> = (0..WRITERS).map(|_| random.next()).collect();
    let writer = |seed| {
        let mut random = Random::new(seed);
        while !stop.load(Ordering::Relaxed) {
            let size = random.size(1000, 6_000_000);
            let content = Arc::new(Content::new(random.next(), size));
            let mut command = subject.command(&[], &["--json", "put", "-"]);
            command.env("TOOLSTUB_FSYNC", if fsync { "1" } else { "0" });
            let ended =
                Running::start(command, Some(Arc::clone(&content))).and_then(Running::end)?;
            match ended.acknowledged() {
                Some(reference) => {
                    let mut all = acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
                    all.insert(reference, content.sha256.clone());
                }
                // The power is off.
                None => break,
            }
        }
        Ok::<_, anyhow::Error>(())
    };
    let writer = &writer;
    let cut = std::thread::scope(|scope| {
        let writers: Vec<_> =
            seeds.into_iter().map(|seed| scope.spawn(move || writer(seed))).collect();
        std::thread::sleep(moment);
        let cut = system(&["python3", "-c", SHUT_DOWN, &at.to_string_lossy()]);
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().map_err(|_| anyhow::Error::msg("a writer failed"))??;
        }
        cut
    });
    cut?;
    Ok(acknowledged.into_inner().unwrap_or_else(PoisonError::into_inner))
}
