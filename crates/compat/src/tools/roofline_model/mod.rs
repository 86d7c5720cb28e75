//! `roofline_model`: each op, the whole run and each step against the limits of the device.

mod columns;
mod table;

use haloscope_profile::Profile;

use super::Tool;
use crate::db::steps::StepOps;
use crate::db::{self, Db, Hardware, PerfEnv, RunEnv, Whole};
use crate::gviz::DataTable;
use crate::steps::{Environment, StepDb, diagnostics};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "roofline_model",
    doc: "Each op, program and step against the device's peak FLOP/s and bandwidths",
    hosts: Hosts::All,
    params: &[],
    offered: |_| true,
    answer,
};

/// At most this many ops, by self time.
const MOST_OPS: usize = 1000;

/// What the answer is shaped from.
struct Model<'p> {
    ops: Db<'p>,
    /// Sums over all complete steps; `None` where XProf does not sum them.
    complete: Option<Whole>,
    /// Number and ops of each complete step.
    steps: Vec<(i64, Whole)>,
    perf: PerfEnv,
    run: RunEnv,
}

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let environment = Environment::new(profile, &hosts);
    let run = environment.run.clone();
    if run.hardware == Hardware::Cpu {
        return Answer::json(&[table::Roofs::none().table(), diagnostics::table(&[], &[])]);
    }
    let steps = StepDb::new(profile, &hosts, &environment);
    let by_step = StepOps::new(profile, &environment, &steps);
    let notes = diagnostics::table(&diagnostics::step_warnings(&steps), &[]);
    let model = Model {
        ops: db::device_ops_with(profile, &hosts, |host| environment.context(profile, host)),
        complete: (run.hardware == Hardware::Tpu || hosts.len() > 1).then_some(by_step.all),
        steps: steps.rows.iter().map(|row| row.number).zip(by_step.steps).collect(),
        perf: PerfEnv::new(profile, &hosts),
        run,
    };
    let roofs = table::Roofs::new(&model);
    let mut table = roofs.table();
    for infeed_outfeed in [true, false] {
        model.rows(&roofs, &mut table, infeed_outfeed);
    }
    Answer::json(&[table, notes])
}

impl Model<'_> {
    fn rows(&self, roofs: &table::Roofs, into: &mut DataTable, infeed_outfeed: bool) {
        let program = Whole::new(&self.ops).row(infeed_outfeed);
        let total_ps = program.time_ps;
        let mut writer = table::Writer { model: self, roofs, into, infeed_outfeed };
        writer.program("Total", &program, 1);
        writer.ops(total_ps);
        if let Some(complete) = &self.complete {
            writer.program("Average", &complete.row(infeed_outfeed), self.steps.len());
        }
        for (number, ops) in &self.steps {
            writer.program(&number.to_string(), &ops.row(infeed_outfeed), 1);
        }
    }
}
