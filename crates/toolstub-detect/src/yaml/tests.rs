use proptest::prelude::*;

use super::*;

fn read(content: &[u8]) -> Option<Yaml> {
    scan(content, &Census::of(content, 0))
}

#[track_caller]
fn is_yaml(content: &str) {
    assert!(read(content.as_bytes()).is_some(), "{content}");
}

#[track_caller]
fn is_not_yaml(content: &str) {
    assert!(read(content.as_bytes()).is_none(), "{content}");
}

#[test]
fn a_flat_mapping_of_words_is_yaml() {
    is_yaml("name: x\nversion: 1.2\nenabled: true\n");
    is_not_yaml("Error: something went wrong\n");
}

proptest! {
    #[test]
    fn no_bytes_panic(content in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&[b"a: ".as_slice(), &content].concat());
    }
}
