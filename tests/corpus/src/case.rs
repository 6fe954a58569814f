//! A case: an input, and what must be said of it.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolstub_core::Kind;

use crate::generator::Generator;

/// The largest input that is kept as a file, in bytes; a larger one is generated.
pub const MAX_INPUT: usize = 64 * 1024;

/// What `case.toml` states.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// The situation that the case stands for.
    pub why: String,
    /// The command whose output the input is, or how else it came to be.
    pub origin: String,
    /// The licence of the input.
    pub licence: String,
    /// The SHA-256 of the input, in hex.
    pub sha256: String,
    /// The kind that must be detected.
    pub kind: Kind,
    /// The media type that the tool declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Whole lines that must stand in the synopsis, computed by another tool than toolstub.
    #[serde(default)]
    pub facts: Vec<String>,
    /// Words that must stand somewhere in the synopsis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
    /// The configurations whose stubs the snapshot shows.
    pub profiles: Vec<Profile>,
    /// What is known to be wrong; kind and facts are then expected to be missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_issue: Option<String>,
    /// How the input is made, where it is not a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
}

/// A named configuration of a stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The defaults: a typed synopsis.
    Typed,
    /// The first 40 lines, at most 2,000 characters.
    Head,
}

impl Profile {
    /// Every profile, in the order of the ledger's columns.
    pub const ALL: [Self; 2] = [Self::Typed, Self::Head];

    /// The profile's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::Head => "head",
        }
    }
}

/// One case of the corpus.
#[derive(Debug, Clone)]
pub struct Case {
    /// `<kind>/<case>`, from the directory's path.
    pub id: String,
    /// The directory.
    pub dir: PathBuf,
    /// What `case.toml` states.
    pub described: Described,
}

impl Case {
    /// Reads the case that lies in a directory.
    pub fn read(dir: PathBuf) -> Result<Self, CorpusError> {
        let file = dir.join("case.toml");
        let text = std::fs::read_to_string(&file).map_err(|source| unreadable(&file, source))?;
        let described = toml::from_str(&text)
            .map_err(|source| CorpusError::Toml { path: file, source: Box::new(source) })?;
        let names: Vec<_> =
            dir.components().rev().take(2).map(|c| c.as_os_str().to_string_lossy()).collect();
        let id = names.iter().rev().map(AsRef::as_ref).collect::<Vec<&str>>().join("/");
        Ok(Self { id, dir, described })
    }

    /// The files `input.*` of the directory; one, or none where the input is generated.
    pub fn input_files(&self) -> Result<Vec<PathBuf>, CorpusError> {
        let mut files = entries(&self.dir)?;
        files.retain(|path| path.file_stem().is_some_and(|stem| stem == "input"));
        Ok(files)
    }

    /// The input's bytes.
    pub fn content(&self) -> Result<Vec<u8>, CorpusError> {
        if let Some(generator) = &self.described.generator {
            return Ok(generator.generate());
        }
        let files = self.input_files()?;
        let file = files.first().ok_or_else(|| CorpusError::NoInput { dir: self.dir.clone() })?;
        std::fs::read(file).map_err(|source| unreadable(file, source))
    }
}

/// Whether a directory's name can be a case's: words in lower case, joined by hyphens, not numbered.
pub fn is_case_name(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word)
}

/// Why the corpus could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A file or directory cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A `case.toml` states something else than it may.
    #[error("{path} is not a case's description")]
    Toml {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<toml::de::Error>,
    },
    /// A case has neither an input nor a generator.
    #[error("{dir} has neither a file `input.*` nor a generator")]
    NoInput {
        /// The case's directory.
        dir: PathBuf,
    },
}

pub(crate) fn unreadable(path: &Path, source: io::Error) -> CorpusError {
    CorpusError::Unreadable { path: path.to_owned(), source }
}

/// What lies in a directory, by name; nothing where there is no such directory.
pub(crate) fn entries(dir: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let read = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|source| unreadable(dir, source))?,
    };
    let paths: io::Result<Vec<_>> = read.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|source| unreadable(dir, source))?;
    paths.sort();
    Ok(paths)
}

pub(crate) fn subdirectories(dir: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let mut paths = entries(dir)?;
    paths.retain(|path| path.is_dir());
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_joined_by_hyphens_and_never_numbered() {
        for good in ["git-log", "depth-200", "makefile", "x509-text"] {
            assert!(is_case_name(good), "{good}");
        }
        for bad in ["", "01-git-log", "Git-log", "git_log", "git--log", "git-", "-git", "a b"] {
            assert!(!is_case_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_field_that_is_not_known_is_refused() {
        let text = "why='w'\norigin='o'\nlicence='l'\nsha256='s'\nkind='csv'\nprofiles=['typed']\n";
        assert!(toml::from_str::<Described>(text).is_ok());
        assert!(toml::from_str::<Described>(&format!("{text}colour='red'\n")).is_err());
    }
}
