//! Whether others use this machine: then who listens on its loopback interface is reached by them.

use std::fs;
use std::path::Path;

/// Users below it are the system's own: services, whose programs do not read profiles.
const FIRST_PERSON: u32 = 1000;
/// Users that systemd makes for services while they run, and the one that is nobody.
const SERVICES: std::ops::RangeInclusive<u32> = 61_184..=65_534;

/// Whether programs of other people run here now. Where that cannot be seen, they may: on systems without `/proc`, and where it shows each
/// user their own programs only.
pub(super) fn is_shared() -> bool {
    let Some(own) = owner(Path::new("/proc/self")) else { return true };
    // The first program of all is somebody else's, or in a container ours: whoever cannot see it sees no others either.
    if owner(Path::new("/proc/1")).is_none() {
        return true;
    }
    let Ok(entries) = fs::read_dir("/proc") else { return true };
    let programs =
        entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit));
    has_others(programs.filter_map(|entry| owner(&entry.path())), own)
}

/// Whether one of these users of programs is a person and not `own`.
fn has_others(users: impl IntoIterator<Item = u32>, own: u32) -> bool {
    users.into_iter().any(|user| user != own && user >= FIRST_PERSON && !SERVICES.contains(&user))
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| found.uid())
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::has_others;

    #[test]
    fn people_are_others_and_services_are_not() {
        assert!(!has_others([0, 101, 1000, 1000, 65_534, 61_200], 1000));
        assert!(has_others([0, 1000, 1001], 1000));
        assert!(!has_others([0, 33, 999], 0));
        // Who runs as root is reached by people too; accounts of a directory have large numbers.
        assert!(has_others([0, 70_001], 0));
    }
}
