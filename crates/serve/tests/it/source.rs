//! The texts of source files: only those below the folder that the server was given.

use haloscope_profile::load::SourceRoot;

use crate::client::TestServer;

fn server() -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/train.py"), "import jax\n").unwrap();
    std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    let root = SourceRoot::new(&folder.path().join("src")).unwrap();
    (TestServer::with(|config| config.sources = Some(root)), folder)
}

fn json(body: &[u8]) -> serde_json::Value {
    serde_json::from_slice(body).unwrap()
}

#[test]
fn the_text_of_a_file_that_a_profile_names() {
    let (server, _folder) = server();
    let answer = server.get("/api/source?path=/elsewhere/work/train.py");
    assert_eq!(answer.status, 200);
    assert_eq!(json(&answer.body), serde_json::json!({"path": "train.py", "text": "import jax\n"}));
    assert_eq!(json(&server.get("/api/source").body)["available"], true);
}

#[test]
fn nothing_outside_of_the_folder() {
    let (server, folder) = server();
    let outside = folder.path().join("secret.txt");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, folder.path().join("src/link.txt")).unwrap();
    let absolute = outside.to_str().unwrap();
    for path in ["../secret.txt", "%2e%2e/secret.txt", "src/../../secret.txt", "link.txt", absolute, ""] {
        let answer = server.get(&format!("/api/source?path={path}"));
        assert_eq!(answer.status, 404, "{path}");
        let answer = json(&answer.body);
        assert_eq!(answer["kind"], "unknown");
        assert!(answer["error"].as_str().unwrap().contains("no file below"), "{answer}");
        assert!(!answer.to_string().contains("\"secret\""), "{answer}");
    }
    assert_eq!(server.get("/api/source?file=train.py").status, 400);
}

#[test]
fn without_a_folder_it_says_how_to_give_one() {
    let server = TestServer::start();
    assert_eq!(json(&server.get("/api/source").body)["available"], false);
    let answer = server.get("/api/source?path=train.py");
    assert_eq!(answer.status, 404);
    assert!(json(&answer.body)["hint"].as_str().unwrap().contains("--source-root"));
}
