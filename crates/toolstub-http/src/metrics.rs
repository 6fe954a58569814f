//! What the service has done, in numbers.

use std::fmt;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use toolstub_session::Replacement;

/// The borders of the histogram of durations, in seconds.
const DURATIONS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// The counters of a service.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Routed, Histogram, Durations>,
    pub(crate) in_flight: Gauge,
    pub(crate) sessions_created: Counter,
    pub(crate) messages_appended: Counter,
    externalized: Family<Reasoned, Counter>,
    original_chars: Counter,
    stub_chars: Counter,
    pub(crate) failures: Counter,
    pub(crate) reads: Counter,
    pub(crate) bytes_read: Counter,
    pub(crate) searches: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Routed {
    method: &'static str,
    route: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reasoned {
    reason: &'static str,
}

#[derive(Debug, Clone)]
struct Durations;

impl MetricConstructor<Histogram> for Durations {
    fn new_metric(&self) -> Histogram {
        Histogram::new(DURATIONS)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("toolstub");
        let metrics = Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(Durations),
            in_flight: Gauge::default(),
            sessions_created: Counter::default(),
            messages_appended: Counter::default(),
            externalized: Family::default(),
            original_chars: Counter::default(),
            stub_chars: Counter::default(),
            failures: Counter::default(),
            reads: Counter::default(),
            bytes_read: Counter::default(),
            searches: Counter::default(),
            registry: Registry::default(),
        };
        let mut counter = |name: &str, help: &str, counter: &Counter| {
            registry.register(name, help, counter.clone());
        };
        counter("sessions_created", "Sessions made on request", &metrics.sessions_created);
        counter("messages_appended", "Messages appended", &metrics.messages_appended);
        counter(
            "externalized_original_chars",
            "Characters of the originals that stubs took the place of",
            &metrics.original_chars,
        );
        counter(
            "externalized_stub_chars",
            "Characters of the stubs that took their place",
            &metrics.stub_chars,
        );
        counter(
            "externalization_failures",
            "Originals that could not be stored and stayed in their messages",
            &metrics.failures,
        );
        counter("reads", "Ranges of originals read", &metrics.reads);
        counter("searches", "Searches in originals", &metrics.searches);
        registry.register_with_unit(
            "read",
            "What was read of originals",
            Unit::Bytes,
            metrics.bytes_read.clone(),
        );
        registry.register(
            "externalized",
            "Tool results that a stub took the place of",
            metrics.externalized.clone(),
        );
        registry.register("requests", "Requests answered", metrics.requests.clone());
        registry.register(
            "requests_in_flight",
            "Requests that are being answered",
            metrics.in_flight.clone(),
        );
        registry.register_with_unit(
            "request_duration",
            "How long it took until an answer began",
            Unit::Seconds,
            metrics.durations.clone(),
        );
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16, seconds: f64) {
        let route = route.to_owned();
        let answered = Answered { method, route: route.clone(), status };
        self.requests.get_or_create(&answered).inc();
        self.durations.get_or_create(&Routed { method, route }).observe(seconds);
    }

    /// Counts a stub.
    pub(crate) fn externalized(&self, stub: &Replacement) {
        let reason = stub.reason.as_str();
        self.externalized.get_or_create(&Reasoned { reason }).inc();
        self.original_chars.inc_by(stub.original_chars);
        self.stub_chars.inc_by(stub.stub_chars());
    }

    /// The metrics as text.
    pub(crate) fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}
