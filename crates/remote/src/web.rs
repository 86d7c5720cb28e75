//! Web servers: files that are read by ranges, and index pages of links.

use std::time::{Duration, SystemTime};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED, RANGE};
use reqwest::{Client, Method, Response, StatusCode, Url};

use crate::address::decoded;
use crate::connect::{RETRIES, connect_timeout, timeout};
use crate::error::{NetworkErrorKind, innermost, network_error_kind};
use crate::one_server::OnOneServer;
use crate::per_process::PerProcess;
use crate::{Address, Error, Object};

/// How deep index pages are followed.
const DEPTH: usize = 8;
/// How many of them.
const PAGES: usize = 1000;
/// How many files they may name.
const FILES: usize = 20_000;
/// How long a page may be.
const PAGE: u64 = 8 << 20;
/// How many questions are open at once.
const AT_ONCE: usize = 16;

fn client() -> Result<&'static Client, Error> {
    static CLIENT: PerProcess<Client> = PerProcess::new();
    let failed = |error| Error::Network { at: "this machine".to_owned(), found: innermost(&error) };
    CLIENT.get(|| OnOneServer { connect: connect_timeout(), read: timeout() }.client().map_err(failed))
}

/// What an error of the client means to who asked for `at`.
pub(crate) fn http_error(at: &Address, error: &reqwest::Error) -> Error {
    let place = at.to_string();
    match network_error_kind(error) {
        NetworkErrorKind::Timeout => Error::Timeout { at: place, after: timeout() },
        NetworkErrorKind::Connect => {
            Error::Network { at: place, found: format!("cannot be reached: {}", innermost(error)) }
        }
        NetworkErrorKind::Other => Error::Network { at: place, found: innermost(error) },
    }
}

/// Asks, again where the server says that it is its fault, and tells what it refuses.
async fn ask(at: &Address, method: Method, range: Option<(u64, u64)>) -> Result<Response, Error> {
    let url = at.url()?;
    let mut pause = Duration::from_millis(100);
    let mut left = RETRIES;
    loop {
        let mut request = client()?.request(method.clone(), url.clone());
        if let Some((from, to)) = range {
            request = request.header(RANGE, format!("bytes={from}-{}", to.saturating_sub(1)));
        }
        let error = match request.send().await {
            Ok(answer) if answer.status().is_success() => return Ok(answer),
            Ok(answer) => {
                let status = answer.status();
                let error = refused(at, status);
                if !(status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS) {
                    return Err(error);
                }
                error
            }
            Err(error) if error.is_timeout() || error.is_redirect() => return Err(http_error(at, &error)),
            Err(error) => http_error(at, &error),
        };
        if left == 0 {
            return Err(error);
        }
        left -= 1;
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}

fn refused(at: &Address, status: StatusCode) -> Error {
    let place = at.to_string();
    let found = format!("the server answers {status}");
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            let advice = "Pass an address with its credentials: https://USER:PASSWORD@HOST/PATH, or a signed one; has a signed one expired?";
            Error::Denied { at: place, found, advice: advice.to_owned() }
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => Error::Missing { at: place, found },
        _ => Error::Network { at: place, found },
    }
}

/// The bytes of a file from `from` up to `to`, as they come, and how many of them are to be passed over: a server that
/// knows no ranges sends the file from its beginning.
pub(crate) async fn read(
    at: &Address,
    etag: Option<&str>,
    from: u64,
    to: u64,
) -> Result<(Response, u64), Error> {
    let answer = ask(at, Method::GET, Some((from, to))).await?;
    if let (Some(expected), Some(found)) = (etag, header(&answer, &ETAG))
        && expected != found
    {
        let found = format!("its etag was {expected}, and is now {found}");
        return Err(Error::Changed { at: at.to_string(), found });
    }
    let over = if answer.status() == StatusCode::PARTIAL_CONTENT { 0 } else { from };
    Ok((answer, over))
}

fn header(answer: &Response, name: &reqwest::header::HeaderName) -> Option<String> {
    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
}

fn modified(answer: &Response) -> SystemTime {
    let told = header(answer, &LAST_MODIFIED).and_then(|text| httpdate::parse_http_date(&text).ok());
    told.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The size that a server tells: of the whole file, whether it sends a part or all.
fn size(answer: &Response) -> Option<u64> {
    if answer.status() == StatusCode::PARTIAL_CONTENT {
        return header(answer, &CONTENT_RANGE)?.rsplit('/').next()?.parse().ok();
    }
    // Not what the client makes of it: that is nought for the answer to HEAD.
    header(answer, &CONTENT_LENGTH)?.parse().ok()
}

fn object(at: &Address, answer: &Response, path: String) -> Result<Object, Error> {
    let size = size(answer).ok_or_else(|| Error::Network {
        at: at.to_string(),
        found: "the server does not say its size: expected Content-Length".to_owned(),
    })?;
    Ok(Object { path, size, etag: header(answer, &ETAG), modified: modified(answer) })
}

/// The one file at an address, or those that the index page there and the ones below it link to.
pub(crate) async fn list(at: &Address) -> Result<Vec<Object>, Error> {
    // Signed addresses allow GET and nothing else. The body is left where it is no page.
    let answer = ask(at, Method::GET, None).await?;
    if !is_page(&answer) {
        return Ok(vec![object(at, &answer, String::new())?]);
    }
    let mut first = Some(answer);
    let mut waiting = vec![(String::new(), 0)];
    let (mut files, mut pages) = (Vec::new(), 0);
    while let Some((folder, depth)) = waiting.pop() {
        let here = at.as_folder().join(&folder);
        let answer = match first.take() {
            Some(answer) => answer,
            None => ask(&here, Method::GET, None).await?,
        };
        pages += 1;
        // Where a link to a folder leads to something else, it is none.
        if !is_page(&answer) {
            continue;
        }
        let text = page(&here, answer).await?;
        for link in links(&text, here.url()?.path()) {
            let path = format!("{folder}{link}");
            if !link.ends_with('/') {
                files.push(path);
            } else if depth < DEPTH && pages + waiting.len() < PAGES {
                waiting.push((path, depth + 1));
            }
        }
        if files.len() > FILES {
            let found =
                format!("its index pages list more than {FILES} files: pass a folder closer to the run");
            return Err(Error::Network { at: at.to_string(), found });
        }
    }
    files.sort();
    files.dedup();
    let ask_each = files.into_iter().map(|path| async move {
        let file = at.as_folder().join(&path);
        let answer = ask(&file, Method::HEAD, None).await?;
        object(&file, &answer, path)
    });
    stream::iter(ask_each).buffered(AT_ONCE).try_collect().await
}

fn is_page(answer: &Response) -> bool {
    header(answer, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html"))
}

async fn page(at: &Address, mut answer: Response) -> Result<String, Error> {
    let mut text = Vec::new();
    while let Some(bytes) = answer.chunk().await.map_err(|error| http_error(at, &error))? {
        text.extend_from_slice(&bytes);
        if text.len() as u64 > PAGE {
            let found = "its page is not an index of files: it is too long".to_owned();
            return Err(Error::Network { at: at.to_string(), found });
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The names directly below `folder` (a path that ends in a slash) that a page links to, those of folders with a slash.
fn links(page: &str, folder: &str) -> Vec<String> {
    let base = Url::parse("http://localhost").ok().and_then(|root| root.join(folder).ok());
    let Some(base) = base else { return Vec::new() };
    let mut found = Vec::new();
    for rest in page.split("href=").skip(1) {
        let text = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next(),
            _ => rest.split([' ', '>', '\n', '\t']).next(),
        };
        let text =
            text.unwrap_or_default().split(['?', '#']).next().unwrap_or_default().replace("&amp;", "&");
        let Ok(to) = base.join(&text) else { continue };
        // Index pages link by name or by path, never to another host.
        let Some(name) = to.path().strip_prefix(base.path()) else { continue };
        let plain = decoded(name);
        let is_name = plain.trim_end_matches('/').chars().all(|c| c != '/' && c != '\\' && !c.is_control());
        if text.contains("://") || plain.is_empty() || !is_name || plain.starts_with("..") {
            continue;
        }
        found.push(plain);
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sends_on_to_another_server_is_refused() {
        use std::io::{Read as _, Write as _};
        use std::net::TcpListener;
        use std::sync::atomic::{AtomicUsize, Ordering};
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let (first, second) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (own, other) = (first.local_addr().unwrap(), second.local_addr().unwrap());
        let serve = |listener: TcpListener, answer: Box<dyn Fn(&str) -> String + Send>| {
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let mut head = [0; 1024];
                    let read = stream.read(&mut head).unwrap_or(0);
                    let head = String::from_utf8_lossy(&head[..read]).into_owned();
                    let _ = stream.write_all(answer(&head).as_bytes());
                }
            })
        };
        let sent = |to: String| {
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        };
        let whole = || "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".to_owned();
        let answer = move |head: &str| match head.split(' ').nth(1) {
            Some("/away.pb") => sent(format!("http://{other}/secret.pb")),
            Some("/here.pb") => sent("/there.pb".to_owned()),
            _ => whole(),
        };
        serve(first, Box::new(answer));
        serve(
            second,
            Box::new(move |_| {
                ASKED.fetch_add(1, Ordering::SeqCst);
                whole()
            }),
        );
        let get = |path: &str| {
            let at = Address::parse(&format!("http://{own}/{path}")).unwrap();
            crate::connect::wait(
                async move { ask(&at, Method::GET, None).await.map(|answer| answer.status()) },
            )
        };
        assert_eq!(get("here.pb").unwrap(), 200);
        let error = get("away.pb").unwrap_err().to_string();
        assert!(error.contains("not followed") && error.contains(&other.to_string()), "{error}");
        assert_eq!(ASKED.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn links_of_index_pages_are_read() {
        // Python's, nginx's and Apache's pages.
        let page = r#"<a href="../">../</a> <a href="?C=N;O=D">Name</a> <a href="/logs/">Parent</a>
            <a href="plugins/">plugins/</a> <a href="a%20b.xplane.pb">a b</a> <a href='c&amp;d.pb'>c</a>
            <a href="/logs/run/e.pb">e</a> <a href="https://elsewhere/f.pb">f</a> <a href=g.pb>g</a>
            <a href="a/deep.pb">deep</a> <a href="%2e%2e/x.pb">x</a> <a href="/logs/run/">self</a>"#;
        assert_eq!(links(page, "/logs/run/"), ["a b.xplane.pb", "c&d.pb", "e.pb", "g.pb", "plugins/"]);
    }
}
