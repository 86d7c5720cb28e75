//! Columns of the table, of which a GPU's lacks some.

use crate::gviz::Kind;

/// Which devices have a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    All,
    /// Not GPUs.
    Tpu,
    /// GPUs too, where it has this heading.
    GpuAs(&'static str),
}

/// Key, type, heading and devices.
pub(super) const COLUMNS: &[(&str, Kind, &str, On)] = &[
    ("step", Kind::String, "Step", On::All),
    ("rank", Kind::Number, "Rank", On::All),
    ("category", Kind::String, "Category", On::All),
    ("operation", Kind::String, "Operation", On::All),
    ("occurrences", Kind::Number, "# Occurrences", On::All),
    ("total_time", Kind::Number, "Total Time (us)", On::All),
    ("avg_time", Kind::Number, "Avg. time (us)", On::All),
    ("total_self_time", Kind::Number, "Total self time (us)", On::All),
    ("avg_self_time", Kind::Number, "Avg. self time (us)", On::All),
    ("total_self_time_percent", Kind::Number, "Total self time (%)", On::All),
    ("cumulative_total_self_time_percent", Kind::Number, "Cumulative total self time (%)", On::All),
    ("dma_stall_percent", Kind::Number, "%time stalled by DMA", On::Tpu),
    ("measured_flop_rate", Kind::Number, "Normalized FLOP Rate (GFLOP/s)", On::All),
    ("model_flop_rate", Kind::Number, "Model FLOP Rate (GFLOP/s)", On::All),
    ("measured_memory_bw", Kind::Number, "Memory BW (GiB/s)", On::All),
    ("hbm_bw", Kind::Number, "HBM BW (GiB/s)", On::All),
    ("cmem_read_bw", Kind::Number, "CMEM Read BW (GiB/s)", On::Tpu),
    ("cmem_write_bw", Kind::Number, "CMEM Write BW (GiB/s)", On::Tpu),
    ("vmem_read_bw", Kind::Number, "VMEM Read BW (GiB/s)", On::Tpu),
    ("vmem_write_bw", Kind::Number, "VMEM Write BW (GiB/s)", On::GpuAs("SHM/L1 BW (GiB/s)")),
    ("operational_intensity", Kind::Number, "Operational Intensity (FLOP/Byte)", On::All),
    ("hbm_operational_intensity", Kind::Number, "HBM Operational Intensity (FLOP/Byte)", On::All),
    ("cmem_read_operational_intensity", Kind::Number, "CMEM Read Operational Intensity (FLOP/Byte)", On::Tpu),
    (
        "cmem_write_operational_intensity",
        Kind::Number,
        "CMEM Write Operational Intensity (FLOP/Byte)",
        On::Tpu,
    ),
    ("vmem_read_operational_intensity", Kind::Number, "VMEM Read Operational Intensity (FLOP/Byte)", On::Tpu),
    (
        "vmem_write_operational_intensity",
        Kind::Number,
        "VMEM Write Operational Intensity (FLOP/Byte)",
        On::GpuAs("SHM/L1 Operational Intensity (FLOP/Byte)"),
    ),
    (
        "bottleneck_operational_intensity",
        Kind::Number,
        "Bottleneck Operational Intensity (FLOP/Byte)",
        On::All,
    ),
    ("bound_by", Kind::String, "Bound by", On::All),
    ("total_time_per_core", Kind::Number, "Total Time per core (us)", On::All),
    ("total_time_in_percentage", Kind::Number, "Total Time (%)", On::All),
    ("optimal_flop_rate", Kind::Number, "Optimal FLOP Rate (GFLOP/s)", On::All),
    ("roofline_efficiency", Kind::Number, "Roofline efficiency (%)", On::All),
    ("compute_efficiency", Kind::Number, "FLOP Rate / Peak (%)", On::All),
    (
        "max_mem_bw_utilization",
        Kind::Number,
        "Max memory BW utilization (among supported memories) (%)",
        On::All,
    ),
    ("include_infeed_outfeed", Kind::Boolean, "Include Infeed/Outfeed", On::All),
    ("hlo_module_id", Kind::String, "Program ID", On::All),
    ("source_info", Kind::String, "Source Info", On::All),
];
