//! A case as it is written: one line of `cases.jsonl`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

/// The seconds that a step may take where it does not say.
pub(super) const MAX_SECONDS: f64 = 10.0;

/// What a case's line may state. What is information only is not looked at.
const FIELDS: [&str; 11] = [
    "id", "slug", "class", "level", "source", "gist", "inputs", "gen", "steps", "expected", "note",
];

/// One case.
#[derive(Debug)]
pub(super) struct Case {
    /// The inputs: the name that steps use, the path below the folder of cases, the digest.
    pub(super) inputs: Vec<Input>,
    /// The script that makes inputs, by its path below the folder of cases.
    pub(super) script: Option<String>,
    /// The steps.
    pub(super) steps: Vec<Map<String, Value>>,
    should: bool,
}

/// One input of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) sha256: String,
}

impl Case {
    /// The id of a case's line, whatever else is wrong with it.
    pub(super) fn id_of(line: &str) -> String {
        let value: Option<Value> = serde_json::from_str(line).ok();
        let id = value.as_ref().and_then(|value| value.get("id")).and_then(Value::as_str);
        id.unwrap_or("(no id)").to_owned()
    }

    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let case: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| format!("not a case: {error}"))?;
        if let Some(field) = case.keys().find(|field| !FIELDS.contains(&field.as_str())) {
            return Err(format!("unknown field `{field}` of a case"));
        }
        let should = match case.get("level").and_then(Value::as_str) {
            Some("must") => false,
            Some("should") => true,
            other => return Err(format!("unknown level {other:?}")),
        };
        let mut inputs = Vec::new();
        for (name, input) in objects(case.get("inputs")) {
            let field = |field| input.get(field).and_then(Value::as_str);
            let (Some(path), Some(sha256)) = (field("path"), field("sha256")) else {
                return Err(format!("the input {name} has no path or no sha256"));
            };
            let (path, sha256) = (path.to_owned(), sha256.to_owned());
            inputs.push(Input { name: name.clone(), path, sha256 });
        }
        let mut script = None;
        if let Some(made) = case.get("gen").filter(|made| !made.is_null()) {
            let path = made.get("script").and_then(Value::as_str);
            let path = path.ok_or("`gen` has no script")?;
            script = Some(path.to_owned());
            let folder = Path::new(path).parent().unwrap_or(Path::new(""));
            for (name, file) in objects(made.get("writes")) {
                let sha256 = file.get("sha256").and_then(Value::as_str);
                let sha256 = sha256.ok_or("a file that `gen` writes has no sha256")?.to_owned();
                let path = folder.join(name).to_string_lossy().into_owned();
                inputs.push(Input { name: name.clone(), path, sha256 });
            }
        }
        let steps = case.get("steps").and_then(Value::as_array).ok_or("a case has `steps`")?;
        let steps = steps.iter().map(|step| step.as_object().cloned());
        let steps: Option<Vec<_>> = steps.collect();
        let steps = steps.ok_or("a step is an object")?;
        Ok(Self { inputs, script, steps, should })
    }

    /// Whether everything that the case asks for is of level `should`.
    pub(super) fn is_should(&self) -> bool {
        self.should
    }

    /// The folders below `dir` that hold the case's inputs and script.
    pub(super) fn folders(&self, dir: &Path) -> BTreeSet<PathBuf> {
        let paths = self.inputs.iter().map(|input| input.path.as_str());
        let first = |path: &str| Path::new(path).iter().next().map(|first| dir.join(first));
        paths.chain(self.script.as_deref()).filter_map(first).collect()
    }

    /// The time that all steps together may take.
    pub(super) fn limit(&self) -> Duration {
        let seconds = self.steps.iter().map(|step| {
            let times = step.get("times").and_then(Value::as_f64).unwrap_or(1.0);
            times * max_seconds(step)
        });
        Duration::from_secs_f64(seconds.sum::<f64>().clamp(0.0, 3600.0))
    }
}

/// The seconds that a step may take.
pub(super) fn max_seconds(step: &Map<String, Value>) -> f64 {
    let expect = step.get("expect").and_then(|expect| expect.get("max_seconds"));
    expect.and_then(Value::as_f64).unwrap_or(MAX_SECONDS)
}

fn objects(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_that_is_not_known_fails_the_case() {
        let line = r#"{"id":"X1","level":"must","inputs":{},"steps":[],"colour":"red"}"#;
        assert_eq!(Case::parse(line).unwrap_err(), "unknown field `colour` of a case");
        assert!(Case::parse(&line.replace(r#","colour":"red""#, "")).is_ok());
    }

    #[test]
    fn level_that_is_not_known_fails_the_case() {
        let line = r#"{"id":"X1","level":"may","inputs":{},"steps":[]}"#;
        assert!(Case::parse(line).is_err());
        assert_eq!(Case::id_of(line), "X1");
    }
}
