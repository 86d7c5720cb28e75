//! Which stages may run beside which: so that every core has work, and nothing that is timed is disturbed.

/// What a stage takes of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// Cargo, which makes work for every core it is given. One at a time: it locks its folder.
    Compiler,
    /// Keeps about a core busy: Python, Node, a browser.
    Busy,
    /// Downloads, or waits most of the time, and does not mind that the machine is busy.
    Light,
    /// Waits most of the time, but for something that must come in time: beside its like, beside nothing busy.
    Timed,
    /// Measures how quick something is, or needs every core: beside nothing.
    Alone,
}

/// So many stages that only wait may run at a time.
const WAITING: usize = 6;

impl Lane {
    /// The word for it in lists.
    pub(super) fn word(self) -> &'static str {
        match self {
            Lane::Compiler => "compiler",
            Lane::Busy => "busy",
            Lane::Light => "light",
            Lane::Timed => "timed",
            Lane::Alone => "alone",
        }
    }

    fn is_heavy(self) -> bool {
        matches!(self, Lane::Compiler | Lane::Busy)
    }

    /// Whether a stage of this lane may start beside those that run, on a machine of so many cores.
    pub(super) fn may_start(self, running: &[Lane], cores: usize) -> bool {
        let count = |lane: Lane| running.iter().filter(|other| **other == lane).count();
        if self == Lane::Alone || count(Lane::Alone) > 0 {
            return running.is_empty();
        }
        match self {
            Lane::Compiler => count(Lane::Compiler) == 0 && count(Lane::Timed) == 0,
            Lane::Busy => {
                count(Lane::Timed) == 0 && count(Lane::Busy) < busy(count(Lane::Compiler) > 0, cores)
            }
            Lane::Light => count(Lane::Light) < WAITING,
            Lane::Timed => !running.iter().any(|lane| lane.is_heavy()) && count(Lane::Timed) <= cores,
            Lane::Alone => false,
        }
    }
}

/// How many busy stages run at a time. A compiler leaves them half of the cores.
fn busy(is_compiling: bool, cores: usize) -> usize {
    if is_compiling { (cores / 2).max(1) } else { cores.max(1) }
}

/// How many jobs Cargo may run at a time: all, as the stages beside it wait for their own programs now and then.
pub(super) fn jobs(cores: usize) -> usize {
    cores.max(1)
}

#[cfg(test)]
mod tests {
    use super::Lane::{Alone, Busy, Compiler, Light, Timed};

    #[test]
    fn what_measures_runs_alone() {
        assert!(Alone.may_start(&[], 4));
        for other in [Compiler, Busy, Light, Timed, Alone] {
            assert!(!Alone.may_start(&[other], 4), "{other:?}");
            assert!(!other.may_start(&[Alone], 4), "{other:?}");
        }
    }

    #[test]
    fn what_must_come_in_time_runs_beside_its_like_only() {
        assert!(Timed.may_start(&[Timed, Timed, Light], 2));
        assert!(!Timed.may_start(&[Timed; 3], 2));
        assert!(!Timed.may_start(&[Busy], 64));
        assert!(!Timed.may_start(&[Compiler], 64));
        assert!(!Busy.may_start(&[Timed], 64));
        assert!(!Compiler.may_start(&[Timed], 64));
    }

    #[test]
    fn a_compiler_leaves_half_of_the_cores() {
        assert!(!Compiler.may_start(&[Compiler], 64));
        assert!(Busy.may_start(&[Compiler, Busy], 4));
        assert!(!Busy.may_start(&[Compiler, Busy, Busy], 4));
        assert!(Busy.may_start(&[Busy, Busy, Busy, Light], 4));
        assert!(!Busy.may_start(&[Busy; 4], 4));
        assert!(Busy.may_start(&[Compiler], 1));
        assert!(!Busy.may_start(&[Busy], 1));
    }
}
