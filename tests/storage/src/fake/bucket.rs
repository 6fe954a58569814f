//! What the bucket holds.

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};

use super::content::Content;

/// The least size of a part that is not the last, in bytes.
const MIN_PART: usize = 5 << 20;

/// An object.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) body: Content,
    pub(super) modified: SystemTime,
    pub(super) etag: String,
}

/// Why something cannot be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    NoSuchUpload,
    InvalidPart,
    InvalidPartOrder,
    EntityTooSmall,
    PreconditionFailed,
}

/// The objects, and the uploads that are under way.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, Upload>,
    /// Whatever is written gets a number of its own.
    written: u64,
}

#[derive(Debug)]
struct Upload {
    key: String,
    parts: BTreeMap<u32, Part>,
}

#[derive(Debug)]
struct Part {
    body: Bytes,
    etag: String,
}

impl Bucket {
    pub(super) fn objects(&self) -> &BTreeMap<String, Object> {
        &self.objects
    }

    pub(super) fn object(&self, key: &str) -> Option<&Object> {
        self.objects.get(key)
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.objects.keys().cloned().collect()
    }

    pub(super) fn open_uploads(&self) -> usize {
        self.uploads.len()
    }

    /// Writes an object, and returns its tag.
    pub(super) fn insert(&mut self, key: &str, body: Content) -> String {
        let etag = self.next_tag();
        let object = Object { body, modified: SystemTime::now(), etag: etag.clone() };
        self.objects.insert(key.to_owned(), object);
        etag
    }

    /// Writes an object unless there is one.
    pub(super) fn create(&mut self, key: &str, body: Bytes) -> Result<String, Refusal> {
        if self.objects.contains_key(key) {
            return Err(Refusal::PreconditionFailed);
        }
        Ok(self.insert(key, Content::Plain(body)))
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.objects.remove(key);
    }

    /// Begins an upload, and returns its id.
    pub(super) fn begin(&mut self, key: &str) -> String {
        let id = format!("upload-{}", self.next_tag().trim_matches('"'));
        let upload = Upload { key: key.to_owned(), parts: BTreeMap::new() };
        self.uploads.insert(id.clone(), upload);
        id
    }

    /// Takes a part, and returns its tag.
    pub(super) fn part(
        &mut self,
        key: &str,
        upload: &str,
        number: u32,
        body: Bytes,
    ) -> Result<String, Refusal> {
        let etag = self.next_tag();
        let parts = &mut self.upload(key, upload)?.parts;
        parts.insert(number, Part { body, etag: etag.clone() });
        Ok(etag)
    }

    /// Makes an object of parts, given by number and tag, and returns its tag.
    pub(super) fn complete(
        &mut self,
        key: &str,
        upload: &str,
        parts: &[(u32, String)],
        only_if_absent: bool,
    ) -> Result<String, Refusal> {
        let there = &self.upload(key, upload)?.parts;
        if parts.is_empty() {
            return Err(Refusal::InvalidPart);
        }
        if !parts.is_sorted_by_key(|(number, _)| number) {
            return Err(Refusal::InvalidPartOrder);
        }
        let mut body = BytesMut::new();
        for (place, (number, etag)) in parts.iter().enumerate() {
            let part = there.get(number).filter(|part| part.etag == *etag);
            let part = part.ok_or(Refusal::InvalidPart)?;
            if part.body.len() < MIN_PART && place + 1 < parts.len() {
                return Err(Refusal::EntityTooSmall);
            }
            body.extend_from_slice(&part.body);
        }
        if only_if_absent && self.objects.contains_key(key) {
            return Err(Refusal::PreconditionFailed);
        }
        self.uploads.remove(upload);
        Ok(self.insert(key, Content::Plain(body.freeze())))
    }

    /// Gives an upload up.
    pub(super) fn abort(&mut self, key: &str, upload: &str) -> Result<(), Refusal> {
        self.upload(key, upload)?;
        self.uploads.remove(upload);
        Ok(())
    }

    fn upload(&mut self, key: &str, id: &str) -> Result<&mut Upload, Refusal> {
        self.uploads.get_mut(id).filter(|upload| upload.key == key).ok_or(Refusal::NoSuchUpload)
    }

    fn next_tag(&mut self) -> String {
        self.written += 1;
        format!("\"{:032x}\"", self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(sizes: &[usize]) -> (Bucket, String, Vec<(u32, String)>) {
        let mut bucket = Bucket::default();
        let id = bucket.begin("k");
        let part = |(number, size): (u32, &usize)| {
            (number, bucket.part("k", &id, number, vec![b'x'; *size].into()).unwrap())
        };
        let parts = (1..).zip(sizes).map(part).collect();
        (bucket, id, parts)
    }

    #[test]
    fn parts_join_to_an_object() {
        let (mut bucket, id, parts) = upload(&[MIN_PART, 3]);
        assert_eq!((bucket.open_uploads(), bucket.keys().len()), (1, 0));
        bucket.complete("k", &id, &parts, false).unwrap();
        assert_eq!(bucket.object("k").unwrap().body.len(), MIN_PART + 3);
        assert_eq!(bucket.open_uploads(), 0);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let (mut bucket, id, mut parts) = upload(&[MIN_PART - 1, 3]);
        let complete = |bucket: &mut Bucket, parts: &[_]| bucket.complete("k", &id, parts, false);
        assert_eq!(complete(&mut bucket, &parts), Err(Refusal::EntityTooSmall));
        parts.reverse();
        assert_eq!(complete(&mut bucket, &parts), Err(Refusal::InvalidPartOrder));
        assert_eq!(complete(&mut bucket, &[(1, "other".to_owned())]), Err(Refusal::InvalidPart));
        assert_eq!(complete(&mut bucket, &[]), Err(Refusal::InvalidPart));
        assert_eq!(bucket.abort("other", &id), Err(Refusal::NoSuchUpload));
        assert_eq!(bucket.abort("k", &id), Ok(()));
        assert_eq!(bucket.abort("k", &id), Err(Refusal::NoSuchUpload));
    }
}
