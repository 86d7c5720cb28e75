//! The page: files embedded in the program, or read from a folder while somebody works on them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use axum::http::header::{self, HeaderMap};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use crate::answer::Failure;
use crate::error::Error;

/// The files of the built page by name, sorted.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The page of `haloscope report`, into which its data are put; `None` in a build that has none.
#[must_use]
pub(crate) fn report_template() -> Option<&'static str> {
    let (_, bytes) = EMBEDDED.iter().find(|(name, _)| *name == "report.html")?;
    std::str::from_utf8(bytes).ok()
}

/// Where the page's files come from.
#[derive(Debug)]
pub(crate) enum Page {
    /// Built in.
    Embedded,
    /// A folder, its path without links.
    Folder(PathBuf),
}

impl Page {
    pub(crate) fn new(folder: Option<PathBuf>) -> Result<Self, Error> {
        let Some(path) = folder else { return Ok(Self::Embedded) };
        match path.canonicalize() {
            Ok(real) => Ok(Self::Folder(real)),
            Err(source) => Err(Error::WebRoot { path, source }),
        }
    }

    /// The file with this name, which is [plain](is_plain).
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        match self {
            Self::Embedded => EMBEDDED.iter().find(|(n, _)| *n == name).map(|(_, bytes)| bytes.to_vec()),
            Self::Folder(root) => {
                let path = root.join(name).canonicalize().ok()?;
                // A link in the folder may lead out of it.
                path.starts_with(root).then(|| std::fs::read(path).ok())?
            }
        }
    }
}

/// Text with the characters that mean something in HTML written out.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The file's name for a path; `None` for paths that no file of the page has: anything hidden, encoded or upwards.
fn name(path: &str) -> Option<&str> {
    if path == "/" {
        return Some("index.html");
    }
    let name = path.strip_prefix('/')?;
    (name != "index.html" && is_plain(name)).then_some(name)
}

/// True for names of files below a folder that have nothing hidden, encoded or upwards in them.
pub(crate) fn is_plain(name: &str) -> bool {
    let fits = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
    };
    name.split('/').all(fits)
}

/// The content type by the name's ending. Others are not shown but saved.
fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "map") => "application/json",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("wasm") => "application/wasm",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Answers every path that is not the API's.
pub(crate) fn answer(page: &Page, uri: &Uri, headers: &HeaderMap) -> Response {
    name(uri.path()).and_then(|name| response(page, name, headers)).unwrap_or_else(|| {
        let hint =
            if uri.path() == "/" { "this build has no page; the API is at /api" } else { "the page is at /" };
        Failure::not_found(format!("there is nothing at {}", uri.path()), hint).into_response()
    })
}

/// Where a browser on this machine finds the page of a server that listens on `addr`.
pub(crate) fn url(addr: SocketAddr) -> String {
    let ip = match addr.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}/", SocketAddr::new(ip, addr.port()))
}

/// The answer with the file of this name, if there is one; without the file where the browser has it already.
pub(crate) fn response(page: &Page, name: &str, headers: &HeaderMap) -> Option<Response> {
    let bytes = is_plain(name).then(|| page.read(name))??;
    Some(tagged(bytes, content_type(name), headers))
}

/// An answer with these bytes; without them where the browser has them already.
pub(crate) fn tagged(bytes: Vec<u8>, content_type: &'static str, headers: &HeaderMap) -> Response {
    let etag = etag(&bytes);
    // Names carry no hashes, so the browser asks each time and mostly hears that nothing changed.
    let fixed = [(header::ETAG, etag.clone()), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if is_known(headers, &etag) {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, [(header::CONTENT_TYPE, content_type)], bytes).into_response()
}

/// Weak, because the answer may be compressed on the way.
fn etag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("W/\"{:016x}\"", hasher.finish())
}

fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let lists = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|v| v.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|tag| tag.trim() == etag || tag.trim() == "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_looked_up() {
        assert_eq!(name("/"), Some("index.html"));
        assert_eq!(name("/app.js"), Some("app.js"));
        assert_eq!(name("/chunks/graph-worker.js"), Some("chunks/graph-worker.js"));
        for path in [
            "/../secret",
            "/..%2fsecret",
            "/.git/config",
            "//etc/passwd",
            "/a//b",
            "/a\\b",
            "/c:/x",
            "/app.js/",
            "",
        ] {
            assert_eq!(name(path), None, "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret.txt"), "s").unwrap();
        let root = folder.path().join("dist");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("app.js"), "1").unwrap();
        std::os::unix::fs::symlink("../secret.txt", root.join("link.txt")).unwrap();
        let page = Page::new(Some(root)).unwrap();
        assert_eq!(page.read("app.js"), Some(b"1".to_vec()));
        assert_eq!(page.read("link.txt"), None);
    }
}
