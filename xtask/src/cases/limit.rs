//! A limit on the size of files, as `ulimit -f` sets it before a program starts.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};

/// A limit on this process, lifted when this is dropped.
#[derive(Debug)]
pub(super) struct FileSizeLimit {
    before: String,
}

impl FileSizeLimit {
    /// Writes beyond so many bytes of a file fail from now on.
    pub(super) fn set(bytes: u64) -> anyhow::Result<Self> {
        // Without this the signal that comes with the error ends the process.
        let noted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGXFSZ, noted)?;
        let limits = std::fs::read_to_string("/proc/self/limits")?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max file size"));
        let before = line.and_then(|line| line.split_whitespace().next());
        let before = before.context("the system does not tell its limits")?.to_owned();
        limit(&bytes.to_string())?;
        Ok(Self { before })
    }
}

impl Drop for FileSizeLimit {
    fn drop(&mut self) {
        // A case that cannot tell how it ended has failed: nothing passes unseen.
        let _ = limit(&self.before);
    }
}

/// Sets the limit that is in force, below the one that cannot be raised.
fn limit(bytes: &str) -> anyhow::Result<()> {
    let pid = std::process::id().to_string();
    let args = ["--pid", &pid, &format!("--fsize={bytes}:")];
    let output = Command::new("prlimit").args(args).output().context("cannot run prlimit")?;
    if !output.status.success() {
        bail!("prlimit: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
