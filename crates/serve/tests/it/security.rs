//! What is refused, and what every answer tells the browser.

use haloscope_serve::{Config, Error, Server};
use haloscope_store::Store;

use crate::client::TestServer;

#[test]
fn every_answer_has_the_security_headers() {
    let server = TestServer::start();
    let mut answers: Vec<_> =
        ["/", "/api/runs", "/api/nothing", "/nothing", "/api/runs?x=1"].map(|path| server.get(path)).into();
    answers.push(server.raw("/api/runs", "Host: evil.example\r\n"));
    for answer in answers {
        assert_eq!(
            answer.header("content-security-policy"),
            "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
    assert_eq!(server.get("/api/runs").header("cache-control"), "no-store");
}

#[test]
fn a_name_of_another_machine_is_refused() {
    let server = TestServer::start();
    let port = server.addr.port();
    for host in ["localhost", &format!("localhost:{port}"), &format!("127.0.0.1:{port}"), "[::1]:9"] {
        assert_eq!(server.raw("/api/runs", &format!("Host: {host}\r\n")).status, 200, "{host}");
    }
    for host in ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example", "", "192.168.0.1"]
    {
        for path in ["/api/runs", "/"] {
            server.raw(path, &format!("Host: {host}\r\n")).refusal(403);
        }
    }
    assert_ne!(server.raw("/api/runs", "").status, 200);
    assert_ne!(server.raw("/api/runs", "Host: localhost\r\nHost: evil.example\r\n").status, 200);
    assert_ne!(server.raw("http://evil.example/api/runs", "Host: localhost\r\n").status, 200);
}

#[test]
fn a_request_from_another_site_is_refused() {
    let server = TestServer::start();
    let host = format!("127.0.0.1:{}", server.addr.port());
    let from = |origin: &str| server.raw("/api/runs", &format!("Host: {host}\r\nOrigin: {origin}\r\n"));
    assert_eq!(from(&format!("http://{host}")).status, 200);
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        &format!("http://{host}.evil.example"),
        "file://",
    ] {
        from(origin).refusal(403);
    }
}

#[test]
fn a_name_before_the_machine_is_refused() {
    let server = TestServer::start();
    let port = server.addr.port();
    for host in ["user@localhost", "localhost@evil.example", &format!("user:word@127.0.0.1:{port}")] {
        assert_ne!(server.raw("/api/runs", &format!("Host: {host}\r\n")).status, 200, "{host}");
    }
}

#[test]
fn nothing_is_computed_for_a_page_of_another_site() {
    let server = TestServer::start();
    let host = format!("127.0.0.1:{}", server.addr.port());
    let asked = |path: &str, site: &str| {
        server.raw(path, &format!("Host: {host}\r\nSec-Fetch-Site: {site}\r\n")).status
    };
    let paths = ["/api/runs", "/api/report/overview", "/api/timeline/tracks", "/data/plugin/profile/runs"];
    for path in paths {
        for site in ["cross-site", "same-site", "anything"] {
            assert_eq!(asked(path, site), 403, "{path} {site}");
        }
        let own = asked(path, "same-origin");
        assert!(own != 403 && own == asked(path, "none"), "{path}: {own}");
        assert_eq!(own, server.raw(path, &format!("Host: {host}\r\n")).status, "{path}: programs do not say");
    }
    // Who follows a link gets the page.
    assert_eq!(asked("/", "cross-site"), 200);
}

#[test]
fn the_api_needs_the_token_where_one_is_set() {
    let server = TestServer::with(|config| config.token = Some("a b+c".into()));
    assert!(server.url.ends_with("/?token=a+b%2Bc"), "{}", server.url);
    for path in [
        "/api/runs",
        "/api/runs?token=",
        "/api/runs?token=a",
        "/api/nothing",
        "/api/report/overview?token=a+b+c",
    ] {
        server.get(path).refusal(401);
    }
    server.get_with("/api/runs", &[("Authorization", "Bearer wrong")]).refusal(401);
    server.get_with("/api/runs", &[("Authorization", "Basic a b+c")]).refusal(401);
    assert_eq!(server.get_with("/api/runs", &[("Authorization", "Bearer a b+c")]).status, 200);
    assert_eq!(server.get("/api/runs?token=a+b%2Bc").status, 200);
    // The page itself holds nothing secret, and a browser cannot send a token with a script tag.
    assert_eq!(server.get("/app.js").status, 200);
}

#[test]
fn beyond_this_machine_a_token_is_demanded() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bind = |addr: &str, token: Option<&str>| {
        let config = Config {
            addr: addr.parse().unwrap(),
            token: token.map(str::to_owned),
            ..Config::new(Store::in_memory())
        };
        runtime.block_on(Server::bind(config))
    };
    for addr in ["0.0.0.0:0", "[::]:0", "10.1.2.3:0"] {
        let error = bind(addr, None).unwrap_err();
        assert!(matches!(error, Error::TokenNeeded(_)) && error.to_string().contains("--token"), "{error}");
    }
    assert!(matches!(bind("127.0.0.1:0", Some("")), Err(Error::EmptyToken)));
    let server = bind("0.0.0.0:0", Some("secret")).unwrap();
    assert_eq!(server.url(), format!("http://127.0.0.1:{}/?token=secret", server.local_addr().port()));
    let taken = server.local_addr();
    assert!(matches!(bind(&taken.to_string(), Some("secret")), Err(Error::Listen { .. })));
}

#[test]
fn no_path_leads_out_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("dist")).unwrap();
    std::fs::write(folder.path().join("dist/index.html"), "page").unwrap();
    std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    let root = folder.path().join("dist");
    for server in [TestServer::start(), TestServer::with(|config| config.web_root = Some(root))] {
        let host = format!("Host: 127.0.0.1:{}\r\n", server.addr.port());
        let absolute = format!("/{}", folder.path().join("secret.txt").display());
        for path in [
            "/../secret.txt",
            "/..%2fsecret.txt",
            "/..%2Fsecret.txt",
            "/%2e%2e/secret.txt",
            "/%2e%2e%2fsecret.txt",
            "/..%5csecret.txt",
            "/....//secret.txt",
            "/./../secret.txt",
            "/dist/../../secret.txt",
            "//etc/passwd",
            "/etc/passwd",
            "/index.html/../../secret.txt",
            "/api/../../secret.txt",
            "/api/report/..%2f..%2fsecret.txt",
            &absolute,
        ] {
            let answer = server.raw(path, &host);
            assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
            assert!(!answer.text().contains("secret\n") && answer.text() != "secret", "{path}");
        }
        for run in ["..", "../..", "/etc", "..%2f..", "%2e%2e", "train%2f..%2f..", "train%00"] {
            server.raw(&format!("/api/report/overview?run={run}"), &host).refusal(404);
        }
    }
}

#[test]
fn who_says_nothing_is_no_bother_and_who_is_slow_is_answered() {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    let server = TestServer::start();
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(server.addr).unwrap()).collect();
    let mut slow = TcpStream::connect(server.addr).unwrap();
    slow.write_all(b"GET /api/version HTTP/1.1\r\nHost: loc").unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(server.get("/api/version").status, 200);
    assert!(begun.elapsed() < std::time::Duration::from_secs(5));
    slow.write_all(b"alhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Two questions on one connection.
    let mut kept = TcpStream::connect(server.addr).unwrap();
    for _ in 0..2 {
        kept.write_all(b"GET /api/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut head = [0; 12];
        kept.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 404");
        let mut rest = vec![0; 64 << 10];
        let _ = kept.read(&mut rest).unwrap();
    }
    drop(silent);
}
