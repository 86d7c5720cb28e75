//! The hash of the page's sources, by which a stale build under `crates/serve/dist` is noticed without Node.
//!
//! SHA-256 over path, NUL, content, NUL of every source file in the bytewise order of the paths, in hexadecimal;
//! `web/scripts/source-hash.mjs` writes it when the page is built.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::{root, say};

/// What the page is built from, relative to `web/`.
const SOURCES: [&str; 7] =
    ["src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print the hash of the sources and compare nothing
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let sources = of_sources(&root().join("web"))?;
    if args.print {
        say(&sources);
        return Ok(());
    }
    let path = root().join("crates/serve/dist/SOURCE_HASH");
    let built = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if built.trim() != sources {
        bail!(
            "the page under crates/serve/dist was built from other sources: expected {sources}, found {} in {}; run \
             `npm ci && npm run build` in web/",
            built.trim(),
            path.display()
        );
    }
    say(&format!("{sources}  crates/serve/dist is fresh"));
    Ok(())
}

/// The hash of the sources in the folder `web`.
fn of_sources(web: &Path) -> Result<String> {
    let mut files = Vec::new();
    for source in SOURCES {
        collect(web, source, &mut files)?;
    }
    files.sort_unstable();
    let mut hash = Sha256::new();
    for file in files {
        let content = fs::read(web.join(&file)).with_context(|| format!("cannot read web/{file}"))?;
        for part in [file.as_bytes(), b"\0", &content, b"\0"] {
            hash.update(part);
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Adds the files at or under `path`, relative to `web`, with `/` between folders.
fn collect(web: &Path, path: &str, files: &mut Vec<String>) -> Result<()> {
    let here = web.join(path);
    let kind = fs::metadata(&here).with_context(|| format!("cannot read web/{path}"))?;
    if kind.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(&here)? {
        let name = entry?.file_name();
        let name = name.to_str().with_context(|| format!("a name in web/{path} is not UTF-8"))?;
        collect(web, &format!("{path}/{name}"), files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_covers_paths_and_contents_in_order() {
        let web = tempfile::tempdir().unwrap();
        fs::create_dir_all(web.path().join("src/base")).unwrap();
        fs::create_dir_all(web.path().join("public")).unwrap();
        for (path, content) in [("src/b.ts", "b"), ("src/base/a.ts", "a"), ("public/i.svg", "")] {
            fs::write(web.path().join(path), content).unwrap();
        }
        for path in &SOURCES[2..] {
            fs::write(web.path().join(path), "x").unwrap();
        }
        let expected = b"index.html\0x\0package-lock.json\0x\0package.json\0x\0public/i.svg\0\0src/b.ts\0b\0\
            src/base/a.ts\0a\0tsconfig.json\0x\0vite.config.ts\0x\0";
        let expected: String = Sha256::digest(expected).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(of_sources(web.path()).unwrap(), expected);
        fs::write(web.path().join("src/b.ts"), "c").unwrap();
        assert_ne!(of_sources(web.path()).unwrap(), expected);
        fs::remove_file(web.path().join("tsconfig.json")).unwrap();
        assert!(of_sources(web.path()).is_err());
    }
}
