//! File systems of a proof's own, which go with it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use tempfile::TempDir;

/// Why a proof cannot be run on this machine. It is neither passed nor failed then.
#[derive(Debug)]
pub(crate) struct NotHere(String);

impl fmt::Display for NotHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotHere {}

impl NotHere {
    pub(crate) fn because(reason: impl Into<String>) -> anyhow::Error {
        Self(reason.into()).into()
    }
}

/// Looks up programs that a proof cannot be run without, before it is begun.
pub(super) fn require(names: &[&str]) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let is_missing = |name: &&str| !folders.iter().any(|folder| folder.join(name).is_file());
    let missing: Vec<_> = names.iter().copied().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(NotHere::because(format!("the PATH has no {}", missing.join(", no "))))
}

/// Runs a command of the system that must succeed; what it printed.
pub(super) fn system(words: &[&str]) -> anyhow::Result<String> {
    let (name, args) = words.split_first().context("a command has a name")?;
    let output =
        Command::new(name).args(args).output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        bail!("{}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A folder for mounts and images, that every user can pass through.
pub(super) fn folder() -> anyhow::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("crash-").tempdir()?;
    system(&["chmod", "755", &folder.path().to_string_lossy()])?;
    Ok(folder)
}

/// What is mounted is unmounted when this is dropped.
#[derive(Debug)]
pub(super) struct Mount(PathBuf);

impl Mount {
    /// Mounts something, on a folder that is made if need be.
    pub(super) fn new(args: &[&str], at: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(at)?;
        let shown = at.to_string_lossy();
        system(&[&["mount"], args, &[&shown]].concat())?;
        Ok(Self(at.to_owned()))
    }

    /// The same for the first mount of a proof: where it is refused, the proof cannot be run.
    pub(super) fn first(args: &[&str], at: &Path) -> anyhow::Result<Self> {
        Self::new(args, at).map_err(|error| {
            NotHere::because(format!(
                "file systems cannot be mounted here, which takes root: {error:#}"
            ))
        })
    }

    /// A file system in memory.
    pub(super) fn memory(options: &str, at: &Path) -> anyhow::Result<Self> {
        Self::first(&["-t", "tmpfs", "-o", options, "tmpfs"], at)
    }

    pub(super) fn remount(&self, options: &str) -> anyhow::Result<()> {
        let options = format!("remount,{options}");
        system(&["mount", "-o", &options, &self.0.to_string_lossy()]).map(drop)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Unmounts it; an error if something still uses it.
    pub(super) fn end(self) -> anyhow::Result<()> {
        system(&["umount", &self.0.to_string_lossy()])?;
        // It is done already.
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = system(&["umount", "--lazy", &self.0.to_string_lossy()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_told_by_name() {
        assert!(require(&["sh"]).is_ok());
        let error = require(&["sh", "no-such-program"]).unwrap_err();
        assert!(error.is::<NotHere>());
        assert_eq!(error.to_string(), "the PATH has no no-such-program");
    }
}
