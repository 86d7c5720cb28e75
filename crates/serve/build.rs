//! Lists the files of the built page, so that each is embedded and a new one needs no change here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("dist");
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
    fs::write(PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("page.rs"), code)
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
