//! XProf's routes, as its page and other clients ask them. What XProf 2.24.2 answers for the same files was read off its server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haloscope_store::Store;
use serde_json::Value;

use crate::client::{Answer, TestServer};

const PREFIX: &str = "/data/plugin/profile";

/// A log folder with runs where XProf looks for them: `top` of one host, `sub/deep/run` of two, and a folder beside it.
fn logs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bytes = crate::client::profile().to_bytes();
    for path in [
        "logs/plugins/profile/top/host-0.xplane.pb",
        "logs/sub/deep/plugins/profile/run/w-1.xplane.pb",
        "logs/sub/deep/plugins/profile/run/w-0.xplane.pb",
        "beside/plugins/profile/other/h.xplane.pb",
        "secret/run/h.xplane.pb",
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        crate::client::set_age(&path, 100);
    }
    folder
}

fn serve(folder: &Path) -> TestServer {
    let store = Store::new(&folder.join("logs")).unwrap().with_roots(&[folder.join("beside")]).unwrap();
    TestServer::with(|config| config.store = store)
}

/// A refusal's words; it is plain text, as XProf's are.
fn refused(answer: &Answer, status: u16) -> String {
    assert_eq!((answer.status, answer.header("content-type")), (status, "text/plain"), "{}", answer.text());
    answer.text()
}

#[test]
fn lists_have_the_bodies_of_xprof_with_and_without_the_prefix() {
    let folder = logs();
    let server = serve(folder.path());
    for (path, kind, body) in [
        ("/runs", "application/json", r#"["top", "sub/deep/run"]"#),
        ("/hosts?run=top", "application/json", r#"[{"hostname": "host-0"}]"#),
        (
            "/hosts?run=sub%2Fdeep/run&tag=hlo_stats",
            "application/json",
            r#"[{"hostname": "w-0"}, {"hostname": "w-1"}]"#,
        ),
        ("/hosts?run=absent&tag=overview_page", "application/json", "[]"),
        ("/run_tools?run=absent", "application/json", "[]"),
        ("/module_list?run=absent", "text/plain", ""),
        ("/module_list?run=top", "text/plain", "NO_MODULE"),
        ("/version", "text/plain", "2.24.2"),
        (
            "/config",
            "application/json",
            r#"{"enableTabNameLabel": false, "hideCaptureProfileButton": false, "srcPathPrefix": null}"#,
        ),
    ] {
        let (route, query) = path.split_once('?').map_or((path, ""), |(r, q)| (r, q));
        // Three slashes are how XProf's page asks for graphs.
        let under =
            [format!("{PREFIX}{path}"), format!("//{PREFIX}{path}"), format!("{PREFIX}{route}/?{query}")];
        for path in std::iter::once(path.to_owned()).chain(under) {
            let answer = server.get(&path);
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (200, kind),
                "{path}: {}",
                answer.text()
            );
            assert_eq!(answer.text(), body, "{path}");
        }
    }
}

#[test]
fn tools_answer_as_the_library_does() {
    let folder = logs();
    let server = serve(folder.path());
    let profile = haloscope_profile::load::open(
        &haloscope_profile::load::find(&folder.path().join("logs/plugins/profile/top")).unwrap(),
    )
    .unwrap();
    let offered: Vec<String> = serde_json::from_slice(&server.get("/run_tools?run=top").body).unwrap();
    let ids: Vec<_> = haloscope_compat::offered(&profile).map(|tool| tool.id).collect();
    assert!(offered.iter().all(|id| ids.contains(&id.as_str())), "{offered:?}");
    for tool in haloscope_compat::TOOLS {
        let answer = server.get(&format!("{PREFIX}/data?run=top&host=host-0&tag={}", tool.id));
        let params = [("host", "host-0")].into_iter().collect();
        match haloscope_compat::answer(&profile, tool.id, &params) {
            Ok(expected) => {
                assert_eq!(
                    (answer.status, answer.header("content-type")),
                    (200, expected.content_type),
                    "{}",
                    tool.id
                );
                assert_eq!(answer.body, expected.body, "{}", tool.id);
            }
            Err(error) => {
                assert!(refused(&answer, error.http_status()).contains(&error.to_string()), "{}", tool.id);
            }
        }
    }
}

#[test]
fn what_cannot_be_answered_is_refused_in_plain_text() {
    let folder = logs();
    let server = serve(folder.path());
    for (path, status, says) in [
        ("/data?run=top", 400, "there is no tool ``"),
        ("/data?run=top&tag=nothing", 400, "there is no tool `nothing`; there are: "),
        ("/run_tools", 400, "`run` is missing"),
        ("/hosts", 400, "`run` is missing"),
        ("/module_list?tag=x", 400, "`run` is missing"),
        ("/data/plugin/profile/nothing", 404, "Not Found"),
        ("/generate_cache", 405, "Method Not Allowed"),
    ] {
        let text = refused(&server.get(path), status);
        assert!(text.contains(says), "{path}: {text}");
    }
    let Some(tool) = haloscope_compat::TOOLS.first() else { return };
    for (query, status, says) in [
        ("run=absent", 404, format!("No xplane file found for run: absent, tool: {}", tool.id)),
        (
            "run=top&host=w-9",
            404,
            "No xplane file found for host: w-9 in run: top; there are: host-0".to_owned(),
        ),
        ("run=top&hosts=host-0,w-9", 404, "host: w-9".to_owned()),
        ("run=top&nothing=1", 400, "unknown parameter `nothing`; there are: ".to_owned()),
        ("", 400, "`run` is missing".to_owned()),
    ] {
        for route in ["data", "data_csv"] {
            let text = refused(&server.get(&format!("{PREFIX}/{route}?tag={}&{query}", tool.id)), status);
            assert!(text.contains(&says), "{route} {query}: {text}");
        }
    }
}

#[test]
fn a_profile_that_cannot_be_read_is_an_error_and_is_read_again_later() {
    let folder = logs();
    let broken = folder.path().join("logs/plugins/profile/late/h.xplane.pb");
    std::fs::create_dir_all(broken.parent().unwrap()).unwrap();
    std::fs::write(&broken, "no profile").unwrap();
    crate::client::set_age(&broken, 100);
    let server = serve(folder.path());
    assert!(refused(&server.get("/run_tools?run=late"), 500).contains("h.xplane.pb"));
    std::fs::write(&broken, crate::client::profile().to_bytes()).unwrap();
    crate::client::set_age(&broken, 50);
    assert_eq!(server.get("/run_tools?run=late").status, 200);
}

#[test]
fn sessions_can_be_named_by_their_folder_below_the_roots_alone() {
    let folder = logs();
    let server = serve(folder.path());
    let real = folder.path().canonicalize().unwrap();
    let path = |below: &str| form_urlencoded(&real.join(below));
    let session = path("logs/sub/deep/plugins/profile/run");
    let beside = path("beside/plugins/profile");
    for (query, body) in [
        (format!("/runs?session_path={session}"), r#"["run"]"#.to_owned()),
        (format!("/runs?run_path={beside}"), r#"["other"]"#.to_owned()),
        (format!("/runs?session_path={}", path("logs/absent")), "[]".to_owned()),
        (format!("/runs?session_path={}", path("logs")), "[]".to_owned()),
        (
            format!("/hosts?run=run&session_path={session}"),
            r#"[{"hostname": "w-0"}, {"hostname": "w-1"}]"#.to_owned(),
        ),
        (
            format!("/hosts?session_path={session}"),
            r#"[{"hostname": "w-0"}, {"hostname": "w-1"}]"#.to_owned(),
        ),
        (format!("/module_list?run=other&run_path={beside}"), "NO_MODULE".to_owned()),
        (format!("/hosts?run=top&run_path={beside}"), "[]".to_owned()),
    ] {
        let answer = server.get(&format!("{PREFIX}{query}"));
        assert_eq!((answer.status, answer.text()), (200, body), "{query}");
    }
    for outside in ["secret/run", "secret/absent", "logs/../secret/run", "", "../../../../../../etc"] {
        for query in [
            "runs?session_path=",
            "runs?run_path=",
            "run_tools?run=run&session_path=",
            "module_list?run=run&run_path=",
        ] {
            let text = refused(&server.get(&format!("{PREFIX}/{query}{}", path(outside))), 403);
            assert!(text.contains("--root"), "{outside}: {text}");
        }
    }
    for word in ["logs", ".."] {
        refused(&server.get(&format!("/runs?session_path={word}")), 400);
    }
    // Addresses are understood, and are none of the roots.
    for word in ["gs://bucket/run", "http://127.0.0.1:1/run"] {
        refused(&server.get(&format!("/runs?session_path={word}")), 403);
    }
    let Some(tool) = haloscope_compat::TOOLS.first() else { return };
    let query = format!("/data?run=absent&tag={}&session_path={session}", tool.id);
    assert!(refused(&server.get(&query), 404).contains("Run absent not found in run map"));
    assert_eq!(
        server.get(&format!("/data?run=run&tag={}&session_path={session}", tool.id)).body,
        server.get(&format!("/data?run=sub/deep/run&tag={}", tool.id)).body
    );
}

fn form_urlencoded(path: &Path) -> String {
    path.display().to_string().replace('/', "%2F").replace(' ', "%20")
}

#[test]
fn a_table_comes_as_csv_with_a_name() {
    let folder = logs();
    let server = serve(folder.path());
    let mut tables = 0;
    for tool in haloscope_compat::TOOLS {
        let query = format!("run=sub/deep/run&host=w-0&tag={}", tool.id);
        let [data, csv] = ["data", "data_csv"].map(|route| server.get(&format!("{PREFIX}/{route}?{query}")));
        if data.status != 200 {
            assert_eq!((csv.status, csv.body), (data.status, data.body), "{}", tool.id);
            continue;
        }
        if data.header("content-type") != "application/json" {
            assert_eq!(refused(&csv, 400), "CSV format not supported for this tool type");
            continue;
        }
        let json: Value = serde_json::from_slice(&data.body).unwrap();
        let table = if json.is_array() { &json[0] } else { &json };
        let Some(cols) = table["cols"].as_array() else {
            assert_eq!(
                refused(&csv, 500),
                "Data format not suitable for CSV (missing 'cols')",
                "{}",
                tool.id
            );
            continue;
        };
        tables += 1;
        assert_eq!((csv.status, csv.header("content-type")), (200, "text/csv"));
        let name: String = tool.id.chars().map(|c| if c == '@' { '_' } else { c }).collect();
        assert_eq!(
            csv.header("content-disposition"),
            format!("attachment; filename=\"{name}_sub_deep_run_0.csv\"")
        );
        let text = csv.text();
        let head = text.lines().next().unwrap();
        assert_eq!(head.matches("\",\"").count() + 1, cols.len(), "{head}");
    }
    assert!(tables > 0 || haloscope_compat::TOOLS.is_empty());
}

#[test]
fn answers_are_packed_for_who_unpacks() {
    let folder = logs();
    let server = serve(folder.path());
    let Some(tool) = haloscope_compat::offered(&haloscope_profile::Profile::default()).next() else {
        return;
    };
    let path = format!("{PREFIX}/data?run=top&tag={}", tool.id);
    let plain = server.raw(&path, &format!("Host: 127.0.0.1:{}\r\n", server.addr.port()));
    assert_eq!((plain.status, plain.header("content-encoding")), (200, ""));
    let asked = format!("Host: 127.0.0.1:{}\r\nAccept-Encoding: gzip\r\n", server.addr.port());
    let packed = server.raw(&path, &asked);
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(packed.body.windows(2).any(|w| w == b"\x1f\x8b"));
    // The client unpacks by itself.
    assert_eq!(server.get(&path).body, plain.body);
}

#[test]
fn the_guards_hold_and_a_plain_client_needs_nothing() {
    let folder = logs();
    let server = serve(folder.path());
    let foreign = server.raw(&format!("{PREFIX}/runs"), "Host: evil.example\r\n");
    assert_eq!(foreign.status, 403);
    let from = |origin: &str| server.get_with("/runs", &[("Origin", origin)]).status;
    assert_eq!(from("http://evil.example"), 403);
    let answer = server.get(&format!("{PREFIX}/runs"));
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-security-policy").starts_with("default-src 'none'"));
    assert_eq!(
        (answer.header("x-content-type-options"), answer.header("cache-control")),
        ("nosniff", "no-store")
    );

    let server = TestServer::with(|config| config.token = Some("s=cret &1 0123456".into()));
    for route in [
        "runs",
        "run_tools",
        "hosts",
        "module_list",
        "data",
        "data_csv",
        "version",
        "config",
        "capture_profile",
    ] {
        for prefix in ["", PREFIX] {
            assert_eq!(server.get(&format!("{prefix}/{route}")).status, 401, "{route}");
        }
    }
    assert_eq!(server.get("/runs?token=s%3Dcret+%261+0123456").status, 200);
}

/// A folder like that of XProf's page, in a folder with a secret.
fn page() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("static");
    std::fs::create_dir(&page).unwrap();
    std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    for (name, text) in [
        ("index.html", "<title>XProf</title>"),
        ("bundle.js", "js"),
        ("trace_viewer_v2.wasm", "\0asm"),
        ("styles.css", "css"),
    ] {
        std::fs::write(page.join(name), text).unwrap();
    }
    (folder, page)
}

#[test]
fn another_front_end_is_served_where_it_expects_to_be() {
    let (_folder, page) = page();
    let server = TestServer::with(|config| config.ui = Some(page));
    for (path, status, kind, body) in [
        ("/", 200, "text/html; charset=utf-8", "<title>XProf</title>"),
        ("/index.html", 200, "text/html; charset=utf-8", "<title>XProf</title>"),
        ("/local", 200, "text/html; charset=utf-8", "<title>XProf</title>"),
        ("/data/plugin/profile", 200, "text/html; charset=utf-8", "<title>XProf</title>"),
        ("/data/plugin/profile/", 200, "text/html; charset=utf-8", "<title>XProf</title>"),
        ("/data/plugin/profile/trace_viewer@?run=x", 200, "text/html; charset=utf-8", "<title>XProf</title>"),
        ("/data/plugin/profile/bundle.js", 200, "text/javascript; charset=utf-8", "js"),
        ("/bundle.js", 200, "text/javascript; charset=utf-8", "js"),
        ("/data/plugin/profile/trace_viewer_v2.wasm", 200, "application/wasm", "\0asm"),
        ("/data/plugin/profile/absent.js", 404, "text/plain", "Not Found"),
        ("/data/plugin/profilex", 404, "text/plain", "Not Found"),
        ("/absent", 404, "text/plain", "Not Found"),
        ("/app.js", 404, "text/plain", "Not Found"),
        ("/runs", 200, "application/json", r#"["train", "broken"]"#),
    ] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (status, kind), "{path}");
        assert_eq!(answer.text(), body, "{path}");
    }
    // What XProf's own server allows the page, and no other site may embed it.
    let csp = server.get("/").header("content-security-policy").to_owned();
    for part in [
        "'unsafe-eval'",
        "https://www.gstatic.com",
        "https://ui.perfetto.dev",
        "frame-ancestors 'self'",
        "object-src 'none'",
    ] {
        assert!(csp.contains(part), "{csp}");
    }
    assert_eq!(server.json("/api/version")["name"], "haloscope");
}

#[test]
fn another_front_end_is_no_way_out_of_its_folder() {
    let (folder, page) = page();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("secret.txt"), page.join("link.txt")).unwrap();
    let server = TestServer::with(|config| config.ui = Some(page));
    let host = format!("Host: 127.0.0.1:{}\r\n", server.addr.port());
    let absolute = format!("/{}", folder.path().join("secret.txt").display());
    for path in [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/data/plugin/profile/../../../../secret.txt",
        "/data/plugin/profile/..%2fsecret.txt",
        "/data/plugin/profile//secret.txt",
        "/link.txt",
        "/.hidden",
        &absolute,
    ] {
        let answer = server.raw(path, &host);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.text().contains("secret\n") && answer.text() != "secret", "{path}");
    }
}

#[test]
fn another_front_end_gets_a_session_for_the_token() {
    let (_folder, page) = page();
    let server = TestServer::with(|config| {
        config.ui = Some(page);
        config.token = Some("s=cret;&1 01234567".into());
    });
    let host = format!("Host: 127.0.0.1:{}\r\n", server.addr.port());
    let open = |path: &str| server.raw(path, &host);
    assert_eq!(open("/").header("set-cookie"), "");
    assert_eq!(open("/?token=wrong").header("set-cookie"), "");
    let query = server.url.split_once("/?").unwrap().1;
    for (path, place) in [
        (format!("/?{query}"), "/"),
        (
            format!("/data/plugin/profile/overview_page?run=x&{query}"),
            "/data/plugin/profile/overview_page?run=x",
        ),
    ] {
        let opened = open(&path);
        assert_eq!((opened.status, opened.header("location")), (303, place));
        let (pair, rest) = opened.header("set-cookie").split_once("; ").unwrap();
        assert_eq!(rest, "Path=/; HttpOnly; SameSite=Strict");
        assert_eq!(server.get_with("/runs", &[("Cookie", &format!("a=b; {pair}"))]).status, 200);
    }
    assert_eq!(server.get("/runs").status, 401);
}

#[test]
fn answers_can_be_computed_before_they_are_asked_for() {
    let folder = logs();
    let server = serve(folder.path());
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let post = |query: &str| {
        let url = format!("http://127.0.0.1:{}{PREFIX}/generate_cache?{query}", server.addr.port());
        let mut answer = agent.post(url).send_empty().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    };
    let session = form_urlencoded(&folder.path().canonicalize().unwrap().join("logs/plugins/profile/top"));
    assert_eq!(post(""), (400, "Missing \"session_path\" parameter".to_owned()));
    let empty = form_urlencoded(&folder.path().canonicalize().unwrap().join("logs"));
    assert_eq!(
        post(&format!("session_path={empty}")),
        (404, "No XPlane files found in session_path".to_owned())
    );
    let (status, text) = post(&format!("session_path={session}&tools=nothing"));
    assert_eq!(
        (status, text.as_str()),
        (400, "No valid XPlane tools found or specified for caching in run top.")
    );
    let offered: Vec<String> = serde_json::from_slice(&server.get("/run_tools?run=top").body).unwrap();
    if let Some(tool) = offered.first() {
        let accepted = r#"{"message": "Cache generation started", "status": "ACCEPTED"}"#;
        assert_eq!(post(&format!("session_path={session}&tools={tool}")), (202, accepted.to_owned()));
    }
}

#[test]
fn many_clients_get_the_same_answer() {
    let folder = logs();
    let server = Arc::new(serve(folder.path()));
    let paths: Vec<String> =
        haloscope_compat::TOOLS.iter().map(|tool| format!("{PREFIX}/data?run=top&tag={}", tool.id)).collect();
    let first: Vec<_> = paths.iter().map(|path| server.get(path).body).collect();
    std::thread::scope(|scope| {
        for client in 0..paths.len() * 5 {
            let (server, path, expected) =
                (&server, &paths[client % paths.len()], &first[client % paths.len()]);
            scope.spawn(move || assert_eq!(&server.get(path).body, expected, "{path}"));
        }
    });
}
