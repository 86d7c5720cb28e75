//! The habits that people have: one word for one thing, runs on stdin, a pager, names that are listed where one is wrong.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{FIXTURES, Outcome, command, process, root, widest};

const TPU: &str = "fixtures/runs/tpu-train";
const FILE: &str = "fixtures/runs/tpu-gate/plugins/profile/2026_01_01_00_00_00/tpu-host.xplane.pb";

/// As [`process`], with these bytes on stdin.
fn piped(args: &[&str], bytes: &[u8]) -> Outcome {
    let mut child =
        command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Who needs no run does not read.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    let output = child.wait_with_output().unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn one_word_says_how_many_and_the_former_ones_still_do() {
    let rows = |words: &[&str]| {
        let args = [&["hlo", "search", FIXTURES[0], "--format", "json"], words].concat();
        let outcome = process(&args);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        report["tables"][0]["rows"].as_array().unwrap().len()
    };
    assert_eq!(rows(&["--limit", "3"]), 3);
    for former in ["--rows", "--lines", "--top", "--limit-nodes"] {
        assert_eq!(rows(&[former, "3"]), 3, "{former}");
    }
    // Without a word the analysis lists more than a table shows, and 0 is all.
    assert!(rows(&[]) > 20 && rows(&["--limit", "0"]) >= rows(&[]));
    let graph = process(&["hlo", "graph", FIXTURES[0], "--limit", "2", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&graph.stdout).unwrap();
    assert_eq!(report["tables"][0]["rows"].as_array().unwrap().len(), 2);
    for analysis in [&["hlo", "search"][..], &["hlo", "diff"], &["hlo", "graph"], &["compare"], &["ops"]] {
        let help = process(&[analysis, &["--help"]].concat()).stdout;
        assert!(help.contains("--limit <N>"), "{help}");
        for former in ["--rows", "--lines", "--top", "--limit-nodes", "--anyway"] {
            assert!(!help.contains(former), "{former}\n{help}");
        }
    }
}

#[test]
fn force_compares_what_is_not_comparable() {
    let verdict = |words: &[&str]| {
        let args = [&["compare", TPU, "fixtures/runs/tpu-decode", "--format", "json"], words].concat();
        let outcome = process(&args);
        let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        (outcome.code, report["values"]["verdict"]["value"].as_str().unwrap().to_owned())
    };
    assert_eq!(verdict(&[]), (5, "not comparable".to_owned()));
    assert_eq!(verdict(&["--anyway", "no"]).0, 5);
    let forced = verdict(&["--force"]);
    assert!(forced.0 != 5 && forced.1 != "not comparable", "{forced:?}");
    assert_eq!(verdict(&["--anyway", "yes"]), forced);
    assert_eq!(verdict(&["--anyway"]), forced);
    let check =
        process(&["check", "fixtures/runs/tpu-gate", "--baseline", "fixtures/runs/tpu-decode", "--force"]);
    assert_ne!(check.code, 5, "{}", check.stdout);
}

#[test]
fn a_run_may_come_on_stdin() {
    let bytes = fs::read(root().join(FILE)).unwrap();
    let answer = |args: &[&str], bytes: &[u8]| {
        let outcome = piped(args, bytes);
        assert_eq!(outcome.code, 0, "{args:?} {}", outcome.stderr);
        let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        report["values"].clone()
    };
    let file = answer(&["overview", FILE, "--format", "json"], b"");
    assert_eq!(answer(&["overview", "-", "--format", "json"], &bytes), file);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&bytes).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(answer(&["overview", "-", "--format", "json"], &packed), file);
    if cfg!(target_os = "linux") {
        assert_eq!(answer(&["overview", "/dev/stdin", "--format", "json"], &bytes), file);
    }
    // A program too, and a run on both sides.
    let hlo = fs::read(root().join("fixtures/hlo/pallas_matmul.v6e.hlo_proto.pb.gz")).unwrap();
    assert_eq!(piped(&["hlo", "modules", "-"], &hlo).code, 0);
    assert_eq!(piped(&["compare", "-", "-"], &bytes).code, 0);
    let table = piped(&["overview", "-"], &bytes);
    assert!(!table.stdout.contains("/tmp"), "{}", table.stdout);
    // Nothing, or no profile.
    for wrong in [&b""[..], b"no profile\n"] {
        let outcome = piped(&["overview", "-"], wrong);
        assert_eq!(outcome.code, 3, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("stdin"), "{}", outcome.stderr);
    }
}

#[test]
fn a_module_that_is_not_there_names_those_that_are() {
    for (run, known) in
        [(TPU, "train_step"), (FIXTURES[0], "jit_train_step"), ("fixtures/runs/gpu-train", "jit")]
    {
        for analysis in ["ops", "overview", "diagnose"] {
            let outcome = process(&[analysis, run, "--modules", "nosuch"]);
            assert_eq!(outcome.code, 2, "{run} {analysis} {}", outcome.stdout);
            assert!(
                outcome.stderr.contains("`nosuch`") && outcome.stderr.contains(known),
                "{}",
                outcome.stderr
            );
        }
    }
    assert_eq!(process(&["ops", FIXTURES[0], "--modules", "train_step"]).code, 0);
    // One of two that is wrong is wrong.
    assert_eq!(process(&["ops", FIXTURES[0], "--modules", "train_step,nosuch"]).code, 2);
}

#[test]
fn a_cut_gzip_file_is_read_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&fs::read(root().join(FILE)).unwrap()).unwrap();
    let packed = packed.finish().unwrap();
    let asked = |bytes: &[u8]| {
        let path = folder.path().join("cut.xplane.pb.gz");
        fs::write(&path, bytes).unwrap();
        process(&["overview", path.to_str().unwrap()])
    };
    assert!(!asked(&packed).stdout.contains("is incomplete"));
    // The end of the last member, and half of it.
    for length in [packed.len() - 4, packed.len() * 9 / 10] {
        let outcome = asked(&packed[..length]);
        assert_eq!(outcome.code, 0, "{length} of {}: {}", packed.len(), outcome.stderr);
        let one_line = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            one_line.contains("is incomplete") && one_line.contains("could be unpacked"),
            "{}",
            outcome.stdout
        );
    }
    assert_eq!(asked(&packed[..8]).code, 3);
}

#[test]
fn numbers_for_people_have_their_units() {
    let outcome = process(&["compare", "fixtures/runs/tpu-gate", "fixtures/runs/tpu-gate-slower"]);
    let line = outcome.stdout.lines().find(|line| line.starts_with("95% interval")).unwrap();
    assert!(line.contains(" us to ") || line.contains(" ms to "), "{line}");
    assert!(!outcome.stdout.contains(", ps"), "{}", outcome.stdout);
}

#[test]
fn no_table_loses_its_largest_column_where_it_has_few_rows() {
    let outcome = process(&["idle", "fixtures/runs/tpu-decode"]);
    let text = &outcome.stdout;
    assert!(widest(text) <= 80, "{text}");
    let devices = text.split("By device").nth(1).unwrap();
    for label in ["Compute", "After", "Before"] {
        assert!(devices.contains(label), "{label}\n{devices}");
    }
    assert!(!text.contains("left out at 80 columns"), "{text}");
}

/// What a terminal of 80 columns and 45 lines shows; `None` where there is no `script` to make one.
fn on_terminal(words: &str, environment: &[(&str, &str)]) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // Behind `stty`: a shell sets COLUMNS anew after each command.
    let set: Vec<String> = environment.iter().map(|(name, value)| format!("{name}='{value}'")).collect();
    let program = env!("CARGO_BIN_EXE_haloscope");
    let line = format!("stty cols 80 rows 45; env -u COLUMNS -u LINES {} {program} {words}", set.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(root()).stdin(Stdio::null());
    script.env("HALOSCOPE_CACHE", "off").env("TERM", "xterm").env_remove("PAGER").env_remove("LESS");
    script.env_remove("HALOSCOPE_PAGER").env_remove("NO_COLOR").env_remove("COLUMNS").env_remove("LINES");
    match script.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "skipped: no script(1)");
            None
        }
    }
}

#[test]
fn what_is_longer_than_a_screen_goes_through_the_pager() {
    let paged = [("HALOSCOPE_PAGER", "sed s/^/PAGED/"), ("PAGER", "false")];
    let Some(long) = on_terminal(&format!("inspect {TPU}"), &paged) else { return };
    assert!(long.contains("PAGED"), "{long}");
    for (words, environment) in [
        // One screen.
        (format!("diagnose {TPU}"), &paged[..]),
        (format!("inspect {TPU} --no-pager"), &paged[..]),
        (format!("inspect {TPU} | cat"), &paged[..]),
        (format!("inspect {TPU}"), &[("HALOSCOPE_PAGER", "cat"), ("PAGER", "sed s/^/PAGED/")][..]),
        (format!("inspect {TPU}"), &[("HALOSCOPE_PAGER", "no-such-pager-there"), ("PAGER", "false")][..]),
    ] {
        let shown = on_terminal(&words, environment).unwrap();
        assert!(!shown.contains("PAGED") && shown.lines().count() > 5, "{words}\n{shown}");
    }
    let pager = on_terminal(&format!("inspect {TPU}"), &[("PAGER", "sed s/^/PAGED/")]).unwrap();
    assert!(pager.contains("PAGED"), "{pager}");
    let help = on_terminal("--help", &paged).unwrap();
    assert!(help.contains("PAGED"), "{help}");
    // A gate answers by its exit code, also where somebody leaves the pager at once.
    let gate = format!("check {TPU} --budget /dev/null; echo code=$?");
    assert!(on_terminal(&gate, &[("HALOSCOPE_PAGER", "true")]).is_some_and(|text| text.contains("code=")));
}

#[test]
fn columns_are_honoured() {
    for columns in ["60", "80", "120"] {
        let output = command(&["overview", TPU]).env("COLUMNS", columns).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(widest(&text) <= columns.parse().unwrap(), "{text}");
    }
    let shown = on_terminal(
        &format!("overview {TPU} --no-pager 2>/dev/null"),
        &[("COLUMNS", "60"), ("NO_COLOR", "1")],
    );
    if let Some(shown) = shown {
        assert!(widest(&shown.replace('\r', "")) <= 60, "{shown}");
    }
}
