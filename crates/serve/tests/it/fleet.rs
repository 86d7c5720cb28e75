//! The runs of the place, a row each.

use crate::client::TestServer;

fn json(body: &[u8]) -> serde_json::Value {
    serde_json::from_slice(body).unwrap()
}

#[test]
fn every_run_has_a_row() {
    let server = TestServer::start();
    let runs = json(&server.get("/api/runs").body);
    let answer = server.get("/api/fleet");
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let report = json(&answer.body);
    assert_eq!(report["analysis"], "fleet");
    let listed = runs["runs"].as_array().or_else(|| runs.as_array()).unwrap().len();
    assert_eq!(report["tables"][0]["rows"].as_array().unwrap().len(), listed);
    let none = json(&server.get("/api/fleet?since=2999-01-01T00:00:00Z").body);
    assert_eq!(none["tables"][0]["rows"].as_array().unwrap().len(), 0);
    for (query, words) in [("?since=yesterday", "7d"), ("?path=/etc", "since")] {
        let refused = server.get(&format!("/api/fleet{query}"));
        assert_eq!(refused.status, 400, "{query}");
        assert!(String::from_utf8_lossy(&refused.body).contains(words), "{query}");
    }
}
