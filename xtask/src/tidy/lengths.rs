//! How long a file may be.

use std::path::Path;

use super::Fault;
use super::source::Source;

const MAX_FILE: usize = 900;
const MAX_LIB: usize = 120;
const MAX_README: usize = 150;

/// Whether a file is a test or bench rather than code.
pub(super) fn is_test(path: &Path) -> bool {
    let dirs = path.parent().into_iter().flat_map(Path::components).skip(2);
    path.file_stem().is_some_and(|stem| stem == "tests")
        || dirs.into_iter().any(|dir| dir.as_os_str() == "tests" || dir.as_os_str() == "benches")
}

pub(super) fn source(path: &Path, source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    let code = source.code_lines();
    if code > MAX_FILE && !is_test(path) {
        let text = format!("{code} lines without tests; split it, at most {MAX_FILE}");
        faults.push(Fault::of(path, text));
    }
    if path.ends_with("src/lib.rs") && source.lines > MAX_LIB {
        let text =
            format!("{} lines; lib.rs has docs and re-exports, at most {MAX_LIB}", source.lines);
        faults.push(Fault::of(path, text));
    }
    faults
}

pub(super) fn readme(path: &Path, text: &str) -> Option<Fault> {
    let lines = text.lines().count();
    let fault = format!("{lines} lines; move what does not fit into docs/, at most {MAX_README}");
    (lines > MAX_README).then(|| Fault::of(path, fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn faults(path: &str, text: &str, count: usize) {
        let faults = source(Path::new(path), &Source::parse(text).unwrap());
        assert_eq!(faults.len(), count, "{faults:?}");
    }

    #[test]
    fn file_has_at_most_900_lines() {
        faults("crates/a/src/b.rs", &"\n".repeat(900), 0);
        faults("crates/a/src/b.rs", &"\n".repeat(901), 1);
    }

    #[test]
    fn tests_do_not_count() {
        let tests = format!("#[cfg(test)]\nmod tests {{{}}}\n", "\n".repeat(900));
        faults("crates/a/src/b.rs", &tests, 0);
        faults("crates/a/tests/b.rs", &"\n".repeat(901), 0);
        faults("crates/a/src/b/tests.rs", &"\n".repeat(901), 0);
        faults("tests/corpus/src/b.rs", &"\n".repeat(901), 1);
    }

    #[test]
    fn lib_has_at_most_120_lines() {
        faults("crates/a/src/lib.rs", &"\n".repeat(120), 0);
        faults("crates/a/src/lib.rs", &"\n".repeat(121), 1);
    }

    #[test]
    fn readme_has_at_most_150_lines() {
        assert_eq!(readme(Path::new("README.md"), &"x\n".repeat(150)), None);
        assert!(readme(Path::new("README.md"), &"x\n".repeat(151)).is_some());
    }
}
