//! What the book says is what the program has.

use std::fs;
use std::path::Path;

use crate::support::{command, rows, text};

fn root(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

fn printed(option: &str) -> String {
    text(&command().arg(option).output().unwrap().stdout)
}

#[test]
fn the_page_has_every_table_column_function_and_question() {
    let page = root("docs/query.md");
    for part in [printed("--schema"), printed("--questions")] {
        assert!(page.contains(part.trim()), "docs/query.md lacks what haloscope-query prints:\n{part}");
    }
}

/// The examples of the page are SQL that is understood.
#[test]
fn examples_are_answered() {
    let page = root("docs/query.md");
    let part = page.split("## Examples").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut asked = 0;
    for statement in part.split("haloscope query ").skip(1) {
        let sql = statement.split('"').nth(1).unwrap();
        let output = crate::support::output("tpu-train", &[sql]);
        assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
        asked += 1;
    }
    assert_eq!(asked, 4);
}

/// `--schema` has the columns that SELECT has, in the same order.
#[test]
fn the_schema_is_that_of_the_tables() {
    let schema = printed("--schema");
    let mut tables = 0;
    for part in schema.split("### ").skip(1).filter(|part| !part.starts_with("Functions")) {
        let name = part.lines().next().unwrap();
        let listed: Vec<&str> = part
            .lines()
            .filter(|line| line.starts_with("| `"))
            .filter_map(|line| line.split('`').nth(1))
            .collect();
        let found = rows("tpu-gate", &format!("DESCRIBE {name}"));
        let found: Vec<&str> = found.iter().map(|row| row["column_name"].as_str().unwrap()).collect();
        assert_eq!(listed, found, "{name}");
        tables += 1;
    }
    assert_eq!(tables, 14);
}

/// The rules for the code are those of the main workspace.
#[test]
fn lints_are_those_of_the_main_workspace() {
    let part = |text: &str, from: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).skip_while(|line| *line != from).skip(1);
        lines
            .take_while(|line| !line.starts_with('['))
            .filter(|l| l.contains('='))
            .map(str::to_owned)
            .collect()
    };
    let (main, own) = (root("Cargo.toml"), root("query/Cargo.toml"));
    for lints in ["rust", "rustdoc", "clippy"] {
        let of_main = part(&main, &format!("[workspace.lints.{lints}]"));
        assert!(!of_main.is_empty());
        assert_eq!(part(&own, &format!("[lints.{lints}]")), of_main, "{lints}");
    }
    let version = |text: &str| text.lines().find(|line| line.starts_with("version = ")).map(str::to_owned);
    assert_eq!(version(&own), version(&main));
}
