//! How times are written.

use time::OffsetDateTime;
use time::macros::format_description;

/// A time to the millisecond: `2026-11-30T17:22:30.996Z`.
pub(crate) fn millis(micros: u64) -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    at(micros).format(format).unwrap_or_default()
}

/// A time to the second: `2026-11-30T17:22:31Z`.
pub(crate) fn seconds(micros: u64) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    at(micros).format(format).unwrap_or_default()
}

/// A time to the microsecond: `2026-11-30T17:23:05.479749+00:00`.
pub(crate) fn micros(micros: u64) -> String {
    let format = format_description!(
        "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]+00:00"
    );
    at(micros).format(format).unwrap_or_default()
}

/// A time in a name: `20261130-172230`.
pub(crate) fn compact(micros: u64) -> String {
    let format = format_description!("[year][month][day]-[hour][minute][second]");
    at(micros).format(format).unwrap_or_default()
}

fn at(micros: u64) -> OffsetDateTime {
    let nanos = i128::from(micros) * 1000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_clients_know_them() {
        let micro = 1_796_059_385_479_749;
        assert_eq!(millis(micro), "2026-11-30T17:23:05.479Z");
        assert_eq!(seconds(micro), "2026-11-30T17:23:05Z");
        assert_eq!(micros(micro), "2026-11-30T17:23:05.479749+00:00");
        assert_eq!(compact(micro), "20261130-172305");
        assert_eq!(seconds(u64::MAX), "1970-01-01T00:00:00Z");
    }
}
