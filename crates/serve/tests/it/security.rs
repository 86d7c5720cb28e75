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
fn only_the_sites_that_were_named_may_show_the_page() {
    let server = TestServer::with(|config| {
        config.frame_ancestors = ["self", "http://localhost:8888"].map(|site| site.parse().unwrap()).into();
    });
    let policy = server.get("/").header("content-security-policy").to_owned();
    assert!(policy.ends_with("; frame-ancestors 'self' http://localhost:8888"), "{policy}");
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
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
    let server = TestServer::with(|config| config.token = Some("a b+c 0123456789".into()));
    assert!(server.url.ends_with("/?token=a+b%2Bc+0123456789"), "{}", server.url);
    for path in [
        "/api/runs",
        "/api/runs?token=",
        "/api/runs?token=a",
        "/api/nothing",
        "/api/report/overview?token=a+b+c+0123456789",
    ] {
        server.get(path).refusal(401);
    }
    server.get_with("/api/runs", &[("Authorization", "Bearer wrong")]).refusal(401);
    server.get_with("/api/runs", &[("Authorization", "Basic a b+c 0123456789")]).refusal(401);
    assert_eq!(server.get_with("/api/runs", &[("Authorization", "Bearer a b+c 0123456789")]).status, 200);
    assert_eq!(server.get("/api/runs?token=a+b%2Bc+0123456789").status, 200);
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
    for short in ["", "secret", "fifteen-letters", "äöüäöüäöüäöüäöü"] {
        let error = bind("127.0.0.1:0", Some(short)).unwrap_err();
        let characters = short.chars().count();
        assert!(matches!(error, Error::ShortToken(n) if n == characters), "{short}: {error}");
        assert!(error.to_string().contains("openssl rand"), "{error}");
    }
    let server = bind("0.0.0.0:0", Some("sixteen-letters.")).unwrap();
    assert_eq!(
        server.url(),
        format!("http://127.0.0.1:{}/?token=sixteen-letters.", server.local_addr().port())
    );
    let taken = server.local_addr();
    assert!(matches!(bind(&taken.to_string(), Some("sixteen-letters.")), Err(Error::Listen { .. })));
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
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
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

const TOKEN: &str = "0123456789abcdef";

/// The pair of a session's cookie, from opening the page with the token.
fn session(server: &TestServer) -> String {
    let host = format!("Host: 127.0.0.1:{}\r\n", server.addr.port());
    let opened = server.raw(&format!("/?token={TOKEN}"), &host);
    opened.header("set-cookie").split_once("; ").unwrap().0.to_owned()
}

#[test]
fn a_browser_gets_a_session_and_an_address_without_the_token() {
    let server = TestServer::with(|config| config.token = Some(TOKEN.into()));
    let host = format!("Host: 127.0.0.1:{}\r\n", server.addr.port());
    let opened = server.raw(&format!("/?run=train&token={TOKEN}&page=ops"), &host);
    assert_eq!((opened.status, opened.header("location")), (303, "/?run=train&page=ops"));
    assert_eq!(opened.header("cache-control"), "no-store");
    let (pair, rest) = opened.header("set-cookie").split_once("; ").unwrap();
    assert_eq!(rest, "Path=/; HttpOnly; SameSite=Strict");
    let (name, id) = pair.split_once('=').unwrap();
    assert_eq!(name, format!("haloscope-session-{}", server.addr.port()));
    assert!(id.len() >= 32 && !id.contains(TOKEN), "{id}");
    assert_eq!(server.get_with("/api/runs", &[("Cookie", pair)]).status, 200);
    assert_eq!(server.get_with("/runs", &[("Cookie", &format!("a=b; {pair}"))]).status, 200);
    // Another browser has another one, and who has one keeps it.
    assert_ne!(session(&server), pair);
    let again = server.raw(&format!("/?token={TOKEN}"), &format!("{host}Cookie: {pair}\r\n"));
    assert_eq!((again.status, again.header("set-cookie")), (303, ""));
    // The token is no session, nor the other way round, and another server's is none.
    for cookie in [format!("{name}={TOKEN}"), format!("{name}="), format!("haloscope-session-1={id}")] {
        server.get_with("/api/runs", &[("Cookie", &cookie)]).refusal(401);
    }
    server.get_with("/api/runs", &[("Authorization", &format!("Bearer {id}"))]).refusal(401);
    let other = TestServer::with(|config| config.token = Some(TOKEN.into()));
    other.get_with("/api/runs", &[("Cookie", pair)]).refusal(401);
    // Where a wrong token stands, or none is needed, the page is served as it is.
    let wrong = server.raw("/?token=wrong", &host);
    assert_eq!((wrong.status, wrong.header("set-cookie")), (200, ""));
    let open = TestServer::start();
    assert_eq!(open.get(&format!("/?token={TOKEN}")).status, 200);
    // Answers to programs are not sent elsewhere.
    assert_eq!(server.raw(&format!("/api/runs?token={TOKEN}"), &host).status, 200);
    // Nor is a browser.
    let outside = server.raw(&format!("//evil.example/?token={TOKEN}"), &host);
    assert!(outside.status != 303 || outside.header("location").starts_with("/evil"));
}

#[test]
fn with_a_cookie_what_acts_says_which_page_it_comes_from() {
    let server = TestServer::with(|config| config.token = Some(TOKEN.into()));
    let origin = format!("Origin: http://127.0.0.1:{}\r\n", server.addr.port());
    let cookie = format!("Cookie: {}\r\nContent-Type: application/json\r\n", session(&server));
    for (method, path) in [
        ("POST", "/api/capture"),
        ("DELETE", "/api/capture/1"),
        ("POST", "/generate_cache"),
        ("POST", "/mcp"),
    ] {
        server.send(method, path, &cookie, "{}").refusal(403);
        let other = format!("{cookie}Origin: http://evil.example\r\n");
        server.send(method, path, &other, "{}").refusal(403);
        let own = server.send(method, path, &format!("{cookie}{origin}"), "{}").status;
        assert!(![401, 403].contains(&own), "{path}: {own}");
        // A program with the token has no page.
        let bearer = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n");
        assert_eq!(server.send(method, path, &bearer, "{}").status, own, "{path}");
    }
    // XProf's page captures with a GET, for which browsers send no Origin and say all the same where it comes from.
    let asked = |headers: &str| {
        let host = format!("Host: 127.0.0.1:{}\r\n", server.addr.port());
        server.raw("/capture_profile", &format!("{host}{cookie}{headers}")).status
    };
    assert_eq!((asked(""), asked("Sec-Fetch-Site: none\r\n")), (403, 403));
    assert_ne!(asked("Sec-Fetch-Site: same-origin\r\n"), 403);
}

#[test]
fn who_guesses_tokens_is_told_to_wait_and_who_has_the_right_one_is_not() {
    let server = TestServer::with(|config| config.token = Some(TOKEN.into()));
    let cookie = session(&server);
    let guess = |n: usize| match n % 3 {
        0 => server.get(&format!("/api/runs?token=wrong{n}")),
        1 => server.get_with("/mcp", &[("Authorization", &format!("Bearer wrong{n}"))]),
        _ => server.get(&format!("/?token=wrong{n}")),
    };
    // No token, and a session that is gone, are no guesses.
    for _ in 0..20 {
        server.get("/api/runs").refusal(401);
        server.get_with("/api/runs", &[("Cookie", "haloscope-session-1=gone")]).refusal(401);
    }
    for n in 0..10 {
        assert_eq!(guess(n).status, if n % 3 == 2 { 200 } else { 401 }, "{n}");
    }
    for n in 10..16 {
        let answer = guess(n);
        answer.refusal(429);
        let wait: u64 = answer.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    assert_eq!(server.get(&format!("/api/runs?token={TOKEN}")).status, 200);
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(server.get_with("/api/runs", &[("Authorization", &bearer)]).status, 200);
    assert_eq!(server.get_with("/api/runs", &[("Cookie", &cookie)]).status, 200);
    server.get("/api/runs").refusal(401);
}
