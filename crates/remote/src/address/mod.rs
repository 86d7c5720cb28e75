//! Addresses of what lies elsewhere.

use std::fmt::{self, Display};

use url::Url;

use crate::Error;

/// Which protocol an address is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum StoreKind {
    Google,
    Amazon,
    Azure,
    Web,
}

/// The schemes, as they are written.
const SCHEMES: [(&str, StoreKind); 10] = [
    ("gs", StoreKind::Google),
    ("s3", StoreKind::Amazon),
    ("s3a", StoreKind::Amazon),
    ("az", StoreKind::Azure),
    ("azure", StoreKind::Azure),
    ("adl", StoreKind::Azure),
    ("abfs", StoreKind::Azure),
    ("abfss", StoreKind::Azure),
    ("http", StoreKind::Web),
    ("https", StoreKind::Web),
];

/// A place in an object store, or on a web server: `gs://bucket/prefix`, `s3://bucket/prefix`, `az://container/prefix`
/// (`abfs[s]://container@account.dfs.core.windows.net/prefix`), `http[s]://host/path`.
///
/// It is shown without user names, passwords and query strings: a signed address is a secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    kind: StoreKind,
    /// The scheme, as it was written.
    scheme: String,
    /// The bucket; the container, with `@account` if that was told; of the web, the host with its port.
    bucket: String,
    /// The key below it, without slashes at either end. Of the web: percent-encoded, as in the URL.
    path: String,
    /// Of the web: the URL ends in a slash, so it is a folder.
    is_folder: bool,
    /// Of the web: what stands before the `@`.
    user: Option<String>,
    /// Of the web: what stands after the `?`.
    query: Option<String>,
}

impl Address {
    /// Whether a text is meant as an address: it starts with `WORD://`. `C:\logs` and `host:9999` are none.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| {
            scheme.len() > 1
                && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        })
    }

    /// Reads an address.
    ///
    /// # Errors
    /// [`Error::Address`] for another scheme, without a bucket, or with a key that no store has.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |found: &str| Error::Address { text: without_secrets(text), found: found.to_owned() };
        let Some((scheme, rest)) = text.split_once("://").filter(|_| Self::is_one(text)) else {
            return Err(wrong("no scheme"));
        };
        let scheme = scheme.to_ascii_lowercase();
        let Some((_, kind)) = SCHEMES.iter().find(|(name, _)| *name == scheme) else {
            return Err(wrong(&format!("the scheme `{scheme}`")));
        };
        if *kind == StoreKind::Web {
            return Self::parse_web(text).map_err(|found| wrong(&found));
        }
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong("no bucket"));
        }
        if !bucket.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@$:".contains(c)) {
            return Err(wrong(&format!(
                "the bucket `{bucket}`, which has a character that bucket names cannot have"
            )));
        }
        let path = object_store::path::Path::parse(path).map_err(|e| wrong(&e.to_string()))?;
        let path = path.to_string();
        let bucket = bucket.to_owned();
        Ok(Self { kind: *kind, scheme, bucket, path, is_folder: false, user: None, query: None })
    }

    fn parse_web(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| error.to_string())?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or("no host")?;
        let bucket = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let user = match (url.username(), url.password()) {
            ("", None) => None,
            (name, None) => Some(name.to_owned()),
            (name, Some(word)) => Some(format!("{name}:{word}")),
        };
        Ok(Self {
            kind: StoreKind::Web,
            scheme: url.scheme().to_owned(),
            bucket,
            path: url.path().trim_matches('/').to_owned(),
            is_folder: url.path().ends_with('/'),
            user,
            query: url.query().map(str::to_owned),
        })
    }

    /// What lies below it; `below` has `/` between its parts. Nothing below is the address itself.
    #[must_use]
    pub fn join(&self, below: &str) -> Self {
        let is_folder = below.ends_with('/');
        let below = below.trim_matches('/');
        if below.is_empty() {
            return self.clone();
        }
        let below = if self.kind == StoreKind::Web { encoded(below) } else { below.to_owned() };
        let path = if self.path.is_empty() { below } else { format!("{}/{below}", self.path) };
        Self { path, is_folder, ..self.clone() }
    }

    /// The last part of its path; of a bucket, its name.
    #[must_use]
    pub fn name(&self) -> &str {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        if last.is_empty() { &self.bucket } else { last }
    }

    /// Whether it is `root` or lies below it.
    #[must_use]
    pub fn starts_with(&self, root: &Self) -> bool {
        let is_below = || self.path.strip_prefix(&root.path).is_some_and(|rest| rest.starts_with('/'));
        (self.kind, &self.bucket) == (root.kind, &root.bucket)
            && (self.kind != StoreKind::Web || self.scheme == root.scheme)
            && (root.path.is_empty() || self.path == root.path || is_below())
            // What a server makes of `..` in a path is its own affair.
            && !decoded(&self.path).split(['/', '\\']).any(|part| part == "..")
    }

    /// The same place as it is below `root`, asked for as `root` is: with the root's user, password and query, and none of its own. `None` for
    /// what lies outside.
    #[must_use]
    pub fn within(&self, root: &Self) -> Option<Self> {
        let is_folder = self.is_folder;
        self.starts_with(root).then(|| Self { path: self.path.clone(), is_folder, ..root.clone() })
    }

    pub(crate) fn kind(&self) -> StoreKind {
        self.kind
    }

    /// The bucket or container, without the account.
    pub(crate) fn bucket(&self) -> &str {
        if self.kind == StoreKind::Azure {
            self.bucket.split('@').next().unwrap_or_default()
        } else {
            &self.bucket
        }
    }

    /// Of Azure: what stands after the `@`, without the domain.
    pub(crate) fn account(&self) -> Option<&str> {
        self.bucket.split_once('@').and_then(|(_, host)| host.split('.').next())
    }

    /// The key, without slashes at either end.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// What names the store: the address without its path.
    pub(crate) fn store(&self) -> String {
        format!("{}://{}", self.scheme, self.bucket)
    }

    /// Of the web: the URL with all its secrets, to be asked for and never to be shown.
    pub(crate) fn url(&self) -> Result<Url, Error> {
        let user = self.user.as_ref().map_or_else(String::new, |user| format!("{user}@"));
        let slash = if self.is_folder && !self.path.is_empty() { "/" } else { "" };
        let query = self.query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
        let text = format!("{}://{user}{}/{}{slash}{query}", self.scheme, self.bucket, self.path);
        Url::parse(&text).map_err(|error| Error::Address { text: self.to_string(), found: error.to_string() })
    }

    /// The same place as a folder.
    pub(crate) fn as_folder(&self) -> Self {
        Self { is_folder: true, ..self.clone() }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.bucket)?;
        if !self.path.is_empty() {
            write!(f, "/{}", self.path)?;
        }
        if self.is_folder {
            f.write_str("/")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// A text that may be no address, without what could be a secret.
fn without_secrets(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match text.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => {
            let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
            let host = host.rsplit('@').next().unwrap_or_default();
            path.map_or_else(|| format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
        }
        _ => text.to_owned(),
    }
}

/// The parts of a path, percent-encoded where they are not yet.
fn encoded(path: &str) -> String {
    let Ok(mut url) = Url::parse("http://localhost/") else { return path.to_owned() };
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.clear().extend(path.split('/').map(decoded));
    }
    url.path().trim_start_matches('/').to_owned()
}

/// A text without percent-encoding; as it is where that makes none.
pub(crate) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests;
