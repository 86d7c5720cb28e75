//! Planes written by name.

use std::path::PathBuf;

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

use haloscope_profile::Profile;

/// Picoseconds in a microsecond.
pub(crate) const US: i64 = 1_000_000;
/// Picoseconds in a millisecond.
pub(crate) const MS: i64 = 1_000 * US;

/// A plane with names in place of ids.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    plane: Plane,
}

impl Made {
    /// A plane without facts, such as `/host:CPU` or `/device:GPU:0`.
    pub(crate) fn named(name: &str) -> Self {
        Self { plane: Plane { name: name.into(), ..Plane::default() } }
    }

    /// A TPU that states the peaks of a v5e: 197 TFLOP/s and 819 GB/s.
    pub(crate) fn tpu(ordinal: i64) -> Self {
        let mut made = Self::named(&format!("/device:TPU:{ordinal}"));
        made.fact("device_type_string", Value::Str("TPU v5 Lite".into()));
        made.fact("peak_teraflops_per_second", Value::Double(197.0));
        made.fact("peak_hbm_bw_gigabytes_per_second", Value::Double(819.0));
        made
    }

    /// The plane that holds the HLO of program 7, given as text.
    pub(crate) fn program(text: &str) -> Self {
        let mut made = Self::named("/host:metadata");
        made.meta("jit_step(7)", "", &[("Hlo Proto", Value::Bytes(text.as_bytes().to_vec()))]);
        made
    }

    /// One more program on a plane of programs: its name with its id, and its text.
    pub(crate) fn more_program(&mut self, label: &str, text: &str) {
        self.meta(label, "", &[("Hlo Proto", Value::Bytes(text.as_bytes().to_vec()))]);
    }

    /// A stat of the plane.
    pub(crate) fn fact(&mut self, name: &str, value: Value) {
        let stat = self.stat(name, value);
        self.plane.stats.push(stat);
    }

    /// Begins a line; events that follow are on it.
    pub(crate) fn line(&mut self, name: &str) {
        let line = Line::new(self.plane.lines.len() as i64 + 1, name);
        self.plane.lines.push(line);
    }

    /// An event on the line begun last: start and duration in picoseconds. Metadata is shared by name.
    pub(crate) fn event(&mut self, name: &str, start: i64, duration: i64, stats: &[(&str, Value)]) {
        let meta = self.meta_id(name).unwrap_or_else(|| self.meta(name, "", &[]));
        let stats = stats.iter().map(|(name, value)| self.stat(name, value.clone())).collect();
        if let Some(line) = self.plane.lines.last_mut() {
            line.events.push(Event { stats, ..Event::at(meta, start, duration) });
        }
    }

    /// The line `XLA Modules`: name, start, duration.
    pub(crate) fn programs(&mut self, launches: &[(&str, i64, i64)]) {
        self.line("XLA Modules");
        for (name, start, duration) in launches {
            self.event(name, *start, *duration, &[]);
        }
    }

    /// A TPU that runs one program of one op, over and over: how often, how far from start to start, and how long each.
    pub(crate) fn repeating(count: i64, every: i64, runs: i64) -> Self {
        let mut made = Self::tpu(0);
        let starts = || (0..count).map(|i| i * every);
        made.programs(&starts().map(|at| ("jit_step(7)", at, runs)).collect::<Vec<_>>());
        made.ops(&starts().map(|at| ("fusion.1", "loop fusion", at, runs)).collect::<Vec<_>>());
        made
    }

    /// A CPU that runs one program of one op, over and over, with the launch that a thread makes before each: how often, how far
    /// from start to start, and how long each.
    pub(crate) fn cpu(count: i64, every: i64, runs: i64) -> Self {
        let mut made = Self::named("/host:CPU");
        let starts = || (0..count).map(|i| i * every);
        made.line("python");
        for at in starts() {
            made.event("PjitFunction(step)", at - every + runs, every - runs, &[]);
        }
        made.line("tf_XLAPjRtCpuClient/1");
        for (run, at) in (0..).zip(starts()) {
            let stats = [
                ("hlo_op", Value::Str("dot.1".into())),
                ("hlo_module", Value::Str("jit_step".into())),
                ("program_id", Value::Uint(7)),
                ("run_id", Value::Uint(run)),
            ];
            made.event("dot.1", at, runs, &stats);
        }
        made
    }

    /// A CPU that runs one program once, of these ops: name, start, length.
    pub(crate) fn cpu_ops(ops: &[(&str, i64, i64)]) -> Self {
        let mut made = Self::named("/host:CPU");
        made.line("tf_XLAPjRtCpuClient/1");
        for (name, at, length) in ops {
            let stats = [
                ("hlo_op", Value::Str((*name).into())),
                ("hlo_module", Value::Str("jit_step".into())),
                ("program_id", Value::Uint(7)),
                ("run_id", Value::Uint(0)),
            ];
            made.event(name, *at, *length, &stats);
        }
        made
    }

    /// A CPU whose Python was traced: the loop calls `step` for each of these rounds, which launches one program, waits for it, and calls
    /// `then` for the rest of the round, where it is given. How long each round is and how long its program runs.
    pub(crate) fn traced_cpu(rounds: &[(i64, i64, Option<&str>)]) -> Self {
        let mut made = Self::named("/host:CPU");
        let ends = || rounds.iter().scan(0, |at, round| Some(std::mem::replace(at, *at + round.0)));
        made.line("python");
        for (at, (every, runs, then)) in ends().zip(rounds) {
            made.event("$train.py:9 step", at, *every, &[]);
            made.event("PjitFunction(step)", at + US, US, &[]);
            if let Some(then) = then {
                made.event(then, at + 2 * US + runs, every - runs - 3 * US, &[]);
            }
        }
        made.line("tf_XLAPjRtCpuClient/1");
        for (run, (at, (_, runs, _))) in (0..).zip(ends().zip(rounds)) {
            let stats = [
                ("hlo_op", Value::Str("dot.1".into())),
                ("hlo_module", Value::Str("jit_step".into())),
                ("program_id", Value::Uint(7)),
                ("run_id", Value::Uint(run)),
            ];
            made.event("dot.1", at + 2 * US, *runs, &stats);
        }
        made
    }

    /// The line `Steps`: number, start, duration.
    pub(crate) fn steps(&mut self, steps: &[(i64, i64, i64)]) {
        self.line("Steps");
        for (number, start, duration) in steps {
            self.event(&number.to_string(), *start, *duration, &[]);
        }
    }

    /// The line `XLA Ops`: name, category, start, duration, of program 7. Metadata said before with [`Made::op`] stays.
    pub(crate) fn ops(&mut self, ops: &[(&str, &str, i64, i64)]) {
        self.line("XLA Ops");
        for (name, category, start, duration) in ops {
            if self.meta_id(name).is_none() {
                self.op(name, category, "", &[]);
            }
            self.event(name, *start, *duration, &[]);
        }
    }

    /// Says of an op: its HLO expression (empty for a plain one) and stats such as `flops`, `bytes_accessed`, `tf_op`; of program 7
    /// unless they name another. Events that follow are of the op of this name that was said last.
    pub(crate) fn op(&mut self, name: &str, category: &str, expression: &str, stats: &[(&str, Value)]) {
        let mut all = vec![("hlo_category", Value::Str(category.into()))];
        if stats.iter().all(|(name, _)| *name != "program_id") {
            all.push(("program_id", Value::Uint(7)));
        }
        all.extend(stats.iter().map(|(name, value)| (*name, value.clone())));
        let expression =
            if expression.is_empty() { format!("%{name} = f32[8]{{0}} op()") } else { expression.to_owned() };
        self.meta(name, &expression, &all);
    }

    fn meta_id(&self, name: &str) -> Option<i64> {
        let is_named = |m: &EventMetadata| {
            if m.display_name.is_empty() { m.name == name } else { m.display_name == name }
        };
        self.plane.event_metadata.iter().rev().find(|(_, m)| is_named(m)).map(|(id, _)| *id)
    }

    fn meta(&mut self, name: &str, expression: &str, stats: &[(&str, Value)]) -> i64 {
        let id = self.plane.event_metadata.len() as i64 + 1;
        let stats = stats.iter().map(|(name, value)| self.stat(name, value.clone())).collect();
        let mut meta = EventMetadata { id, name: name.into(), stats, ..EventMetadata::default() };
        if !expression.is_empty() {
            // Ops carry the whole expression, and their name for display.
            meta.name = expression.into();
            meta.display_name = name.into();
        }
        self.plane.event_metadata.push((id, meta));
        id
    }

    fn stat(&mut self, name: &str, value: Value) -> Stat {
        let known = self.plane.stat_metadata.iter().find(|(_, m)| m.name == name).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let id = self.plane.stat_metadata.len() as i64 + 1;
            self.plane
                .stat_metadata
                .push((id, StatMetadata { id, name: name.into(), description: String::new() }));
            id
        });
        Stat { metadata_id: id, value }
    }
}

/// The profile of these hosts.
pub(crate) fn profile(hosts: Vec<(&str, Vec<Made>)>) -> Profile {
    let files = hosts.into_iter().map(|(host, planes)| {
        let planes = planes.into_iter().map(|made| made.plane).collect();
        let bytes = Space { planes, ..Space::default() }.to_bytes();
        (PathBuf::from(format!("{host}.xplane.pb")), Box::new(bytes) as Box<_>)
    });
    Profile::from_files(files.collect())
}
