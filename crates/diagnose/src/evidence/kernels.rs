//! TPU kernels whose LLO the run carries: what their schedules show.

use haloscope_kernel::carried;
use haloscope_kernel::facts::Facts;

use super::Evidence;

/// The kernels of a run, those with the most time first, else those with the most modelled time.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    pub all: Vec<Facts>,
    /// Why some could not be read.
    pub unread: Vec<String>,
    /// Whether any op carries its LLO.
    pub carried: bool,
}

impl Evidence<'_> {
    /// The kernels of the scope that carry their LLO.
    pub(crate) fn kernels(&self) -> &Kernels {
        self.kernels.get_or_init(|| {
            let mut found = Kernels { carried: carried::any(self.profile), ..Kernels::default() };
            if !found.carried {
                return found;
            }
            for kernel in haloscope_kernel::named(self.asked, "") {
                match kernel {
                    Ok(kernel) => found.all.push(Facts::of(self.profile, &kernel)),
                    Err(why) => found.unread.push(why.to_string()),
                }
            }
            let modelled = |kernel: &Facts| kernel.modelled_ps.unwrap_or(kernel.bundles as f64);
            found.all.sort_by(|a, b| {
                (b.total_ps.cmp(&a.total_ps))
                    .then(modelled(b).total_cmp(&modelled(a)))
                    .then(a.name.cmp(&b.name))
            });
            found
        })
    }

    /// Whether the run says when anything ran.
    pub(crate) fn is_timed(&self) -> bool {
        !self.selection.devices.is_empty()
    }

    /// The share of the active window that a kernel takes; `None` without its time.
    pub(crate) fn kernel_share(&self, kernel: &Facts) -> Option<f64> {
        kernel.total_ps.filter(|_| self.is_timed()).map(|total_ps| self.of_active(total_ps as f64))
    }
}
