//! Runs at addresses: workers bring their files from a server of the tests' own, which counts what it is asked for.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use tempfile::TempDir;

use crate::cluster::{HOSTS, TOKEN, Worker, file_of, of_another_version, urls};
use crate::support::{command, text};

const SESSION: &str = "runs/logs/plugins/profile/2026_01_01_00_00_00";
const QUESTION: &str = "SELECT run, host, kind, count(*), sum(dur_ps), min(start_ps), min(line_id) FROM event GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";

/// What a server was asked for, and what it refuses.
#[derive(Default)]
struct Seen {
    /// Bytes of files that went out, by the path.
    bytes: BTreeMap<String, u64>,
    /// All requests.
    requests: Vec<String>,
    /// How paths end that nobody gets, and what is answered.
    refused: Vec<(&'static str, &'static str)>,
    /// How paths of files end that were written anew since they were listed.
    written: Vec<&'static str>,
}

/// A web server with index pages and ranges, which is an S3 of one bucket too: `runs`.
struct Server {
    root: TempDir,
    url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    /// With a run of several hosts at `runs/logs`.
    fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        let session = root.path().join(SESSION);
        fs::create_dir_all(&session).unwrap();
        for (name, run, host) in HOSTS {
            fs::copy(file_of(run, Some(host)), session.join(format!("{name}.xplane.pb.gz"))).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (folder, told) = (root.path().to_owned(), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, told) = (folder.clone(), Arc::clone(&told));
                std::thread::spawn(move || while answer(&stream, &folder, &told).is_some() {});
            }
        });
        Self { root, url, seen }
    }

    /// What tells programs that it is the S3 of `s3://runs`.
    fn as_bucket(&self) -> [(&str, &str); 3] {
        [("AWS_ENDPOINT_URL", &self.url), ("AWS_SKIP_SIGNATURE", "true"), ("AWS_REGION", "us-east-1")]
    }

    fn logs(&self) -> PathBuf {
        self.root.path().join("runs/logs")
    }

    fn file(&self, host: &str) -> PathBuf {
        self.root.path().join(SESSION).join(format!("{host}.xplane.pb.gz"))
    }

    /// Bytes of files that went out since it was asked the last time, by name.
    fn sent(&self) -> BTreeMap<String, u64> {
        let sent = std::mem::take(&mut self.seen.lock().unwrap().bytes);
        sent.into_iter().map(|(path, bytes)| (path.rsplit('/').next().unwrap().to_owned(), bytes)).collect()
    }

    /// Each file with its size.
    fn sizes(&self) -> BTreeMap<String, u64> {
        let files = fs::read_dir(self.root.path().join(SESSION)).unwrap().map(Result::unwrap);
        files.map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().len())).collect()
    }
}

/// Reads a request and answers it; `None` where there is none.
fn answer(stream: &TcpStream, root: &Path, seen: &Mutex<Seen>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    let mut headers = BTreeMap::new();
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    seen.lock().unwrap().requests.push(first.clone());
    let mut out = stream;
    let mut send = |status: &str, more: &[(&str, String)], body: &[u8]| {
        let mut head = format!("HTTP/1.1 {status}\r\n");
        more.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        let body = if method == "HEAD" { &[] } else { body };
        out.write_all(head.as_bytes()).and_then(|()| out.write_all(body)).ok()
    };
    let is_whole = method == "GET";
    let refused = |(end, _): &&(&str, &str)| path.trim_end_matches('/').ends_with(end) && is_whole;
    if let Some((_, status)) = seen.lock().unwrap().refused.iter().find(refused) {
        return send(status, &[], b"");
    }
    if query.contains("list-type=2") {
        return send("200 OK", &[("Content-Type", "application/xml".to_owned())], listing(root).as_bytes());
    }
    let here = root.join(path.trim_matches('/'));
    if here.is_dir() {
        let entries = fs::read_dir(&here).ok()?.flatten().map(|entry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            format!("<a href=\"{}{slash}\">x</a>\n", entry.file_name().to_string_lossy())
        });
        return send(
            "200 OK",
            &[("Content-Type", "text/html".to_owned())],
            entries.collect::<String>().as_bytes(),
        );
    }
    let Ok(bytes) = fs::read(&here) else { return send("404 Not Found", &[], b"") };
    let is_written = seen.lock().unwrap().written.iter().any(|end| path.ends_with(end)) && is_whole;
    let etag = if is_written { "\"another\"".to_owned() } else { etag(&here) };
    if headers.get("if-match").is_some_and(|wanted| *wanted != etag) {
        return send("412 Precondition Failed", &[], b"");
    }
    let mut told = vec![("ETag", etag), ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT".to_owned())];
    let range = headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let Some((from, to)) = range else {
        // The size in the answer to HEAD is that of what is not sent.
        return send("200 OK", &told, &bytes);
    };
    let (from, to) = (from.parse::<usize>().ok()?, to.parse::<usize>().ok()?.min(bytes.len() - 1));
    told.push(("Content-Range", format!("bytes {from}-{to}/{}", bytes.len())));
    *seen.lock().unwrap().bytes.entry(path.to_owned()).or_default() += (to + 1 - from) as u64;
    send("206 Partial Content", &told, &bytes[from..=to])
}

fn etag(path: &Path) -> String {
    let meta = fs::metadata(path).unwrap();
    let changed = meta.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
    format!("\"{:x}-{:x}\"", changed.as_nanos(), meta.len())
}

/// What a bucket says of its objects.
fn listing(root: &Path) -> String {
    let files = fs::read_dir(root.join(SESSION)).unwrap().map(|entry| entry.unwrap().path());
    let objects = files.map(|path| {
        let key = path.strip_prefix(root.join("runs")).unwrap().display().to_string();
        let (etag, size) = (etag(&path).replace('"', "&quot;"), fs::metadata(&path).unwrap().len());
        format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{etag}</ETag><Size>{size}</Size></Contents>"
        )
    });
    format!(
        "<?xml version=\"1.0\"?><ListBucketResult><Name>runs</Name><IsTruncated>false</IsTruncated>{}</ListBucketResult>",
        objects.collect::<String>()
    )
}

/// Workers that read below an address, each with a cache of its own, and who asks them.
struct Place {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    fn new(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), TOKEN).unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { variables: variables.collect(), folder }
    }

    fn token(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    fn cache(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("cache-{name}"))
    }

    fn worker(&self, roots: &str, name: &str) -> Worker {
        let cache = self.cache(name).into_os_string().into_string().unwrap();
        let mut variables = vec![("HALOSCOPE_CACHE", cache.as_str())];
        variables.extend(self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        Worker::start_with(Path::new(roots), Some(&self.token()), &variables)
    }

    fn workers<const N: usize>(&self, roots: &str) -> [Worker; N] {
        std::array::from_fn(|at| self.worker(roots, &at.to_string()))
    }

    fn embedded(&self, run: &str, words: &[&str]) -> Output {
        let mut command = command();
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("HALOSCOPE_CACHE", self.cache("own")).arg(run).args(words).args(["--format", "csv"]);
        command.output().unwrap()
    }

    fn spread(&self, run: &str, workers: &[&Worker], words: &[&str]) -> Output {
        let urls = urls(workers);
        let token = self.token();
        self.embedded(run, &[words, &["--cluster", &urls, "--token-file", token.to_str().unwrap()]].concat())
    }
}

fn answered(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stdout.iter().filter(|byte| **byte == b'\n').count() > 1, "no rows");
    text(&output.stdout)
}

/// Brought once, each by one worker; not again for another question, nor by workers that are started anew.
fn brought_once(server: &Server, place: &Place, root: &str) {
    let near = answered(&place.embedded(server.logs().to_str().unwrap(), &[QUESTION]));
    assert!(near.contains("logs/2026_01_01_00_00_00,a-0,"), "{near}");
    let workers: [Worker; 3] = place.workers(root);
    let all: Vec<&Worker> = workers.iter().collect();
    assert_eq!(answered(&place.spread(root, &all, &[QUESTION])), near);
    assert_eq!(server.sent(), server.sizes(), "each file once");
    let other = "SELECT host, name, count(*) FROM event GROUP BY 1, 2 ORDER BY 1, 2";
    let own = answered(&place.embedded(server.logs().to_str().unwrap(), &[other]));
    assert_eq!(answered(&place.spread(root, &all, &[other])), own);
    assert_eq!(server.sent(), BTreeMap::new());
    let parts = "SELECT run, host, file_bytes, part_bytes, bytes FROM part('hosts', 'ops') ORDER BY host";
    let own = answered(&place.embedded(server.logs().to_str().unwrap(), &[parts]));
    assert_eq!(answered(&place.spread(root, &all, &[parts])), own);
    let hosts = "SELECT * FROM analysis('hosts') ORDER BY host";
    let own = answered(&place.embedded(server.logs().to_str().unwrap(), &[hosts]));
    assert_eq!(answered(&place.spread(root, &all, &[hosts])), own);
    assert_eq!(server.sent(), BTreeMap::new());
    drop(workers);
    let anew: [Worker; 3] = place.workers(root);
    // Files may go to other workers than before: with the same cache nothing is brought again by the same.
    let all: Vec<&Worker> = anew.iter().collect();
    assert_eq!(answered(&place.spread(root, &all, &[QUESTION])), near);
    for (name, bytes) in server.sent() {
        assert_eq!(bytes, server.sizes()[&name], "{name}");
    }
    // Who has no workers brings the run whole.
    assert_eq!(answered(&place.embedded(root, &[QUESTION])), near);
}

#[test]
fn workers_bring_files_from_a_web_server() {
    let server = Server::start();
    brought_once(&server, &Place::new(&[]), &format!("{}/runs/logs", server.url));
}

#[test]
fn workers_bring_files_from_a_bucket() {
    let server = Server::start();
    let place = Place::new(&server.as_bucket());
    brought_once(&server, &place, "s3://runs/logs");
}

/// One worker with the same cache as the one before it brings nothing.
#[test]
fn what_is_in_the_cache_is_not_brought_again() {
    let server = Server::start();
    let place = Place::new(&[]);
    let root = format!("{}/runs/logs", server.url);
    let first = place.worker(&root, "same");
    let parts = "SELECT host, bytes FROM part('hosts') ORDER BY host";
    let before = answered(&place.spread(&root, &[&first], &[QUESTION]));
    let parts_before = answered(&place.spread(&root, &[&first], &[parts]));
    assert_eq!(server.sent(), server.sizes());
    drop(first);
    let second = place.worker(&root, "same");
    assert_eq!(answered(&place.spread(&root, &[&second], &[QUESTION])), before);
    assert_eq!(answered(&place.spread(&root, &[&second], &[parts])), parts_before);
    assert_eq!(server.sent(), BTreeMap::new());
    // A file that was written anew is another one.
    fs::copy(server.file("b-0"), server.file("b-1")).unwrap();
    let near = answered(&place.embedded(server.logs().to_str().unwrap(), &[QUESTION]));
    let after = answered(&place.spread(&root, &[&second], &[QUESTION]));
    assert!(after != before && after == near, "{after}");
    let (name, size) = ("b-1.xplane.pb.gz".to_owned(), fs::metadata(server.file("b-1")).unwrap().len());
    let parts_near = answered(&place.embedded(server.logs().to_str().unwrap(), &[parts]));
    let parts_after = answered(&place.spread(&root, &[&second], &[parts]));
    assert!(parts_after != parts_before && parts_after == parts_near);
    assert_eq!(server.sent(), BTreeMap::from([(name, size)]), "once for both");
}

#[test]
fn addresses_outside_of_the_roots_are_not_asked_for() {
    let server = Server::start();
    let place = Place::new(&[]);
    let root = format!("{}/runs/logs", server.url);
    let elsewhere = format!("{}/runs/log", server.url);
    let other_port = Server::start();
    let folder = place.folder.path().to_str().unwrap().to_owned();
    let below = format!("{root}/plugins/profile/other");
    for roots in
        [elsewhere, format!("{}/runs/logs", other_port.url), folder, below, "s3://runs/logs".to_owned()]
    {
        let worker = place.worker(&roots, "own");
        let output = place.spread(&root, &[&worker], &[QUESTION, "--partial"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{roots}: {said}");
        // Several are looked at at once: whichever was first is named.
        assert!(
            said.contains("outside the worker's --roots") && said.contains(".xplane.pb.gz: "),
            "{roots}: {said}"
        );
        assert!(output.stdout.is_empty());
    }
    assert_eq!(server.sent(), BTreeMap::new());
    assert!(other_port.seen.lock().unwrap().requests.is_empty());
    let output =
        command().args(["worker", "--listen", "127.0.0.1:0", "--roots", "ftp://h/a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// What a store or a server refuses is named by its address, with what was expected and what to do; `--partial` leaves it out.
#[test]
fn a_file_that_cannot_be_brought_is_named() {
    for (is_bucket, status, words) in [
        (
            false,
            "403 Forbidden",
            ["access denied: the server answers 403", "Pass an address with its credentials"],
        ),
        (true, "403 Forbidden", ["access denied", "Set AWS_ACCESS_KEY_ID"]),
        (
            false,
            "404 Not Found",
            ["not found: the server answers 404", "has it been removed since? Ask again"],
        ),
        (true, "404 Not Found", ["not found", "has it been removed since? Ask again"]),
        (false, "500 Internal Server Error", ["the server answers 500", "ask again when its server works"]),
        (true, "500 Internal Server Error", ["500", "ask again when its server works"]),
    ] {
        let server = Server::start();
        let variables = server.as_bucket();
        let place = Place::new(if is_bucket { &variables } else { &[] });
        let root = if is_bucket { "s3://runs/logs".to_owned() } else { format!("{}/runs/logs", server.url) };
        let worker = place.worker(&root, "own");
        server.seen.lock().unwrap().refused.push(("b-2.xplane.pb.gz", status));
        let output = place.spread(&root, &[&worker], &[QUESTION]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{status} {said}");
        let address = format!("{root}/plugins/profile/2026_01_01_00_00_00/b-2.xplane.pb.gz");
        assert!(said.contains(&address), "{status} {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{status} {said}");
        assert!(said.contains("(a worker asked, as its environment and its --roots say)"), "{said}");
        assert!(said.contains("--partial"), "{said}");
        let output = place.spread(&root, &[&worker], &[QUESTION, "--partial"]);
        let said = text(&output.stderr);
        assert!(said.contains("left out: ") && said.contains(&address), "{said}");
        let rows = answered(&output);
        assert!(rows.contains(",b-1,") && !rows.contains(",b-2,"), "{rows}");
    }
}

/// What cannot be listed is named by whoever asks, and no worker hears of it.
#[test]
fn a_run_that_cannot_be_listed_is_named() {
    for status in ["403 Forbidden", "404 Not Found", "500 Internal Server Error"] {
        let server = Server::start();
        for (place, root, end) in [
            (Place::new(&[]), format!("{}/runs/logs", server.url), "runs/logs"),
            (Place::new(&server.as_bucket()), "s3://runs/logs".to_owned(), "/runs"),
        ] {
            let worker = place.worker(&root, "own");
            server.seen.lock().unwrap().refused = vec![(end, status)];
            let output = place.spread(&root, &[&worker], &[QUESTION]);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{status} {said}");
            let number = status.split(' ').next().unwrap();
            let why = if number == "403" {
                "access denied"
            } else if number == "404" {
                "not found"
            } else {
                "500"
            };
            assert!(said.contains(&root) && said.contains(why), "{status} {said}");
            assert!(output.stdout.is_empty() && server.sent().is_empty());
        }
    }
}

/// A file that was written between the listing and the reading is no file to leave out: it may be whole the next time.
#[test]
fn a_file_that_changes_meanwhile_is_an_error() {
    for is_bucket in [false, true] {
        let server = Server::start();
        let variables = server.as_bucket();
        let place = Place::new(if is_bucket { &variables } else { &[] });
        let root = if is_bucket { "s3://runs/logs".to_owned() } else { format!("{}/runs/logs", server.url) };
        let worker = place.worker(&root, "own");
        server.seen.lock().unwrap().written.push("b-1.xplane.pb.gz");
        for words in [&[QUESTION][..], &[QUESTION, "--partial"]] {
            let output = place.spread(&root, &[&worker], words);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("b-1.xplane.pb.gz changed while it was read"), "{said}");
            assert!(output.stdout.is_empty());
        }
        server.seen.lock().unwrap().written.clear();
        answered(&place.spread(&root, &[&worker], &[QUESTION]));
    }
}

/// Who has not the worker's token has nothing brought, nor whose worker is of another version.
#[test]
fn another_token_and_another_version_bring_nothing() {
    let server = Server::start();
    let place = Place::new(&[]);
    let root = format!("{}/runs/logs", server.url);
    let worker = place.worker(&root, "own");
    let other = place.folder.path().join("other");
    fs::write(&other, "another-token-of-these").unwrap();
    let words = [QUESTION, "--cluster", &worker.url, "--token-file", other.to_str().unwrap()];
    let output = place.embedded(&root, &words);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the token differs from the worker's") && output.stdout.is_empty(), "{said}");
    let (url, _runs) = of_another_version();
    let output = place.embedded(&root, &[QUESTION, "--cluster", &url]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("install the same version") && output.stdout.is_empty(), "{said}");
    assert_eq!(server.sent(), BTreeMap::new());
}

/// What is secret of an address is the worker's own, and shown to nobody.
#[test]
fn secrets_stay_where_they_are() {
    let server = Server::start();
    let place = Place::new(&[]);
    let at = server.url.trim_start_matches("http://");
    let root = format!("http://user:word-4711@{at}/runs/logs?sig=own-4711");
    let worker = place.worker(&root, "own");
    let asked = format!("http://other:word-4712@{at}/runs/logs?sig=asked-4712");
    let output = place.spread(&asked, &[&worker], &["SELECT run, host, file FROM host ORDER BY host"]);
    let shown = answered(&output) + &text(&output.stderr);
    assert!(!shown.contains("4711") && !shown.contains("4712") && shown.contains(at), "{shown}");
    let requests = server.seen.lock().unwrap().requests.clone();
    let ranges: Vec<&String> = requests.iter().filter(|line| line.contains("own-4711")).collect();
    assert_eq!(ranges.len(), HOSTS.len(), "the worker asks as its root says: {requests:?}");
}
