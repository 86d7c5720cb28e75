//! Finds the commit that a build is of: given by whoever builds, noted in the package, or of the checkout. The build script is this
//! file's only user.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `cargo package` notes.
const NOTED: &str = ".cargo_vcs_info.json";
/// Where the crate lies in its repository.
const PLACE: &str = "crates/cli/";
/// So many digits of a commit are told.
const DIGITS: usize = 12;

/// What the program calls itself: its version, and the commit where it is known.
pub(crate) fn version(version: &str, commit: Option<String>) -> String {
    commit.map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"))
}

/// The commit of the sources in `here`, in twelve digits. `None` where nobody knows it, or where it is no commit.
pub(crate) fn find(given: Option<String>, here: &Path) -> Option<String> {
    let given = given.filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| noted(here)).or_else(|| checked_out(here))?;
    let commit = commit.trim().to_ascii_lowercase();
    let is_commit = commit.len() >= DIGITS && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| commit[..DIGITS].to_owned())
}

/// The commit that a package was made of: `{"git": {"sha1": "…"}, …}`.
fn noted(here: &Path) -> Option<String> {
    let text = fs::read_to_string(here.join(NOTED)).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    rest.split('"').nth(1).map(ToOwned::to_owned)
}

/// The commit of the checkout that `here` is in, if it is this project's: a package may lie within a stranger's.
fn checked_out(here: &Path) -> Option<String> {
    let prefix = git(here, &["rev-parse", "--show-prefix"])?;
    (prefix == PLACE).then(|| git(here, &["rev-parse", "HEAD"])).flatten()
}

/// Files that change when the commit does.
pub(crate) fn watched(here: &Path) -> Vec<PathBuf> {
    if here.join(NOTED).exists() || checked_out(here).is_none() {
        return Vec::new();
    }
    let paths =
        ["HEAD", "logs/HEAD"].into_iter().filter_map(|name| git(here, &["rev-parse", "--git-path", name]));
    // One that is not there would make every build a new one.
    paths.map(|path| here.join(path)).filter(|path| path.exists()).collect()
}

fn git(here: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).current_dir(here).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "69c0ee05a1b2c3d4e5f60718293a4b5c6d7e8f90";

    #[test]
    fn what_is_given_comes_first_and_must_be_a_commit() {
        let folder = tempfile::tempdir().unwrap();
        let find = |given: &str| find(Some(given.to_owned()), folder.path());
        assert_eq!(find(COMMIT).as_deref(), Some("69c0ee05a1b2"));
        assert_eq!(find(&COMMIT.to_uppercase()).as_deref(), Some("69c0ee05a1b2"));
        assert_eq!(find("v1.2.3"), None);
        assert_eq!(find("69c0ee0"), None);
        assert_eq!(version("1.2.3", find(COMMIT)), "1.2.3 (69c0ee05a1b2)");
        assert_eq!(version("1.2.3", None), "1.2.3");
    }

    #[test]
    fn a_package_knows_its_commit_wherever_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find(None, folder.path()), None);
        assert!(watched(folder.path()).is_empty());
        let note = format!(
            "{{\n  \"git\": {{\n    \"sha1\": \"{COMMIT}\",\n    \"dirty\": true\n  }},\n  \"path_in_vcs\": \"\"\n}}"
        );
        fs::write(folder.path().join(NOTED), note).unwrap();
        assert_eq!(find(None, folder.path()).as_deref(), Some("69c0ee05a1b2"));
        assert_eq!(find(Some(String::new()), folder.path()).as_deref(), Some("69c0ee05a1b2"));
        fs::write(folder.path().join(NOTED), "{}").unwrap();
        assert_eq!(find(None, folder.path()), None);
    }

    #[test]
    fn a_checkout_of_something_else_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        if git(folder.path(), &["init", "--quiet"]).is_none() {
            eprintln!("skipped: there is no git");
            return;
        }
        let commit = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "a",
        ];
        git(folder.path(), &commit).unwrap();
        let here = folder.path().join("crates/cli");
        let other = folder.path().join("vendor/haloscope");
        fs::create_dir_all(&here).unwrap();
        fs::create_dir_all(&other).unwrap();
        let head = git(folder.path(), &["rev-parse", "HEAD"]).unwrap();
        assert_eq!(find(None, &here).as_deref(), Some(&head[..DIGITS]));
        assert!(watched(&here).iter().any(|path| path.ends_with("HEAD")));
        assert_eq!(find(None, &other), None);
    }
}
