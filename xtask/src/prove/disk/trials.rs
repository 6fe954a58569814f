//! What can be wrong with a disk, a process or what stands in a store.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::mount::{Mount, system};
use super::super::subject::Running;
use super::{Bench, Must};
use crate::prove::holdings::Place;

/// Makes a trial, and tells the bench what was wrong.
type Trial = fn(&mut Bench) -> anyhow::Result<()>;

pub(super) const TRIALS: &[(&str, Trial)] = &[
    ("64 MB through a pipe where 24 MB fit", large_put_on_a_small_disk),
    ("a disk without a byte left", full_disk),
    ("so many pages left, from none on", pages_left),
    ("so many inodes left, from none on", inodes_left),
    ("a file system mounted read-only", read_only_file_system),
    ("a folder mounted read-only", read_only_folder),
    ("a folder that belongs to somebody else", no_permission),
    ("a limit on the size of files", file_size_limit),
    ("a limit on the number of open files", open_files_limit),
    ("a folder in the place of the output", folder_in_place),
    ("a named pipe in the place of the output", pipe_in_place),
    ("a named pipe in the place of a stored output", pipe_over_result),
    ("a file in the place of the root", file_as_root),
    ("an interrupt while input is awaited", interrupted),
    ("a request to terminate while input is awaited", terminated),
    ("standard output that is full, and that is closed", output_full_or_closed),
];

const MB: usize = 1_000_000;

fn large_put_on_a_small_disk(bench: &mut Bench) -> anyhow::Result<()> {
    let mount = Mount::memory("size=24m", &bench.place.join("m"))?;
    let kept = bench.store(&mount.path().join("store"), &[])?;
    let content = bench.content(64 * MB);
    bench.try_put(&kept, &content, &[], Must::Fail("no room"))?;
    mount.remount("size=200m")?;
    bench.recovers(&kept, &[content], &[])?;
    mount.end()
}

fn full_disk(bench: &mut Bench) -> anyhow::Result<()> {
    let mount = Mount::memory("size=8m", &bench.place.join("m"))?;
    let kept = bench.store(&mount.path().join("store"), &[])?;
    let filler = mount.path().join("filler");
    fill(&filler, 0)?;
    let contents = [bench.content(100), bench.content(300_000), bench.content(5 * MB)];
    for content in &contents {
        bench.try_put(&kept, content, &[], Must::Fail("no room"))?;
    }
    std::fs::remove_file(filler)?;
    bench.recovers(&kept, &contents[..2], &[])?;
    mount.end()
}

fn pages_left(bench: &mut Bench) -> anyhow::Result<()> {
    let mount = Mount::memory("size=8m", &bench.place.join("m"))?;
    let kept = bench.store(&mount.path().join("store"), &[])?;
    let filler = mount.path().join("filler");
    let (most, step) = if bench.thorough { (24, 1) } else { (24, 4) };
    let mut contents = Vec::new();
    for pages in (0..most).step_by(step) {
        fill(&filler, pages)?;
        let content = bench.content(40_000);
        bench.try_put(&kept, &content, &[], Must::FailOrPass)?;
        contents.push(content);
    }
    std::fs::remove_file(filler)?;
    bench.recovers(&kept, &contents, &[])?;
    mount.end()
}

fn inodes_left(bench: &mut Bench) -> anyhow::Result<()> {
    let mount = Mount::memory("size=64m,nr_inodes=64", &bench.place.join("m"))?;
    let kept = bench.store(&mount.path().join("store"), &[])?;
    let fillers = mount.path().join("fillers");
    let mut contents = Vec::new();
    for inodes in 0..8 {
        std::fs::create_dir(&fillers)?;
        let made = (0..64)
            .map(|n| fillers.join(n.to_string()))
            .take_while(|path| File::create(path).is_ok());
        let made: Vec<_> = made.collect();
        for path in made.iter().take(inodes) {
            std::fs::remove_file(path)?;
        }
        // The large one goes by way of a spool.
        for size in [40_000, 6 * MB] {
            let content = bench.content(size);
            let must = if inodes == 0 { Must::Fail("no room") } else { Must::FailOrPass };
            bench.try_put(&kept, &content, &[], must)?;
            contents.push(content);
        }
        std::fs::remove_dir_all(&fillers)?;
        bench.recovers(&kept, &contents, &[])?;
        for content in contents.drain(..) {
            kept.subject.run(&["rm", &content.reference(super::SESSION)])?;
        }
    }
    mount.end()
}

fn read_only_file_system(bench: &mut Bench) -> anyhow::Result<()> {
    let mount = Mount::memory("size=64m", &bench.place.join("m"))?;
    let kept = bench.store(&mount.path().join("store"), &[])?;
    mount.remount("ro")?;
    let contents = [bench.content(40_000), bench.content(6 * MB)];
    for content in &contents {
        bench.try_put(&kept, content, &[], Must::Fail("read-only"))?;
    }
    // What is stored is acknowledged again: nothing has to be written for that.
    let again = kept.subject.put(&kept.result())?;
    if again.acknowledged().is_none() {
        bench.fault(format!("what is stored is not acknowledged again: {}", again.told()));
    }
    mount.remount("rw")?;
    bench.recovers(&kept, &contents, &[])?;
    mount.end()
}

fn read_only_folder(bench: &mut Bench) -> anyhow::Result<()> {
    let root = bench.place.join("store");
    let kept = bench.store(&root, &[])?;
    let contents = [bench.content(40_000), bench.content(6 * MB)];
    let mount = Mount::first(&["--bind", &root.to_string_lossy()], &root)?;
    mount.remount("bind,ro")?;
    for content in &contents {
        bench.try_put(&kept, content, &[], Must::Fail("read-only"))?;
    }
    mount.end()?;
    bench.recovers(&kept, &contents, &[])
}

fn no_permission(bench: &mut Bench) -> anyhow::Result<()> {
    const NOBODY: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let root = bench.place.join("store");
    std::fs::create_dir(&root)?;
    system(&["chown", "65534:65534", &root.to_string_lossy()])?;
    let kept = bench.store(&root, NOBODY)?;
    let contents = [bench.content(40_000), bench.content(6 * MB)];
    // Root may write anywhere; the other user may not write here any more.
    let root = root.to_string_lossy();
    system(&["chown", "-R", "0:0", &root])?;
    system(&["chmod", "-R", "a+rX", &root])?;
    for content in &contents {
        bench.try_put(&kept, content, NOBODY, Must::Fail("no permission"))?;
    }
    let result = kept.result();
    let read = ["read", &result.reference(super::SESSION), "--limit", "-1"];
    let ended = Running::start(kept.subject.command(NOBODY, &read), None)?.end()?;
    if ended.out != result.bytes {
        bench.fault(format!("who may read cannot: {}", ended.told()));
    }
    system(&["chown", "-R", "65534:65534", &root])?;
    bench.recovers(&kept, &contents, NOBODY)
}

fn file_size_limit(bench: &mut Bench) -> anyhow::Result<()> {
    let kept = bench.store(&bench.place.join("store"), &[])?;
    let mut contents = Vec::new();
    for (limit, size) in [("0", 1000), ("100", 5000), ("100000", 300_000), ("5000000", 20 * MB)] {
        let content = bench.content(size);
        let limit = format!("--fsize={limit}");
        bench.try_put(&kept, &content, &["prlimit", &limit], Must::Fail("no room"))?;
        contents.push(content);
    }
    bench.recovers(&kept, &contents, &[])
}

fn open_files_limit(bench: &mut Bench) -> anyhow::Result<()> {
    let kept = bench.store(&bench.place.join("store"), &[])?;
    let mut contents = Vec::new();
    // With fewer than four, the system cannot load a program.
    for limit in 4..16 {
        for size in [40_000, 6 * MB] {
            let content = bench.content(size);
            let limit = format!("--nofile={limit}");
            bench.try_put(&kept, &content, &["prlimit", &limit], Must::FailOrPass)?;
            contents.push(content);
        }
    }
    bench.recovers(&kept, &contents, &[])
}

fn folder_in_place(bench: &mut Bench) -> anyhow::Result<()> {
    let kept = bench.store(&bench.place.join("store"), &[])?;
    for size in [40_000, 6 * MB] {
        let content = bench.content(size);
        let output = kept.folder(&content).join("output.txt");
        std::fs::create_dir_all(&output)?;
        std::fs::write(output.join("stray"), "in the way")?;
        bench.try_put(&kept, &content, &[], Must::Fail("a folder"))?;
        std::fs::remove_dir_all(output)?;
        bench.recovers(&kept, &[content], &[])?;
    }
    Ok(())
}

fn pipe_in_place(bench: &mut Bench) -> anyhow::Result<()> {
    let kept = bench.store(&bench.place.join("store"), &[])?;
    for size in [40_000, 6 * MB] {
        let content = bench.content(size);
        let output = kept.folder(&content).join("output.txt");
        std::fs::create_dir_all(kept.folder(&content))?;
        system(&["mkfifo", &output.to_string_lossy()])?;
        // It may be replaced: nobody has promised to keep it.
        if !bench.try_put(&kept, &content, &[], Must::FailOrPass)? {
            std::fs::remove_file(output)?;
        }
        bench.recovers(&kept, &[content], &[])?;
    }
    Ok(())
}

fn pipe_over_result(bench: &mut Bench) -> anyhow::Result<()> {
    let kept = bench.store(&bench.place.join("store"), &[])?;
    let content = bench.content(40_000);
    kept.subject.must_put(&content)?;
    let output = kept.folder(&content).join("output.txt");
    std::fs::remove_file(&output)?;
    system(&["mkfifo", &output.to_string_lossy()])?;
    let reference = content.reference(super::SESSION);
    for args in [&["read", &reference][..], &["search", &reference, "e"], &["verify", &reference]] {
        bench.tries += 1;
        let ended = Running::start(kept.subject.command(&["timeout", "20"], args), None)?.end()?;
        bench.is_clear(&ended, 3, Must::Fail("a special file"));
    }
    std::fs::remove_file(&output)?;
    bench.recovers(&kept, &[content], &[])
}

fn file_as_root(bench: &mut Bench) -> anyhow::Result<()> {
    let root = bench.place.join("store");
    let kept = bench.store(&root, &[])?;
    let aside = bench.place.join("aside");
    std::fs::rename(&root, &aside)?;
    std::fs::write(&root, "in the way")?;
    for args in [&["put", "-"][..], &["list"], &["gc"], &["verify"]] {
        bench.tries += 1;
        let ended = kept.subject.run(args)?;
        bench.is_clear(&ended, 3, Must::Fail("cannot open the folder"));
    }
    std::fs::remove_file(&root)?;
    std::fs::rename(&aside, &root)?;
    let content = bench.content(40_000);
    bench.recovers(&kept, &[content], &[])
}

fn interrupted(bench: &mut Bench) -> anyhow::Result<()> {
    signalled(bench, "-INT", 130)
}

fn terminated(bench: &mut Bench) -> anyhow::Result<()> {
    signalled(bench, "-TERM", 143)
}

/// A signal while more input is awaited: by then, some of it lies in a spool, or none does.
fn signalled(bench: &mut Bench, signal: &str, code: i32) -> anyhow::Result<()> {
    use std::io::Write as _;

    let kept = bench.store(&bench.place.join("store"), &[])?;
    for size in [0, 1000, 20 * MB] {
        bench.tries += 1;
        let content = bench.content(size);
        let mut put = kept.subject.command(&[], &["put", "-"]);
        let (input, mut feed) = std::io::pipe()?;
        put.stdin(input);
        let mut running = Running::start(put, None)?;
        feed.write_all(&content.bytes)?;
        // What is in the pipe is read by then.
        std::thread::sleep(Duration::from_millis(300));
        system(&["kill", signal, &running.id().to_string()])?;
        let begun = Instant::now();
        while !running.has_ended()? && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let seconds = begun.elapsed().as_secs_f64();
        if !running.has_ended()? {
            running.kill()?;
        }
        let ended = running.end()?;
        drop(feed);
        bench.is_clear(&ended, code, Must::Fail("interrupted"));
        if seconds > 1.0 {
            bench.fault(format!("it took {seconds:.1} s to end"));
        }
        let holdings = Place::Folder(kept.root.clone()).holdings()?;
        for told in holdings.strays() {
            bench.fault(format!("left by an interrupt: {told}"));
        }
    }
    bench.recovers(&kept, &[], &[])
}

fn output_full_or_closed(bench: &mut Bench) -> anyhow::Result<()> {
    let kept = bench.store(&bench.place.join("store"), &[])?;
    let contents = [bench.content(40_000), bench.content(40_000)];
    bench.tries += 2;
    let mut put = kept.subject.command(&[], &["put", "-"]);
    put.stdout(File::options().write(true).open("/dev/full")?);
    let full = ended_without_output(put, &contents[0])?;
    bench.is_clear(&full, 3, Must::Fail("cannot write to standard output"));
    let mut put = kept.subject.command(&[], &["put", "-"]);
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    put.stdout(writer);
    let closed = ended_without_output(put, &contents[1])?;
    if !closed.status.success() || !closed.err.is_empty() {
        bench.fault(format!("a reader that has gone is a failure: {}", closed.told()));
    }
    // The results are stored all the same.
    for content in &contents {
        bench.reads(&kept, content);
    }
    bench.recovers(&kept, &contents, &[])
}

/// Runs a put whose output goes elsewhere.
fn ended_without_output(
    mut put: std::process::Command,
    content: &Arc<super::Content>,
) -> anyhow::Result<super::Ended> {
    use std::io::Write as _;

    let mut child = put.stdin(Stdio::piped()).spawn()?;
    // The put holds the other end of the output now.
    drop(put);
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&content.bytes)?;
    }
    let output = child.wait_with_output()?;
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(super::Ended { status: output.status, out: output.stdout, err })
}

/// Fills a disk by a file, but for so many pages.
fn fill(filler: &Path, pages: u64) -> anyhow::Result<()> {
    use std::io::Write as _;

    let _ = std::fs::remove_file(filler);
    let mut file = File::create(filler)?;
    let page = [0_u8; 4096];
    while file.write_all(&page).is_ok() {}
    let size = file.metadata()?.len();
    file.set_len(size.saturating_sub(pages * 4096))?;
    Ok(())
}
