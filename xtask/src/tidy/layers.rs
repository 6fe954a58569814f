//! Which crate may depend on which: arrows run one way.

use cargo_metadata::Metadata;

use super::Fault;

/// Every package of the workspace, with the packages of the workspace that it may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("toolstub-core", &[]),
    ("toolstub-detect", &["toolstub-core"]),
    ("toolstub-summarize", &["toolstub-core", "toolstub-detect"]),
    ("toolstub-render", &["toolstub-core"]),
    ("toolstub-store", &["toolstub-core"]),
    ("toolstub-store-object", &["toolstub-core", "toolstub-store"]),
    (
        "toolstub-session",
        &[
            "toolstub-core",
            "toolstub-detect",
            "toolstub-summarize",
            "toolstub-render",
            "toolstub-store",
        ],
    ),
    ("toolstub-http", &["toolstub-core", "toolstub-session", "toolstub-store"]),
    ("toolstub-mcp", &["toolstub-core", "toolstub-session", "toolstub-store"]),
    (
        "toolstub-cli",
        &[
            "toolstub-core",
            "toolstub-detect",
            "toolstub-summarize",
            "toolstub-render",
            "toolstub-store",
            "toolstub-store-object",
            "toolstub-session",
            "toolstub-http",
            "toolstub-mcp",
        ],
    ),
    (
        "toolstub-corpus-tests",
        &["toolstub-core", "toolstub-detect", "toolstub-summarize", "toolstub-render"],
    ),
    ("toolstub-storage-tests", &["toolstub-core", "toolstub-store", "toolstub-store-object"]),
    (
        "xtask",
        &[
            "toolstub-core",
            "toolstub-detect",
            "toolstub-summarize",
            "toolstub-render",
            "toolstub-store",
            "toolstub-store-object",
            "toolstub-session",
            "toolstub-corpus-tests",
        ],
    ),
];

/// The workspace's own edges that the table does not have, whatever they are needed for.
pub(super) fn faults(metadata: &Metadata) -> Vec<Fault> {
    let packages = metadata.workspace_packages();
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut faults = Vec::new();
    for package in &packages {
        let manifest = super::relative(
            metadata.workspace_root.as_std_path(),
            package.manifest_path.as_std_path(),
        );
        let dependencies = package.dependencies.iter().map(|dependency| dependency.name.as_str());
        // A package may depend on itself for its tests, with more features.
        let others = dependencies.filter(|name| *name != package.name.as_str());
        let edges = others.filter(|name| names.contains(name));
        faults.extend(
            judge(package.name.as_str(), edges).into_iter().map(|text| Fault::of(&manifest, text)),
        );
    }
    faults
}

fn judge<'a>(from: &str, edges: impl Iterator<Item = &'a str>) -> Vec<String> {
    let Some((_, below)) = LAYERS.iter().find(|(name, _)| *name == from) else {
        return vec![format!("{from} has no layer; give it a row in xtask/src/tidy/layers.rs")];
    };
    // A crate may turn its own features on for its tests.
    let edges = edges.filter(|to| *to != from && !below.contains(to));
    let allowed = if below.is_empty() { "nothing here".to_owned() } else { below.join(", ") };
    edges.map(|to| format!("{from} depends on {to}; it may depend on {allowed}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn judges(from: &str, edges: &[&str], faults: &[&str]) {
        assert_eq!(judge(from, edges.iter().copied()), faults);
    }

    #[test]
    fn arrows_run_down() {
        judges("toolstub-core", &["toolstub-core"], &[]);
        judges("toolstub-summarize", &["toolstub-core", "toolstub-detect"], &[]);
    }

    #[test]
    fn arrow_up_is_a_fault() {
        judges(
            "toolstub-detect",
            &["toolstub-core", "toolstub-store"],
            &["toolstub-detect depends on toolstub-store; it may depend on toolstub-core"],
        );
        judges(
            "toolstub-core",
            &["toolstub-render"],
            &["toolstub-core depends on toolstub-render; it may depend on nothing here"],
        );
    }

    #[test]
    fn package_without_a_layer_is_a_fault() {
        judges(
            "toolstub-extra",
            &[],
            &["toolstub-extra has no layer; give it a row in xtask/src/tidy/layers.rs"],
        );
    }

    #[test]
    fn table_has_no_cycle() {
        for (place, (name, below)) in LAYERS.iter().enumerate() {
            for lower in *below {
                let found = LAYERS[..place].iter().any(|(other, _)| other == lower);
                assert!(found, "{name} stands above {lower} in the table");
            }
        }
    }
}
