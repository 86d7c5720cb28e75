//! `cargo xtask package`: whether every crate can be published, in which order, and whether it holds all that it reads.
//!
//! The quick form reads manifests and lists of files, and has Cargo pack every crate. `--verify` has Cargo build what it packed,
//! with nothing else of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{root, run_command, say, target};

/// The most that crates.io takes, bytes.
const LARGEST: u64 = 10 << 20;
/// The most keywords that crates.io takes, and the most letters of one.
const KEYWORDS: (usize, usize) = (5, 20);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build each crate from its package, with nothing else of the repository; minutes
    #[arg(long)]
    verify: bool,
    /// Print the crates in the order in which they are published, and do nothing else
    #[arg(long)]
    order: bool,
    /// Fail unless this is the address that the crates name as their repository
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let crates = Crate::all(&metadata(&[])?)?;
    let order = order(&crates)?;
    if args.order {
        order.iter().for_each(|name| say(name));
        return Ok(());
    }
    let mut wrong = Vec::new();
    for one in &crates {
        wrong.extend(one.lacks(args.repository.as_deref()));
        wrong.extend(one.reads_outside(&one.packed()?)?);
    }
    ensure!(wrong.is_empty(), "what cannot be published:\n{}", wrong.join("\n"));
    let mut command = cargo();
    // What is packed is the working tree: it may hold what is not committed yet.
    command.args(["package", "--locked", "--allow-dirty", "--quiet"]);
    // Every crate is built in one folder, so that what they all need is built once.
    let folder = target().join("packages");
    command.env("CARGO_TARGET_DIR", &folder).env("CARGO_PROFILE_DEV_DEBUG", "0");
    if !args.verify {
        command.arg("--no-verify");
    }
    for name in &order {
        command.args(["--package", name]);
    }
    run_command(&mut command)?;
    for one in &crates {
        let path = folder.join("package").join(format!("{}-{}.crate", one.name, one.version));
        let bytes =
            std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
        if bytes > LARGEST {
            bail!("{} has {bytes} bytes, crates.io takes {LARGEST}", path.display());
        }
    }
    let how = if args.verify { "each built by itself" } else { "not built" };
    say(&format!(
        "package: {} crates, {how}, in the order in which they are published: {}",
        order.len(),
        order.join(" ")
    ));
    Ok(())
}

fn cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root());
    command
}

/// What Cargo says of the workspace, and of all that it is built from.
///
/// # Errors
/// If Cargo fails.
pub(crate) fn metadata(more: &[&str]) -> Result<Value> {
    let output = cargo().args(["metadata", "--format-version", "1", "--locked"]).args(more).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A crate of the workspace that is published.
#[derive(Debug)]
struct Crate {
    name: String,
    version: String,
    folder: PathBuf,
    /// Its manifest, as Cargo reads it.
    manifest: Value,
    /// Crates of the workspace that must be published before it.
    needs: BTreeSet<String>,
}

impl Crate {
    fn all(metadata: &Value) -> Result<Vec<Self>> {
        let members: BTreeSet<&str> =
            array(&metadata["workspace_members"]).filter_map(Value::as_str).collect();
        let is_published = |package: &&Value| {
            members.contains(package["id"].as_str().unwrap_or_default())
                && package["publish"].as_array().is_none_or(|to| !to.is_empty())
        };
        let packages: Vec<&Value> = array(&metadata["packages"]).filter(is_published).collect();
        let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned).context("expected a string");
        let one = |package: &Value| {
            let manifest = PathBuf::from(text(&package["manifest_path"])?);
            // What has a path and no version is left out of a package, which Cargo allows of what only tests need.
            let stays = |dependency: &&Value| dependency["kind"] != "dev" || dependency["req"] != "*";
            let needs = array(&package["dependencies"]).filter(|d| d["path"].is_string()).filter(stays);
            let needs = needs.filter_map(|d| d["name"].as_str()).filter(|name| names.contains(name));
            Ok(Self {
                name: text(&package["name"])?,
                version: text(&package["version"])?,
                folder: manifest.parent().unwrap_or(&manifest).to_owned(),
                needs: needs.map(ToOwned::to_owned).collect(),
                manifest: package.clone(),
            })
        };
        packages.into_iter().map(one).collect()
    }

    /// What crates.io or a reader of it would miss.
    fn lacks(&self, repository: Option<&str>) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut need = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{}: {what}", self.name));
            }
        };
        let manifest = &self.manifest;
        for field in ["description", "license", "repository", "rust_version"] {
            need(manifest[field].as_str().is_some_and(|text| !text.is_empty()), &format!("no {field}"));
        }
        if let Some(address) = repository {
            need(
                manifest["repository"] == address,
                &format!("its repository is {}, and not {address}", manifest["repository"]),
            );
        }
        need(manifest["readme"].is_string() && self.folder.join("README.md").is_file(), "no README.md");
        let keywords: Vec<&str> = array(&manifest["keywords"]).filter_map(Value::as_str).collect();
        need((1..=KEYWORDS.0).contains(&keywords.len()), "1 to 5 keywords are wanted");
        let is_keyword = |word: &&str| {
            word.len() <= KEYWORDS.1
                && word.starts_with(|c: char| c.is_ascii_alphanumeric())
                && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-+".contains(c))
        };
        need(keywords.iter().all(is_keyword), "a keyword that crates.io does not take");
        need(array(&manifest["categories"]).next().is_some(), "no categories");
        wrong
    }

    /// The files in its package, relative to its folder.
    fn packed(&self) -> Result<BTreeSet<PathBuf>> {
        let mut command = cargo();
        command.args(["package", "--list", "--allow-dirty", "--locked", "--quiet", "--package", &self.name]);
        let output = command.output()?;
        ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.lines().map(PathBuf::from).collect())
    }

    /// What the crate's code embeds that its package lacks, the licence and the text for readers.
    fn reads_outside(&self, packed: &BTreeSet<PathBuf>) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for name in ["LICENSE", "README.md"] {
            if !packed.contains(Path::new(name)) {
                wrong.push(format!("{}: no {name} in the package", self.name));
            }
        }
        for path in packed.iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
            let code = std::fs::read_to_string(self.folder.join(path))
                .with_context(|| format!("cannot read {}", path.display()))?;
            for name in embedded(&code) {
                let at = resolved(&path.parent().unwrap_or(path).join(name));
                if !at.as_ref().is_some_and(|at| packed.contains(at)) {
                    wrong.push(format!(
                        "{}: {} embeds {name}, which is not in the package",
                        self.name,
                        path.display()
                    ));
                }
            }
        }
        Ok(wrong)
    }
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Crates so that each comes after those it needs, else by name.
fn order(crates: &[Crate]) -> Result<Vec<String>> {
    let mut left: BTreeMap<&str, &BTreeSet<String>> =
        crates.iter().map(|one| (one.name.as_str(), &one.needs)).collect();
    let mut order: Vec<String> = Vec::new();
    while !left.is_empty() {
        let next = left.iter().find(|(_, needs)| needs.iter().all(|need| !left.contains_key(need.as_str())));
        let Some(name) = next.map(|(name, _)| *name) else {
            let names: Vec<&str> = left.keys().copied().collect();
            bail!(
                "crates that wait for each other: {}; give what tests alone need by its path, without a version",
                names.join(", ")
            );
        };
        left.remove(name);
        order.push(name.to_owned());
    }
    Ok(order)
}

/// The files that Rust code embeds by a name that stands there.
fn embedded(code: &str) -> impl Iterator<Item = &str> {
    ["include_str!(", "include_bytes!(", "include!("].into_iter().flat_map(|macro_name| {
        let calls = code.match_indices(macro_name);
        // `include!(` ends no other name: those end in `_str!(` and `_bytes!(`.
        calls.filter_map(|(at, _)| {
            code[at + macro_name.len()..].trim_start().strip_prefix('"')?.split('"').next()
        })
    })
}

/// A path without `..`; `None` where it leads out of the folder.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crate_of(name: &str, needs: &[&str]) -> Crate {
        Crate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            folder: PathBuf::from("."),
            manifest: json!({}),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        }
    }

    #[test]
    fn crates_come_after_what_they_need() {
        let crates = [crate_of("a", &["c"]), crate_of("b", &[]), crate_of("c", &["b"])];
        assert_eq!(order(&crates).unwrap(), ["b", "c", "a"]);
        let said = order(&[crate_of("a", &["b"]), crate_of("b", &["a"]), crate_of("c", &[])])
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("crates that wait for each other: a, b;"), "{said}");
    }

    #[test]
    fn what_only_tests_need_waits_for_nothing_unless_it_has_a_version() {
        let package = |name: &str, dependencies: Value, publish: Value| {
            json!({
                "id": name, "name": name, "version": "1.0.0", "manifest_path": format!("/w/{name}/Cargo.toml"),
                "dependencies": dependencies, "publish": publish,
            })
        };
        let on = |name: &str, kind: Value, req: &str| json!({"name": name, "kind": kind, "req": req, "path": "/w"});
        let metadata = json!({
            "workspace_members": ["a", "b", "c"],
            "packages": [
                package("a", json!([on("b", json!("dev"), "*"), on("c", json!("dev"), "^1"), {"name": "serde", "kind": null, "req": "^1"}]), json!(null)),
                package("b", json!([on("a", json!(null), "^1")]), json!(null)),
                package("c", json!([on("t", json!("build"), "^1")]), json!(null)),
                package("t", json!([]), json!([])),
                package("serde", json!([]), json!(null)),
            ],
        });
        let crates = Crate::all(&metadata).unwrap();
        let needs: Vec<(&str, Vec<&str>)> = crates
            .iter()
            .map(|one| (one.name.as_str(), one.needs.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(needs, [("a", vec!["c"]), ("b", vec!["a"]), ("c", vec![])]);
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut one = crate_of("a", &[]);
        assert_eq!(one.lacks(None).len(), 7, "{:?}", one.lacks(None));
        one.folder = root().join("xtask");
        one.manifest = json!({
            "description": "a", "license": "MIT", "repository": "https://a", "rust_version": "1.0", "readme": "README.md",
            "keywords": ["a", "b-c"], "categories": ["d"],
        });
        assert_eq!(one.lacks(Some("https://a")), [""; 0]);
        assert_eq!(one.lacks(Some("https://b")).len(), 1);
        one.manifest["keywords"] = json!(["a", "b", "c", "d", "e", "f"]);
        assert_eq!(one.lacks(None), ["a: 1 to 5 keywords are wanted"]);
        one.manifest["keywords"] = json!(["two words"]);
        assert_eq!(one.lacks(None).len(), 1);
    }

    #[test]
    fn what_code_embeds_is_found_and_must_be_inside() {
        let code = "const A: &str = include_str!(\"a.txt\");\ninclude_bytes!(\n    \"../b/c\"\n);\ninclude!(concat!(env!(\"OUT_DIR\"), \"/x\"));";
        let mut names: Vec<&str> = embedded(code).collect();
        names.sort_unstable();
        assert_eq!(names, ["../b/c", "a.txt"]);
        assert_eq!(resolved(Path::new("src/x/../../b/./c")), Some(PathBuf::from("b/c")));
        assert_eq!(resolved(Path::new("src/../../b")), None);
        assert_eq!(resolved(Path::new("/b")), None);
    }

    #[test]
    fn every_crate_of_ours_can_be_published_and_the_program_comes_after_its_parts() {
        let crates = Crate::all(&metadata(&["--no-deps"]).unwrap()).unwrap();
        let wrong: Vec<String> = crates.iter().flat_map(|one| one.lacks(None)).collect();
        assert_eq!(wrong, [""; 0]);
        let order = order(&crates).unwrap();
        let place = |name: &str| order.iter().position(|other| other == name);
        assert!(
            place("haloscope") > place("haloscope-serve") && place("haloscope-serve").is_some(),
            "{order:?}"
        );
        assert!(crates.iter().all(|one| one.name != "xtask"));
    }
}
