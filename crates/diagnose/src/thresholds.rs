//! The numbers that rules compare with: good, warning and bad, and where each comes from.

use haloscope_report::units;
use haloscope_report::{Table, Unit, row};

/// Two limits: on one side of the first all is well, on the other side of the second it is bad.
#[derive(Debug)]
pub(super) struct Threshold {
    /// Stable id.
    pub id: &'static str,
    /// The number that is compared.
    pub of: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Up to here (down to here, where more is better) it is good.
    pub good: f64,
    /// From here on it is bad; between the two it is worth a look.
    pub bad: f64,
    /// Who says so.
    pub source: &'static str,
}

/// Which side of the limits a number is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grade {
    Good,
    Warning,
    Bad,
}

/// Used by many who tune such programs for a living.
const PRACTICE: &str = "practice of the field";
/// A choice made here, so that small effects stay quiet.
const OURS: &str = "this project";

/// XProf 2.24's input pipeline analyser and suggestion rules.
const XPROF: &str = "XProf";

macro_rules! thresholds {
    ($($name:ident: $id:literal, $of:literal, $unit:ident, $good:literal, $bad:literal, $source:expr;)*) => {
        $(pub(super) static $name: Threshold = Threshold {
            id: $id, of: $of, unit: Unit::$unit, good: $good, bad: $bad, source: $source,
        };)*
        /// All of them, in the order of the table.
        pub(super) static ALL: &[&Threshold] = &[$(&$name),*];
    };
}

// Add a line for each number a rule compares with; keep them sorted by subject.
thresholds! {
    WORTH_A_WARNING: "worth_a_warning", "share of the active window that a cause costs", Share, 0.05, 0.5, OURS;
    FAULT: "fault", "share of the active window that a fault must cost to rank before the costs of the program's design", Share, 0.01, 0.10, OURS;
    GAP: "gap", "time that neither FLOPs nor bytes explain, of the time of an op or program", Share, 0.10, 0.30, PRACTICE;
    OP_WORTH: "op_worth", "share of the active window that one op could save, for it to be named", Share, 0.01, 0.05, OURS;
    DATA_FORMATTING: "data_formatting", "share of the active window in copies and changes of layout", Share, 0.05, 0.10, PRACTICE;
    EXPOSED_COMMUNICATION: "exposed_communication", "share of the active window in collectives that nothing hides", Share, 0.05, 0.20, OURS;
    EXPOSED_COPIES: "exposed_copies", "share of the active window that waits for copies cost beyond what bandwidth explains", Share, 0.05, 0.20, OURS;
    SMALL_OPS: "small_ops", "share of the ops' time in executions of under 10 us", Share, 0.30, 0.60, OURS;
    START_COST: "start_cost", "share of the active window that starting ops takes", Share, 0.05, 0.20, OURS;
    KERNEL_WAIT: "kernel_wait", "time in which kernels wait for blocks over the time in which they compute", Ratio, 0.30, 1.0, PRACTICE;
    SPILL_COST: "spill_cost", "bundles that spills add to a kernel's schedule, of its length without", Share, 0.02, 0.10, OURS;
    LOADS: "loads", "bundles that vector loads need, of the hot loop of a kernel whose products need fewer", Share, 0.60, 0.80, OURS;
    RELAYOUTS: "relayouts", "bundles that move values across lanes, of those of a kernel's hot loop that work on vectors", Share, 0.40, 0.60, OURS;
    COPIES: "copies", "the least time of a kernel's copies over the most that its schedule takes", Ratio, 1.1, 1.5, OURS;
    STEP_OVERHEAD: "step_overhead", "bundles in which no vector or matrix unit works, of the hot loop of a kernel whose blocks can grow", Share, 0.50, 0.75, OURS;
    EMPTY_BUNDLES: "empty_bundles", "bundles that use no unit, of a kernel's hot loop", Share, 0.30, 0.60, OURS;
    MXU_FILL: "mxu_fill", "what a kernel's products fill of matrix units by k and n", Share, 0.90, 0.50, PRACTICE;
    DOMINANT: "dominant", "share of the ops' time that one op has", Share, 0.25, 0.50, PRACTICE;
    SLOW_STEPS: "slow_steps", "time of a step beyond the median step, of the median; and four robust deviations", Share, 0.05, 0.25, OURS;
    SLOWER_STEPS: "slower_steps", "extra time of steps at a worse level than the best lasting one, of the active window", Share, 0.005, 0.10, OURS;
    STALLS: "stalls", "extra time of steps that take longer every so often, of the active window", Share, 0.005, 0.10, OURS;
    INPUT: "input", "share of the active window in which devices wait for input", Share, 0.05, 0.20, XPROF;
    HOST_CAUSE: "host_cause", "share of the active window in which devices have no program for one reason on the host", Share, 0.02, 0.10, OURS;
    SMALL_PROGRAMS: "small_programs", "share of the active window without a program while the host launches programs of a few ops each", Share, 0.10, 0.50, OURS;
    HOST_TRANSFER: "host_transfer", "share of the active window in copies to and from the host that nothing hides", Share, 0.05, 0.20, OURS;
    BARRIER: "barrier", "share of the active window in barriers between cores", Share, 0.05, 0.10, XPROF;
    DEBUG: "debug", "share of the active window in callbacks from the device; XProf's DebugPrintRule has 5%", Share, 0.01, 0.05, XPROF;
    EXP: "exp", "share of the active window in ops limited by exponentials", Share, 0.10, 0.30, PRACTICE;
    NEAR_ROOF: "near_roof", "share of the active window in ops at 70% of a roof or more", Share, 0.10, 0.50, OURS;
    BELOW_USUAL: "below_usual", "the rate that all ops with one limit reach, of the lowest usual rate on the chip", Share, 0.90, 0.70, OURS;
    UNKNOWN_FLOPS: "unknown_flops", "share of the active window in kernels without a FLOP count", Share, 0.05, 0.30, OURS;
    MFU: "mfu", "FLOPs over peak, of the active window", Share, 0.50, 0.30, PRACTICE;
    WIDE_PRECISION: "wide_precision", "share of the active window in products of 32-bit operands (not on CPUs) and in ops of 64-bit floats", Share, 0.05, 0.30, OURS;
    ONE_HOT: "one_hot", "share of the active window in products with a one-hot operand", Share, 0.02, 0.20, OURS;
    WHOLE_SORT: "whole_sort", "share of the active window in sorts of which a few values are used", Share, 0.02, 0.20, OURS;
    PADDING: "padding", "share of the active window that ops limited by the matrix unit or HBM spend on padding", Share, 0.05, 0.20, OURS;
    EXPERTS: "experts", "share of the active window in which devices wait for the one whose experts have the most to do", Share, 0.01, 0.10, OURS;
    DONATION: "donation", "bytes of inputs that an output could take over, of the device's memory", Share, 0.02, 0.10, OURS;
    MEMORY_FULL: "memory_full", "bytes in use at the peak, of the device's memory", Share, 0.90, 1.0, PRACTICE;
    REDUCE: "reduce", "share of the active window in reductions", Share, 0.10, 0.30, PRACTICE;
    RECOMPUTATION: "recomputation", "share of the active window in ops that compute the forward pass again", Share, 0.05, 0.25, OURS;
    RANDOM_NUMBERS: "random_numbers", "share of the active window in ops that draw random numbers", Share, 0.10, 0.30, OURS;
    CONSTANT_WORK: "constant_work", "share of the active window in functions of constants that each execution computes again", Share, 0.05, 0.20, OURS;
    PERIODIC_PROGRAM: "periodic_program", "share of the active window in programs that run every so many steps", Share, 0.05, 0.20, OURS;
    UNREAD: "unread", "share of the active window in values that nobody reads", Share, 0.05, 0.20, OURS;
    FFT_LENGTH: "fft_length", "share of the active window in Fourier transforms of lengths with a large prime factor", Share, 0.05, 0.20, OURS;
    PRODUCT_ORDER: "product_order", "share of the active window in products that another order of multiplication would not need", Share, 0.05, 0.20, OURS;
    SLOW_ORIENTATION: "slow_orientation", "share of the active window that products on a CPU lose to others of their shape", Share, 0.05, 0.20, OURS;
    REPEATED_PROGRAMS: "repeated_programs", "share of the active window in programs whose products another program computes too", Share, 0.05, 0.20, OURS;
    REPEATED_VALUES: "repeated_values", "share of the active window in ops that only repeat a value", Share, 0.05, 0.20, OURS;
    GROUPED_CONVOLUTION: "grouped_convolution", "share of the active window that convolutions in groups on a CPU lose to the fastest product of the run", Share, 0.10, 0.30, OURS;
    SMALL_LOOP: "small_loop", "share of the active window in ops of under 2 us inside of loops on a CPU", Share, 0.25, 0.50, OURS;
    UNJUDGED_OPS: "unjudged_ops", "share of the active window in ops of a CPU, whose peaks are not known", Share, 0.50, 0.90, OURS;
    SPARSE_CORE: "sparse_core", "share of the active window in synchronous collectives while SparseCores idle", Share, 0.05, 0.20, OURS;
    UNFUSED: "unfused", "share of the active window that passing one value through memory takes", Share, 0.02, 0.10, OURS;
    BUBBLE: "bubble", "time of a step in which no op runs", Share, 0.05, 0.10, PRACTICE;
    CPU_GAP: "cpu_gap", "share of the active window in which a CPU runs no program or no op of one, for no reason that has a rule", Share, 0.10, 0.30, OURS;
    COLD_WAITS: "cold_waits", "share of the active window in which a CPU has no program for one reason, for its programs to be slower behind it", Share, 0.10, 0.50, OURS;
    INTERRUPTIONS: "interruptions", "share of the active window in which the traced loop of a CPU calls nothing, or waits for a result that is there, beyond what is usual between these programs", Share, 0.01, 0.10, OURS;
    OVERLAP: "overlap", "asynchronous work that runs behind compute", Share, 0.90, 0.70, PRACTICE;
    STEADY_COPIES: "steady_copies", "time in copies and layout changes", Share, 0.01, 0.05, PRACTICE;
    HIGH_UTILISATION: "high_utilisation", "rate of the peak, of FLOPs or of HBM bytes", Share, 0.60, 0.30, OURS;
}

impl Threshold {
    /// True where more is better: the good limit lies above the bad one.
    fn more_is_better(&self) -> bool {
        self.good > self.bad
    }

    /// Which side a number is on.
    pub(super) fn grade(&self, number: f64) -> Grade {
        let (number, good, bad) = if self.more_is_better() {
            (-number, -self.good, -self.bad)
        } else {
            (number, self.good, self.bad)
        };
        if number <= good {
            Grade::Good
        } else if number < bad {
            Grade::Warning
        } else {
            Grade::Bad
        }
    }

    /// All thresholds as a table.
    pub(super) fn table() -> Table {
        let mut rows = Vec::new();
        for one in ALL {
            let good =
                format!("{} {}", if one.more_is_better() { "from" } else { "to" }, one.number(one.good));
            let bad = format!("{} {}", if one.more_is_better() { "to" } else { "from" }, one.number(one.bad));
            let row = row![
                text("threshold", "Threshold", "Its name.", one.id.replace('_', " ")),
                prose("of", "Of", "The number that is compared.", one.of),
                text("good", "Good", "Up to here, or down to here where more is better.", good),
                text("bad", "Bad", "From here on; between the two it is worth a look.", bad),
                text(
                    "source",
                    "Source",
                    "Where the threshold comes from: practice of the field, XProf, or this project.",
                    one.source
                ),
            ];
            rows.push(row);
        }
        Table::of("thresholds", "Thresholds", rows)
    }

    fn number(&self, v: f64) -> String {
        match self.unit {
            Unit::Share => units::share(v),
            Unit::Ps => units::duration_ps(v),
            Unit::Bytes => units::bytes(v),
            _ => units::number(v),
        }
    }

    /// The limits in words: `good up to 5.0%, bad from 10.0%`.
    pub(super) fn words(&self) -> String {
        let to = if self.more_is_better() { "down to" } else { "up to" };
        format!("good {to} {}, bad from {}", self.number(self.good), self.number(self.bad))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_lie_on_both_sides_of_the_limits() {
        assert_eq!([0.05, 0.07, 0.1].map(|v| BUBBLE.grade(v)), [Grade::Good, Grade::Warning, Grade::Bad]);
        let more = Threshold {
            good: 0.7,
            bad: 0.3,
            ..Threshold { id: "", of: "", unit: Unit::Share, good: 0.0, bad: 0.0, source: "" }
        };
        assert_eq!([0.8, 0.5, 0.3].map(|v| more.grade(v)), [Grade::Good, Grade::Warning, Grade::Bad]);
        assert_eq!(BUBBLE.words(), "good up to 5.0%, bad from 10.0%");
    }

    #[test]
    fn ids_are_there_once() {
        let mut ids: Vec<_> = ALL.iter().map(|t| t.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len());
    }
}
