//! Which worker reads a file: always the same, as long as it lives, so that what it has of the file is used again.

/// The position of the worker that a file goes to: the one of the highest weight (rendezvous hashing, Thaler and Ravishankar 1998), so that
/// with a worker gone only its own files go elsewhere. 0 where there is none.
pub(super) fn of(path: &str, workers: &[&str]) -> usize {
    let weights = workers.iter().map(|worker| weight(worker, path)).enumerate();
    weights.max_by_key(|(at, weight)| (*weight, std::cmp::Reverse(*at))).map_or(0, |(at, _)| at)
}

/// FNV-1a over both names, then the finalizer of SplitMix64, without which names that differ in their last sign alone weigh alike.
fn weight(worker: &str, path: &str) -> u64 {
    let bytes = worker.bytes().chain([0xff]).chain(path.bytes());
    let mut hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::of;

    const WORKERS: [&str; 3] = ["http://a:1", "http://b:1", "http://c:1"];

    fn files() -> Vec<String> {
        (0..300).map(|host| format!("/logs/run/host-{host}.xplane.pb")).collect()
    }

    #[test]
    fn files_are_spread() {
        let mut counts = [0; 3];
        files().iter().for_each(|file| counts[of(file, &WORKERS)] += 1);
        assert!(counts.iter().all(|count| (60..140).contains(count)), "{counts:?}");
    }

    #[test]
    fn with_a_worker_gone_the_files_of_others_stay() {
        for file in files() {
            let before = WORKERS[of(&file, &WORKERS)];
            let left = ["http://a:1", "http://c:1"];
            let after = left[of(&file, &left)];
            assert!(before == after || before == "http://b:1", "{file}: {before} {after}");
        }
    }
}
