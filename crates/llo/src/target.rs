//! What a module was compiled for.

use std::borrow::Cow;

/// `TargetArguments`: the chip and how many of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target<'a> {
    /// How many replicas the program has.
    pub replica_count: i64,
    /// Bytes of HBM that are set aside.
    pub reserved_hbm_bytes: i64,
    /// The number that names the chip: see [`Target::chip`].
    pub chip_number: i64,
    /// The chip's variant, such as `lite`.
    pub variant: Cow<'a, str>,
    /// Number of the platform.
    pub platform_type: i64,
    /// Name of the chip's configuration.
    pub chip_config_name: Cow<'a, str>,
    /// Chips of a host along x, y, z.
    pub chips_per_host: [i64; 3],
    /// Hosts along x, y, z.
    pub hosts: [i64; 3],
    /// `enhanced_barrier_enabled`.
    pub enhanced_barrier: bool,
}

/// A generation of TPUs that compiles to LLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Chip {
    /// TPU v4.
    V4,
    /// TPU v5e.
    V5e,
    /// TPU v5p.
    V5p,
    /// TPU v6e.
    V6e,
    /// TPU v7x.
    V7x,
}

impl Chip {
    /// The name that people use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V4 => "TPU v4",
            Self::V5e => "TPU v5e",
            Self::V5p => "TPU v5p",
            Self::V6e => "TPU v6e",
            Self::V7x => "TPU v7x",
        }
    }

    /// Vector registers of a core: 32 on v4, 64 on the others. Registers are numbered without gaps, and no compiled kernel of the
    /// corpus of 118 modules uses one beyond these.
    #[must_use]
    pub fn vector_registers(self) -> u32 {
        if self == Self::V4 { 32 } else { 64 }
    }
}

impl Target<'_> {
    /// The chip, where its number is one that was seen.
    #[must_use]
    pub fn chip(&self) -> Option<Chip> {
        match (self.chip_number, self.variant.as_ref()) {
            (3, _) => Some(Chip::V4),
            (4, "lite") => Some(Chip::V5e),
            (4, _) => Some(Chip::V5p),
            (5, _) => Some(Chip::V6e),
            (6, _) => Some(Chip::V7x),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variant_tells_v5e_from_v5p() {
        let chip = |chip_number, variant: &'static str| {
            Target { chip_number, variant: variant.into(), ..Target::default() }.chip()
        };
        assert_eq!((chip(4, "lite"), chip(4, "")), (Some(Chip::V5e), Some(Chip::V5p)));
        assert_eq!(
            (chip(3, ""), chip(5, ""), chip(6, "")),
            (Some(Chip::V4), Some(Chip::V6e), Some(Chip::V7x))
        );
        assert_eq!((chip(0, ""), chip(7, "lite")), (None, None));
    }
}
