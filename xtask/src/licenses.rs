//! `cargo xtask licenses`: whose work is in the programs, and under which licences: what `haloscope licenses` and `haloscope-query
//! --licenses` print.
//!
//! The parts are what Cargo links into what is shipped, on any system that releases run on, and what npm bundles into the page. Of
//! licences that a part offers, the first is taken that stands in `deny.toml`; what offers none of these is refused. The text is the
//! part's own, out of its package.

mod expression;
mod sbom;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::package::metadata;
use crate::{root, say};

/// A program that is shipped.
struct Program {
    /// The workspace that it is built in.
    manifest: &'static str,
    package: &'static str,
    /// What it prints.
    place: &'static str,
    /// Whether the page is in it.
    has_page: bool,
}

const PROGRAMS: [Program; 2] = [
    Program {
        manifest: "Cargo.toml",
        package: "haloscope",
        place: "crates/cli/src/commands/licenses.txt",
        has_page: true,
    },
    Program {
        manifest: "query/Cargo.toml",
        package: "haloscope-query",
        place: "query/src/licenses.txt",
        has_page: false,
    },
];

/// The list of licences that are taken, in order.
const POLICY: &str = "deny.toml";
/// What Rust links into programs for musl, and whose it is: <https://git.musl-libc.org/cgit/musl/tree/COPYRIGHT>.
const MUSL: (&str, &str) = ("musl", "2005-2020 Rich Felker, et al.");
/// Where packages come from, as Cargo calls it.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// What stands between two texts.
const RULE: &str = "================================================================================";

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(false))]
pub(crate) struct Args {
    /// Rewrite the lists that are part of the programs
    #[arg(long, group = "what")]
    write: bool,
    /// Fail if a list is stale, or if something has a licence that deny.toml does not allow
    #[arg(long, group = "what")]
    check: bool,
    /// Write the same parts as a bill of materials in CycloneDX's JSON
    #[arg(long, group = "what", value_name = "FILE")]
    sbom: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let allowed = allowed()?;
    let mut of_all = Vec::new();
    for program in &PROGRAMS {
        let mut parts = crates(program)?;
        if program.has_page {
            parts.extend(packages()?);
        }
        parts.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        if args.sbom.is_none() {
            held(program, &rendered(&parts, &allowed)?, args.write)?;
        }
        say(&format!("licenses: {}: {} parts", program.package, parts.len()));
        of_all.extend(parts);
    }
    let Some(path) = &args.sbom else { return Ok(()) };
    of_all.sort_by(|a, b| (&a.name, &a.version, a.is_of_page).cmp(&(&b.name, &b.version, b.is_of_page)));
    of_all.dedup_by(|a, b| (&a.name, &a.version, a.is_of_page) == (&b.name, &b.version, b.is_of_page));
    let text = serde_json::to_string_pretty(&sbom::bill(&of_all, env!("CARGO_PKG_VERSION")))? + "\n";
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes what a program is to print, or holds what stands there against it.
fn held(program: &Program, text: &str, write: bool) -> Result<()> {
    let place = root().join(program.place);
    if write {
        return fs::write(&place, text).with_context(|| format!("cannot write {}", program.place));
    }
    let old = fs::read_to_string(&place).unwrap_or_default();
    if old != text {
        let first = old.lines().zip(text.lines()).position(|(a, b)| a != b);
        let line = first.unwrap_or_else(|| old.lines().count().min(text.lines().count())) + 1;
        bail!(
            "{} is stale from line {line} on; rewrite it with: cargo xtask licenses --write",
            program.place
        );
    }
    Ok(())
}

/// Something that is in a program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// As its registry calls it.
    name: String,
    version: String,
    /// Whether it is a part of the page, and from npm.
    is_of_page: bool,
    /// What it offers.
    license: String,
    /// Who made it, where its package says so.
    authors: Vec<String>,
    /// Its package.
    folder: PathBuf,
}

/// The licences that are taken, the best first.
fn allowed() -> Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Policy {
        licenses: Licenses,
    }
    #[derive(serde::Deserialize)]
    struct Licenses {
        allow: Vec<String>,
    }
    let text = fs::read_to_string(root().join(POLICY)).with_context(|| format!("cannot read {POLICY}"))?;
    Ok(toml::from_str::<Policy>(&text).with_context(|| format!("in {POLICY}"))?.licenses.allow)
}

/// The systems of `deny.toml`, on which releases run.
fn targets() -> Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Policy {
        graph: Graph,
    }
    #[derive(serde::Deserialize)]
    struct Graph {
        targets: Vec<String>,
    }
    let text = fs::read_to_string(root().join(POLICY)).with_context(|| format!("cannot read {POLICY}"))?;
    Ok(toml::from_str::<Policy>(&text).with_context(|| format!("in {POLICY}"))?.graph.targets)
}

/// What Cargo links into what is shipped, on one system or another. What only builds it, macros too, is not in it.
fn crates(program: &Program) -> Result<Vec<Part>> {
    let metadata = metadata(&["--manifest-path", program.manifest])?;
    let mut linked = BTreeSet::new();
    for target in targets()? {
        // Cargo's metadata has what tests enable too; its tree has what is linked.
        let mut command = Command::new("cargo");
        command.current_dir(root()).args([
            "tree",
            "--locked",
            "--manifest-path",
            program.manifest,
            "--edges",
            "normal,no-proc-macro",
            "--target",
            &target,
        ]);
        command.args(["--prefix", "none", "--format", "{p}"]);
        for name in shipped(&metadata, program.package) {
            command.args(["--package", name]);
        }
        let output = command.output()?;
        ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        linked.extend(
            text.lines().filter_map(named).map(|(name, version)| (name.to_owned(), version.to_owned())),
        );
    }
    parts(&metadata, &linked)
}

/// What is shipped of a workspace: the program, and modules of other languages that hold it.
fn shipped<'a>(metadata: &'a Value, program: &str) -> Vec<&'a str> {
    let members = metadata["workspace_members"].as_array();
    let is_member = |package: &&Value| members.is_some_and(|members| members.contains(&package["id"]));
    let is_module = |package: &Value| {
        let targets = package["targets"].as_array().into_iter().flatten();
        targets
            .flat_map(|target| target["kind"].as_array().into_iter().flatten())
            .any(|kind| kind == "cdylib")
    };
    let members = metadata["packages"].as_array().into_iter().flatten().filter(is_member);
    members
        .filter(|one| one["name"] == program || is_module(one))
        .filter_map(|one| one["name"].as_str())
        .collect()
}

/// Name and version in a line of Cargo's tree: `name v1.2.3`, and behind it a folder or a mark.
fn named(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// Those of the packages that are `linked`, by name and version, and not ours: those lie in folders, and come from nowhere.
fn parts(metadata: &Value, linked: &BTreeSet<(String, String)>) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        let (name, version) = (text("name"), text("version"));
        if package["source"].is_null() || !linked.contains(&(name.clone(), version.clone())) {
            continue;
        }
        let source = text("source");
        ensure!(source == CRATES_IO, "{name} {version} comes from {source}, and not from crates.io");
        let manifest = PathBuf::from(text("manifest_path"));
        let authors = package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        parts.push(Part {
            name,
            version,
            is_of_page: false,
            license: text("license"),
            authors: authors.map(ToOwned::to_owned).collect(),
            folder: manifest.parent().unwrap_or(&manifest).to_owned(),
        });
    }
    ensure!(!parts.is_empty(), "nothing is linked into the program: Cargo's tree was not understood");
    Ok(parts)
}

/// What npm bundles into the page: the dependencies of `web/package.json`, and theirs.
fn packages() -> Result<Vec<Part>> {
    let web = root().join("web");
    let lock =
        fs::read_to_string(web.join("package-lock.json")).context("cannot read web/package-lock.json")?;
    let lock: Value = serde_json::from_str(&lock).context("in web/package-lock.json")?;
    let mut open: Vec<String> = names(&lock["packages"][""]["dependencies"]);
    let mut seen: BTreeSet<String> = open.iter().cloned().collect();
    let mut parts = Vec::new();
    while let Some(name) = open.pop() {
        let place = format!("node_modules/{name}");
        let entry = &lock["packages"][&place];
        let text = |field: &str| entry[field].as_str().map(ToOwned::to_owned);
        let version = text("version").with_context(|| format!("web/package-lock.json has no {place}"))?;
        let folder = web.join(&place);
        ensure!(folder.is_dir(), "{} is absent: `npm ci` in web/ brings it", folder.display());
        for next in names(&entry["dependencies"]) {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
        let license = text("license").with_context(|| format!("{place} has no licence"))?;
        parts.push(Part { name, version, is_of_page: true, license, authors: Vec::new(), folder });
    }
    Ok(parts)
}

fn names(object: &Value) -> Vec<String> {
    object.as_object().into_iter().flat_map(|object| object.keys().cloned()).collect()
}

/// The whole text: the parts, then every text of a licence once with those that it is of.
fn rendered(parts: &[Part], allowed: &[String]) -> Result<String> {
    let (mut lines, mut by_text) = (Vec::new(), BTreeMap::<(usize, String), Vec<String>>::new());
    for part in parts {
        let said = format!("{} {}", part.name, part.version);
        let taken = expression::taken(&part.license, allowed)
            .with_context(|| format!("{said} is under `{}`, none of which {POLICY} allows", part.license))?;
        let from = if part.is_of_page { ", in the page" } else { "" };
        lines.push(format!("{said}{from}: {}", taken.join(" and ")));
        for (rank, text) in texts::of(part, &taken, allowed)? {
            by_text.entry((rank, text)).or_default().push(said.clone());
        }
    }
    let mit = texts::named("MIT", MUSL.1).context("MIT's text is ours")?;
    by_text.entry((texts::rank("MIT", allowed), mit)).or_default().push(MUSL.0.to_owned());
    let mut out = format!(
        "Haloscope is under the Apache License, Version 2.0.\n\nIn the program is work of others, on one system or another. Of the licences that a \
         part offers, the first is\nnamed that we took. Their texts follow.\n\nThe standard library of Rust, and what it is made of: Apache-2.0\n\
         {}, in programs for Linux that need no other library: MIT\n{}\n",
        MUSL.0,
        lines.join("\n")
    );
    for ((_, text), of) in by_text {
        out += &format!("\n{RULE}\n{}\n{RULE}\n\n{text}\n", wrapped(&of.join(", "), RULE.len()));
    }
    Ok(out)
}

/// Lines of whole words.
fn wrapped(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > columns {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += word.len();
    }
    out
}

/// A file's text; `None` where there is none.
fn read(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_linked_is_what_the_tree_has_and_comes_from_crates_io() {
        let package = |name: &str, source: Value, kind: &str| {
            json!({"id": name, "name": name, "version": "1.0.0", "source": source, "license": "MIT", "authors": [],
                   "manifest_path": format!("/{name}/Cargo.toml"), "targets": [{"kind": [kind]}]})
        };
        let mut metadata = json!({
            "workspace_members": ["haloscope", "xtask", "module"],
            "packages": [
                package("haloscope", json!(null), "bin"), package("xtask", json!(null), "bin"), package("module", json!(null), "cdylib"),
                package("a", json!(CRATES_IO), "lib"), package("proptest", json!(CRATES_IO), "lib"),
            ],
        });
        assert_eq!(shipped(&metadata, "haloscope"), ["haloscope", "module"]);
        assert_eq!(shipped(&metadata, "another"), ["module"]);
        let tree = "haloscope v1.0.0 (/w/crates/cli)\na v1.0.0\na v1.0.0 (*)\n\n";
        let linked: BTreeSet<_> =
            tree.lines().filter_map(named).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        let names = |metadata: &Value| {
            parts(metadata, &linked).map(|all| all.into_iter().map(|part| part.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&metadata).unwrap(), ["a"]);
        metadata["packages"][3]["source"] = json!("git+https://example.org");
        assert!(names(&metadata).unwrap_err().to_string().contains("not from crates.io"));
        // Another version of a name is another package.
        metadata["packages"][3]["version"] = json!("2.0.0");
        assert!(names(&metadata).is_err());
    }

    #[test]
    fn equal_texts_stand_once_and_what_is_not_allowed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str, license: &str, text: &str| {
            let folder = folder.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("LICENSE-MIT"), text).unwrap();
            Part {
                name: name.into(),
                version: "1.0.0".into(),
                is_of_page: name == "p",
                license: license.into(),
                authors: vec![],
                folder,
            }
        };
        let mit = "Copyright a\n\nPermission is hereby granted, free of charge, to any person\nThe above copyright notice\n";
        let allowed = ["MIT".to_owned()];
        let parts = [
            part("a", "MIT", mit),
            part("b", "MIT OR GPL-3.0", &format!("\n{mit}")),
            part("p", "MIT", &mit.replace(" a", " p")),
        ];
        let text = rendered(&parts, &allowed).unwrap();
        assert!(
            text.contains("\na 1.0.0: MIT\n") && text.contains("\np 1.0.0, in the page: MIT\n"),
            "{text}"
        );
        // Two of packages, and that of musl.
        assert_eq!(text.matches("Permission is hereby granted").count(), 3, "{text}");
        assert!(text.contains("\na 1.0.0, b 1.0.0\n"), "{text}");
        let refused = rendered(&[part("g", "GPL-3.0-only", mit)], &allowed).unwrap_err();
        assert_eq!(format!("{refused:#}").split(',').next(), Some("g 1.0.0 is under `GPL-3.0-only`"));
    }

    #[test]
    fn the_policy_names_licences_and_systems() {
        assert_eq!(allowed().unwrap()[0], "Apache-2.0");
        assert!(targets().unwrap().iter().any(|target| target.ends_with("windows-msvc")));
    }
}
