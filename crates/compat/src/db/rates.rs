//! Rates that an op reached, and which limit is nearest.

use haloscope_time::op_meta::Access;

use super::perf::bandwidth;
use super::{Hardware, PerfEnv, Row};

/// Bytes in a GiB over bytes in a GB.
const GIB: f64 = (1_u64 << 30) as f64;

/// `a / b`, 0 where `b` is.
#[must_use]
pub(crate) fn over(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

/// GiB/s from GB/s.
#[must_use]
pub(crate) fn gibi(giga_bytes: f64) -> f64 {
    giga_bytes * 1e9 / GIB
}

/// Microseconds from picoseconds.
#[must_use]
pub(crate) fn micros(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// A memory as an op used it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Memory {
    /// Bytes accessed.
    pub(crate) bytes: u64,
    /// GiB/s over the op's time.
    pub(crate) rate: f64,
    /// FLOPs per byte.
    pub(crate) intensity: f64,
}

/// What an op reached while it ran. Times are total ones: an op's FLOPs and bytes are also those of the ops inside.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rates {
    /// GFLOP/s as counted for the device.
    pub(crate) flops: f64,
    /// GFLOP/s as written in the model.
    pub(crate) model_flops: f64,
    /// All memories.
    pub(crate) memory: Memory,
    /// HBM, both ways.
    pub(crate) hbm: Memory,
    /// CMEM, read.
    pub(crate) cmem_read: Memory,
    /// CMEM, written.
    pub(crate) cmem_write: Memory,
    /// VMEM, read.
    pub(crate) vmem_read: Memory,
    /// VMEM, written.
    pub(crate) vmem_write: Memory,
    /// The resource whose use is nearest to its peak.
    pub(crate) bound_by: &'static str,
    /// FLOPs per byte of that resource; of all memories where it is compute.
    pub(crate) bottleneck_intensity: f64,
}

impl Rates {
    /// The rates of an op and the nearest of the limits that devices of this kind have.
    #[must_use]
    pub(crate) fn new(row: &Row<'_>, perf: &PerfEnv, hardware: Hardware) -> Self {
        let nanos = row.time_ps as f64 / 1e3;
        let memory = |bytes: u64| Memory {
            bytes,
            rate: gibi(over(bytes as f64, nanos)),
            intensity: over(row.flops, bytes as f64),
        };
        let within = |space, operation| memory(row.bytes_in(space, Some(operation)));
        let mut rates = Self {
            flops: over(row.flops, nanos),
            model_flops: over(row.model_flops, nanos),
            memory: memory(row.bytes),
            hbm: memory(row.hbm_bytes()),
            cmem_read: within(Access::CMEM, Access::READ),
            cmem_write: within(Access::CMEM, Access::WRITE),
            vmem_read: within(Access::VMEM, Access::READ),
            vmem_write: within(Access::VMEM, Access::WRITE),
            bound_by: "Unknown",
            bottleneck_intensity: 0.0,
        };
        rates.find_bound(perf, hardware);
        rates
    }

    fn find_bound(&mut self, perf: &PerfEnv, hardware: Hardware) {
        let peak = |index| gibi(perf.giga_bytes(index));
        let mut most = 0.0;
        let mut consider = |word: &'static str, rate: f64, peak: f64, intensity: f64| {
            let used = over(rate, peak);
            if used > most {
                most = used;
                (self.bound_by, self.bottleneck_intensity) = (word, intensity);
            }
        };
        consider("Compute", self.flops, perf.tera_flops * 1e3, self.memory.intensity);
        consider("HBM", self.hbm.rate, peak(bandwidth::HBM), self.hbm.intensity);
        match hardware {
            Hardware::Tpu => {
                for (word, memory, index) in [
                    ("CMEM Read", self.cmem_read, bandwidth::CMEM_READ),
                    ("CMEM Write", self.cmem_write, bandwidth::CMEM_WRITE),
                    ("VMEM Read", self.vmem_read, bandwidth::VMEM_READ),
                    ("VMEM Write", self.vmem_write, bandwidth::VMEM_WRITE),
                ] {
                    consider(word, memory.rate, peak(index), memory.intensity);
                }
            }
            // What goes to shared memory is not known: all traffic stands for it.
            Hardware::Gpu => {
                consider("Shm/L1", self.hbm.rate, peak(bandwidth::SRAM_WRITE), self.hbm.intensity);
            }
            Hardware::Cpu => {}
        }
    }
}
