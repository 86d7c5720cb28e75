//! A server on a free port with a small run, and two clients: a real one, and one that sends what it is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

use haloscope_serve::{Config, Server};
use haloscope_store::Store;
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A server that stops when it is dropped.
pub(crate) struct TestServer {
    pub(crate) addr: SocketAddr,
    pub(crate) url: String,
    pub(crate) folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    /// A server over a log folder with the runs `train` (the newest) and `broken`.
    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "broken", b"no profile");
        write(folder.path(), "train", &profile().to_bytes());
        set_age(&folder.path().join("plugins/profile/train/host-0.xplane.pb"), 60);

        let mut config = Config::new(Store::new(folder.path()).unwrap());
        config.addr.set_port(0);
        change(&mut config);
        let (ready, bound) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::bind(config).await.unwrap();
                ready.send((server.local_addr(), server.url())).unwrap();
                server.run(async { drop(stopped.await) }).await.unwrap();
            });
        });
        let (addr, url) = bound.recv().unwrap();
        Self { addr, url, folder, stop: Some(stop), thread: Some(thread) }
    }

    /// A GET with the real client.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[])
    }

    pub(crate) fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let url = format!("http://127.0.0.1:{}{path}", self.addr.port());
        let request =
            headers.iter().fold(agent.get(url), |request, (name, value)| request.header(*name, *value));
        let mut answer = request.call().unwrap();
        let headers = answer.headers().iter().map(|(n, v)| (n.to_string(), v.to_str().unwrap().to_owned()));
        let headers = headers.collect();
        Answer { status: answer.status().as_u16(), headers, body: answer.body_mut().read_to_vec().unwrap() }
    }

    /// A GET whose path and headers go over the wire as they are; `Host` is the caller's.
    pub(crate) fn raw(&self, path: &str, headers: &str) -> Answer {
        self.wire("GET", path, headers, "")
    }

    /// A request with a body, with these headers beside those that it must have.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let host = format!("Host: 127.0.0.1:{}\r\nContent-Length: {}\r\n", self.addr.port(), body.len());
        self.wire(method, path, &(host + headers), body)
    }

    /// The same with a body of any bytes.
    pub(crate) fn send_bytes(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let host = format!("Host: 127.0.0.1:{}\r\nContent-Length: {}\r\n", self.addr.port(), body.len());
        self.wire_bytes(method, path, &(host + headers), body)
    }

    fn wire(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        self.wire_bytes(method, path, headers, body.as_bytes())
    }

    fn wire_bytes(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.addr.port())).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").unwrap();
        stream.write_all(body).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let split = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("an answer with headers");
        let head = String::from_utf8(bytes[..split].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_ascii_lowercase(), v.to_owned()));
        Answer { status, headers: lines.filter_map(header).collect(), body: bytes[split + 4..].to_vec() }
    }

    /// The JSON of a GET that must succeed.
    pub(crate) fn json(&self, path: &str) -> Json {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }
}

impl TestServer {
    /// Stops it, and looks at what is left before its folder goes.
    pub(crate) fn stop_and(mut self, look: impl FnOnce()) {
        self.end();
        look();
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(std::thread::panicking() || ended.is_ok(), "the server panicked");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.end();
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Json {
        assert_eq!(self.header("content-type"), "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The words of a refusal; it must have the status, an `error`, a `hint` and the `kind` that goes with the status.
    pub(crate) fn refusal(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        let body = self.json();
        assert!(body["hint"].is_string());
        let kind = body["kind"].as_str().unwrap();
        let fits = match status {
            404 => kind == "unknown",
            422 => kind == "unreadable" || kind == "nothing",
            500 => kind == "bug",
            _ => kind == "usage",
        };
        assert!(fits, "{status} {kind}");
        body["error"].as_str().unwrap().to_owned()
    }
}

fn write(root: &Path, run: &str, bytes: &[u8]) {
    let folder = root.join("plugins/profile").join(run);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("host-0.xplane.pb");
    std::fs::write(&path, bytes).unwrap();
    set_age(&path, 120);
}

/// Makes a file this many seconds old: one that was written a moment ago may still be growing.
pub(crate) fn set_age(path: &Path, seconds: u64) {
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// A TPU with three steps of a dot and a fusion in a while loop, and a host with a thread.
pub(crate) fn profile() -> Space {
    let meta = |id: i64, name: &str, display_name: &str| {
        (id, EventMetadata { id, name: name.into(), display_name: display_name.into(), ..Default::default() })
    };
    let stat = |id: i64, name: &str| (id, StatMetadata { id, name: name.into(), ..Default::default() });
    let us = |v: i64| v * 1_000_000;
    let mut steps = Line::new(1, "Steps");
    let mut modules = Line::new(2, "XLA Modules");
    let mut ops = Line::new(3, "XLA Ops");
    for step in 0..3 {
        let at = us(100 * step);
        let mut marker = Event::at(10, at, us(90));
        marker.stats = vec![Stat { metadata_id: 2, value: Value::Int(step) }];
        steps.events.push(marker);
        modules.events.push(Event::at(11, at, us(90)));
        ops.events.push(Event::at(1, at, us(80)));
        let mut dot = Event::at(2, at + us(10), us(40));
        dot.stats = vec![Stat { metadata_id: 1, value: Value::Uint(4096) }];
        ops.events.push(dot);
        ops.events.push(Event::at(3, at + us(50), us(20)));
    }
    let device = Plane {
        name: "/device:TPU:0".into(),
        lines: vec![steps, modules, ops],
        event_metadata: vec![
            meta(1, "%while.1 = () while()", "while.1"),
            meta(2, "%dot.2 = f32[8]{0} dot()", "dot.2"),
            meta(3, "%fusion.3 = f32[8]{0} fusion()", "fusion.3"),
            meta(10, "0", ""),
            meta(11, "jit_train(7)", ""),
        ],
        stat_metadata: vec![stat(1, "bytes_accessed"), stat(2, "group_id")],
        ..Default::default()
    };
    let mut thread = Line::new(77, "python");
    thread.events = vec![Event::at(1, 0, us(300))];
    let host = Plane {
        name: "/host:CPU".into(),
        lines: vec![thread],
        event_metadata: vec![meta(1, "main", "")],
        ..Default::default()
    };
    Space { planes: vec![device, host], ..Default::default() }
}
