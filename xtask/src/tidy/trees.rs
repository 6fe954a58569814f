//! What may not be among the dependencies of a pure crate, however far down.

use std::path::PathBuf;

use super::Fault;

/// Runtimes, clients and stores, by name or by the start of a name.
const BANNED: [&str; 8] =
    ["tokio", "futures", "object_store", "reqwest", "hyper", "async-std", "smol", "rand"];

/// The banned packages in what `cargo tree --prefix none` printed for a crate.
pub(super) fn faults(name: &str, tree: &str) -> Vec<Fault> {
    let mut found: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|package| BANNED.iter().any(|banned| is_of(package, banned)))
        .collect();
    found.sort_unstable();
    found.dedup();
    let manifest = PathBuf::from(format!("crates/{name}/Cargo.toml"));
    let text = |package| {
        format!("{package} is in the tree; see `cargo tree -p {name} -e normal -i {package}`")
    };
    found.into_iter().map(|package| Fault::of(&manifest, text(package))).collect()
}

fn is_of(package: &str, banned: &str) -> bool {
    let rest = package.strip_prefix(banned);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(tree: &str, packages: &[&str]) {
        let faults = faults("toolstub-detect", tree);
        let said: Vec<_> =
            faults.iter().map(|fault| fault.text.split(' ').next().unwrap()).collect();
        assert_eq!(said, packages);
    }

    #[test]
    fn pure_tree_has_no_fault() {
        finds("toolstub-detect v0.1.0 (/srv/x)\nmemchr v2.8.3\nrandomize v1.0.0\n", &[]);
    }

    #[test]
    fn runtime_in_the_tree_is_a_fault_once() {
        let tree = "a v1.0.0\ntokio v1.54.1\nfutures-core v0.3.34\ntokio v1.54.1 (*)\n";
        finds(tree, &["futures-core", "tokio"]);
    }
}
