//! What a tracer says of how a kernel was launched, as far as it says it and it can be true.

/// Registers that a thread has at most: 255 on NVIDIA's GPUs, 512 vector registers on AMD's.
const MOST_REGISTERS: u64 = 512;
/// Threads that a block has at most.
const MOST_THREADS: u64 = 1024;
/// Shared memory that a block has at most, bytes; today's largest is 227 KiB.
const MOST_SHARED: u64 = 1 << 20;

/// The words of the stat `kernel_details`; `None` where they do not say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaunchFacts {
    /// Registers a thread.
    pub registers: Option<u64>,
    /// Shared memory a block, bytes: static and dynamic, or what the tracer gives as one number.
    pub shared_bytes: Option<u64>,
    /// Blocks, by dimension.
    pub grid: Option<[u64; 3]>,
    /// Threads a block, by dimension.
    pub block: Option<[u64; 3]>,
    /// Share of the threads that a multiprocessor can hold; 0 to 1.
    pub occupancy: Option<f64>,
    /// True if the words cannot be true: tracers were seen to write memory that nobody had set.
    pub is_nonsense: bool,
}

impl LaunchFacts {
    /// Reads `regs:32 static_shared:0 dynamic_shared:0 grid:8,1,1 block:256,1,1 occ_pct:100`, with `shm` for both kinds of
    /// shared memory from older tracers, and `group_mem` from AMD's.
    #[must_use]
    pub fn parse(details: &str) -> Self {
        let mut facts = Self::default();
        for (key, value) in details.split_ascii_whitespace().filter_map(|word| word.split_once(':')) {
            let number = || value.parse::<u64>().ok();
            let three = || {
                let numbers: Option<Vec<u64>> = value.split(',').map(|part| part.parse().ok()).collect();
                numbers.and_then(|numbers| <[u64; 3]>::try_from(numbers).ok())
            };
            match key {
                "regs" => facts.registers = number().filter(|n| *n > 0),
                "static_shared" | "dynamic_shared" | "shm" | "group_mem" => {
                    let bytes = number().map(|n| n.saturating_add(facts.shared_bytes.unwrap_or(0)));
                    facts.shared_bytes = bytes.or(facts.shared_bytes);
                }
                "grid" => facts.grid = three(),
                "block" => facts.block = three(),
                "occ_pct" => {
                    let percent = value.parse::<f64>().ok().filter(|p| *p > 0.0 && *p <= 100.0);
                    facts.occupancy = percent.map(|p| p / 100.0);
                }
                _ => {}
            }
        }
        if facts.can_be_true() { facts } else { Self { is_nonsense: true, ..Self::default() } }
    }

    fn can_be_true(&self) -> bool {
        let threads = self.block.map(|block| block.iter().fold(1, |all: u64, n| all.saturating_mul(*n)));
        self.registers.is_none_or(|n| n <= MOST_REGISTERS)
            && self.shared_bytes.is_none_or(|n| n <= MOST_SHARED)
            && threads.is_none_or(|n| (1..=MOST_THREADS).contains(&n))
            && self.grid.is_none_or(|grid| !grid.contains(&0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_three_tracers() {
        let new = LaunchFacts::parse(
            "regs:9 static_shared:3 dynamic_shared:4 grid:1,2,3 block:4,5,6\nocc_pct:12.5",
        );
        assert_eq!((new.registers, new.shared_bytes, new.occupancy), (Some(9), Some(7), Some(0.125)));
        assert_eq!((new.grid, new.block), (Some([1, 2, 3]), Some([4, 5, 6])));
        let old = LaunchFacts::parse("regs:64 shm:16384 grid:132,1,1 block:256,1,1");
        assert_eq!((old.shared_bytes, old.occupancy), (Some(16384), None));
        let amd = LaunchFacts::parse("grid:4,64,1 block:256,1,1 private_mem:0 group_mem:8704 occ_pct:0");
        assert_eq!((amd.registers, amd.shared_bytes, amd.occupancy), (None, Some(8704), None));
    }

    #[test]
    fn memory_that_nobody_set_is_no_launch() {
        // As a T4's tracer wrote it.
        let facts = LaunchFacts::parse(
            "regs:832915264 shm:139955288261360 grid:97181648,463500656,97181568 block:139955271957024,0,139955271981222",
        );
        assert_eq!(facts, LaunchFacts { is_nonsense: true, ..LaunchFacts::default() });
        assert_eq!(LaunchFacts::parse("grid:1,1 block:a,b,c regs: x"), LaunchFacts::default());
        assert_eq!(LaunchFacts::parse(""), LaunchFacts::default());
    }
}
