//! `cargo xtask tidy`: the rules of the house that the compiler does not check.

mod layers;
mod lengths;
mod manifests;
mod source;
mod trees;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::{root, say};
use source::Source;

/// Crates without input, output, clock, randomness or async code.
const PURE: [&str; 4] =
    ["toolstub-core", "toolstub-detect", "toolstub-summarize", "toolstub-render"];

/// One broken rule: where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    path: PathBuf,
    line: Option<usize>,
    text: String,
}

impl Fault {
    fn of(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, text: text.into() }
    }

    fn at(path: impl Into<PathBuf>, line: usize, text: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of(path, text) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.text)
    }
}

/// Runs every check; whether all passed.
pub(crate) fn run() -> anyhow::Result<bool> {
    let root = root()?;
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata failed")?;
    let mut faults = layers::faults(&metadata);
    for name in PURE {
        faults.extend(trees::faults(name, &tree_of(root, name)?));
    }
    faults.extend(manifest_faults(root, &metadata)?);
    let sources = sources(root)?;
    for path in &sources {
        faults.extend(source_faults(root, path)?);
    }
    let readme = root.join("README.md");
    if readme.exists() {
        faults.extend(lengths::readme(Path::new("README.md"), &read(&readme)?));
    }
    for fault in &faults {
        say(fault);
    }
    if faults.is_empty() {
        let packages = metadata.workspace_members.len();
        say(format_args!("tidy: {packages} packages, {} source files", sources.len()));
    } else {
        say(format_args!("tidy: {} faults", faults.len()));
    }
    Ok(faults.is_empty())
}

/// The packages that a crate's normal dependencies bring, as `cargo tree` prints them.
fn tree_of(root: &Path, name: &str) -> anyhow::Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--package", name, "--edges", "normal", "--prefix", "none"])
        .current_dir(root)
        .output()
        .context("cannot run cargo tree")?;
    if !output.status.success() {
        bail!("cargo tree --package {name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn manifest_faults(root: &Path, metadata: &Metadata) -> anyhow::Result<Vec<Fault>> {
    let mut members = Vec::new();
    for package in metadata.workspace_packages() {
        let path = package.manifest_path.as_std_path();
        members.push((relative(root, path), parse(path)?));
    }
    Ok(manifests::faults(&parse(&root.join("Cargo.toml"))?, &members))
}

fn source_faults(root: &Path, path: &Path) -> anyhow::Result<Vec<Fault>> {
    let text = read(path)?;
    let path = relative(root, path);
    let source = match Source::parse(&text) {
        Ok(source) => source,
        Err((line, error)) => return Ok(vec![Fault::at(path, line, error)]),
    };
    let mut faults = lengths::source(&path, &source);
    faults.extend(
        source
            .ignored
            .iter()
            .map(|&line| Fault::at(&path, line, "an ignored test; let it run, or remove it")),
    );
    let pure = PURE.iter().any(|name| path.starts_with(format!("crates/{name}/src")));
    if pure && !lengths::is_test(&path) {
        faults.extend(source.impure.iter().map(|(line, what)| {
            let text = format!("`{what}` in a pure crate; take what it gives from the caller");
            Fault::at(&path, *line, text)
        }));
    }
    Ok(faults)
}

/// Every source file of the workspace's packages, by path.
fn sources(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut dirs: Vec<PathBuf> = ["crates", "tests", "xtask"].map(|dir| root.join(dir)).into();
    while let Some(dir) = dirs.pop() {
        let entries = match std::fs::read_dir(&dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries.with_context(|| format!("cannot read {}", dir.display()))?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn relative(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_owned()
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn parse(path: &Path) -> anyhow::Result<toml::Table> {
    read(path)?.parse().with_context(|| format!("cannot read {}", path.display()))
}
