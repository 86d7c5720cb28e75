//! How much memory this process has resident, as the system counts it.

use std::fs::{self, File};
use std::sync::OnceLock;

/// Bytes that are resident: heap, stacks, and the pages of mapped files; `None` where the system does not say.
pub(crate) fn resident() -> Option<u64> {
    pages(1)
}

/// Bytes of addresses that are taken: what is resident, what is not, and maps of files whole; `None` where the system does not say.
pub(crate) fn addresses() -> Option<u64> {
    pages(0)
}

/// The bytes of a number of pages that `/proc/self/statm` says.
fn pages(word: usize) -> Option<u64> {
    static OPEN: OnceLock<Option<(File, u64)>> = OnceLock::new();
    let (file, page) =
        OPEN.get_or_init(|| Some((File::open("/proc/self/statm").ok()?, page_size()?))).as_ref()?;
    let mut text = [0; 128];
    let len = read_start(file, &mut text)?;
    let words = std::str::from_utf8(text.get(..len)?).ok()?;
    let pages: u64 = words.split_ascii_whitespace().nth(word)?.parse().ok()?;
    pages.checked_mul(*page)
}

/// The most that was ever resident, bytes; `None` where the system does not say.
#[must_use]
pub fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(unix)]
fn read_start(file: &File, into: &mut [u8]) -> Option<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, 0).ok()
}

#[cfg(not(unix))]
fn read_start(_: &File, _: &mut [u8]) -> Option<usize> {
    None
}

/// The size of a page, from what the kernel told this process at its start.
fn page_size() -> Option<u64> {
    const PAGE_SIZE: u64 = 6;
    let facts = fs::read("/proc/self/auxv").ok()?;
    let word = |bytes: &[u8]| bytes.try_into().map(usize::from_ne_bytes).map(|word| word as u64).ok();
    let mut pairs = facts.chunks_exact(2 * size_of::<usize>()).map(|pair| pair.split_at(size_of::<usize>()));
    pairs.find_map(|(key, value)| (word(key)? == PAGE_SIZE).then(|| word(value))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn resident_memory_follows_what_is_touched() {
        assert!(resident().unwrap() > 1 << 20);
        let follows = || {
            let before = resident().unwrap();
            let some = vec![1_u8; 64 << 20];
            let with = resident().unwrap();
            some.len() as u64 == 64 << 20
                && with > before + (48 << 20)
                && peak().unwrap() >= before + (48 << 20)
        };
        // Other tests of this process give memory back meanwhile.
        assert!((0..20).any(|_| follows()));
    }
}
