//! Paths as another system on the same machine writes them: Windows and its Linux (WSL), and `file:` addresses.

use std::path::{Path, PathBuf};

/// Where WSL mounts the drives of Windows, if nobody changed it.
const MOUNTS: &str = "/mnt";

/// The path under which this system knows what a path means. One that is there, or that means nothing else, is itself.
#[must_use]
pub fn native(path: &Path) -> PathBuf {
    if path.exists() {
        return path.to_owned();
    }
    let text = path.to_string_lossy();
    let other = if let Some(rest) = text.strip_prefix("file://") {
        of_file_address(rest)
    } else if cfg!(windows) {
        of_wsl(&text)
    } else {
        of_windows(&text, Path::new(MOUNTS))
    };
    other.filter(|other| other.exists()).unwrap_or_else(|| path.to_owned())
}

/// `C:\logs\run` and `C:/logs/run`, as `/mnt/c/logs/run`; `\\wsl$\Ubuntu\home\a` and `\\wsl.localhost\Ubuntu\home\a` as `/home/a`.
fn of_windows(text: &str, mounts: &Path) -> Option<PathBuf> {
    let parts =
        |rest: &str| rest.split(['\\', '/']).filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for share in [r"\\wsl$\", r"\\wsl.localhost\"] {
        if let Some(rest) = text.strip_prefix(share) {
            let parts: Vec<String> = parts(rest);
            return Some(Path::new("/").join(parts.get(1..)?.iter().collect::<PathBuf>()));
        }
    }
    let (drive, rest) = text.split_once(':')?;
    let letter = drive.chars().next().filter(|c| drive.len() == 1 && c.is_ascii_alphabetic())?;
    let below: Vec<String> = rest.starts_with(['\\', '/']).then(|| parts(rest))?;
    Some(mounts.join(letter.to_ascii_lowercase().to_string()).join(below.iter().collect::<PathBuf>()))
}

/// `/mnt/c/logs/run` as `C:\logs\run`.
fn of_wsl(text: &str) -> Option<PathBuf> {
    let rest = text.strip_prefix(MOUNTS)?.strip_prefix('/')?;
    let (drive, below) = rest.split_once('/').unwrap_or((rest, ""));
    let letter = drive.chars().next().filter(|c| drive.len() == 1 && c.is_ascii_alphabetic())?;
    Some(PathBuf::from(format!("{}:\\{}", letter.to_ascii_uppercase(), below.replace('/', "\\"))))
}

/// The path of `file:///logs/run` and `file://localhost/logs/run`, without percent-encoding.
fn of_file_address(rest: &str) -> Option<PathBuf> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let Some((byte, behind)) = left.split_first() {
        let code = (*byte == b'%').then(|| std::str::from_utf8(behind.get(..2)?).ok()).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                bytes.push(code);
                left = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*byte);
                left = behind;
            }
        }
    }
    let path = String::from_utf8(bytes).ok().filter(|path| path.starts_with('/'))?;
    // `/C:/logs`
    let is_drive = cfg!(windows) && path.get(2..3) == Some(":");
    Some(PathBuf::from(if is_drive { path.get(1..)?.to_owned() } else { path }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_windows_and_of_its_linux_are_each_others() {
        let linux = |text: &str| of_windows(text, Path::new("/mnt")).map(|path| path.display().to_string());
        for (windows, path) in [
            (r"C:\logs\run 1", Some("/mnt/c/logs/run 1")),
            ("d:/logs/", Some("/mnt/d/logs")),
            (r"\\wsl$\Ubuntu\home\a\logs", Some("/home/a/logs")),
            (r"\\wsl.localhost\Ubuntu-24.04\tmp", Some("/tmp")),
            ("host:9999", None),
            ("CC:\\logs", None),
            ("gs://bucket/logs", None),
            ("logs/a:b", None),
        ] {
            assert_eq!(linux(windows).as_deref(), path, "{windows}");
        }
        let windows = |text: &str| of_wsl(text).map(|path| path.display().to_string());
        assert_eq!(windows("/mnt/c/logs/run").as_deref(), Some(r"C:\logs\run"));
        assert_eq!(windows("/mnt/data/logs"), None);
        assert_eq!(windows("/home/a"), None);
    }

    #[test]
    fn what_is_there_is_itself_and_what_is_not_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a b%");
        std::fs::create_dir(&odd).unwrap();
        assert_eq!(native(&odd), odd);
        assert_eq!(native(Path::new(r"Q:\not\there")), Path::new(r"Q:\not\there"));
        let address = format!("file://{}", odd.display()).replace(' ', "%20");
        assert_eq!(native(Path::new(&address)), odd);
        let drive = folder.path().join("c/logs");
        std::fs::create_dir_all(&drive).unwrap();
        assert_eq!(of_windows(r"C:\logs", folder.path()).unwrap(), drive);
    }
}
