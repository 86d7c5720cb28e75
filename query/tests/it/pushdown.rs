//! What WHERE leaves out is not read, and what is left is the same.

use crate::support::{number, output, rows, text};

/// Lines read, all lines, events looked at, events given.
fn read(run: &str, sql: &str) -> [u64; 4] {
    let output = output(run, &[sql, "--verbose", "--format", "csv"]);
    assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
    let talk = text(&output.stderr);
    let numbers: Vec<u64> =
        talk.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    numbers[..4].try_into().unwrap()
}

const COUNT: &str = "SELECT count(*) FROM event";

#[test]
fn lines_are_left_out_by_what_holds_for_all_of_their_events() {
    let [lines, all, events, given] = read("tpu-train", COUNT);
    assert_eq!((lines, events), (all, given));
    for condition in [
        "kind = 'module'",
        "device = 'tpu-w-0/TPU:0'",
        "host = 'tpu-w-1'",
        "plane LIKE '%TPU:1' AND line = 'Steps'",
        "line_id IN (3, 5)",
        "kind <> 'op' AND host LIKE '%0'",
    ] {
        let [lines, _, events, given] = read("tpu-train", &format!("{COUNT} WHERE {condition}"));
        assert!(lines > 0 && lines < all, "{condition}: {lines}");
        assert_eq!(events, given, "{condition}");
    }
    assert_eq!(read("tpu-train", &format!("{COUNT} WHERE kind = 'nonsense'")), [0, all, 0, 0]);
    assert_eq!(read("tpu-train", &format!("{COUNT} WHERE run = 'nonsense'"))[0], 0);
    // Nothing but ops: no line of a thread, or of another view of a device.
    let lines = number("tpu-train", "SELECT count(*) FROM line WHERE kind = 'op' AND events > 0").unwrap();
    assert_eq!(read("tpu-train", &format!("{COUNT} WHERE op IS NOT NULL"))[0], lines as u64);
}

#[test]
fn names_are_looked_at_before_events() {
    let [lines, all, _, given] = read("tpu-train", &format!("{COUNT} WHERE name LIKE 'all-reduce%'"));
    assert!(lines < all && given > 0, "{lines} {given}");
    assert_eq!(read("tpu-train", &format!("{COUNT} WHERE name = 'nonsense'")), [0, all, 0, 0]);
    assert_eq!(read("tpu-train", &format!("{COUNT} WHERE category = 'nonsense'")), [0, all, 0, 0]);
}

#[test]
fn windows_are_found_by_their_starts() {
    let all = read("tpu-train", &format!("{COUNT} WHERE kind = 'op'"))[2];
    for window in [
        "start_ps >= ps('5ms') AND start_ps < ps('6ms')",
        "start_ps BETWEEN ps('5ms') AND ps('6ms')",
        "ps('19ms') < start_ps",
    ] {
        let [_, _, events, given] = read("tpu-train", &format!("{COUNT} WHERE kind = 'op' AND {window}"));
        assert!(events > 0 && events < all / 3, "{window}: {events} of {all}");
        assert_eq!(events, given, "{window}");
    }
    let [_, _, events, _] = read("tpu-train", &format!("{COUNT} WHERE kind = 'op' AND step = 3"));
    assert!(events > 0 && events < all / 4, "{events} of {all}");
}

#[test]
fn a_limit_ends_the_reading() {
    let [_, _, events, _] = read("tpu-train", "SELECT name FROM event WHERE kind = 'op' LIMIT 3");
    assert!(events <= 12, "{events}");
}

/// The same rows as where nothing is pushed down: a condition on an expression that no pruning understands.
#[test]
fn pruning_changes_no_row() {
    for (condition, same) in [
        ("name LIKE '%fusion%'", "name || '' LIKE '%fusion%' AND id >= 0"),
        ("kind = 'op'", "kind || '' = 'op' AND id >= 0"),
        ("op IS NULL", "CASE WHEN id >= 0 THEN op END IS NULL"),
        (
            "op IS NOT NULL AND category <> 'all-reduce'",
            "CASE WHEN id >= 0 THEN category END <> 'all-reduce'",
        ),
        ("flops > 1e6", "CASE WHEN id >= 0 THEN flops END > 1e6"),
        ("start_ps > 5000000000", "start_ps + 0 * id > 5000000000"),
        (
            "start_ps <= 5000000000 AND start_ps >= 4000000000",
            "start_ps + 0 * id BETWEEN 4000000000 AND 5000000000",
        ),
        ("step = 3", "step + 0 * id = 3"),
        ("step IN (2, 5)", "step + 0 * id IN (2, 5)"),
        ("step IS NULL", "step + 0 * id IS NULL"),
        ("step IS NULL OR step > 4", "step + 0 * id IS NULL OR step + 0 * id > 4"),
        ("device IS NULL", "CASE WHEN id >= 0 THEN device END IS NULL"),
        ("NOT (kind = 'op' OR kind = 'thread')", "CASE WHEN id >= 0 THEN kind END NOT IN ('op', 'thread')"),
    ] {
        for run in ["tpu-train", "gpu-train", "cpu-train"] {
            let of = |condition: &str| {
                rows(
                    run,
                    &format!(
                        "SELECT count(*) AS n, sum(start_ps) AS s, sum(self_ps) AS o, count(op) AS p FROM event WHERE {condition}"
                    ),
                )
            };
            assert_eq!(of(condition), of(same), "{run}: {condition}");
        }
    }
}

#[test]
fn explain_says_what_is_read() {
    let rows = rows("tpu-train", "EXPLAIN SELECT name FROM event WHERE kind = 'op' AND step = 3");
    let plan = rows.iter().find(|row| row["plan_type"] == "physical_plan").unwrap()["plan"].as_str().unwrap();
    assert!(plan.contains("EventScan: lines=4 of 22, events<="), "{plan}");
    assert!(plan.contains("columns=[name, step]"), "{plan}");
}

/// A map of all that is said of an event is made for no query that does not name it.
#[test]
fn args_are_asked_by_key() {
    let found = rows(
        "tpu-train",
        "SELECT arg(args, 'hlo_category') AS a, category AS c, args['hlo_category'] AS b FROM event WHERE op IS NOT NULL LIMIT 50",
    );
    assert!(found.iter().all(|row| row["a"] == row["c"] && row["a"] == row["b"]), "{found:?}");
    let nothing = number("tpu-train", "SELECT count(arg(args, 'nonsense')) FROM event WHERE op IS NOT NULL");
    assert_eq!(nothing, Some(0));
}
