//! Where pieces end makes no difference.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use toolstub_core::Kind;

use toolstub_detect::{Content, Detection, Options, detect, detect_in_pieces};

const MIMES: [Option<&str>; 3] = [None, Some("application/json"), Some("application/xml")];

/// A content in pieces of given sizes, which come round again.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: &'a [usize],
    next: usize,
}

impl Content for Pieces<'_> {
    type Error = Infallible;

    fn piece(&mut self, at: u64) -> Result<&[u8], Infallible> {
        let size = self.sizes[self.next % self.sizes.len()];
        self.next += 1;
        let rest = self.bytes.get(at as usize..).unwrap_or_default();
        Ok(&rest[..rest.len().min(size)])
    }
}

fn in_pieces(bytes: &[u8], sizes: &[usize], options: &Options<'_>) -> Detection {
    let Ok(detection) = detect_in_pieces(&mut Pieces { bytes, sizes, next: 0 }, options);
    detection
}

#[track_caller]
fn agrees(bytes: &[u8], sizes: &[usize], mime: Option<&str>) -> Kind {
    let options = Options { mime, sample_chars: 0 };
    let whole = detect(bytes, &options);
    let told = || String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
    assert_eq!(in_pieces(bytes, sizes, &options), whole, "in pieces of {sizes:?}: {}", told());
    whole.kind()
}

/// The inputs of the corpus, with their names.
fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus");
    let mut inputs = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_stem().is_some_and(|stem| stem == "input") {
                inputs.push((path.clone(), std::fs::read(&path).unwrap()));
            }
        }
    }
    inputs.sort();
    inputs
}

#[test]
fn every_fixture_is_the_same_in_pieces() {
    let fixtures = fixtures();
    let mut kinds = std::collections::BTreeSet::new();
    for (_, bytes) in &fixtures {
        for size in [1, 2, 3, 7, 64, 4096] {
            // Tiny pieces of a large content prove no more than those of its start.
            let bytes = &bytes[..bytes.len().min(size * 4096)];
            kinds.insert(agrees(bytes, &[size], None).as_str());
        }
        agrees(bytes, &[4096, 1, 64], None);
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

/// Up to so many bytes of a fixture are changed: the start and the end, joined.
const MUTATED: usize = 6000;

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let fixtures = fixtures();
    let edit = (any::<prop::sample::Index>(), 0..4, prop::collection::vec(odd_bytes(), 0..3));
    (prop::sample::select(fixtures), prop::collection::vec(edit, 0..5)).prop_map(
        |((_, mut bytes), edits)| {
            if bytes.len() > MUTATED {
                let end = bytes.split_off(bytes.len() - MUTATED / 2);
                bytes.truncate(MUTATED / 2);
                bytes.extend(end);
            }
            for (index, kind, new) in edits {
                let at = index.index(bytes.len().max(1)).min(bytes.len());
                match kind {
                    0 => bytes.truncate(at),
                    1 => drop(bytes.drain(at..bytes.len().min(at + 40))),
                    _ => drop(bytes.splice(at..at, new.concat())),
                }
            }
            bytes
        },
    )
}

fn odd_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        "[\"'<>&{}\\[\\],;:\t\n\r #|()\\\\-]".prop_map(String::into_bytes),
        "[\u{feff}\u{85}\u{3000}é漢🎯]".prop_map(String::into_bytes),
        prop::sample::select(vec![
            "]]>",
            "-->",
            "<!--",
            "\"\"\"",
            "*/",
            "\n\n\n",
            "12 rows)\n",
            "```\n",
            "# A\n",
            "---\n",
        ])
        .prop_map(|part| part.as_bytes().to_vec()),
    ]
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let size =
        prop_oneof![Just(1_usize), Just(2), Just(3), Just(7), Just(64), Just(4096), 1_usize..300];
    prop_oneof![size.clone().prop_map(|size| vec![size]), prop::collection::vec(size, 1..6),]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn mutated_fixtures_are_the_same_in_pieces(
        bytes in mutated(), sizes in sizes(), mime in 0..MIMES.len()
    ) {
        agrees(&bytes, &sizes, MIMES[mime]);
    }

    #[test]
    fn arbitrary_bytes_are_the_same_in_pieces(
        parts in prop::collection::vec(odd_bytes(), 0..80), sizes in sizes(), mime in 0..MIMES.len()
    ) {
        agrees(&parts.concat(), &sizes, MIMES[mime]);
    }
}
