//! How long a synopsis takes, beside SHA-256 over the same bytes.
//!
//! `cargo bench -p toolstub-summarize` measures each kind with Criterion and then prints one table
//! of paired rounds: the synopsis as a multiple of the time that SHA-256 takes in the same run.
//! `TOOLSTUB_BENCH_MIB` sets the size of a content (128).

mod generators;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use sha2::Digest as _;
use toolstub_core::{Kind, Synopsis};

/// How often a pair is measured for the table; the medians count.
const ROUNDS: usize = 7;

fn synopsis(content: &[u8]) -> Synopsis {
    let detection = toolstub_detect::detect(content, &toolstub_detect::Options::default());
    toolstub_summarize::summarize(&detection, &toolstub_summarize::Options::default())
}

fn contents(size: usize) -> Vec<(&'static str, Kind, String)> {
    vec![
        ("json", Kind::Json, generators::json(size)),
        ("csv", Kind::Csv, generators::table(size, ',')),
        ("tsv", Kind::Tsv, generators::table(size, '\t')),
        ("xml", Kind::Xml, generators::xml(size)),
        ("text", Kind::Text, generators::text(size)),
        ("code", Kind::Code, generators::code(size)),
    ]
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn paired_table(contents: &[(&str, Kind, String)]) {
    println!("\n| content | MiB | sha256 ms | synopsis ms | multiple | GB/s |");
    println!("|---|---|---|---|---|---|");
    for (name, kind, content) in contents {
        let bytes = content.as_bytes();
        assert_eq!(synopsis(bytes).kind, *kind, "{name} is not detected");
        let (mut hashes, mut synopses) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            hashes.push(time(|| sha2::Sha256::digest(black_box(bytes))));
            synopses.push(time(|| synopsis(black_box(bytes))));
        }
        let (hash, whole) = (median(hashes), median(synopses));
        println!(
            "| {name} | {} | {:.0} | {:.0} | {:.2} | {:.2} |",
            bytes.len() >> 20,
            hash.as_secs_f64() * 1e3,
            whole.as_secs_f64() * 1e3,
            whole.as_secs_f64() / hash.as_secs_f64(),
            bytes.len() as f64 / whole.as_secs_f64() / 1e9,
        );
    }
}

fn main() {
    let mib = std::env::var("TOOLSTUB_BENCH_MIB").ok().and_then(|mib| mib.parse().ok());
    let contents = contents(mib.unwrap_or(128) << 20);
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .configure_from_args();
    for (name, _, content) in &contents {
        let mut group = criterion.benchmark_group(*name);
        group.throughput(Throughput::Bytes(content.len() as u64));
        group.bench_function("sha256", |b| b.iter(|| sha2::Sha256::digest(content.as_bytes())));
        group.bench_function("synopsis", |b| b.iter(|| synopsis(content.as_bytes())));
        group.finish();
    }
    criterion.final_summary();
    paired_table(&contents);
}
