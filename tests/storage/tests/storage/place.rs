//! Places in buckets.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolstub_storage_tests::{FakeS3, RealServer};
use toolstub_store::{Backend, ResultStore};
use toolstub_store_object::{OpenOptions, open};

/// Where `cargo xtask servers` keeps the real servers.
pub(crate) fn servers() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("servers")
}

/// A name that no run before had: the buckets of real servers keep what was left in them.
pub(crate) fn fresh_name() -> String {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos().to_string()
}

/// A bucket, and who asks for it in which way.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    endpoint: String,
    bucket: String,
    key_id: String,
    secret: String,
    timeout: Duration,
}

impl Place {
    /// The bucket of a fake.
    pub(crate) fn fake(fake: &FakeS3) -> Self {
        Self {
            endpoint: fake.endpoint(),
            bucket: FakeS3::BUCKET.to_owned(),
            key_id: "any".to_owned(),
            secret: "any".to_owned(),
            timeout: Duration::from_secs(60),
        }
    }

    /// The bucket of a real server; `None` where there is no such server, which is told.
    pub(crate) fn real(name: &str) -> Option<Self> {
        let server = RealServer::find(name, &servers().join("env"))?;
        Some(Self {
            endpoint: server.endpoint,
            bucket: server.bucket,
            key_id: server.access_key_id,
            secret: server.secret_access_key,
            timeout: Duration::from_secs(60),
        })
    }

    /// The same with another secret.
    pub(crate) fn with_secret(self, secret: &str) -> Self {
        Self { secret: secret.to_owned(), ..self }
    }

    /// The same, waiting for an answer no longer than this.
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The backend over a prefix of the bucket, as anybody opens it.
    pub(crate) fn backend(&self, prefix: &str) -> Arc<dyn Backend> {
        let timeout = format!("{}ms", self.timeout.as_millis());
        let variables = [
            ("AWS_ENDPOINT", self.endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", &self.key_id),
            ("AWS_SECRET_ACCESS_KEY", &self.secret),
            ("AWS_TIMEOUT", &timeout),
            ("TOOLSTUB_MAX_RETRIES", "2"),
        ];
        let variables = variables.into_iter().collect();
        let options = OpenOptions { variables, ..OpenOptions::default() };
        open(&format!("s3://{}/{prefix}", self.bucket), &options).unwrap()
    }

    /// The endpoint, the key, its secret and the bucket, as other clients take them.
    pub(crate) fn for_clients(&self) -> [&str; 4] {
        [&self.endpoint, &self.key_id, &self.secret, &self.bucket]
    }

    /// The store over a prefix of the bucket.
    pub(crate) fn store(&self, prefix: &str) -> ResultStore {
        ResultStore::new(self.backend(prefix))
    }
}
