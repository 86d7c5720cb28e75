//! SQL that would do harm ends with an error, and soon.

use std::time::{Duration, Instant};

use crate::support::{command, failure, fixture, number, output, text};

#[test]
fn what_does_not_fit_into_64_bits_is_an_error() {
    const HUGE: &str = "(VALUES (9223372036854775807), (1)) AS t(x)";
    for sql in [
        format!("SELECT sum(x) FROM {HUGE}"),
        format!("SELECT sum(x) OVER (ORDER BY x) FROM {HUGE}"),
        format!("SELECT x % 2, sum(x) FROM (SELECT x FROM {HUGE} UNION ALL SELECT x FROM {HUGE}) GROUP BY 1"),
        format!("SELECT x + 1 FROM {HUGE}"),
        format!("SELECT x * 2 FROM {HUGE}"),
        format!("SELECT -2 - x FROM {HUGE}"),
        format!("SELECT count(*) FROM {HUGE} WHERE x + 1 > 0"),
    ] {
        let (code, talk) = failure("tpu-gate", &sql);
        assert_eq!(code, 2, "{sql}: {talk}");
        assert!(talk.contains("64 bits") || talk.contains("verflow"), "{sql}: {talk}");
    }
    assert_eq!(
        number("tpu-gate", "SELECT sum(x) FROM (VALUES (9223372036854775807), (-1)) AS t(x)"),
        Some(i64::MAX - 1)
    );
    assert_eq!(number("tpu-gate", "SELECT sum(x) FROM (VALUES (1), (NULL), (41)) AS t(x)"), Some(42));
    // On the way a sum may be larger than what is left of it.
    assert_eq!(
        number("tpu-gate", "SELECT sum(x) FROM (VALUES (9223372036854775807), (5), (-10)) AS t(x)"),
        Some(i64::MAX - 5)
    );
}

#[test]
fn a_join_ends_with_its_time() {
    let begun = Instant::now();
    let sql =
        "SELECT count(*) FROM event a, event b, event c WHERE a.dur_ps < b.dur_ps OR b.dur_ps < c.dur_ps";
    let output = command().arg(fixture("tpu-train")).args([sql, "--timeout", "1"]).output().unwrap();
    let took = begun.elapsed();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no answer within 1 s"), "{}", text(&output.stderr));
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn deep_and_long_statements_are_refused_or_answered() {
    let nested = |depth: usize| format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
    let selects = format!("{}SELECT 1{}", "SELECT * FROM (".repeat(5_000), ")".repeat(5_000));
    let functions = format!("SELECT {}1{}", "abs(".repeat(20_000), ")".repeat(20_000));
    for sql in [nested(100_000), nested(2_000), selects, functions, "-- nothing\n".repeat(200_000)] {
        let output = from_file(&sql);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    }
}

/// SQL that is too long for a command line.
fn from_file(sql: &str) -> std::process::Output {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("query.sql");
    std::fs::write(&file, sql).unwrap();
    command().arg(fixture("tpu-gate")).arg("-f").arg(&file).args(["--timeout", "60"]).output().unwrap()
}

#[test]
fn long_lists_and_chains_are_bounded() {
    let list: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
    let output = from_file(&format!("SELECT count(*) FROM event WHERE id IN ({})", list.join(",")));
    assert!(output.status.success(), "{}", text(&output.stderr));
    for sql in [
        format!("SELECT {}", vec!["1"; 100_000].join("+")),
        format!("SELECT count(*) FROM event WHERE {}", vec!["id = 1"; 50_000].join(" OR ")),
        vec!["SELECT 1"; 20_000].join(" UNION ALL "),
        // What is not refused.
        format!("SELECT {}", vec!["1"; 900].join("+")),
        format!("SELECT {} FROM step", vec!["step"; 400].join("+")),
        format!("SELECT count(*) FROM event WHERE {}", vec!["id = 1"; 600].join(" OR ")),
        format!("SELECT count(*) FROM event WHERE {}", vec!["name LIKE '%a%'"; 600].join(" AND ")),
        vec!["SELECT 1"; 600].join(" UNION ALL "),
    ] {
        let output = from_file(&sql);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2)), "{code:?}: {}", text(&output.stderr));
    }
}

/// Patterns that take others for ever: here they are refused, matched in time that grows with the text, or end with the time they have.
#[test]
fn regular_expressions_are_bounded() {
    for pattern in ["((((a{100}){100}){100}){100})", "(a|aa)+$", "(x+x+)+y", "(.*.*.*.*.*.*.*.*){50}z", "("] {
        for sql in [
            format!("SELECT count(*) FROM event WHERE name ~ '{pattern}'"),
            format!("SELECT regexp_replace(repeat('a', 20000), '{pattern}', 'b')"),
            format!("SELECT regexp_count(repeat('x', 20000), '{pattern}')"),
        ] {
            let output = output("tpu-gate", &[&sql, "--timeout", "10", "--format", "csv"]);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 2 | 3)), "{sql}: {code:?}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_or_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let whole = fixture("tpu-train").join("plugins/profile/2026_01_01_00_00_00/tpu-w-0.xplane.pb.gz");
    std::fs::copy(whole, dir.path().join("a.xplane.pb.gz")).unwrap();
    std::fs::write(dir.path().join("b.xplane.pb"), "no profile").unwrap();
    let ask = |more: &[&str]| {
        let sql = "SELECT count(*) AS n FROM host";
        command().arg(dir.path()).arg(sql).args(["--format", "csv"]).args(more).output().unwrap()
    };
    let refused = ask(&[]);
    assert!(refused.status.code() == Some(3) && refused.stdout.is_empty(), "{}", text(&refused.stdout));
    let talk = text(&refused.stderr);
    assert!(talk.contains("b.xplane.pb") && talk.contains("--partial"), "{talk}");
    let partial = ask(&["--partial"]);
    let talk = text(&partial.stderr);
    assert!(
        partial.status.success() && talk.contains("left out: ") && talk.contains("b.xplane.pb"),
        "{talk}"
    );
    assert_eq!(text(&partial.stdout), "n\n1\n");
    // The same of runs among several; where nothing is left there is no answer.
    let bad = dir.path().join("b.xplane.pb");
    let several = |runs: &[&std::path::Path], more: &[&str]| {
        let sql = "SELECT count(*) AS n FROM host";
        command().args(runs).arg(sql).args(["--format", "csv"]).args(more).output().unwrap()
    };
    let (good, bad) = (fixture("tpu-train"), bad.as_path());
    assert_eq!(several(&[&good, bad], &[]).status.code(), Some(3));
    let partial = several(&[&good, bad], &["--partial"]);
    assert_eq!(text(&partial.stdout), "n\n2\n", "{}", text(&partial.stderr));
    assert_eq!(several(&[bad, bad], &["--partial"]).status.code(), Some(3));
}

/// Nothing is written, and no file is read that was not given as a run.
#[test]
fn a_query_only_reads_its_runs() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.csv");
    for sql in [
        format!("COPY (SELECT 1) TO '{}'", out.display()),
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'".to_owned(),
        "CREATE TABLE x AS SELECT 1".to_owned(),
        "SELECT * FROM '/etc/passwd'".to_owned(),
        "SELECT * FROM read_csv('/etc/passwd')".to_owned(),
        "INSERT INTO step SELECT * FROM step".to_owned(),
        "DROP TABLE step".to_owned(),
        "SET datafusion.execution.batch_size = 1".to_owned(),
        "SELECT 1; DROP TABLE step".to_owned(),
    ] {
        let (code, talk) = failure("tpu-gate", &sql);
        assert_eq!(code, 2, "{sql}: {talk}");
    }
    assert!(!out.exists());
}

#[test]
fn little_memory_is_an_error_or_an_answer() {
    let sql = "SELECT a.name, b.name, count(*) FROM event a JOIN event b ON a.line_id = b.line_id GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 3";
    let whole = output("tpu-gate", &[sql, "--format", "csv"]);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    let small = output("tpu-gate", &[sql, "--format", "csv", "--memory-limit", "256MiB", "--timeout", "120"]);
    match small.status.code() {
        Some(0) => assert_eq!(small.stdout, whole.stdout),
        code => assert_eq!(code, Some(3), "{}", text(&small.stderr)),
    }
}

#[test]
fn errors_say_where_and_what_is_near() {
    let (code, talk) = failure("tpu-gate", "SELECT name,\n  duration_ps FROM event");
    assert_eq!(code, 2);
    assert!(talk.contains("duration_ps") && talk.contains("line 2, column 3"), "{talk}");
    assert!(talk.contains("dur_ps"), "{talk}");
    let (code, talk) = failure("tpu-gate", "SELECT name FRM event");
    assert!(code == 2 && talk.contains("Line: 1, Column: "), "{talk}");
    let (code, talk) = failure("tpu-gate", "SELECT * FROM evnt");
    assert!(code == 2 && talk.contains("'evnt'") && talk.contains("line 1, column 15"), "{talk}");
    assert!(talk.contains("the nearest tables are event"), "{talk}");
    let (code, talk) = failure("tpu-gate", "SELECT 1\nFROM step s\n  JOIN devices d ON true");
    assert!(code == 2 && talk.contains("line 3, column 8") && talk.contains("device"), "{talk}");
    let (code, talk) = failure("tpu-gate", "SELECT * FROM analysis('opps')");
    assert!(code == 2 && talk.contains("opps"), "{talk}");
    let (code, talk) = failure("tpu-gate", "SELECT * FROM analysis('ops', 'by=nonsense')");
    assert!(code == 2 && talk.contains("framework-op"), "{talk}");
    let (code, talk) = failure("tpu-gate", "@nonsense");
    assert!(code == 2 && talk.contains("@idle-gaps"), "{talk}");
}

#[test]
fn runs_that_are_none_are_named() {
    let output = command().args(["/there/is/nothing", "SELECT 1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("/there/is/nothing"), "{}", text(&output.stderr));
    let output = command().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// Ctrl-C ends a query at once, and leaves nothing behind.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_query() {
    let scratch = tempfile::tempdir().unwrap();
    let sql =
        "SELECT count(*) FROM event a, event b, event c WHERE a.dur_ps < b.dur_ps OR b.dur_ps < c.dur_ps";
    let mut child = command()
        .env("TMPDIR", scratch.path())
        .arg(fixture("tpu-train"))
        .args([sql, "--timeout", "60"])
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let begun = Instant::now();
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(status.code(), Some(130));
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}
