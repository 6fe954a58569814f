//! What a session takes from the world around it.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU16, Ordering};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use toolstub_core::EventId;

/// The clock and the ids of a host. Neither has a say in a stub.
pub trait Host: std::fmt::Debug + Send + Sync {
    /// The time: RFC 3339, UTC.
    fn now(&self) -> String;

    /// The id of an event that has none yet. No two are the same.
    fn new_event_id(&self) -> EventId;
}

/// The system's clock, and ids made of it and of chance.
#[derive(Debug, Default)]
pub struct SystemHost {
    made: AtomicU16,
}

impl Host for SystemHost {
    fn now(&self) -> String {
        let now = OffsetDateTime::now_utc();
        let now = now.replace_nanosecond(0).unwrap_or(now);
        // A clock before the year 0 or after 9999 has no RFC 3339 form.
        now.format(&Rfc3339).unwrap_or_else(|_| "1970-01-01T00:00:00Z".to_owned())
    }

    fn new_event_id(&self) -> EventId {
        let millis = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        // Each `RandomState` has keys of its own, so the hash of anything is chance.
        let chance = RandomState::new().hash_one(made);
        EventId::new(format!("ev_{millis:012x}{made:04x}{chance:016x}"))
            .expect("the id holds letters, digits and an underscore")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_of_whole_seconds_in_utc() {
        let now = SystemHost::default().now();
        assert_eq!((now.len(), now.as_bytes()[19]), (20, b'Z'), "{now}");
    }

    #[test]
    fn ids_differ() {
        let host = SystemHost::default();
        assert_ne!(host.new_event_id(), host.new_event_id());
        assert_ne!(SystemHost::default().new_event_id(), SystemHost::default().new_event_id());
    }
}
