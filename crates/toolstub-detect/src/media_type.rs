//! What a declared media type promises.

/// The families of media types that detection treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`, `text/json`, `*+json`, and the names of JSON Lines.
    Json,
    /// `application/xml`, `text/xml`, `*+xml`.
    Xml,
    /// Anything else, or nothing.
    Other,
}

impl MediaType {
    /// Reads a declared type; parameters (`; charset=utf-8`) and case are ignored.
    pub fn of(declared: Option<&str>) -> Self {
        let essence = declared.unwrap_or_default().split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" | "text/json" | "application/x-json" => return Self::Json,
            "application/xml" | "text/xml" => return Self::Xml,
            _ => {}
        }
        let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
        let plain = subtype.trim_start_matches("x-");
        if subtype.ends_with("+json") || is_json_lines(plain) || subtype.ends_with("+json-seq") {
            Self::Json
        } else if subtype.ends_with("+xml") {
            Self::Xml
        } else {
            Self::Other
        }
    }
}

fn is_json_lines(subtype: &str) -> bool {
    matches!(subtype, "ndjson" | "jsonl" | "jsonlines" | "json-lines" | "ldjson" | "json-seq")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_case_are_ignored() {
        for (declared, family) in [
            ("application/json", MediaType::Json),
            ("Application/JSON; charset=utf-8", MediaType::Json),
            ("application/vnd.api+json; charset=utf-8", MediaType::Json),
            ("application/x-ndjson", MediaType::Json),
            ("application/jsonl", MediaType::Json),
            ("text/xml", MediaType::Xml),
            ("application/atom+xml", MediaType::Xml),
            ("text/plain", MediaType::Other),
            ("text/html", MediaType::Other),
            ("json", MediaType::Other),
            ("", MediaType::Other),
        ] {
            assert_eq!(MediaType::of(Some(declared)), family, "{declared}");
        }
        assert_eq!(MediaType::of(None), MediaType::Other);
    }
}
