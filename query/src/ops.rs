//! The ops of a device as columns, one row an op and a last one for what is no op.

use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, Float64Array, StringViewArray};
use arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use haloscope_profile::{Device, LineId, Profile};
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_rows::{DeviceOps, Rows};

use crate::tables::event::columns::{OP_COLUMNS, op_schema};

/// The ops of a device.
pub(crate) struct DeviceTable {
    ops: DeviceOps<'static>,
    columns: OnceLock<RecordBatch>,
    own: OnceLock<OwnTimes>,
}

/// By line, the rows of events and their self times in picoseconds.
type OwnTimes = Vec<(LineId, Vec<(usize, i64)>)>;

impl DeviceTable {
    pub(crate) fn find(profile: &Profile, device: &Device) -> Self {
        Self {
            ops: DeviceOps::find(profile, device).into_owned(),
            columns: OnceLock::new(),
            own: OnceLock::new(),
        }
    }

    /// The row of what is no op: one behind the ops.
    pub(crate) fn none(&self) -> u32 {
        self.ops.ops.len() as u32
    }

    /// Which op each event of a line is.
    pub(crate) fn rows(&self, line: LineId) -> Rows<'_> {
        self.ops.rows_of(line)
    }

    /// The columns of [`OP_COLUMNS`].
    ///
    /// # Errors
    /// Never in practice: the columns are as long as each other.
    pub(crate) fn columns(&self) -> Result<&RecordBatch> {
        if let Some(known) = self.columns.get() {
            return Ok(known);
        }
        let arrays = (0..OP_COLUMNS.len()).map(|at| self.column(at)).collect();
        let batch = RecordBatch::try_new(op_schema(), arrays)?;
        Ok(self.columns.get_or_init(|| batch))
    }

    fn column(&self, at: usize) -> ArrayRef {
        let texts = |of: for<'a> fn(&'a OpMeta<'static>) -> &'a str| -> ArrayRef {
            let all = self.ops.ops.iter().map(|(meta, _)| Some(of(meta)).filter(|text| !text.is_empty()));
            Arc::new(StringViewArray::from_iter(all.chain([None])))
        };
        let numbers = |of: fn(&OpMeta<'static>) -> Option<f64>| -> ArrayRef {
            let all = self.ops.ops.iter().map(|(meta, _)| of(meta));
            Arc::new(Float64Array::from_iter(all.chain([None])))
        };
        match OP_COLUMNS[at].id {
            // An op without a name is one too.
            "op" => {
                let all = self.ops.ops.iter().map(|(meta, _)| Some(&*meta.name));
                Arc::new(StringViewArray::from_iter(all.chain([None])))
            }
            "category" => texts(|meta| &meta.category),
            "module" => {
                let all = self.ops.ops.iter().map(|(_, module)| Some(&**module).filter(|m| !m.is_empty()));
                Arc::new(StringViewArray::from_iter(all.chain([None])))
            }
            "program_id" => {
                let all = self.ops.ops.iter().map(|(meta, _)| meta.program_id.map(|id| id.to_string()));
                Arc::new(StringViewArray::from_iter(all.chain([None])))
            }
            "framework_op" => texts(|meta| &meta.framework_op),
            "source" => texts(|meta| &meta.source),
            "flops" => numbers(|meta| meta.flops),
            "model_flops" => numbers(|meta| meta.model_flops),
            "bytes" => numbers(|meta| meta.bytes),
            _ => numbers(|meta| meta.hbm_bytes),
        }
    }

    /// Puts the self times of a line's ops, as `ops` counts them, at the places of their events.
    pub(crate) fn put_own(&self, profile: &Profile, line: LineId, own: &mut [i64]) {
        let all = self.own.get_or_init(|| self.ops.own_times(profile));
        for (index, time) in all.iter().filter(|(id, _)| *id == line).flat_map(|(_, times)| times) {
            if let Some(own) = own.get_mut(*index) {
                *own = *time;
            }
        }
    }
}
