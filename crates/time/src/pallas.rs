//! FLOPs and bytes of Pallas kernels: those of their Mosaic module stand in place of what the profiler states, which counts each
//! instruction of the code once, however often it runs.

use std::sync::Arc;

use haloscope_hlo::KernelCost;
use haloscope_hlo::mosaic::Range;

/// What a kernel's module says of it, and what the profiler does.
#[derive(Debug, Clone)]
pub struct Pallas {
    /// What one execution does.
    pub cost: Arc<KernelCost>,
    /// What the profiler states.
    pub stated: Stated,
}

/// What a profiler states of one execution of an op.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stated {
    /// FLOPs as counted for the device.
    pub flops: Option<f64>,
    /// FLOPs of the operation as written.
    pub model_flops: Option<f64>,
    /// Bytes, all memories.
    pub bytes: Option<f64>,
}

/// How a number follows from a kernel's module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It is exact.
    Exact,
    /// It is an upper bound.
    AtMost,
    /// It is a lower bound.
    AtLeast,
    /// The module does not say: the number is the profiler's, where it has one.
    Stated,
}

impl Bound {
    fn of(range: Range) -> Self {
        match (range.value(), range.at_most, range.at_least) {
            (Some(_), ..) => Self::Exact,
            (None, Some(_), _) => Self::AtMost,
            (None, None, 1..) => Self::AtLeast,
            (None, None, 0) => Self::Stated,
        }
    }
}

impl Pallas {
    /// How the op's FLOPs follow from the module.
    #[must_use]
    pub fn flops(&self) -> Bound {
        Bound::of(self.cost.flops)
    }

    /// How the FLOPs follow from the module, in words, with the reasons of what is not exact.
    #[must_use]
    pub fn words(&self) -> String {
        let reasons: Vec<String> = self.cost.reasons.iter().map(ToString::to_string).collect();
        let least = self.cost.flops.at_least;
        let bound = match self.flops() {
            Bound::Exact if reasons.is_empty() => return "derived: exact".to_owned(),
            Bound::Exact => "derived: exact; bytes are a bound".to_owned(),
            Bound::AtMost => format!("derived: at most, and at least {least} an execution"),
            Bound::AtLeast => "derived: at least".to_owned(),
            Bound::Stated => "stated by the profiler, or unknown: the module does not say".to_owned(),
        };
        if reasons.is_empty() { bound } else { format!("{bound} ({})", reasons.join("; ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haloscope_hlo::mosaic::Reason;

    fn kernel(flops: Range, reasons: Vec<Reason>) -> Pallas {
        let none = Range::ZERO;
        let cost = KernelCost {
            flops,
            vectors: none,
            transcendentals: none,
            bytes: none,
            hbm_bytes: none,
            steps: Some(1),
            reasons,
        };
        Pallas { cost: Arc::new(cost), stated: Stated::default() }
    }

    #[test]
    fn bounds_are_said_with_their_reasons() {
        assert_eq!(kernel(Range::exact(4), Vec::new()).words(), "derived: exact");
        let gated = kernel(Range { at_least: 2, at_most: Some(4) }, vec![Reason::DataBranch]);
        assert_eq!(gated.flops(), Bound::AtMost);
        assert_eq!(
            gated.words(),
            "derived: at most, and at least 2 an execution (a branch around work hangs on data)"
        );
        let open = Range { at_least: 2, at_most: None };
        assert_eq!(kernel(open, vec![Reason::DataTrips]).flops(), Bound::AtLeast);
        assert_eq!(kernel(Range::UNKNOWN, vec![Reason::DataTrips]).flops(), Bound::Stated);
    }
}
