//! Contents to store, made from a number each.

use std::fmt::Write as _;

use super::random::Random;

/// A content, with what is known of it before it is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
}

impl Content {
    /// A content of exactly `size` bytes: noise, lines of text, or JSON.
    pub(super) fn new(seed: u64, size: usize) -> Self {
        let mut random = Random::new(seed);
        let mut bytes = Vec::with_capacity(size + 128);
        match random.below(3) {
            0 => {
                while bytes.len() < size {
                    bytes.extend_from_slice(&random.next().to_le_bytes());
                }
            }
            1 => {
                let mut line = String::new();
                while bytes.len() < size {
                    line.clear();
                    let (left, right) = (random.next(), random.next());
                    let _ = writeln!(line, "{left:016x} took é {right} steps and was done");
                    bytes.extend_from_slice(line.as_bytes());
                }
            }
            _ => {
                let mut item = String::from("[0");
                while bytes.len() + 1 < size {
                    bytes.extend_from_slice(item.as_bytes());
                    item.clear();
                    let (name, value) = (random.next(), random.next());
                    let _ = write!(item, ",\n{{\"name\":\"{name:016x}\",\"value\":{value}}}");
                }
                bytes.truncate(size.saturating_sub(1));
                bytes.push(b']');
            }
        }
        bytes.truncate(size);
        Self::of(bytes)
    }

    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let sha256 = toolstub_corpus_tests::sha256(&bytes).to_string();
        Self { bytes, sha256 }
    }

    /// The id of its result where no tool call has one.
    pub(super) fn id(&self) -> String {
        format!("tr_{}", &self.sha256[..32])
    }

    /// The ref of its result in a session.
    pub(super) fn reference(&self, session: &str) -> String {
        format!("toolstub://session/{session}/tool-results/{}", self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_its_size_and_its_seed() {
        for seed in 0..9 {
            for size in [0, 1, 2, 1000, 4097] {
                assert_eq!(Content::new(seed, size).bytes.len(), size);
            }
            assert_eq!(Content::new(seed, 1000), Content::new(seed, 1000));
            assert_ne!(Content::new(seed, 1000).sha256, Content::new(seed + 1, 1000).sha256);
        }
    }
}
