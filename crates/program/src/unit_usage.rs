//! How busy the units of a TPU were, from its hardware counters: what was achieved, and the most there could have been.
//!
//! The formulas are XProf's (`utilization_viewer`), known for the v6e and the v7x. Sums of counters wrap at 64 bits, as there.

use rustc_hash::FxHashMap;

use super::counter_names;

/// A chip whose counters are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chip {
    /// `TPU v6 Lite`: one TensorCore, two SparseCores.
    V6e,
    /// `TPU v7x`: two dies with a TensorCore and two SparseCores each.
    V7x,
}

/// What the units of a chip did during one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// The core that the unit belongs to.
    pub node: u32,
    /// The unit.
    pub name: String,
    /// What was counted, in [`Usage::unit`].
    pub achieved: f64,
    /// The most that could have been; 0 where the cycles were not counted.
    pub peak: f64,
    /// `cycles`, `instructions`, `bytes`, `percent`.
    pub unit: &'static str,
}

/// The formulas of a chip with the ids of its counters looked up.
#[derive(Debug)]
pub struct Formulas {
    chip: Chip,
    gauges: Vec<Gauge>,
    cycles: Vec<u64>,
}

#[derive(Debug)]
struct Gauge {
    node: u32,
    name: String,
    terms: Vec<(u64, u64)>,
    /// A counter that counts half.
    half: Option<u64>,
    peak: Peak,
    unit: &'static str,
}

#[derive(Debug)]
enum Peak {
    /// Cycles of this counter times the first, divided by the second number; without cycles there is no row.
    Cycles(u64, u64, u64),
    /// The same, with a row of 0 where there are no cycles.
    CyclesOrZero(u64, u64),
    /// Bytes a second times the time that the cycles take at a frequency in Hz.
    Bytes { cycles: u64, per_second: f64, hz: f64 },
    /// The sum of these terms, where there are cycles and it is not 0.
    Share(u64, Vec<(u64, u64)>),
}

/// Bytes of one beat to or from HBM.
const HBM_BYTES: u64 = 32;
/// Bytes of one flit between chips.
const ICI_BYTES: u64 = 128;
/// Bytes a second between chips, in each direction.
const ICI_PEAK: f64 = 294_947_368_421.052_6;
const GIB: f64 = 1_073_741_824.0;
const TILES: u32 = 16;

impl Chip {
    /// The chip of a plane whose `device_type_string` is this.
    #[must_use]
    pub fn of(device_type: &str) -> Option<Self> {
        match device_type {
            "TPU v6 Lite" => Some(Self::V6e),
            "TPU v7x" => Some(Self::V7x),
            _ => None,
        }
    }

    /// The name of its table in [`counter_names`].
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::V6e => "v6e",
            Self::V7x => "v7x",
        }
    }

    /// The frequency of its TensorCores, Hz.
    #[must_use]
    pub fn hz(self) -> f64 {
        match self {
            Self::V6e => 1.75e9,
            Self::V7x => 1.9e9,
        }
    }

    /// The most that its HBM can move, bytes a second.
    fn hbm_peak(self) -> f64 {
        match self {
            Self::V6e => 1525.5 * GIB,
            Self::V7x => 3433.0 * GIB,
        }
    }

    fn tensor_cores(self) -> u32 {
        match self {
            Self::V6e => 1,
            Self::V7x => 2,
        }
    }

    /// The chip's part of a counter's name that stands for a core's die.
    fn die(self, core: u32) -> String {
        match self {
            Self::V6e => "vf_chip".to_owned(),
            Self::V7x => format!("vf_chip_die{core}"),
        }
    }
}

/// Looks up ids while the formulas of a chip are put together. A counter that the chip does not have gets id 0, which no
/// sample holds.
struct Maker {
    chip: Chip,
    ids: FxHashMap<String, u64>,
    gauges: Vec<Gauge>,
}

impl Maker {
    fn id(&self, name: &str) -> u64 {
        self.ids.get(name).copied().unwrap_or(0)
    }

    /// A counter of a TensorCore's own block.
    fn tcs(&self, core: u32, name: &str) -> u64 {
        let die = self.chip.die(core);
        self.id(&format!("{die}_tc_tcs_tc_misc_tcs_stats_tcs_stats_counters_unprivileged_count_{name}"))
    }

    fn throttle(&self, core: u32, name: &str) -> u64 {
        let die = self.chip.die(core);
        self.id(&format!("{die}_pwrmgr_pwrmgr_tc_throttle_core_debug_stats_unprivileged_{name}"))
    }

    /// The cycles that a TensorCore's gauges are held against: the later chip's can be throttled.
    fn cycles(&self, core: u32) -> u64 {
        match self.chip {
            Chip::V6e => self.tcs(core, "cycles"),
            Chip::V7x => self.throttle(core, "cycle_count"),
        }
    }

    fn add(&mut self, node: u32, name: &str, terms: Vec<(u64, u64)>, peak: Peak, unit: &'static str) {
        self.gauges.push(Gauge { node, name: name.to_owned(), terms, half: None, peak, unit });
    }

    fn tensor_core(&mut self, core: u32) {
        let cycles = self.cycles(core);
        let over = |times| Peak::Cycles(cycles, times, 1);
        if self.chip == Chip::V7x {
            for (name, counter) in [
                ("Clocks Skipped", "clocks_skipped"),
                ("Ext Throttle Clocks Skipped", "ext_throttle_clocks_skipped"),
                ("LDIDT Droop Clocks Skipped", "ldidt_droop_clocks_skipped"),
            ] {
                let terms = vec![(1, self.throttle(core, counter))];
                self.add(core, name, terms, over(1), "cycles");
            }
        }
        let numbered = |maker: &Self, name: &str, count: u32| -> Vec<_> {
            (0..count).map(|i| (1, maker.tcs(core, &format!("{name}_{i}")))).collect()
        };
        let scalar = numbered(self, "scalar_alu_instruction", 2);
        self.add(core, "Scalar Unit", scalar, over(2), "instructions");
        let vector = numbered(self, "vector_alu_instruction", 4);
        self.add(core, "Vector ALUs", vector, over(4), "instructions");
        let kinds = ["fadd", "fmul", "misc", "int", "fmac"];
        let vpu = kinds.iter().flat_map(|k| numbered(self, &format!("vpu_valu_{k}_ops"), 4)).collect();
        self.add(core, "VPU Utilization", vpu, over(4), "instructions");
        let stores = vec![(1, self.tcs(core, "vst_instruction"))];
        self.add(core, "Vmem Stores", stores, over(1), "instructions");
        let loads = numbered(self, "vld_instruction", 2);
        self.add(core, "Vmem Loads", loads, over(2), "instructions");
        self.busy(core, "MXU", "2 MXU Busy", over);
        self.multiply(core, &over);
        let pushes = numbered(self, "matpush_cycles_mxu", 2);
        self.add(core, "MXU matpush", pushes, over(2), "cycles");
        self.busy(core, "XLU", "2 XLUs Busy", over);
        let each = if self.chip == Chip::V6e { 4 } else { 1 };
        for unit in 0..2 {
            let names =
                ["packed", "rotate_permute_instruction", "rotate_permute_set_instruction", "transpose"];
            let terms = names.iter().map(|n| (1, self.tcs(core, &format!("{n}_xlu_{unit}")))).collect();
            self.add(core, &format!("XLU{unit}"), terms, Peak::Cycles(cycles, 1, each), "instructions");
        }
    }

    /// For how many cycles none, one or two of a pair of units were busy.
    fn busy(&mut self, core: u32, unit: &str, two: &str, over: impl Fn(u64) -> Peak) {
        let counter = |maker: &Self, i: u32| maker.tcs(core, &format!("{}_busy_{i}", unit.to_lowercase()));
        let names = [format!("No {unit} Busy"), format!("1 {unit} Busy"), two.to_owned()];
        for (i, name) in (0..).zip(&names) {
            let terms = vec![(1, counter(self, i))];
            self.add(core, name, terms, over(1), "cycles");
        }
        let terms = vec![(1, counter(self, 2))];
        let half = Some(counter(self, 1));
        let (name, peak) = (format!("Avg {unit} Busy"), over(1));
        self.gauges.push(Gauge { node: core, name, terms, half, peak, unit: "cycles" });
    }

    /// Cycles of the matrix units: instructions by operand, times the cycles that one takes.
    fn multiply(&mut self, core: u32, over: &impl Fn(u64) -> Peak) {
        type Kind = (&'static str, &'static [(u64, &'static str)]);
        const V6E: [Kind; 3] = [
            ("MXU BF16", &[(4, "lmr_bf16"), (8, "vreg_f8"), (8, "vreg_bf16"), (4, "vreg_f32")]),
            ("MXU I8", &[(2, "lmr_i8"), (8, "vreg_i8")]),
            ("MXU I4", &[(2, "lmr_i4"), (8, "vreg_i4")]),
        ];
        const V7X: [Kind; 2] = [
            ("MXU BF16", &[(4, "lmr_bf16"), (8, "vreg_bf16"), (4, "vreg_f32")]),
            ("MXU E4M3 + E5M2", &[(8, "vreg_f8")]),
        ];
        let kinds: &[Kind] = if self.chip == Chip::V6e { &V6E } else { &V7X };
        let terms = |maker: &Self, kind: &Kind, unit: u32| -> Vec<_> {
            let term = |(weight, name): &(u64, &str)| {
                (*weight, maker.tcs(core, &format!("matmul_{name}_mxu_{unit}")))
            };
            kind.1.iter().map(term).collect()
        };
        for unit in 0..2 {
            let all = kinds.iter().flat_map(|kind| terms(self, kind, unit)).collect();
            self.add(core, &format!("MXU{unit}"), all, over(1), "cycles");
        }
        for kind in kinds {
            let both = (0..2).flat_map(|unit| terms(self, kind, unit)).collect();
            self.add(core, kind.0, both, over(2), "cycles");
        }
    }

    fn hbm(&mut self, core: u32) {
        let channels: Vec<String> = match self.chip {
            Chip::V6e => {
                (0..2).flat_map(|hbm| (0..16).map(move |i| format!("vf_chip_hbm_{hbm}_hbmc_{i}"))).collect()
            }
            Chip::V7x => (0..4)
                .flat_map(|hbm| (0..16).map(move |i| format!("vf_chip_die{core}_hbm_{hbm}_ss_hbmc_{i}")))
                .collect(),
        };
        let beats = |maker: &Self, names: &[&str]| -> Vec<_> {
            let id = |channel: &String, name: &str| {
                maker.id(&format!("{channel}_cmn_hi_freq_stats_counters_unprivileged_{name}"))
            };
            channels.iter().flat_map(|c| names.iter().map(move |n| (HBM_BYTES, id(c, n)))).collect()
        };
        let read = beats(self, &["rd_resp_ps0", "rd_resp_ps1"]);
        let written =
            beats(self, &["wr_req_ps0", "partial_write_req_ps0", "wr_req_ps1", "partial_write_req_ps1"]);
        let both = [read.clone(), written.clone()].concat();
        let cycles = self.tcs(core, "cycles");
        let (per_second, hz) = (self.chip.hbm_peak(), self.chip.hz());
        let peak = Peak::Bytes { cycles, per_second, hz };
        self.add(0, &format!("HBM Rd+Wr - core {core}"), both.clone(), peak, "bytes");
        self.add(core, "HBM Read Ratio", read, Peak::Share(cycles, both.clone()), "percent");
        self.add(core, "HBM Write Ratio", written, Peak::Share(cycles, both), "percent");
    }

    /// Traffic between chips; the time is taken as if the clock ran at 1 GHz.
    fn ici(&mut self) {
        let block = "perf_counters_fifo_stats_counters_unprivileged";
        let flits = |maker: &Self, way: &str| -> Vec<_> {
            let names: Vec<String> = match maker.chip {
                Chip::V6e => (0..2)
                    .map(|i| format!("vf_chip_oci_icr_{block}_bn_{way}_req_{i}_insertion_count"))
                    .collect(),
                Chip::V7x => (0..4)
                    .map(|i| format!("vf_chip_die1_oci_icr_{i}_{block}_bn_{way}_req_0_insertion_count"))
                    .collect(),
            };
            names.iter().map(|name| (ICI_BYTES, maker.id(name))).collect()
        };
        let cycles = self.cycles(0);
        for (name, way) in [("ICI (Read)", "rd"), ("ICI (Write)", "wr")] {
            let terms = flits(self, way);
            let peak = Peak::Bytes { cycles, per_second: ICI_PEAK, hz: 1e9 };
            self.add(0, name, terms, peak, "bytes");
        }
    }

    fn sparse_core(&mut self, die: u32, core: u32) {
        let base = format!("{}_sc_{core}", self.chip.die(die));
        let (scalar, vector, gap) = match self.chip {
            Chip::V6e => ("sct", "sct", ""),
            Chip::V7x => ("sctd", "sctc", " "),
        };
        let node = die * 2 + core;
        let tile = |maker: &Self, part: &str, i: u32, name: &str| {
            maker.id(&format!("{base}_{part}_{i}_sc_stats_counters_unprivileged_count_{name}"))
        };
        let cycles = tile(self, scalar, 0, "cycles");
        let slots = [
            ("TEC Scalar Issue".to_owned(), scalar, "tec_scalar_issue"),
            ("TEC Scalar Issue: S0 slot".to_owned(), scalar, "tec_s0_instruction"),
            ("TEC Scalar Issue: S1 slot".to_owned(), scalar, "tec_s1_instruction"),
            ("TEC Scalar Issue: Smisc slot".to_owned(), scalar, "tec_smisc_instruction"),
            ("SC Vector Issue".to_owned(), vector, "vector_issue"),
            (format!("SC Vector Issue:{gap}V0 Slot"), vector, "v0_instruction"),
            ("SC Vector Issue: V1 Slot".to_owned(), vector, "v1_instruction"),
            ("SC Vector Issue: V2 Slot".to_owned(), vector, "v2_instruction"),
            ("SC Vector Issue: VLD Slot".to_owned(), vector, "vld_instruction"),
            ("SC Vector Issue: VST Slot".to_owned(), vector, "vst_instruction"),
            (format!("SC Vector Issue:{gap}VEX Slot"), vector, "vex_instruction"),
            (format!("SC Vector Issue:{gap}VRES Slot"), vector, "vres_instruction"),
        ];
        for (name, part, counter) in &slots {
            let terms = (0..TILES).map(|i| (1, tile(self, part, i, counter))).collect();
            self.add(node, name, terms, Peak::CyclesOrZero(cycles, u64::from(TILES)), "instructions");
        }
        let sequencer = |maker: &Self, name: &str| {
            maker.id(&format!("{base}_scs_sc_stats_counters_unprivileged_count_{name}"))
        };
        let cycles = sequencer(self, "cycles");
        for (name, counter) in [
            ("SCS Scalar Issue", "scalar_issue"),
            ("SCS: S0 Slot", "s0_instruction"),
            ("SCS: S1 Slot", "s1_instruction"),
            ("SCS: Smisc Slot", "smisc_instruction"),
        ] {
            let terms = vec![(1, sequencer(self, counter))];
            self.add(node, name, terms, Peak::CyclesOrZero(cycles, 1), "instructions");
        }
    }
}

impl Formulas {
    /// The formulas of a chip.
    #[must_use]
    pub fn new(chip: Chip) -> Self {
        let mut maker = Maker { chip, ids: counter_names::ids(chip.kind()), gauges: Vec::new() };
        for core in 0..chip.tensor_cores() {
            maker.tensor_core(core);
            maker.hbm(core);
            maker.ici();
        }
        for die in 0..chip.tensor_cores() {
            (0..2).for_each(|core| maker.sparse_core(die, core));
        }
        let cycles = (0..chip.tensor_cores()).map(|core| maker.cycles(core)).collect();
        Self { chip, gauges: maker.gauges, cycles }
    }

    /// The chip that these are for.
    #[must_use]
    pub fn chip(&self) -> Chip {
        self.chip
    }

    /// What the units did in a sample of counter values by id.
    #[must_use]
    pub fn apply(&self, sample: &FxHashMap<u64, u64>) -> Vec<Usage> {
        self.gauges.iter().filter_map(|gauge| gauge.read(sample)).collect()
    }

    /// The counters of cycles that the TensorCores' units are held against, one a core.
    #[must_use]
    pub fn cycle_ids(&self) -> &[u64] {
        &self.cycles
    }
}

fn value(sample: &FxHashMap<u64, u64>, id: u64) -> u64 {
    sample.get(&id).copied().unwrap_or(0)
}

fn sum(sample: &FxHashMap<u64, u64>, terms: &[(u64, u64)]) -> u64 {
    terms.iter().fold(0, |all, (weight, id)| all.wrapping_add(weight.wrapping_mul(value(sample, *id))))
}

impl Gauge {
    fn read(&self, sample: &FxHashMap<u64, u64>) -> Option<Usage> {
        let counted = |id: u64| Some(value(sample, id)).filter(|c| *c != 0);
        let peak = match &self.peak {
            Peak::Cycles(id, times, over) => (counted(*id)?.wrapping_mul(*times) / over) as f64,
            Peak::CyclesOrZero(id, times) => value(sample, *id).wrapping_mul(*times) as f64,
            Peak::Bytes { cycles, per_second, hz } => per_second * (counted(*cycles)? as f64 / hz),
            Peak::Share(id, terms) => {
                counted(*id)?;
                Some(sum(sample, terms) as f64).filter(|all| *all > 0.0)?
            }
        };
        let whole = sum(sample, &self.terms) as f64;
        let achieved = self.half.map_or(whole, |id| 0.5 * value(sample, id) as f64 + whole);
        Some(Usage { node: self.node, name: self.name.clone(), achieved, peak, unit: self.unit })
    }
}
