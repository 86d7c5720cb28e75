//! What ops that one limit binds usually reach of it: figures that were published for a chip, and those of profiles.

/// What is usual of a data sheet's peak, as shares of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Usual {
    /// What ops of some size reach that nothing holds up.
    pub low: f64,
    /// What the best of them reach.
    pub high: f64,
    /// Who says so.
    pub source: &'static str,
}

/// What a generation of chips usually reaches.
struct Chip {
    /// `device_type_string` of the profile.
    type_name: &'static str,
    /// Fusions and copies of megabytes that stream through HBM.
    memory: Usual,
    /// Products whose matrices fill the matrix unit many times over.
    matrix: Usual,
}

/// Streams that are read and written once: what remains is the refresh of the memory and its turns from reading to writing.
const STREAMS: Usual = Usual { low: 0.80, high: 0.92, source: "practice of the field: 80 to 92% of HBM" };
/// The figures of JAX's guide to matrix products on a v5e, bfloat16: XLA reaches 84.3% of the peak for products of 4096 x 4096
/// x 4096 and 92.3% for 8192 x 8192 x 8192 (docs.jax.dev, Pallas, matrix multiplication).
const PRODUCTS: Usual =
    Usual { low: 0.80, high: 0.95, source: "JAX's guide to products on a v5e: 84.3% at 4096, 92.3% at 8192" };
/// No figures were published of these; their units are built alike.
const LIKE_V5E: Usual = Usual { source: "as on a v5e, for which JAX's guide has 84.3 to 92.3%", ..PRODUCTS };

/// The chips known.
const CHIPS: &[Chip] = &[
    Chip { type_name: "TPU v4", memory: STREAMS, matrix: LIKE_V5E },
    Chip { type_name: "TPU v5 Lite", memory: STREAMS, matrix: PRODUCTS },
    Chip { type_name: "TPU v5", memory: STREAMS, matrix: LIKE_V5E },
    Chip { type_name: "TPU v5p", memory: STREAMS, matrix: LIKE_V5E },
    Chip { type_name: "TPU v6 Lite", memory: STREAMS, matrix: LIKE_V5E },
    Chip { type_name: "TPU v7x", memory: STREAMS, matrix: LIKE_V5E },
];

/// What memory-bound ops usually reach of a chip's HBM bandwidth; `None` of a chip that is not in the table.
pub(crate) fn memory(type_name: &str) -> Option<Usual> {
    find(type_name).map(|chip| chip.memory)
}

/// What large products usually reach of a chip's peak FLOP/s; `None` of a chip that is not in the table.
pub(crate) fn matrix(type_name: &str) -> Option<Usual> {
    find(type_name).map(|chip| chip.matrix)
}

fn find(type_name: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.type_name.eq_ignore_ascii_case(type_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_one_and_chips_are_there_once() {
        for chip in CHIPS {
            for usual in [chip.memory, chip.matrix] {
                assert!(0.5 < usual.low && usual.low < usual.high && usual.high < 1.0, "{}", chip.type_name);
            }
            assert_eq!(CHIPS.iter().filter(|other| other.type_name == chip.type_name).count(), 1);
        }
        assert_eq!(memory("TPU v6 Lite"), Some(STREAMS));
        assert_eq!(matrix("abacus"), None);
    }
}
