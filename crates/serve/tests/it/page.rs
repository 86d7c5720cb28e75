//! The page's files, and whether they were built from the sources beside them.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::client::TestServer;

#[test]
fn the_page_is_served_with_types_and_tags() {
    let server = TestServer::start();
    for (path, content_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/pages/OverviewPage.js", "text/javascript; charset=utf-8"),
        ("/app.css", "text/css; charset=utf-8"),
        ("/favicon.svg", "image/svg+xml"),
    ] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, content_type), "{path}");
        assert_eq!(answer.header("cache-control"), "no-cache");
        let tag = answer.header("etag");
        let again = server.get_with(path, &[("If-None-Match", tag)]);
        assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, tag), "{path}");
        assert_eq!(server.get_with(path, &[("If-None-Match", "W/\"0\"")]).status, 200);
    }
    for path in ["/index.html", "/overview", "/SOURCE_HASH", "/app.js/", "/runs/train"] {
        server.get(path).refusal(404);
    }
}

#[test]
fn answers_are_compressed_for_those_who_ask() {
    let server = TestServer::start();
    let host = format!("Host: localhost:{}\r\n", server.addr.port());
    for path in ["/app.js", "/api/analyses"] {
        let plain = server.raw(path, &host);
        assert_eq!(plain.header("content-encoding"), "");
        let packed = server.raw(path, &format!("{host}Accept-Encoding: gzip\r\n"));
        assert_eq!((packed.status, packed.header("content-encoding")), (200, "gzip"), "{path}");
        assert!(packed.body.windows(2).any(|w| w == [0x1f, 0x8b]));
        assert!(packed.body.len() < plain.body.len());
        // The client unpacks it.
        assert_eq!(server.get(path).body, plain.body);
    }
}

#[test]
fn the_page_is_small_on_the_wire() {
    let server = TestServer::start();
    let headers = format!("Host: localhost:{}\r\nAccept-Encoding: gzip\r\n", server.addr.port());
    let size = |path: &str| {
        let answer = server.raw(path, &headers);
        assert_eq!(answer.status, 200, "{path}");
        answer.body.len()
    };
    // All that is loaded for the first page: others come when somebody goes there.
    let first = ["/", "/app.js", "/shared.js", "/pages/OverviewPage.js", "/app.css", "/favicon.svg"];
    let bytes: usize = first.map(size).iter().sum();
    assert!((10_000..100_000).contains(&bytes), "{bytes} bytes");
}

#[test]
fn a_folder_takes_the_place_of_the_embedded_page() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("chunks")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("index.html", "one");
    write("chunks/graph.js", "2");
    let server = TestServer::with(|config| config.web_root = Some(folder.path().to_owned()));
    assert_eq!(server.get("/").text(), "one");
    assert_eq!(server.get("/chunks/graph.js").header("content-type"), "text/javascript; charset=utf-8");
    write("index.html", "changed");
    assert_eq!(server.get("/").text(), "changed");
    server.get("/app.js").refusal(404);
}

/// A page made by hand is registered by an id; else the generic one would be shown, and nobody would know why.
#[test]
fn pages_made_by_hand_are_of_analyses_that_there_are() {
    use haloscope_analyses::{ALL, FAMILIES};
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/tools/pages.ts");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let table = text.split("const OWN: ").nth(1).and_then(|rest| rest.split("\n};").next()).unwrap();
    let keys = table
        .lines()
        .filter_map(|line| line.split_once(": async () =>"))
        .map(|(key, _)| key.trim().trim_matches('"'));
    let keys: Vec<&str> = keys.collect();
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        let known = ALL.iter().any(|a| a.slug() == key) || FAMILIES.iter().any(|family| family.id == key);
        assert!(
            known,
            "web/src/tools/pages.ts has a page for `{key}`, which is neither an analysis nor a family"
        );
    }
}

#[test]
fn the_documentation_is_served_as_strictly_as_the_page() {
    let server = TestServer::with(|config| config.token = Some("secret-secret-16".into()));
    let page = server.get("/docs/analyses/ops");
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.text().contains("id=\"column-ops-self_ps\""));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
    assert_eq!(server.get_with("/docs/analyses/ops", &[("If-None-Match", page.header("etag"))]).status, 304);
    assert!(server.get("/docs/").text().contains("href=\"/docs/analyses/ops\""));
    assert_eq!(server.get("/docs/style.css").header("content-type"), "text/css; charset=utf-8");
    for path in ["/docs/nothing", "/docs/../Cargo.toml", "/docs/%2e%2e/README", "/docs/analyses/"] {
        server.get(path).refusal(404);
    }
}

#[test]
fn the_built_page_is_fresh() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let web = here.join("../../web");
    // A published crate has the built page, but not what it was built from.
    if !web.join("src").is_dir() {
        return;
    }
    let mut paths: Vec<String> =
        ["index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"]
            .map(String::from)
            .into();
    for folder in ["src", "public"] {
        files_under(&web, folder, &mut paths);
    }
    paths.sort_unstable();
    let mut hash = Sha256::new();
    for path in paths {
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(std::fs::read(web.join(&path)).unwrap_or_else(|e| panic!("web/{path}: {e}")));
        hash.update([0]);
    }
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let built = std::fs::read_to_string(here.join("dist/SOURCE_HASH")).unwrap_or_default();
    assert_eq!(built.trim(), found, "crates/serve/dist is stale: run `npm run build` in web/");
}

fn files_under(web: &Path, folder: &str, paths: &mut Vec<String>) {
    for entry in std::fs::read_dir(web.join(folder)).into_iter().flatten() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            files_under(web, &path, paths);
        } else {
            paths.push(path);
        }
    }
}
