//! What is known of the chips that kernels are compiled for.

use haloscope_llo::Chip;
use haloscope_profile::chips;

/// FLOPs that the matrix units of one core do in a bundle that uses all of them, in bf16. Counted from compiled products: those of a
/// product over its matrix use, times the capacity of a bundle, is the same in every product of one chip.
#[must_use]
pub fn flops_a_bundle(chip: Chip) -> f64 {
    match chip {
        Chip::V4 | Chip::V5e | Chip::V5p => 131_072.0,
        Chip::V6e | Chip::V7x => 524_288.0,
    }
}

/// TensorCores that share the FLOP rate in the chip's data sheet.
fn cores(chip: Chip) -> f64 {
    if matches!(chip, Chip::V4 | Chip::V5p) { 2.0 } else { 1.0 }
}

/// The core's clock in Hz: the data sheet's FLOP/s of a core over [`flops_a_bundle`], a bundle a cycle.
#[must_use]
pub fn clock_hz(chip: Chip) -> Option<f64> {
    let short = chip.name().rsplit(' ').next()?;
    Some(chips::tpu(short)?.bf16_flops / cores(chip) / flops_a_bundle(chip))
}

/// VMEM that a kernel may have where nobody raises the limit, in bytes: what libtpu 0.0.52 says in its refusals. Of other chips nobody
/// has seen one.
#[must_use]
pub fn vmem_limit_bytes(chip: Chip) -> Option<u64> {
    match chip {
        Chip::V5e => Some(16 << 20),
        Chip::V6e => Some(32 << 20),
        Chip::V4 | Chip::V5p | Chip::V7x => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_follow_from_data_sheets() {
        let gigahertz = |chip| (clock_hz(chip).unwrap() / 1e7).round() / 100.0;
        // TPU v4: 1.05 GHz in Jouppi et al., ISCA 2023, table 4.
        assert_eq!((gigahertz(Chip::V4), gigahertz(Chip::V5e), gigahertz(Chip::V5p)), (1.05, 1.5, 1.75));
        assert_eq!((gigahertz(Chip::V6e), gigahertz(Chip::V7x)), (1.75, 2.2));
    }

    #[test]
    fn a_limit_that_nobody_saw_is_unknown() {
        assert_eq!((vmem_limit_bytes(Chip::V6e), vmem_limit_bytes(Chip::V7x)), (Some(33_554_432), None));
    }
}
