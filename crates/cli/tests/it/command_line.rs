//! Help, versions, completions, and command lines that are malformed.

use insta::assert_snapshot;

use crate::support::{command, filtered, line, process, shown, widest};

#[test]
fn help() {
    filtered(|| {
        assert_snapshot!("no_arguments", shown(&[]));
        assert_snapshot!("help", shown(&["--help"]));
        assert_snapshot!("help_serve", shown(&["serve", "--help"]));
        assert_snapshot!("help_demo", shown(&["demo", "-h"]));
        assert_snapshot!("version_flag", shown(&["--version"]));
    });
    let version = process(&["version"]);
    assert_eq!(version.code, 0);
    assert!(version.stdout.contains("report format 1\n"), "{}", version.stdout);
}

#[test]
fn help_of_each_analysis_fits_80_columns_and_has_an_example() {
    for analysis in haloscope_analyses::ALL {
        assert!(!analysis.question.is_empty(), "{} asks nothing", analysis.id);
        let help = process(&line(analysis, &["--help"]));
        assert_eq!(help.code, 0);
        assert!(help.stdout.contains(&format!("Example:\n  haloscope {} ", analysis.id)), "{}", help.stdout);
        assert!(widest(&help.stdout) <= 80, "{}", help.stdout);
        filtered(|| assert_snapshot!(format!("help_{}", analysis.slug()), shown(&line(analysis, &["-h"]))));
    }
}

#[test]
fn the_example_of_each_analysis_parses() {
    for analysis in haloscope_analyses::ALL {
        // Every other part between quotes is one word.
        let parts = analysis.example.split('\'').enumerate();
        let words = parts.flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let words = std::iter::once("haloscope").chain(words);
        let parsed = haloscope_cli::command().try_get_matches_from(words);
        assert!(parsed.is_ok(), "{}: {}", analysis.example, parsed.unwrap_err());
    }
}

#[test]
fn malformed_command_lines() {
    filtered(|| {
        assert_snapshot!("unknown_command", shown(&["overvew", "x"]));
        assert_snapshot!("unknown_flag", shown(&["overview", "x", "--fromat", "json"]));
        assert_snapshot!("unknown_format", shown(&["overview", "x", "--format", "yaml"]));
        assert_snapshot!("unknown_choice", shown(&["ops", "fixtures/runs/cpu-train", "--by", "colour"]));
        assert_snapshot!("no_run", shown(&["ops"]));
        assert_snapshot!("bad_steps", shown(&["steps", "fixtures/runs/cpu-train", "--steps", "5-2"]));
        assert_snapshot!("bad_window", shown(&["steps", "fixtures/runs/cpu-train", "--window", "3"]));
        assert_snapshot!("unknown_table", shown(&["ops", "fixtures/runs/cpu-train", "--table", "nope"]));
        assert_snapshot!(
            "table_with_json",
            shown(&["ops", "fixtures/runs/cpu-train", "--table", "ops", "--format", "json"])
        );
    });
}

#[test]
fn completions_know_the_analyses() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = process(&["completions", shell]);
        assert_eq!(script.code, 0, "{}", script.stderr);
        assert!(script.stdout.contains("roofline"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("man1");
    let written = process(&["man", place.to_str().unwrap()]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let mut all = haloscope_cli::command();
    all.build();
    let mut open = vec![&all];
    let mut names = std::collections::BTreeSet::new();
    while let Some(command) = open.pop() {
        // What is hidden, and `help`, is on the pages of others.
        open.extend(
            command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help"),
        );
        names.insert(format!("{}.1", command.get_display_name().unwrap_or_else(|| command.get_name())));
    }
    assert!(names.contains("haloscope.1") && names.contains("haloscope-kernel-list.1"), "{names:?}");
    let found =
        std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(found.collect::<std::collections::BTreeSet<_>>(), names);
    assert_eq!(written.stdout, format!("{} pages in {}\n", names.len(), place.display()));
    for name in &names {
        let text = std::fs::read_to_string(place.join(name)).unwrap();
        assert!(
            text.contains(".TH ") && text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"),
            "{name}"
        );
    }
    let ops = std::fs::read_to_string(place.join("haloscope-ops.1")).unwrap();
    assert!(
        ops.contains("Which ops take the time")
            && ops.contains("\\-\\-window")
            && ops.contains("haloscope ops logs"),
        "{ops}"
    );
    // The same again, whatever the terminal's width.
    let narrow = folder.path().join("narrow");
    assert!(
        command(&["man", narrow.to_str().unwrap()]).env("COLUMNS", "40").output().unwrap().status.success()
    );
    for name in &names {
        assert_eq!(
            std::fs::read(place.join(name)).unwrap(),
            std::fs::read(narrow.join(name)).unwrap(),
            "{name}"
        );
    }
    assert_eq!(process(&["man"]).code, 2);
    assert_eq!(process(&["man", "README.md"]).code, 3);
}

#[test]
fn the_version_has_the_commit_where_there_is_one() {
    let said = process(&["--version"]).stdout;
    assert_eq!(said, format!("haloscope {}\n", haloscope_cli::VERSION));
    assert!(process(&["version"]).stdout.starts_with(&said));
    let commit = said.trim().strip_prefix(concat!("haloscope ", env!("CARGO_PKG_VERSION"))).unwrap();
    let is_commit = |text: &str| text.len() == 12 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let inside = commit.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    assert!(commit.is_empty() || inside.is_some_and(is_commit), "{said}");
}

#[test]
fn licences_of_what_is_in_the_program_are_told() {
    let told = process(&["licenses"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    for part in [
        "\nclap 4.",
        "\nring 0.",
        "\npreact ",
        "in the page: MIT",
        "Apache License\n",
        "Permission is hereby granted",
    ] {
        assert!(told.stdout.contains(part), "{part}");
    }
    // What only builds or tests the program is not in it.
    for part in ["\nsyn ", "\ninsta ", "\nproptest ", "haloscope-"] {
        assert!(!told.stdout.contains(part), "{part}");
    }
}

/// `compute` is a question of its own, and the first word of another.
#[test]
fn an_analysis_may_lead_a_family() {
    let run = "fixtures/runs/cpu-train";
    let asked = |words: &[&str]| {
        let outcome = process(&[words, &["--format", "json"]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        serde_json::from_str::<serde_json::Value>(&outcome.stdout).unwrap()["analysis"].clone()
    };
    assert_eq!(asked(&["compute", run]), "compute");
    assert_eq!(asked(&["compute", "mfu", run]), "compute mfu");
    // Its own options are its own, and a run is needed as everywhere.
    assert_eq!(asked(&["compute", run, "--modules", "train_step"]), "compute");
    assert_eq!(asked(&["compute", "mfu", run, "--peak", "100G"]), "compute mfu");
    assert_eq!(process(&["compute", run, "--peak", "100G"]).code, 2);
    assert_eq!(process(&["compute"]).code, 2);
    assert_eq!(process(&["compute", "mfu"]).code, 2);
    let help = process(&["compute", "--help"]);
    assert!(help.stdout.contains("mfu") && help.stdout.contains("RUN"), "{}", help.stdout);
    // A folder of the member's name has a path.
    let folder = process(&["compute", "./mfu"]);
    assert!(folder.code == 3 && folder.stderr.contains("mfu"), "{}", folder.stderr);
    let zsh = process(&["completions", "zsh"]);
    assert!(zsh.stdout.contains("haloscope-compute-command") || zsh.stdout.contains("compute__mfu"));
}
