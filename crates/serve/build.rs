//! Lists the files of the built page and the texts of the documentation, so that each is embedded and a new one needs no change here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var("OUT_DIR").unwrap_or_default());
    // A package holds the texts. In the repository a link of that name leads to them, or is a file where there are no links.
    let own = here.join("docs");
    let is_package = own.is_dir() && !own.is_symlink();
    docs(&if is_package { own } else { here.join("../../docs") }, &out)?;
    let root = here.join("dist");
    let mut names = Vec::new();
    collect(&root, "", &mut names);
    names.sort();
    let mut code = String::from("&[\n");
    for name in &names {
        let path = root.join(name);
        // Writing to a string cannot fail.
        let _ = writeln!(code, "    ({name:?}, include_bytes!({:?}) as &[u8]),", path.display().to_string());
    }
    code.push_str("]\n");
    println!("cargo::rerun-if-changed=dist");
    fs::write(out.join("page.rs"), code)
}

/// Every page of the documentation by its path without the ending.
fn docs(root: &Path, out: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    collect(root, "", &mut names);
    names.sort();
    let mut code = String::from("&[\n");
    for name in &names {
        let Some(page) = name.strip_suffix(".md") else { continue };
        let path = root.join(name);
        let _ = writeln!(code, "    ({page:?}, include_str!({:?})),", path.display().to_string());
    }
    code.push_str("]\n");
    println!("cargo::rerun-if-changed={}", root.display());
    fs::write(out.join("docs.rs"), code)
}

/// The names of all files below a folder, with `/`. Without a built page there are none.
fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), names);
        } else if name != "SOURCE_HASH" {
            names.push(name);
        }
    }
}
