//! A private place that a stream is written to once, before it has its final key.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use tempfile::TempPath;

use super::body::part;
use super::{BackendError, BoxError};

/// A spool that is being written.
///
/// What was written is gone when this is dropped unfinished.
#[derive(Debug)]
pub struct SpoolWriter {
    place: Place,
    name: Arc<str>,
    size: u64,
}

#[derive(Debug)]
enum Place {
    Memory(BytesMut),
    /// The file is away while it is written to.
    File(Option<File>, Option<TempPath>),
}

impl SpoolWriter {
    /// A spool in memory.
    pub fn in_memory() -> Self {
        Self { place: Place::Memory(BytesMut::new()), name: "memory".into(), size: 0 }
    }

    /// A spool in the folder for temporary files, in a file without a name: nothing of it outlives
    /// the process. Only its owner can read it.
    pub fn in_temp_folder() -> Result<Self, BackendError> {
        let folder = std::env::temp_dir();
        let name: Arc<str> = format!("a temporary file in {}", folder.display()).into();
        // Whatever is the matter with that folder is not the store's.
        let failed =
            |error| BackendError::Other { key: name.to_string(), source: BoxError::from(error) };
        let file = tempfile::tempfile_in(folder).map_err(failed)?;
        Ok(Self { place: Place::File(Some(file), None), name, size: 0 })
    }

    /// A spool in a file of a folder, under a fresh name that is a backend's own (`spool-…#1`).
    ///
    /// Only its owner can read it. The file is removed with the spool, unless it is [taken].
    ///
    /// [taken]: Spool::take_file
    pub fn in_folder(folder: &Path) -> Result<Self, BackendError> {
        let file = tempfile::Builder::new().prefix("spool-").suffix("#1").tempfile_in(folder);
        let (file, path) = file.map_err(|error| BackendError::of_io("spool", error))?.into_parts();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into();
        Ok(Self { place: Place::File(Some(file), Some(path)), name, size: 0 })
    }

    /// Writes the next piece. After a failure the spool cannot be used any more.
    pub async fn append(&mut self, piece: Bytes) -> Result<(), BackendError> {
        let length = piece.len() as u64;
        match &mut self.place {
            Place::Memory(bytes) => bytes.extend_from_slice(&piece),
            Place::File(place, _) => {
                let Some(mut file) = place.take() else { return Err(lost(&self.name)) };
                let written = blocking(&self.name, move || {
                    file.write_all(&piece)?;
                    Ok(file)
                })
                .await?;
                // After a piece that was written in part, the next would stand in a wrong place.
                *place = Some(written.map_err(|error| BackendError::of_io(&self.name, error))?);
            }
        }
        self.size += length;
        Ok(())
    }

    /// Ends the writing.
    pub fn finish(self) -> Result<Spool, BackendError> {
        let store = match self.place {
            Place::Memory(bytes) => Store::Memory(bytes.freeze()),
            Place::File(Some(file), path) => {
                Store::File { file: Mutex::new(file), path: Mutex::new(path) }
            }
            Place::File(None, _) => return Err(lost(&self.name)),
        };
        Ok(Spool { store: Arc::new(store), name: self.name, size: self.size })
    }
}

/// A stream that was written down, to be read as often as needed. A clone shares it.
#[derive(Debug, Clone)]
pub struct Spool {
    store: Arc<Store>,
    name: Arc<str>,
    size: u64,
}

#[derive(Debug)]
enum Store {
    Memory(Bytes),
    File { file: Mutex<File>, path: Mutex<Option<TempPath>> },
}

impl Spool {
    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What the spool is called where something is said of it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A range, as much of it as there is.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes, BackendError> {
        if let Store::Memory(bytes) = &*self.store {
            return Ok(part(bytes, range));
        }
        let end = range.end.min(self.size);
        let range = range.start.min(end)..end;
        let spool = self.clone();
        blocking(&self.name, move || {
            let mut buffer = vec![0; (range.end - range.start) as usize];
            let length = spool.read_at(range.start, &mut buffer)?;
            if length < buffer.len() {
                let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(BackendError::of_io(&spool.name, error));
            }
            Ok(Bytes::from(buffer))
        })
        .await?
    }

    /// Fills a buffer with the bytes from `at` on, as far as there are any, and says how many.
    ///
    /// This waits for the disk: call it where that stops nobody.
    pub fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<usize, BackendError> {
        match &*self.store {
            Store::Memory(bytes) => {
                let rest = bytes.get(usize::try_from(at).unwrap_or(usize::MAX)..).unwrap_or(&[]);
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                Ok(length)
            }
            Store::File { file, .. } => read_file_at(&mut guard(file), at, buffer)
                .map_err(|e| BackendError::of_io(&self.name, e)),
        }
    }

    /// Puts what was written on the disk. This waits for it.
    pub fn sync(&self) -> io::Result<()> {
        match &*self.store {
            Store::Memory(_) => Ok(()),
            Store::File { file, .. } => guard(file).sync_all(),
        }
    }

    /// The file, for whoever moves it into its place; once, and only where it has a name.
    ///
    /// The spool can be read as before. Where the path that is returned is dropped, the file is
    /// removed.
    pub fn take_file(&self) -> Option<TempPath> {
        match &*self.store {
            Store::Memory(_) => None,
            Store::File { path, .. } => guard(path).take(),
        }
    }
}

fn read_file_at(file: &mut File, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    file.seek(SeekFrom::Start(at))?;
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

// Whatever panicked, a file and a path are whole.
fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs file operations where they block nobody.
async fn blocking<T: Send + 'static>(
    name: &str,
    operation: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BackendError> {
    let run = tokio::task::spawn_blocking(operation).await;
    run.map_err(|error| BackendError::Other { key: name.to_owned(), source: error.into() })
}

/// A write that was dropped half-way has taken the file with it.
fn lost(name: &str) -> BackendError {
    let source = "an earlier write to it was given up".into();
    BackendError::Other { key: name.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn holds(mut writer: SpoolWriter) -> Spool {
        for piece in ["one ", "", "two"] {
            writer.append(Bytes::from_static(piece.as_bytes())).await.unwrap();
        }
        let spool = writer.finish().unwrap();
        assert_eq!(spool.size(), 7);
        assert_eq!(spool.read(2..5).await.unwrap(), "e t");
        let mut buffer = [0; 4];
        assert_eq!(spool.read_at(5, &mut buffer).unwrap(), 2);
        assert_eq!(&buffer[..2], b"wo");
        assert_eq!(spool.read_at(70, &mut buffer).unwrap(), 0);
        spool
    }

    #[tokio::test]
    async fn a_spool_gives_back_what_went_in() {
        holds(SpoolWriter::in_memory()).await;
        holds(SpoolWriter::in_temp_folder().unwrap()).await;
        let folder = tempfile::tempdir().unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let spool = holds(SpoolWriter::in_folder(folder.path()).unwrap()).await;
        assert_eq!(files(), 1);
        let path = spool.take_file().unwrap();
        assert!(spool.take_file().is_none());
        let kept = folder.path().join("kept");
        path.persist(&kept).unwrap();
        assert_eq!(spool.read(0..3).await.unwrap(), "one");
        drop(spool);
        assert_eq!(std::fs::read(kept).unwrap(), b"one two");
        drop(holds(SpoolWriter::in_folder(folder.path()).unwrap()).await);
        assert_eq!(files(), 1, "a spool that is dropped leaves nothing");
    }
}
