//! JSON Schema, as far as the schemas here go. A word that is not known is a fault, so none is passed over.

use serde_json::Value;

#[track_caller]
pub(crate) fn meets(value: &Value, schema: &Value) {
    if let Err(fault) = check(value, schema, "") {
        panic!("{fault}: {value}");
    }
}

fn check(value: &Value, schema: &Value, path: &str) -> Result<(), String> {
    let fault = |what: &str| Err(format!("`{path}` {what}"));
    for (word, given) in schema.as_object().expect("a schema is an object") {
        match word.as_str() {
            "type" => {
                let is = match given.as_str() {
                    Some("object") => value.is_object(),
                    Some("array") => value.is_array(),
                    Some("string") => value.is_string(),
                    Some("number") => value.is_number(),
                    Some("boolean") => value.is_boolean(),
                    _ => panic!("a type that is not known: {given}"),
                };
                if !is {
                    return fault(&format!("is no {given}"));
                }
            }
            "const" if value != given => return fault(&format!("is not {given}")),
            "enum" if !given.as_array().unwrap().contains(value) => {
                return fault(&format!("is none of {given}"));
            }
            "minLength" if value.as_str().unwrap().len() < given.as_u64().unwrap() as usize => {
                return fault("is too short");
            }
            "required" => {
                let mut names = given.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                if let Some(name) = names.find(|name| value.get(name).is_none()) {
                    return fault(&format!("has no `{name}`"));
                }
            }
            "properties" => {
                for (name, schema) in given.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(value, schema, &format!("{path}/{name}"))?;
                    }
                }
            }
            "additionalProperties" if given == &Value::Bool(false) => {
                let known = |name: &&String| schema["properties"].get(name).is_none();
                if let Some(name) = value.as_object().and_then(|object| object.keys().find(known)) {
                    return fault(&format!("has a `{name}` that is not known"));
                }
            }
            "items" => {
                for (at, item) in value.as_array().unwrap().iter().enumerate() {
                    check(item, given, &format!("{path}/{at}"))?;
                }
            }
            "anyOf" => {
                let schemas = given.as_array().unwrap();
                if !schemas.iter().any(|schema| check(value, schema, path).is_ok()) {
                    return fault("is nothing of what it may be");
                }
            }
            "const" | "enum" | "minLength" | "additionalProperties" => {}
            _ => panic!("a word that is not known: {word}"),
        }
    }
    Ok(())
}
