//! A backend of one's own: objects as the rows of a table in an SQLite database.
//!
//! ```sh
//! cargo run -p toolstub-store --example sqlite -- results.db
//! ```
//!
//! It is written to be copied. What it shows: where blocking calls go, how errors are told apart,
//! how a listing finds folders where keys are only names. A body is held in memory whole, and
//! SQLite keeps at most a billion bytes in one.

use std::io::Write as _;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use toolstub_store::{
    Backend, BackendError, Body, Created, Depth, Entry, Head, Key, ListOptions, ListPage, Ranged,
    SpoolWriter,
};

const SCHEMA: &str = "
    pragma journal_mode = wal;
    pragma synchronous = full;
    create table if not exists objects (
        key text primary key, body blob not null, modified integer not null);
";

/// Keeps objects in an SQLite database. A clone shares the connection.
#[derive(Debug, Clone)]
struct SqliteBackend(Arc<Mutex<Connection>>);

impl SqliteBackend {
    fn open(path: &str) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Works on the database where that blocks nobody.
    async fn run<T: Send + 'static>(
        &self,
        key: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, BackendError> {
        let connection = Arc::clone(&self.0);
        let worked = tokio::task::spawn_blocking(move || {
            work(&connection.lock().unwrap_or_else(PoisonError::into_inner))
        });
        match worked.await {
            Ok(done) => done.map_err(|error| classify(key, error)),
            Err(error) => Err(BackendError::Other { key: key.to_owned(), source: error.into() }),
        }
    }
}

/// Tells errors apart by what the caller can do about them.
fn classify(key: &str, error: rusqlite::Error) -> BackendError {
    let key = key.to_owned();
    let code = error.sqlite_error_code();
    let source = error.into();
    match code {
        Some(ErrorCode::DiskFull | ErrorCode::TooBig) => BackendError::StorageFull { key, source },
        Some(ErrorCode::ReadOnly) => BackendError::ReadOnly { key, source },
        Some(ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            BackendError::PermissionDenied { key, source }
        }
        _ => BackendError::Other { key, source },
    }
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

fn head(size: i64, modified: i64) -> Head {
    let modified = Duration::from_millis(modified.unsigned_abs());
    Head { size: size.unsigned_abs(), modified: SystemTime::UNIX_EPOCH + modified }
}

/// The row of an object, with its size and time.
fn look_up(db: &Connection, key: &Key) -> rusqlite::Result<Option<(i64, Head)>> {
    let row = "select rowid, length(body), modified from objects where key = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, head(row.get(1)?, row.get(2)?)));
    db.query_row(row, [key.as_str()], read).optional()
}

fn not_found(key: &Key) -> BackendError {
    BackendError::NotFound { key: key.to_string() }
}

#[async_trait]
impl Backend for SqliteBackend {
    async fn put(&self, key: &Key, body: Body) -> Result<(), BackendError> {
        let (name, body) = (key.to_string(), body.bytes().await?);
        let put = "insert or replace into objects values (?1, ?2, ?3)";
        self.run(key.as_str(), move |db| db.execute(put, params![name, &body[..], now()])).await?;
        Ok(())
    }

    async fn spool(&self) -> Result<SpoolWriter, BackendError> {
        SpoolWriter::in_temp_folder()
    }

    async fn create(&self, key: &Key, body: Bytes) -> Result<Created, BackendError> {
        let name = key.to_string();
        let create = "insert into objects values (?1, ?2, ?3) on conflict (key) do nothing";
        let rows = self
            .run(key.as_str(), move |db| db.execute(create, params![name, &body[..], now()]))
            .await?;
        Ok(if rows == 1 { Created::New } else { Created::Existed })
    }

    async fn get(&self, key: &Key, max_bytes: u64) -> Result<Bytes, BackendError> {
        let size = self.head(key).await?.size;
        if size > max_bytes {
            return Err(BackendError::TooLarge { key: key.to_string(), size, max_bytes });
        }
        let name = key.to_string();
        let get = "select body from objects where key = ?1";
        let read = |row: &rusqlite::Row<'_>| row.get::<_, Vec<u8>>(0);
        let body =
            self.run(key.as_str(), move |db| db.query_row(get, [name], read).optional()).await?;
        body.map(Bytes::from).ok_or_else(|| not_found(key))
    }

    async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Ranged, BackendError> {
        let (wanted, Range { start, end }) = (key.clone(), range);
        let read = self.run(key.as_str(), move |db| {
            let Some((row, Head { size, .. })) = look_up(db, &wanted)? else { return Ok(None) };
            if end > size {
                return Ok(Some((size, None)));
            }
            // The blob is read from where it lies: what is not asked for costs nothing.
            let mut bytes = vec![0; (end - start) as usize];
            let blob = db.blob_open("main", "objects", "body", row, true)?;
            blob.read_at_exact(&mut bytes, start as usize)?;
            Ok(Some((size, Some(Bytes::from(bytes)))))
        });
        match read.await? {
            Some((size, Some(bytes))) => Ok(Ranged { bytes, size }),
            Some((size, None)) => Err(BackendError::OutOfRange { key: key.to_string(), size, end }),
            None => Err(not_found(key)),
        }
    }

    async fn head(&self, key: &Key) -> Result<Head, BackendError> {
        let wanted = key.clone();
        let found = self.run(key.as_str(), move |db| look_up(db, &wanted)).await?;
        found.map(|(_, head)| head).ok_or_else(|| not_found(key))
    }

    async fn list(&self, options: ListOptions) -> Result<ListPage, BackendError> {
        let ListOptions { folder, depth, after, limit } = options;
        let prefix = folder.map_or_else(String::new, |folder| format!("{folder}/"));
        let shown = if prefix.is_empty() { "/".to_owned() } else { prefix.clone() };
        let next = "select key, length(body), modified from objects
            where key >= ?1 and key <> ?2 order by key limit 1";
        let listed = self.run(&shown, move |db| {
            let mut next = db.prepare(next)?;
            let mut page = ListPage::default();
            let mut after = after.unwrap_or_default();
            loop {
                let behind = format!("{prefix}{after}");
                // Behind a folder comes the first key that is not in it: `0` follows the slash.
                let from = match after.strip_suffix('/') {
                    Some(folder) => format!("{prefix}{folder}0"),
                    None => behind.clone(),
                };
                let read = |row: &rusqlite::Row<'_>| {
                    Ok((row.get::<_, String>(0)?, head(row.get(1)?, row.get(2)?)))
                };
                let found = next.query_row(params![from, behind], read).optional()?;
                let Some((name, head)) = found
                    .as_ref()
                    .and_then(|(key, head)| Some((key.strip_prefix(&prefix)?, *head)))
                else {
                    return Ok(page);
                };
                if page.entries.len() == limit {
                    page.more = true;
                    return Ok(page);
                }
                let entry = match name.split_once('/') {
                    Some((folder, _)) if depth == Depth::Children => {
                        Entry::Folder { name: folder.to_owned() }
                    }
                    _ => Entry::Object { name: name.to_owned(), head },
                };
                after = entry.marker();
                page.entries.push(entry);
            }
        });
        listed.await
    }

    async fn delete(&self, key: &Key) -> Result<(), BackendError> {
        let name = key.to_string();
        let delete = "delete from objects where key = ?1";
        self.run(key.as_str(), move |db| db.execute(delete, [name])).await?;
        Ok(())
    }

    async fn prune(&self, _folder: &Key) -> Result<(), BackendError> {
        Ok(())
    }

    async fn flush(&self, _folder: &Key) -> Result<(), BackendError> {
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give the path of a database")?;
    let backend = SqliteBackend::open(&path)?;
    let key = Key::new("greetings/1.txt")?;
    backend.put(&key, "hello".into()).await?;
    let size = backend.head(&key).await?.size;
    writeln!(std::io::stdout(), "{key}: {size} bytes")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn the_sqlite_backend_keeps_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let number = AtomicUsize::new(0);
        toolstub_store::contract::check(|| {
            let name = format!("{}.db", number.fetch_add(1, Ordering::Relaxed));
            let path = folder.path().join(name);
            Arc::new(SqliteBackend::open(path.to_str().unwrap()).unwrap())
        })
        .await;
    }
}
