//! What a package inherits from the workspace: everything that two packages could state apart.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Fault;

const FIELDS: [&str; 6] =
    ["version", "edition", "rust-version", "license", "repository", "publish"];
const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// What the members do not inherit, and what the workspace declares for nobody.
pub(super) fn faults(workspace: &Table, members: &[(PathBuf, Table)]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut inherited = BTreeSet::new();
    for (path, manifest) in members {
        let package = manifest.get("package").and_then(Value::as_table);
        for field in FIELDS {
            if !package.and_then(|package| package.get(field)).is_some_and(is_inherited) {
                faults.push(Fault::of(path, format!("write `{field}.workspace = true`")));
            }
        }
        if !manifest.get("lints").is_some_and(is_inherited) {
            faults.push(Fault::of(path, "write `workspace = true` under `[lints]`"));
        }
        dependencies(path, manifest, &mut faults, &mut inherited);
        for target in tables(manifest.get("target")) {
            dependencies(path, target, &mut faults, &mut inherited);
        }
    }
    let declared = workspace.get("workspace").and_then(|table| table.get("dependencies"));
    for (name, _) in declared.and_then(Value::as_table).into_iter().flatten() {
        if !inherited.contains(name.as_str()) {
            let text = format!("no package inherits the dependency `{name}`; remove it");
            faults.push(Fault::of("Cargo.toml", text));
        }
    }
    faults
}

fn dependencies<'a>(
    path: &Path,
    table: &'a Table,
    faults: &mut Vec<Fault>,
    inherited: &mut BTreeSet<&'a str>,
) {
    for section in SECTIONS {
        for (name, dependency) in table.get(section).and_then(Value::as_table).into_iter().flatten()
        {
            if is_inherited(dependency) {
                inherited.insert(name);
            } else {
                let text = format!(
                    "declare `{name}` in the workspace and write `{name}.workspace = true` here"
                );
                faults.push(Fault::of(path, text));
            }
        }
    }
}

fn tables(value: Option<&Value>) -> impl Iterator<Item = &Table> {
    let table = value.and_then(Value::as_table);
    table.into_iter().flatten().filter_map(|(_, value)| value.as_table())
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
        lints.workspace = true
        [package]
        name = 'a'
        version.workspace = true
        edition.workspace = true
        rust-version.workspace = true
        license.workspace = true
        repository.workspace = true
        publish.workspace = true
        [dependencies]
        memchr.workspace = true
    ";

    #[track_caller]
    fn finds(workspace: &str, member: &str, texts: &[&str]) {
        let member = (PathBuf::from("a/Cargo.toml"), member.parse().unwrap());
        let faults = faults(&workspace.parse().unwrap(), &[member]);
        let said: Vec<_> = faults.iter().map(|fault| fault.text.as_str()).collect();
        assert_eq!(said, texts);
    }

    #[test]
    fn member_that_inherits_everything_has_no_fault() {
        finds("workspace.dependencies.memchr = '2'", GOOD, &[]);
    }

    #[test]
    fn field_of_its_own_is_a_fault() {
        let own = GOOD.replace("edition.workspace = true", "edition = '2024'");
        finds("", &own, &["write `edition.workspace = true`"]);
        let none = GOOD.replace("lints.workspace = true", "");
        finds("", &none, &["write `workspace = true` under `[lints]`"]);
    }

    #[test]
    fn dependency_of_its_own_is_a_fault_in_every_section() {
        let right = "declare `csv` in the workspace and write `csv.workspace = true` here";
        for section in ["dev-dependencies", "build-dependencies", "target.x.dependencies"] {
            finds("", &format!("{GOOD}\n[{section}]\ncsv = '1'"), &[right]);
        }
        finds("", &format!("{GOOD}\ncsv = {{ version = '1' }}"), &[right]);
    }

    #[test]
    fn dependency_for_nobody_is_a_fault() {
        finds(
            "workspace.dependencies = { memchr = '2', csv = '1' }",
            GOOD,
            &["no package inherits the dependency `csv`; remove it"],
        );
    }
}
