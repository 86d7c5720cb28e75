//! Which commit the program is built from, for `haloscope --version`.

#[path = "src/commit.rs"]
mod commit;

use std::env;
use std::path::PathBuf;

/// The variable by which a build without Git is told its commit.
const GIVEN: &str = "HALOSCOPE_COMMIT";

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-env-changed={GIVEN}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/commit.rs");
    for path in commit::watched(&here) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let given = env::var(GIVEN).ok();
    println!("cargo::rustc-env=HALOSCOPE_VERSION={}", commit::version(&version, commit::find(given, &here)));
}
