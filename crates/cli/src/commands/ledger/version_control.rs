//! What the current folder and this machine are called.

use std::process::{Command, Stdio};

use haloscope_analyses::ledger::Entry;

/// The commit and the branch of the current folder, and whether its files differ from them, as git says. Without git, or
/// outside of its folders, there is none.
pub(super) fn fill(entry: &mut Entry) {
    let Some(commit) = git(&["rev-parse", "--verify", "--quiet", "HEAD"]).filter(|c| !c.is_empty()) else {
        return;
    };
    entry.commit = Some(commit);
    // On no branch, as in most pipelines, git says HEAD.
    entry.branch = git(&["rev-parse", "--abbrev-ref", "HEAD"]).filter(|b| !b.is_empty() && b != "HEAD");
    entry.dirty = git(&["status", "--porcelain", "--untracked-files=no"]).map(|changed| !changed.is_empty());
}

fn git(args: &[&str]) -> Option<String> {
    // It only looks: it must not take the lock of a repository that others work in.
    let mut git = Command::new("git");
    git.arg("--no-optional-locks").args(args).stdin(Stdio::null()).stderr(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// This machine's name, by which its lines lie in a file of their own.
pub(super) fn machine() -> String {
    let told = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let known = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    told.or_else(known).map(|name| name.trim().to_owned()).unwrap_or_default()
}
