//! Which device makes the others wait.

use super::Evidence;
use haloscope_report::units;
use haloscope_time::account::Class;
use haloscope_time::hosts::measure::{Measured, OfDevice};

impl<'p> Evidence<'p> {
    /// The steps by device and the test for stragglers, or why there is none.
    pub(crate) fn measured(&self) -> Result<&Measured<'p>, &str> {
        let measure = || {
            let steps = self.steps().clone();
            Measured::of(&self.selection, self.scope, steps, self.accounts())
                .map_err(|error| error.to_string())
        };
        self.measured.get_or_init(measure).as_ref().map_err(String::as_str)
    }

    /// The share of the active window that is lost to a straggler; `None` where there is none or nobody can tell.
    pub(crate) fn straggler_share(&self) -> Option<f64> {
        let measured = self.measured().ok()?;
        let standing = measured.straggler()?.standing?;
        Some(standing.cost_share * self.share_of_steps())
    }

    /// The share of the active window that devices spend in collectives only because one device comes late to all of them:
    /// what they communicate longer than the straggler itself does. `None` where there is none or nobody can tell.
    pub(crate) fn waiting_for_straggler(&self) -> Option<f64> {
        let measured = self.measured().ok()?;
        let communication =
            |device: &OfDevice<'_>| units::sum(device.counted().map(|step| step.communication_ps()));
        let least = communication(measured.straggler()?);
        let waits = measured.devices.iter().map(|device| (communication(device) - least).max(0));
        Some(self.of_active(units::sum(waits) as f64).min(self.share(Class::Communication)))
    }

    /// The share of the active window that lies in steps that count: a share of the steps' time times this is one of the
    /// window's.
    pub(crate) fn share_of_steps(&self) -> f64 {
        let Ok(measured) = self.measured() else { return 0.0 };
        let all = measured.devices.iter().flat_map(|d| d.counted());
        let inside: f64 = all.map(|step| step.duration_ps as f64).sum();
        self.of_active(inside).min(1.0)
    }
}
