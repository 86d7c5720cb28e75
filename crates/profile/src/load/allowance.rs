//! What a file may take, told from its size on disk: how far it is unpacked, and how much memory is spent on it.
//!
//! A file that is small on disk may stand for anything. So it is the size on disk that bounds what becomes of it, and not a
//! length or a count that it states itself. Real profiles stay far below; what does not is refused before memory is spent, and
//! the refusal names the option with which it is read all the same.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use haloscope_report::Error;
use haloscope_report::units;
use haloscope_xspace::Census;

use super::limit::memory_limit;
use super::system;

/// A packed file is unpacked to so many times its size at most, where no other bound was asked for: profiles take 2 to 10 times
/// theirs.
const TIMES: u64 = 200;
/// And to no more than this, whatever its size.
const MOST: u64 = 4 << 30;
/// So much is always unpacked: a few empty lines pack well too.
const LEAST: u64 = 1 << 20;
/// Of a packed file this many times its size counts as its size when memory is spent on it.
const PACKED: u64 = 16;

/// Memory for each byte of a file, and beside them once a run: what a process takes that reads nothing stays below the difference to
/// 64 MiB.
const FOR_EACH_BYTE: u64 = 8;
const BESIDE: u64 = 40 << 20;
/// For each file behind the first: what is open takes something, however small it is.
const EACH_FILE: u64 = 16 << 10;

/// The bound on unpacked bytes that was asked for; 0 for none.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Bounds what a packed file unpacks to, in bytes, from now on; `None` for 200 times its size and 4 GiB at most.
pub fn set_unpacked_limit(bytes: Option<u64>) {
    ASKED.store(bytes.unwrap_or(0), Ordering::Relaxed);
}

/// The bound on unpacked bytes that was asked for.
pub fn unpacked_limit() -> Option<u64> {
    Some(ASKED.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
}

/// The size of a file on disk; `None` for what is no file, such as a pipe.
pub(super) fn on_disk(path: &Path) -> Option<u64> {
    let found = path.metadata().ok().filter(std::fs::Metadata::is_file);
    found.map(|found| found.len())
}

/// Bytes that a packed file of this size may unpack to.
pub(super) fn most_unpacked(packed: u64) -> u64 {
    unpacked_limit().unwrap_or_else(|| packed.saturating_mul(TIMES).clamp(LEAST, MOST))
}

/// The same of a file whose parts stand in memory while they are put together: unless a bound was asked for, a third of what it may
/// take, for there they are, what becomes of them, and a copy that is on its way to where it stays.
pub(super) fn most_merged(packed: u64, allowance: Allowance) -> u64 {
    unpacked_limit().unwrap_or_else(|| most_unpacked(packed).min(allowance.memory() / 3))
}

/// The refusal of a file that unpacks to more.
pub(super) fn unpacks_to_too_much(path: &Path, packed: u64, most: u64) -> Error {
    let limit =
        memory_limit().filter(|limit| unpacked_limit().is_none() && most < most_unpacked(packed).min(*limit));
    let why = match limit {
        Some(limit) => format!("a third of the memory limit of {}", units::bytes(limit as f64)),
        None => "real ones unpack to 10 times their size".to_owned(),
    };
    let (packed, most) = (units::bytes(packed as f64), units::bytes(most as f64));
    Error::Input {
        path: path.to_owned(),
        message: format!(
            "expected a compressed profile, found {packed} that unpack to more than {most}: {why}. It was not read; if the file is right, raise the limit with --max-unpacked SIZE (HALOSCOPE_MAX_UNPACKED)"
        ),
    }
}

/// The memory that files may take; that of none by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Bytes of them that count.
    counted: u64,
    files: u64,
}

impl Allowance {
    /// That of a file with so many bytes on disk, of which `unpacked` became.
    pub(super) fn of(on_disk: u64, unpacked: u64) -> Self {
        Self { counted: unpacked.min(on_disk.saturating_mul(PACKED)).max(on_disk.min(unpacked)), files: 1 }
    }

    /// The same of the file at `path`; of what is no file, such as a pipe, that of what was read of it.
    pub(super) fn of_file(path: &Path, unpacked: u64) -> Self {
        Self::of(on_disk(path).unwrap_or(unpacked), unpacked)
    }

    /// Of these files together: what is beside counts once.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            counted: self.counted.saturating_add(other.counted),
            files: self.files.saturating_add(other.files),
        }
    }

    /// Bytes that count.
    pub(super) fn counted(self) -> u64 {
        self.counted
    }

    /// The memory in bytes: the limit that was asked for, else 8 times what counts, 40 MiB, and a little for each file; no more than
    /// the system has left for this process.
    pub(super) fn memory(self) -> u64 {
        let own = memory_limit().unwrap_or_else(|| self.unasked());
        system::left().map_or(own, |(left, _)| own.min(left))
    }

    /// The same as if no limit had been asked for.
    pub(super) fn unasked(self) -> u64 {
        let files = self.files.saturating_sub(1).saturating_mul(EACH_FILE);
        self.counted.saturating_mul(FOR_EACH_BYTE).saturating_add(BESIDE).saturating_add(files)
    }

    /// What the tables of a file take in memory, bytes, where others of these files have `spent` so much. Refuses it where that
    /// is more than all of them may.
    ///
    /// # Errors
    /// [`Error::Input`], which says what there is too much of.
    pub(super) fn check(self, path: &Path, bytes: &[u8], spent: u64) -> Result<u64, Error> {
        let most = self.memory().saturating_sub(spent);
        let census = Census::of(bytes, most);
        let takes = census.memory();
        if takes <= most {
            return Ok(takes);
        }
        Err(self.takes_too_much(path, census.most(), bytes.len() as u64, spent))
    }

    /// The refusal of a file whose tables take more: of what there are most, and how many in how many bytes.
    pub(super) fn takes_too_much(
        self,
        path: &Path,
        (what, count): (&str, u64),
        bytes: u64,
        spent: u64,
    ) -> Error {
        let left = units::bytes(self.memory().saturating_sub(spent) as f64);
        let own = memory_limit().unwrap_or_else(|| self.unasked());
        let of_system = system::left().filter(|(left, _)| *left < own).map(|(_, bound)| bound);
        let bound = match (memory_limit(), spent) {
            _ if of_system.is_some() => {
                let bound = of_system.map(|bound| bound.to_string()).unwrap_or_default();
                format!("the {left} that are left of {bound}; give more there")
            }
            (Some(limit), 0) => format!("the memory limit of {}; give more", units::bytes(limit as f64)),
            (Some(limit), _) => {
                format!(
                    "the {left} that the run's other files leave of the memory limit of {}; give more",
                    units::bytes(limit as f64)
                )
            }
            (None, 0) => {
                format!(
                    "the {left} that a file of its size may take; if the file is right, raise the limit with --memory-limit SIZE"
                )
            }
            (None, _) => format!(
                "the {left} that the run's other files leave; if the file is right, raise the limit with --memory-limit SIZE"
            ),
        };
        Error::Input {
            path: path.to_owned(),
            message: format!(
                "expected a profile, found more than {count} {what} in {}, which take more memory than {bound}",
                units::bytes(bytes as f64)
            ),
        }
    }
}

/// Memory for each byte of text that stands beside a module: the text, and what becomes of its lines.
const FOR_EACH_OF_TEXT: u64 = 5;

/// Refuses the text of a file, unpacked to so many bytes, that would take more memory than the file's size allows and what is `beside`
/// (bytes).
///
/// # Errors
/// What was expected and found.
pub(crate) fn text_fits(path: &Path, unpacked: u64, beside: u64) -> Result<(), String> {
    let counted = Allowance::of_file(path, unpacked).counted();
    let allowed = counted.saturating_mul(FOR_EACH_BYTE).saturating_add(beside) / FOR_EACH_OF_TEXT;
    if unpacked <= allowed {
        return Ok(());
    }
    Err(format!(
        "expected at most {} of text for the size of the file, found {}; if the file is right, raise the limit with --memory-limit SIZE",
        units::bytes(allowed as f64),
        units::bytes(unpacked as f64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_on_disk_bounds_what_a_file_unpacks_to() {
        assert_eq!(most_unpacked(0), 1 << 20);
        assert_eq!(most_unpacked(94 << 10), 200 * (94 << 10));
        assert_eq!(most_unpacked(1 << 30), 4 << 30);
        assert_eq!(most_unpacked(u64::MAX), 4 << 30);
    }

    #[test]
    fn memory_follows_the_size_on_disk_and_of_packed_files_a_few_times_it() {
        let plain = Allowance::of(1 << 20, 1 << 20);
        assert_eq!(plain.unasked(), (40 << 20) + (8 << 20));
        // What profiles pack to counts whole, what bombs pack to does not.
        assert_eq!(Allowance::of(1 << 20, 10 << 20).unasked(), (40 << 20) + (80 << 20));
        assert_eq!(Allowance::of(1 << 20, 200 << 20).unasked(), (40 << 20) + (128 << 20));
        // Of JSON little may be left.
        assert_eq!(Allowance::of(10 << 20, 1 << 20).unasked(), plain.unasked());
        // Of two files what is beside counts once.
        assert_eq!(plain.and(plain).unasked(), (40 << 20) + (16 << 20) + (16 << 10));
        assert_eq!(Allowance::default().and(plain), plain);
    }

    #[test]
    fn text_beside_a_module_takes_what_its_file_allows() {
        let folder = tempfile::tempdir().unwrap();
        let packed = folder.path().join("x-buffer-assignment.txt.gz");
        std::fs::write(&packed, vec![0; 100 << 10]).unwrap();
        // To a tenth, as compilers' texts pack; to a four hundredth.
        assert_eq!(text_fits(&packed, 1 << 20, 0), Ok(()));
        assert_eq!(text_fits(&packed, 2 << 20, 0), Ok(()));
        let refused = text_fits(&packed, 40 << 20, 24 << 20).unwrap_err();
        assert!(refused.contains("found 40.00 MiB") && refused.contains("--memory-limit"), "{refused}");
        assert_eq!(text_fits(&packed, 40 << 20, 1 << 30), Ok(()));
    }

    #[test]
    fn lines_of_two_bytes_are_refused_and_lines_of_profiles_are_not() {
        let plane = |body: &[u8]| {
            use haloscope_xspace::write;
            let mut out = write::Space::default().to_bytes();
            // Field 1 with a length of four bytes.
            let length = body.len() as u32;
            let septets = (0..4).map(|i| ((length >> (7 * i)) & 127) as u8 | if i < 3 { 128 } else { 0 });
            out.push(0x0a);
            out.extend(septets);
            out.extend_from_slice(body);
            out
        };
        let empty = plane(&b"\x1a\x00".repeat(1_000_000));
        let refused = Allowance::of(empty.len() as u64, empty.len() as u64).check("x".as_ref(), &empty, 0);
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("lines in 1.907 MiB") && message.contains("--memory-limit"), "{message}");
        // A line of a real profile has a name and events: here 100 bytes of them.
        let line = [&b"\x1a\x64\x12\x62"[..], &[b'x'; 98]].concat();
        let real = plane(&line.repeat(100_000));
        assert!(Allowance::of(real.len() as u64, real.len() as u64).check("x".as_ref(), &real, 0).is_ok());
        // Few are no harm, however short.
        let few = plane(&b"\x1a\x00".repeat(20_000));
        // Unless others have taken what there is for all.
        let own = Allowance::of(few.len() as u64, few.len() as u64);
        let takes = own.check("x".as_ref(), &few, 0).unwrap();
        assert!(own.check("x".as_ref(), &few, own.unasked() - takes).is_ok());
        let late = own.check("x".as_ref(), &few, own.unasked() - takes + 1).unwrap_err().to_string();
        assert!(late.contains("other files leave") && late.contains("--memory-limit"), "{late}");
        assert!(Allowance::of(few.len() as u64, few.len() as u64).check("x".as_ref(), &few, 0).is_ok());
    }
}
