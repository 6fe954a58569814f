//! What is said of YAML.

use toolstub_detect::yaml::{Root, ValueKind, Yaml};

use crate::draft::{Draft, Items, Line, List, name};

pub(crate) fn draft(yaml: &Yaml) -> Draft {
    let mut draft = match &yaml.root {
        Root::Mapping(count, members) => {
            let names = members.iter().map(|(key, _)| name(key)).collect();
            let line = |(key, value): &(String, ValueKind)| -> Line {
                format!("{}: {}", name(key), type_name(*value)).into()
            };
            Draft {
                title: "YAML mapping".to_owned(),
                summary: vec![
                    "top-level type: object".into(),
                    Line::List(List::new("top-level keys", names, count.at_least)),
                    format!("key_count: {count}").into(),
                ],
                parts: Items::new(members.iter().map(line).collect(), count.at_least),
                ..Draft::default()
            }
        }
        Root::Sequence(length) => Draft {
            title: "YAML sequence".to_owned(),
            summary: vec!["top-level type: array".into(), format!("array length: {length}").into()],
            ..Draft::default()
        },
    };
    if yaml.documents > 1 {
        draft.summary.push(format!("documents: {}", yaml.documents).into());
    }
    draft
}

fn type_name(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Object => "object",
        ValueKind::Array => "array",
        ValueKind::String => "string",
        ValueKind::Number => "number",
        ValueKind::Boolean => "boolean",
        ValueKind::Null => "null",
    }
}
