//! What there is at an address.

use std::sync::Arc;

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::address::StoreKind;
use crate::connect::{self, store_error};
use crate::{Address, Error, Object, web};

/// How many objects are looked at: below the root of a large bucket there can be more than anybody waits for.
const MOST: usize = 500_000;

/// All objects at and below an address, sorted by path. On a web server: the files that its index pages link to.
///
/// # Errors
/// [`Error::Missing`] if there is nothing; others if it cannot be listed.
pub fn list(at: &Address) -> Result<Vec<Object>, Error> {
    let place = at.clone();
    if at.kind() == StoreKind::Web {
        return connect::wait(async move { web::list(&place).await });
    }
    let store = connect::store(at)?;
    connect::wait(async move { of_store(&store, &place).await })
}

async fn of_store(store: &Arc<dyn ObjectStore>, at: &Address) -> Result<Vec<Object>, Error> {
    let prefix = Path::parse(at.path()).map_err(|error| store_error(at, &error.into()))?;
    let mut objects = Vec::new();
    let mut all = store.list((!at.path().is_empty()).then_some(&prefix));
    while let Some(found) = all.next().await {
        let found = found.map_err(|error| store_error(at, &error))?;
        let Some(below) = below(&prefix, &found.location) else { continue };
        objects.push(object(&found, below));
        if objects.len() > MOST {
            return Err(Error::Network {
                at: at.to_string(),
                found: format!("more than {MOST} objects are below it: pass a prefix closer to the run"),
            });
        }
    }
    if objects.is_empty() {
        if at.path().is_empty() {
            return Err(Error::Missing { at: at.to_string(), found: "the bucket is empty".to_owned() });
        }
        let found = store.head(&prefix).await.map_err(|error| match store_error(at, &error) {
            Error::Missing { at, .. } => {
                Error::Missing { at, found: "there is no object, and none below it".to_owned() }
            }
            other => other,
        })?;
        objects.push(object(&found, String::new()));
    }
    objects.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(objects)
}

/// The path of an object below a prefix; `None` for the empty objects that stand for folders.
fn below(prefix: &Path, location: &Path) -> Option<String> {
    let rest = location.as_ref().strip_prefix(prefix.as_ref())?.trim_start_matches('/');
    (!rest.is_empty()).then(|| rest.to_owned())
}

fn object(meta: &ObjectMeta, path: String) -> Object {
    Object { path, size: meta.size, etag: meta.e_tag.clone(), modified: meta.last_modified.into() }
}
