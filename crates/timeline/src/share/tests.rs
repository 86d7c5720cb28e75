//! The list of words that stay is made of the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::words::{is_of_word, pieces};

/// Crates that look for words in profiles.
const CRATES: [&str; 12] = [
    "compare", "comm", "compat", "diagnose", "hlo", "kernel", "mosaic", "profile", "program", "serving",
    "time", "timeline",
];
/// Literals of more words are sentences.
const SENTENCE: usize = 3;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// Words in short literals of the code, without tests and comments.
fn words() -> BTreeSet<String> {
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)""#).unwrap();
    let mut files = Vec::new();
    for name in CRATES {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"), &mut files);
    }
    let mut words = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for found in literal.captures_iter(line) {
                let short = found[1].split_whitespace().count() <= SENTENCE;
                let is_name =
                    |word: &&str| word.len() > 1 && word.bytes().any(|byte| byte.is_ascii_alphabetic());
                let parts = pieces(&found[1]).filter(|(is_word, _)| *is_word && short).map(|(_, word)| word);
                words.extend(parts.filter(is_name).map(str::to_owned));
            }
        }
    }
    words
}

/// A rule that looks for a new word must find it in a redacted run too.
#[test]
fn words_that_are_looked_for_stay() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/share/words.txt");
    let now = words();
    assert!(now.iter().all(|word| word.chars().all(is_of_word)));
    if std::env::var_os("HALOSCOPE_UPDATE").is_some() {
        let list = now.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        fs::write(
            &path,
            format!(
                "# Made of the sources: HALOSCOPE_UPDATE=1 cargo test -p haloscope-timeline words\n{list}\n"
            ),
        )
        .unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    let kept: BTreeSet<&str> = kept.lines().collect();
    let missing: Vec<&String> = now.iter().filter(|word| !kept.contains(word.as_str())).collect();
    assert!(
        missing.is_empty(),
        "not in share/words.txt: {missing:?}; HALOSCOPE_UPDATE=1 cargo test -p haloscope-timeline words writes it"
    );
}
