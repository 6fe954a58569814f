//! The real servers that stand ready for the tests.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

/// Where the variable says that a test without a server fails.
const REQUIRED: &str = "TOOLSTUB_REQUIRE_SERVERS";

/// A real server, as `cargo xtask servers start` wrote it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealServer {
    /// Its URL.
    pub endpoint: String,
    /// The bucket for the tests.
    pub bucket: String,
    /// The access key's id.
    pub access_key_id: String,
    /// The secret that belongs to it.
    pub secret_access_key: String,
}

impl RealServer {
    /// The server of a name, from the file in which they are written down.
    ///
    /// Without one it says so and why on standard error, and returns `None`: the test ends there.
    ///
    /// # Panics
    ///
    /// Without one where `TOOLSTUB_REQUIRE_SERVERS` is `1`.
    pub fn find(name: &str, file: &Path) -> Option<Self> {
        match Self::read(name, file) {
            Ok(server) => Some(server),
            Err(why) => {
                let required = std::env::var_os(REQUIRED).is_some_and(|value| value == "1");
                assert!(!required, "{REQUIRED} is 1, and there is no {name}: {why}");
                tell(&format!(
                    "NOT RUN: there is no {name}: {why}; run `cargo xtask servers start`"
                ));
                None
            }
        }
    }

    fn read(name: &str, file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        Self::parse(name, &text)
    }

    /// Reads `NAME_FIELD=value` lines.
    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let lines: BTreeMap<&str, &str> =
            text.lines().filter_map(|line| line.split_once('=')).collect();
        let field = |field: &str| {
            let line = format!("{}_{field}", name.to_uppercase());
            let value = lines.get(line.as_str()).map(|value| (*value).to_owned());
            value.ok_or_else(|| format!("{line} is not written down"))
        };
        Ok(Self {
            endpoint: field("ENDPOINT")?,
            bucket: field("BUCKET")?,
            access_key_id: field("ACCESS_KEY_ID")?,
            secret_access_key: field("SECRET_ACCESS_KEY")?,
        })
    }
}

/// Says something past the test harness, which keeps what a test that passes prints.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_by_its_name() {
        let text = "MOTO_ENDPOINT=http://127.0.0.1:1\nMOTO_BUCKET=b\n\
                    MOTO_ACCESS_KEY_ID=id\nMOTO_SECRET_ACCESS_KEY=s=1\n";
        let server = RealServer::parse("moto", text).unwrap();
        assert_eq!(server.endpoint, "http://127.0.0.1:1");
        assert_eq!(server.secret_access_key, "s=1");
        let missing = RealServer::parse("seaweedfs", text).unwrap_err();
        assert_eq!(missing, "SEAWEEDFS_ENDPOINT is not written down");
    }
}
