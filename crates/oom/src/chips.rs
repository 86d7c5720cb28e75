//! How much memory a TPU has for programs, by generation.
//!
//! Each number is what libtpu 0.0.52 said of a program that did not fit, compiled without a device for a described topology: the
//! limit of HBM, of all VMEM, of scoped VMEM by default. A device is what JAX calls one: of v4 one of a chip's two cores.

/// What a program can get on a device of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chip {
    /// Its name in consoles and topologies.
    pub name: &'static str,
    /// HBM in bytes, as the compiler rounds it.
    pub hbm_bytes: i64,
    /// All of VMEM in bytes.
    pub vmem_bytes: i64,
    /// The part of VMEM that one instruction's stack may take where nobody asks for more.
    pub scoped_vmem_bytes: i64,
    /// Names by which texts call it, in lower case.
    names: &'static [&'static str],
}

const MIB: i64 = 1 << 20;
/// Hundredths of a GiB, as compilers write sizes.
const fn gib(hundredths: i64) -> i64 {
    (hundredths << 30) / 100
}

/// The generations known.
pub const CHIPS: &[Chip] = &[
    Chip {
        name: "v4",
        hbm_bytes: gib(1525),
        vmem_bytes: 16 * MIB,
        scoped_vmem_bytes: 16 * MIB,
        names: &["tpu v4", "v4-", "v4:", "viperfish_v4", "tpuv4"],
    },
    Chip {
        name: "v5e",
        hbm_bytes: gib(1575),
        vmem_bytes: 128 * MIB,
        scoped_vmem_bytes: 16 * MIB,
        names: &["tpu v5 lite", "v5litepod", "v5e-", "v5e:", "tpu v5e", "viperlite"],
    },
    Chip {
        name: "v5p",
        hbm_bytes: gib(9573),
        vmem_bytes: 64 * MIB,
        scoped_vmem_bytes: 16 * MIB,
        names: &["tpu v5p", "v5p-", "v5p:"],
    },
    Chip {
        name: "v6e",
        hbm_bytes: gib(3124),
        vmem_bytes: 127 * MIB + 15 * MIB / 16,
        scoped_vmem_bytes: 32 * MIB,
        names: &["tpu v6 lite", "v6e-", "v6e:", "tpu v6e", "ghostlite"],
    },
    Chip {
        name: "v7x",
        hbm_bytes: gib(9474),
        vmem_bytes: 63 * MIB + 15 * MIB / 16,
        scoped_vmem_bytes: 32 * MIB,
        names: &["tpu7x", "tpu v7", "v7x-", "v7x:"],
    },
];

/// The generation with this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.name.eq_ignore_ascii_case(name.trim()))
}

/// The generations that a limit can be of: a size that differs from theirs by less than a hundredth.
fn by(limit: i64, of: impl Fn(&Chip) -> i64) -> Vec<&'static Chip> {
    let is_near = |own: i64| (own.saturating_sub(limit)).unsigned_abs() < own.unsigned_abs() / 100;
    CHIPS.iter().filter(|chip| is_near(of(chip))).collect()
}

/// The generations that a message can be of: the one that the text names, else those whose limit it states. None where nothing
/// fits, as with a limit that a flag set.
#[must_use]
pub fn candidates(text: &str, space: &str, is_scoped: bool, limit: Option<i64>) -> Vec<&'static Chip> {
    let lower = text.to_ascii_lowercase();
    let is_named = |chip: &&Chip| chip.names.iter().any(|name| lower.contains(name));
    let named: Vec<&'static Chip> = CHIPS.iter().filter(is_named).collect();
    let limit = limit.unwrap_or(-1);
    let stated = match space {
        "hbm" => by(limit, |chip| chip.hbm_bytes),
        // Where all of VMEM is scoped, the message is of all of it.
        "vmem" if is_scoped => {
            let mut own = by(limit, |chip| chip.scoped_vmem_bytes);
            own.retain(|chip| chip.scoped_vmem_bytes < chip.vmem_bytes);
            own
        }
        "vmem" => by(limit, |chip| chip.vmem_bytes),
        _ => Vec::new(),
    };
    let both: Vec<_> = named.iter().copied().filter(|chip| stated.contains(chip)).collect();
    if both.len() == 1 {
        both
    } else if named.len() == 1 {
        named
    } else {
        stated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(chips: Vec<&Chip>) -> Vec<&str> {
        chips.into_iter().map(|chip| chip.name).collect()
    }

    #[test]
    fn a_limit_or_a_name_tells_the_chip() {
        assert_eq!(names(candidates("", "hbm", false, Some(16_911_433_728))), ["v5e"]);
        assert_eq!(names(candidates("", "hbm", false, Some(33_554_432_000))), ["v6e"]);
        assert_eq!(names(candidates("", "vmem", true, Some(16 << 20))), ["v5e", "v5p"]);
        assert_eq!(names(candidates("device TPU v5 lite", "vmem", true, Some(16 << 20))), ["v5e"]);
        assert_eq!(names(candidates("on a v6e-8 slice", "vmem", true, Some(16 << 10))), ["v6e"]);
        assert!(candidates("", "vmem", true, Some(16 << 10)).is_empty());
        assert!(candidates("", "sflag", false, Some(2048)).is_empty());
        assert_eq!(named("V7X").map(|chip| chip.scoped_vmem_bytes), Some(32 << 20));
    }
}
