//! `haloscope query` is a program of its own, found on PATH: here a script stands for it.

use std::process::Command;

fn haloscope() -> Command {
    Command::new(env!("CARGO_BIN_EXE_haloscope"))
}

#[test]
fn without_the_program_one_line_says_how_to_get_it() {
    let nothing = tempfile::tempdir().unwrap();
    for words in [&["query", "logs", "SELECT 1"][..], &["query", "--help"], &["query"]] {
        let output = haloscope().env("PATH", nothing.path()).args(words).output().unwrap();
        let talk = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{talk}");
        assert!(talk.contains("haloscope-query") && talk.contains("cargo install --path query"), "{talk}");
    }
}

#[test]
fn the_program_gets_every_word_and_its_code_is_ours() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("haloscope-query");
    crate::support::script(&program, "printf '%s|' \"$@\" \"$HALOSCOPE_MEMORY_LIMIT\"\nexit 4");
    let words = [
        "--memory-limit",
        "1KiB",
        "query",
        "logs",
        "SELECT '--all', x",
        "--format",
        "csv",
        "-o",
        "a b",
        "--help",
    ];
    let output = haloscope().env("PATH", folder.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "logs|SELECT '--all', x|--format|csv|-o|a b|--help|1024|");
}
