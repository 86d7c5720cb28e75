//! Writes files: all of them or none, and never over what is there.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutPayload, PutResult};

use crate::address::StoreKind;
use crate::connect::{self, store_error};
use crate::{Address, Error};

/// How many bytes are sent at once; smaller files take one request. Stores take parts of 5 MiB and more, and no more than 10,000
/// of them.
const PART: u64 = 16 << 20;
/// How many parts are on their way at once.
const AT_ONCE: usize = 4;

/// Writes files below an address; their names may have `/` between their parts. Nothing of them is seen before all bytes
/// of all of them have been taken; then they appear one after another.
///
/// # Errors
/// [`Error::There`] if one of them is there already. After any error, none of them is.
pub fn put(at: &Address, files: &[(String, &Path)]) -> Result<(), Error> {
    if at.kind() == StoreKind::Web {
        let found = "a web server, which cannot store files".to_owned();
        return Err(Error::Address { text: at.to_string(), found });
    }
    let store = connect::store(at)?;
    let files: Vec<(Address, PathBuf)> =
        files.iter().map(|(name, path)| (at.join(name), (*path).to_owned())).collect();
    connect::wait(async move { all(&store, &files).await })
}

/// A file that is ready to appear.
type Taken = (Address, Key, How);

enum How {
    /// Its bytes were taken.
    Sent(Box<dyn MultipartUpload>),
    /// It is small, and is written in one request, which also sees to it that nothing is there.
    Whole(PathBuf),
}

async fn all(store: &Arc<dyn ObjectStore>, files: &[(Address, PathBuf)]) -> Result<(), Error> {
    let mut taken: Vec<Taken> = Vec::new();
    for (at, path) in files {
        match take(store, at, path).await {
            Ok(one) => taken.push(one),
            Err(error) => {
                drop_all(taken).await;
                return Err(error);
            }
        }
    }
    let mut shown: Vec<Key> = Vec::new();
    let mut failed = None;
    let mut left = taken.into_iter();
    for (at, key, upload) in left.by_ref() {
        let written = match upload {
            How::Sent(mut upload) => upload.complete().await.map_err(|error| store_error(&at, &error)),
            How::Whole(path) => whole(store, &at, &key, &path).await,
        };
        if let Err(error) = written {
            failed = Some(error);
            break;
        }
        shown.push(key);
    }
    let Some(error) = failed else { return Ok(()) };
    drop_all(left.collect()).await;
    for key in shown {
        // What cannot be removed now stays; the error tells that the writing failed.
        let _ = store.delete(&key).await;
    }
    Err(error)
}

async fn whole(
    store: &Arc<dyn ObjectStore>,
    at: &Address,
    key: &Key,
    path: &Path,
) -> Result<PutResult, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::local(path, &error))?;
    let written = store.put_opts(key, PutPayload::from(bytes), PutMode::Create.into()).await;
    written.map_err(|error| store_error(at, &error))
}

async fn take(store: &Arc<dyn ObjectStore>, at: &Address, path: &Path) -> Result<Taken, Error> {
    let key = Key::parse(at.path()).map_err(|error| store_error(at, &error.into()))?;
    match store.head(&key).await {
        Ok(_) => return Err(Error::There { at: at.to_string() }),
        Err(object_store::Error::NotFound { .. }) => {}
        Err(error) => return Err(store_error(at, &error)),
    }
    let local = |error: std::io::Error| Error::local(path, &error);
    let mut file = File::open(path).map_err(local)?;
    let size = file.metadata().map_err(local)?.len();
    if size <= PART {
        return Ok((at.clone(), key, How::Whole(path.to_owned())));
    }
    let mut upload = store.put_multipart(&key).await.map_err(|error| store_error(at, &error))?;
    match send(&mut file, size, upload.as_mut()).await {
        Ok(()) => Ok((at.clone(), key, How::Sent(upload))),
        Err(error) => {
            let _ = upload.abort().await;
            Err(match error {
                Failure::Here(error) => local(error),
                Failure::There(error) => store_error(at, &error),
            })
        }
    }
}

enum Failure {
    Here(std::io::Error),
    There(object_store::Error),
}

async fn send(file: &mut File, size: u64, upload: &mut dyn MultipartUpload) -> Result<(), Failure> {
    let part = PART.max(size.div_ceil(9000));
    let mut left = size;
    while left > 0 {
        let mut under_way = Vec::new();
        while left > 0 && under_way.len() < AT_ONCE {
            let mut bytes = vec![0; left.min(part) as usize];
            file.read_exact(&mut bytes).map_err(Failure::Here)?;
            left -= bytes.len() as u64;
            under_way.push(upload.put_part(bytes.into()));
        }
        futures_util::future::try_join_all(under_way).await.map_err(Failure::There)?;
    }
    Ok(())
}

async fn drop_all(taken: Vec<Taken>) {
    for (_, _, upload) in taken {
        if let How::Sent(mut upload) = upload {
            let _ = upload.abort().await;
        }
    }
}
