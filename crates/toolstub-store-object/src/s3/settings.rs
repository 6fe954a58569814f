//! What variables say of how to reach a bucket, checked before anything is asked of it.

use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{BackoffConfig, Certificate, ClientConfigKey, ClientOptions, RetryConfig};
use url::{Host, Url};

use crate::{OpenError, Variables};

/// The variables that `object_store` knows and that it is given. Others do not reach it: it takes
/// more of them than anybody would expect, and lets certificates be wrong.
const KNOWN: [&str; 16] = [
    ACCESS_KEY,
    SECRET_KEY,
    "AWS_SESSION_TOKEN",
    TOKEN_FILE,
    ROLE,
    "AWS_ROLE_SESSION_NAME",
    "AWS_ENDPOINT_URL_STS",
    CONTAINER_RELATIVE,
    CONTAINER_FULL,
    CONTAINER_TOKEN,
    "AWS_SERVER_SIDE_ENCRYPTION",
    "AWS_SSE_KMS_KEY_ID",
    "AWS_SSE_BUCKET_KEY_ENABLED",
    "AWS_CONDITIONAL_PUT",
    "AWS_CHECKSUM_ALGORITHM",
    "AWS_REQUEST_PAYER",
];

const ACCESS_KEY: &str = "AWS_ACCESS_KEY_ID";
const SECRET_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN_FILE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";
const ROLE: &str = "AWS_ROLE_ARN";
const CONTAINER_RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const CONTAINER_FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const CONTAINER_TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
const METADATA_ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

/// Where the endpoint is looked for; the first that is set counts.
const ENDPOINTS: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
/// Where the region is looked for; the first that is set counts.
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// How long a request may take, its body included.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a request is repeated.
const MAX_RETRIES: usize = 3;
/// How long after its start a request is still repeated: long enough to repeat one twice that had
/// no answer, and short enough to be over after some two minutes, whatever a server does.
const RETRY_TIMEOUT: Duration = Duration::from_secs(90);
/// The longest pause before a repetition.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Sets up the way to a bucket as the variables say.
pub(super) fn builder(bucket: &str, variables: &Variables) -> Result<AmazonS3Builder, OpenError> {
    let variables = Checked(variables);
    variables.check_credentials()?;
    let by_host = variables.flag(VIRTUAL_HOSTED)?.unwrap_or(false);
    let endpoint = variables.endpoint(bucket, by_host)?;
    // Without TLS, a machine that knows no certificates is as good as any.
    let plain = endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http:"))
        && !variables.asks_for_credentials_over_tls();
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_client_options(variables.client(plain)?)
        .with_retry(variables.retry()?)
        .with_checksum_algorithm(object_store::aws::Checksum::SHA256)
        .with_unsigned_payload(variables.flag("AWS_UNSIGNED_PAYLOAD")?.unwrap_or(false))
        .with_skip_signature(variables.flag(SKIP_SIGNATURE)?.unwrap_or(false))
        // Objects are removed one by one, and not every server removes many at once.
        .with_disable_bulk_delete(variables.flag("AWS_DISABLE_BULK_DELETE")?.unwrap_or(true));
    for name in KNOWN {
        let key = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>();
        if let (Some(value), Ok(key)) = (variables.text(name)?, key) {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(region) = variables.region()? {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(endpoint) = variables.text(METADATA_ENDPOINT)? {
        builder = builder.with_metadata_endpoint(endpoint);
    }
    Ok(builder.with_virtual_hosted_style_request(by_host))
}

const SKIP_SIGNATURE: &str = "AWS_SKIP_SIGNATURE";
const VIRTUAL_HOSTED: &str = "AWS_VIRTUAL_HOSTED_STYLE_REQUEST";
const ALLOW_HTTP: &str = "AWS_ALLOW_HTTP";

/// Variables, read with an error that names the one that is wrong and never what it holds.
struct Checked<'a>(&'a Variables);

impl<'a> Checked<'a> {
    /// A value that becomes part of a request or the name of a file.
    fn text(&self, name: &'static str) -> Result<Option<&'a str>, OpenError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let one_of = |values: &[&str]| values.contains(&value);
        let (right, expected) = match name {
            "AWS_CONDITIONAL_PUT" => (one_of(&["etag", "disabled"]), "give etag or disabled"),
            "AWS_CHECKSUM_ALGORITHM" => {
                let known = ["sha256", "crc64nvme"];
                let right = known.iter().any(|known| value.eq_ignore_ascii_case(known));
                (right, "give sha256 or crc64nvme")
            }
            "AWS_SERVER_SIDE_ENCRYPTION" => {
                let known = one_of(&["AES256", "aws:kms", "aws:kms:dsse"]);
                (known, "give AES256, aws:kms or aws:kms:dsse")
            }
            "AWS_REQUEST_PAYER" => {
                let right = value.eq_ignore_ascii_case("requester") || as_flag(value).is_some();
                (right, "give requester, true or false")
            }
            "AWS_SSE_BUCKET_KEY_ENABLED" => (as_flag(value).is_some(), FLAG),
            TOKEN_FILE | CONTAINER_TOKEN => {
                (!value.chars().any(char::is_control), "give the path of a file")
            }
            "AWS_ENDPOINT_URL_STS" | METADATA_ENDPOINT | CONTAINER_FULL => {
                (as_address(value).is_some(), ADDRESS)
            }
            _ => (
                value.bytes().all(|byte| byte.is_ascii_graphic()),
                "give it without spaces, line breaks and characters beyond ASCII",
            ),
        };
        if right { Ok(Some(value)) } else { Err(OpenError::Variable { name, expected }) }
    }

    fn flag(&self, name: &'static str) -> Result<Option<bool>, OpenError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        as_flag(value).map(Some).ok_or(OpenError::Variable { name, expected: FLAG })
    }

    fn duration(&self, name: &'static str) -> Result<Option<Duration>, OpenError> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let expected = "give a time of up to a day, such as 30s, 500ms or 2m";
        as_duration(value).map(Some).ok_or(OpenError::Variable { name, expected })
    }

    fn region(&self) -> Result<Option<&'a str>, OpenError> {
        for name in REGIONS {
            let Some(value) = self.0.get(name) else { continue };
            let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if value.bytes().all(known) {
                return Ok(Some(value));
            }
            return Err(OpenError::Variable { name, expected: "give a region, such as us-east-1" });
        }
        Ok(None)
    }

    /// The server's address, behind the bucket's name where the bucket is addressed by its host.
    ///
    /// The name is always put there: `minio` may well be a bucket at `minio.example.com`.
    fn endpoint(&self, bucket: &str, by_host: bool) -> Result<Option<String>, OpenError> {
        for name in ENDPOINTS {
            let Some(value) = self.0.get(name) else { continue };
            let wrong = |expected| OpenError::Variable { name, expected };
            let mut url = as_address(value).ok_or_else(|| wrong(ADDRESS))?;
            if url.scheme() == "http" && !self.flag(ALLOW_HTTP)?.unwrap_or(false) {
                return Err(wrong(
                    "give an https address, or set AWS_ALLOW_HTTP=true where nobody can listen in",
                ));
            }
            if by_host {
                let Some(Host::Domain(host)) = url.host() else {
                    return Err(wrong(
                        "give a host's name, or leave AWS_VIRTUAL_HOSTED_STYLE_REQUEST out",
                    ));
                };
                let host = format!("{bucket}.{host}");
                url.set_host(Some(&host)).map_err(|_| wrong(ADDRESS))?;
            }
            return Ok(Some(url.as_str().trim_end_matches('/').to_owned()));
        }
        Ok(None)
    }

    /// Refuses variables that lead to no credentials: without this the first request would go to
    /// an address that only machines in a cloud can reach.
    fn check_credentials(&self) -> Result<(), OpenError> {
        let has = |name| self.0.get(name).is_some();
        let pair = |one: &'static str, other: &'static str| match (has(one), has(other)) {
            (true, false) => Err(OpenError::HalfSet { set: one, missing: other }),
            (false, true) => Err(OpenError::HalfSet { set: other, missing: one }),
            (both, _) => Ok(both),
        };
        let unsigned = self.flag(SKIP_SIGNATURE)?.unwrap_or(false);
        let from_instance = self.flag("AWS_EC2_METADATA_DISABLED")? == Some(false);
        if unsigned
            || pair(ACCESS_KEY, SECRET_KEY)?
            || (has(TOKEN_FILE) && pair(TOKEN_FILE, ROLE)?)
            || has(CONTAINER_RELATIVE)
            || (has(CONTAINER_FULL) && pair(CONTAINER_FULL, CONTAINER_TOKEN)?)
            || from_instance
        {
            return Ok(());
        }
        Err(OpenError::Credentials)
    }

    /// Whether credentials may come from a server that is asked over TLS.
    fn asks_for_credentials_over_tls(&self) -> bool {
        let over_tls = |name| {
            let address = self.0.get(name).and_then(as_address);
            address.is_some_and(|url| url.scheme() == "https")
        };
        // A web identity is taken to a server that is asked over TLS unless it is said otherwise.
        self.0.get(TOKEN_FILE).is_some() || over_tls(CONTAINER_FULL) || over_tls(METADATA_ENDPOINT)
    }

    fn client(&self, plain: bool) -> Result<ClientOptions, OpenError> {
        let mut options = ClientOptions::new()
            .with_timeout(self.duration("AWS_TIMEOUT")?.unwrap_or(TIMEOUT))
            .with_connect_timeout(self.duration("AWS_CONNECT_TIMEOUT")?.unwrap_or(CONNECT_TIMEOUT))
            .with_allow_http(self.flag(ALLOW_HTTP)?.unwrap_or(false));
        let name = "AWS_CA_BUNDLE";
        if let Some(path) = self.0.get(name) {
            let expected = "give the path of a file of certificates in the PEM format";
            let wrong = || OpenError::Variable { name, expected };
            let pem = std::fs::read(path).map_err(|_| wrong())?;
            let certificates = Certificate::from_pem_bundle(&pem).map_err(|_| wrong())?;
            if certificates.is_empty() {
                return Err(wrong());
            }
            for certificate in certificates {
                options = options.with_root_certificate(certificate);
            }
        } else if plain {
            options = options.with_config(ClientConfigKey::NoSystemCertificates, "true");
        }
        Ok(options)
    }

    fn retry(&self) -> Result<RetryConfig, OpenError> {
        let name = "TOOLSTUB_MAX_RETRIES";
        let expected = "give a number from 0 to 100";
        let max_retries = match self.0.get(name) {
            None => MAX_RETRIES,
            Some(value) => value
                .parse()
                .ok()
                .filter(|retries| *retries <= 100)
                .ok_or(OpenError::Variable { name, expected })?,
        };
        let retry_timeout = self.duration("TOOLSTUB_RETRY_TIMEOUT")?.unwrap_or(RETRY_TIMEOUT);
        let backoff = BackoffConfig { max_backoff: MAX_PAUSE, ..BackoffConfig::default() };
        Ok(RetryConfig { backoff, max_retries, retry_timeout })
    }
}

const FLAG: &str = "give true or false";
const ADDRESS: &str = "give an address such as https://host:port, without a user and a query";

fn as_flag(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Some(true),
        "0" | "false" | "off" | "no" | "n" => Some(false),
        _ => None,
    }
}

/// A time: a whole number of `ms`, `s`, `m` or `h`, of seconds where no unit stands behind it.
fn as_duration(value: &str) -> Option<Duration> {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit.trim_start() {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        _ => return None,
    };
    let time = Duration::from_millis(number.checked_mul(millis)?);
    (!time.is_zero() && time <= Duration::from_secs(24 * 60 * 60)).then_some(time)
}

fn as_address(value: &str) -> Option<Url> {
    let url = Url::parse(value).ok()?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    (plain && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(&str, &str); 2] = [(ACCESS_KEY, "key"), (SECRET_KEY, "canary")];

    fn with(pairs: &[(&str, &str)]) -> Result<AmazonS3Builder, OpenError> {
        builder("bucket", &pairs.iter().copied().collect())
    }

    fn with_keys(pairs: &[(&str, &str)]) -> Result<AmazonS3Builder, OpenError> {
        with(&[&KEYS, pairs].concat())
    }

    #[track_caller]
    fn sets(pairs: &[(&str, &str)], key: AmazonS3ConfigKey, value: &str) {
        let found = with_keys(pairs).unwrap().get_config_value(&key);
        assert_eq!(found.as_deref(), Some(value), "{pairs:?}");
    }

    #[track_caller]
    fn refuses(pairs: &[(&str, &str)], says: &str) {
        let error = with(pairs).unwrap_err();
        let (text, debug) = (error.to_string(), format!("{error:?}"));
        assert!(text.contains(says), "{text}");
        assert!(!text.contains("canary") && !debug.contains("canary"), "{text} {debug}");
    }

    #[test]
    fn variables_set_the_way() {
        use AmazonS3ConfigKey as Key;

        let http = (ALLOW_HTTP, "1");
        let endpoint = ("AWS_ENDPOINT", "http://localhost:9000/");
        sets(&[endpoint, http], Key::Endpoint, "http://localhost:9000");
        sets(&[endpoint, ("AWS_ENDPOINT_URL_S3", "https://s3")], Key::Endpoint, "https://s3");
        let by_host = (VIRTUAL_HOSTED, "true");
        sets(&[endpoint, http, by_host], Key::Endpoint, "http://bucket.localhost:9000");
        let alike = ("AWS_ENDPOINT", "https://bucket.example.com");
        sets(&[alike, by_host], Key::Endpoint, "https://bucket.bucket.example.com");
        sets(&[("AWS_DEFAULT_REGION", "a-1")], Key::Region, "a-1");
        sets(&[("AWS_DEFAULT_REGION", "a-1"), ("AWS_REGION", "b-1")], Key::Region, "b-1");
        sets(&[], Key::Checksum, "sha256");
        sets(&[("AWS_CHECKSUM_ALGORITHM", "CRC64NVME")], Key::Checksum, "CRC64NVME");
        sets(&[], Key::ConditionalPut, "etag");
        sets(&[("AWS_CONDITIONAL_PUT", "disabled")], Key::ConditionalPut, "disabled");
        sets(&[], Key::DisableBulkDelete, "true");
        sets(&[], Key::Client(ClientConfigKey::Timeout), "30s");
        sets(&[("AWS_TIMEOUT", "90")], Key::Client(ClientConfigKey::Timeout), "1m 30s");
        sets(&[], Key::Client(ClientConfigKey::ConnectTimeout), "5s");
    }

    #[test]
    fn object_store_knows_every_variable_that_it_is_given() {
        for name in KNOWN {
            let key = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>();
            assert!(key.is_ok(), "{name}: {key:?}");
        }
    }

    #[test]
    fn certificates_are_loaded_where_anybody_is_asked_over_tls() {
        let without = AmazonS3ConfigKey::Client(ClientConfigKey::NoSystemCertificates);
        let set = |pairs: &[(&str, &str)], value| {
            let http = [("AWS_ENDPOINT", "http://localhost"), (ALLOW_HTTP, "true")];
            sets(&[&http, pairs].concat(), without, value);
        };
        set(&[], "true");
        set(&[(CONTAINER_FULL, "http://x/"), (METADATA_ENDPOINT, "http://y/")], "true");
        set(&[(CONTAINER_FULL, "HTTPS://x/")], "false");
        set(&[(METADATA_ENDPOINT, "https://x/")], "false");
        set(&[(TOKEN_FILE, "/x")], "false");
        sets(&[], without, "false");
    }

    #[test]
    fn a_request_without_an_answer_is_repeated_and_given_up_in_time() {
        let retry = Checked(&Variables::default()).retry().unwrap();
        assert!(retry.max_retries >= 2);
        let twice = 2 * (TIMEOUT + retry.backoff.max_backoff);
        assert!(retry.retry_timeout > TIMEOUT + CONNECT_TIMEOUT && retry.retry_timeout > twice);
        let longest = retry.retry_timeout + retry.backoff.max_backoff + TIMEOUT;
        assert!(longest <= Duration::from_secs(125), "{longest:?}");
    }

    #[test]
    fn variables_of_other_tools_do_no_harm() {
        let certificates = AmazonS3ConfigKey::Client(ClientConfigKey::AllowInvalidCertificates);
        sets(&[("AWS_ALLOW_INVALID_CERTIFICATES", "true")], certificates, "false");
        sets(&[("AWS_BUCKET", "other")], AmazonS3ConfigKey::Bucket, "bucket");
        for name in ["AWS_PAGER", "AWS_S3_EXPRESS", "AWS_USER_AGENT", "AWS_EXECUTION_ENV"] {
            assert!(with_keys(&[(name, "\u{1}")]).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_used_is_named_and_not_shown() {
        for name in [
            ALLOW_HTTP,
            SKIP_SIGNATURE,
            VIRTUAL_HOSTED,
            "AWS_DISABLE_BULK_DELETE",
            "AWS_UNSIGNED_PAYLOAD",
            "AWS_CONDITIONAL_PUT",
            "AWS_CHECKSUM_ALGORITHM",
            "AWS_SERVER_SIDE_ENCRYPTION",
            "AWS_TIMEOUT",
            "AWS_CONNECT_TIMEOUT",
            "AWS_CA_BUNDLE",
            "AWS_ENDPOINT",
            "AWS_ENDPOINT_URL_STS",
            "TOOLSTUB_MAX_RETRIES",
            "TOOLSTUB_RETRY_TIMEOUT",
        ] {
            refuses(&[&KEYS[..], &[(name, "canary")]].concat(), name);
        }
        for name in ["AWS_SESSION_TOKEN", ROLE, "AWS_REGION"] {
            refuses(&[&KEYS[..], &[(name, "canary\n")]].concat(), name);
        }
        refuses(&[(ACCESS_KEY, "key"), (SECRET_KEY, "canary ")], SECRET_KEY);
        for endpoint in
            ["http://host", "https://u:canary@host", "ftp://host", "https://host/?canary"]
        {
            refuses(&[&KEYS[..], &[("AWS_ENDPOINT", endpoint)]].concat(), "AWS_ENDPOINT");
        }
        let by_host = [(VIRTUAL_HOSTED, "true"), ("AWS_ENDPOINT", "https://127.0.0.1")];
        refuses(&[&KEYS[..], &by_host].concat(), "a host's name");
    }

    #[test]
    fn credentials_are_asked_for_at_once() {
        refuses(&[], ACCESS_KEY);
        refuses(&[(ROLE, "arn")], "no credentials");
        refuses(&[(ACCESS_KEY, "canary")], SECRET_KEY);
        refuses(&[(SECRET_KEY, "canary")], ACCESS_KEY);
        refuses(&[(TOKEN_FILE, "/x")], ROLE);
        refuses(&[(CONTAINER_FULL, "http://x/")], CONTAINER_TOKEN);
        refuses(&[("AWS_EC2_METADATA_DISABLED", "true")], "no credentials");
        for pairs in [
            &KEYS[..],
            &[(SKIP_SIGNATURE, "true")],
            &[(TOKEN_FILE, "/x"), (ROLE, "arn")],
            &[(CONTAINER_RELATIVE, "/x")],
            &[(CONTAINER_FULL, "http://x/"), (CONTAINER_TOKEN, "/x")],
            &[("AWS_EC2_METADATA_DISABLED", "false")],
        ] {
            assert!(with(pairs).is_ok(), "{pairs:?}");
        }
    }

    #[test]
    fn times_have_units() {
        for (given, millis) in [("30", 30_000), ("500ms", 500), ("2m", 120_000), ("1 h", 3_600_000)]
        {
            assert_eq!(as_duration(given), Some(Duration::from_millis(millis)), "{given}");
        }
        for given in ["", "0", "0s", "s", "-1", "1.5s", "1d", "25h", "99999999999999999999"] {
            assert_eq!(as_duration(given), None, "{given}");
        }
    }
}
