//! Names in profiles are data: whatever they hold, stdout and stderr get no character that a terminal obeys or nobody sees.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use haloscope_analyses::ALL;

use crate::support::{inside, line, root};

/// What stands in files, and what of the same length is put in its place: no length in the file changes. An escape sequence that sets
/// the clipboard, a mark that turns the text around, a tag that nobody sees.
const INSTEAD: [(&str, &str); 3] =
    [("train_step", "\n\u{1b}]52;c;x\u{7}"), ("jit", "\u{202e}"), ("main", "\u{e0041}")];

/// As [`INSTEAD`] in every name, HLO too.
fn hostile(run: &str, to: &Path) -> PathBuf {
    let from = root().join("fixtures/runs").join(run).join("plugins/profile");
    let session = fs::read_dir(from).unwrap().next().unwrap().unwrap().path();
    let folder = to.join(format!("{run}\u{1b}[31m/plugins/profile/a"));
    fs::create_dir_all(&folder).unwrap();
    let mut changed = 0;
    for file in fs::read_dir(session).unwrap().map(|entry| entry.unwrap().path()) {
        let mut bytes = fs::read(&file).unwrap();
        if file.extension().is_some_and(|end| end == "gz") {
            let packed = std::mem::take(&mut bytes);
            GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        }
        for (old, new) in INSTEAD {
            assert_eq!(old.len(), new.len());
            let places: Vec<usize> = memchr(&bytes, old.as_bytes());
            changed += places.len();
            places.iter().for_each(|at| bytes[*at..*at + new.len()].copy_from_slice(new.as_bytes()));
        }
        let name = file.file_name().unwrap().to_string_lossy().replace(".gz", "");
        fs::write(folder.join(name), bytes).unwrap();
    }
    assert!(changed > 20, "{run}: {changed}");
    to.join(format!("{run}\u{1b}[31m"))
}

/// Where `word` begins.
fn memchr(bytes: &[u8], word: &[u8]) -> Vec<usize> {
    bytes.windows(word.len()).enumerate().filter(|(_, at)| *at == word).map(|(at, _)| at).collect()
}

#[track_caller]
fn assert_clean(text: &str, asked: &[&str]) {
    let is_hostile = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{e0041}".contains(c);
    let found: Vec<&str> = text.lines().filter(|line| line.contains(is_hostile)).collect();
    assert!(found.is_empty(), "{asked:?}: {found:?}");
}

#[test]
fn nothing_on_a_terminal_is_obeyed_or_hidden() {
    let folder = tempfile::tempdir().unwrap();
    for run in ["cpu-train", "gpu-train", "tpu-train"] {
        let path = hostile(run, folder.path());
        let path = path.to_str().unwrap();
        let mut answers = 0;
        for analysis in ALL {
            for rest in [
                &[path, "--format", "table"][..],
                &[path, "--format", "markdown"],
                &[path, "--format", "csv"],
                &[path, "--format", "json"],
                &[path],
                &[path, "--devices", "\u{1b}[31m"],
                &[path, "--table", "\u{1b}[31m\u{202e}"],
            ] {
                let words = line(analysis, rest);
                let outcome = inside(&words);
                assert_clean(&outcome.stdout, &words);
                assert_clean(&outcome.stderr, &words);
                answers += usize::from(outcome.code == 0);
            }
        }
        assert!(answers > 100, "{run}: {answers} answers");
        // A name that begins a line of its own says so in one line.
        let ops = inside(&["ops", path, "--by", "module", "--table", "ops", "--format", "csv"]);
        assert!(ops.stdout.contains("\\n\\u{1b}]52;c;x\\u{7}") || run == "gpu-train", "{}", ops.stdout);
    }
    let missing = inside(&["overview", "no\u{1b}[31m\nerror: such"]);
    assert_eq!(missing.code, 3);
    assert_clean(&missing.stderr, &["missing"]);
    assert_eq!(missing.stderr.lines().count(), 2, "an error and its hint: {}", missing.stderr);
}
