//! The ops with which a device turns to its host: callbacks, transfers between slices, copies to the host's memory.

use super::Evidence;
use super::host_events::CALLBACKS;
use haloscope_profile::Device;
use haloscope_time::account::Class;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::ops::Op;
use haloscope_time::transfers;

/// What an op is for that turns to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Callback,
    /// Between slices, over the hosts' network.
    Slices,
    Offload,
}

impl<'p> Evidence<'p> {
    /// Ops that call a function on the host.
    pub(crate) fn callbacks(&self) -> Vec<&Op<'p>> {
        self.turning(Turn::Callback)
    }

    /// The time in ops that call a function on the host, by device, picoseconds; in the order of the selection.
    pub(crate) fn callback_times(&self) -> Vec<f64> {
        let of_device = |(position, device): (usize, &&Device)| {
            let rows = DeviceOps::find(self.profile, device);
            let is_one: Vec<bool> =
                rows.ops.iter().map(|(meta, _)| turn(meta, false) == Some(Turn::Callback)).collect();
            let mut sum = 0.0;
            if is_one.contains(&true) {
                rows.walk(self.profile, self.selection.window(position), |row, _, self_ps| {
                    sum += if is_one.get(row) == Some(&true) { self_ps as f64 } else { 0.0 };
                });
            }
            sum
        };
        self.selection.devices.iter().enumerate().map(of_device).collect()
    }

    /// What the ops that do not call the host take beyond the fastest execution of each, picoseconds, summed over devices. On a CPU
    /// ops run on cold caches and at a lower clock after a pause, and without the pause as fast as the fastest do at most.
    pub(crate) fn beside_callbacks_beyond_fastest_ps(&self) -> f64 {
        let of_device = |(position, device): (usize, &&Device)| {
            let rows = DeviceOps::find(self.profile, device);
            // Of each op: its executions, their time, the fastest.
            let mut seen = vec![(0.0_f64, 0.0_f64, f64::INFINITY); rows.ops.len()];
            rows.walk(self.profile, self.selection.window(position), |row, _, self_ps| {
                if let Some((count, sum, least)) = seen.get_mut(row) {
                    *count += 1.0;
                    *sum += self_ps as f64;
                    *least = least.min(self_ps as f64);
                }
            });
            let other = rows.ops.iter().map(|(meta, _)| turn(meta, false) != Some(Turn::Callback));
            let beyond = seen.iter().zip(other).filter(|((count, ..), is_other)| *is_other && *count > 0.0);
            beyond.map(|((count, sum, least), _)| (sum - count * least).max(0.0)).sum::<f64>()
        };
        self.selection.devices.iter().enumerate().map(of_device).sum()
    }

    /// Sends and receives of a run over several slices.
    pub(crate) fn between_slices(&self) -> Vec<&Op<'p>> {
        self.turning(Turn::Slices)
    }

    /// All other transfers to and from the host.
    pub(crate) fn offloads(&self) -> Vec<&Op<'p>> {
        self.turning(Turn::Offload)
    }

    /// Which part of the self time of [`Class::HostTransfer`] is [`Evidence::offloads`].
    pub(crate) fn offloaded_share(&self) -> f64 {
        self.of_transfers(&self.offloads())
    }

    /// Which part of the self time of [`Class::HostTransfer`] these ops have.
    pub(crate) fn of_transfers(&self, ops: &[&Op<'p>]) -> f64 {
        let transfers = |op: &&Op<'p>| Class::of(&op.meta) == Class::HostTransfer;
        let all: f64 = self.ops().iter().filter(transfers).map(|op| op.self_ps as f64).sum();
        let own: f64 = ops.iter().copied().filter(transfers).map(|op| op.self_ps as f64).sum();
        if all > 0.0 { own / all } else { 0.0 }
    }

    fn turning(&self, wanted: Turn) -> Vec<&Op<'p>> {
        let mut hosts = self.selection.devices.iter().map(|device| device.host);
        let slices = hosts.any(|host| transfers::recorded(self.profile, host));
        self.ops().iter().filter(|op| turn(&op.meta, slices) == Some(wanted)).collect()
    }
}

/// `slices`: the run's hosts send messages between slices.
fn turn(op: &OpMeta<'_>, slices: bool) -> Option<Turn> {
    let names = [op.framework_op.as_ref(), op.expression.as_ref()];
    let calls = CALLBACKS.iter().any(|part| names.iter().any(|name| name.contains(part)));
    // A fusion's expression may name a scope that it merely took in.
    let can = !op.category.contains("fusion");
    match Class::of(op) {
        Class::HostTransfer | Class::Infeed | Class::Compute if calls && can => Some(Turn::Callback),
        // Sends and receives of the callback that do not say that they go to the host.
        Class::Communication if calls && is_transfer(&op.category) => Some(Turn::Callback),
        Class::HostTransfer if slices && op.category.starts_with("host ") => Some(Turn::Slices),
        Class::HostTransfer => Some(Turn::Offload),
        _ => None,
    }
}

fn is_transfer(category: &str) -> bool {
    matches!(category.strip_suffix("-done").unwrap_or(category), "send" | "recv")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_turn_to_the_host_for_one_thing() {
        let op = |category: &'static str, scope: &'static str| OpMeta {
            category: category.into(),
            framework_op: scope.into(),
            ..OpMeta::default()
        };
        assert_eq!(turn(&op("host send", "jit(f)/debug_callback"), true), Some(Turn::Callback));
        assert_eq!(turn(&op("host send", "jit(f)/psum"), true), Some(Turn::Slices));
        assert_eq!(turn(&op("host send", "jit(f)/put"), false), Some(Turn::Offload));
        assert_eq!(turn(&op("recv-done", "jit(f)/schedule/io_callback"), false), Some(Turn::Callback));
        assert_eq!(turn(&op("recv-done", "jit(f)/ppermute"), false), None);
        assert_eq!(turn(&op("all-reduce", "jit(f)/io_callback"), false), None);
        assert_eq!(turn(&op("custom-call", "jit(f)/pure_callback"), false), Some(Turn::Callback));
        assert_eq!(turn(&op("loop fusion", "jit(f)/pure_callback/mul"), false), None);
    }
}
