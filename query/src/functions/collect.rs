//! Aggregates that need all of their rows at once: exact quantiles, and the time that a set of stretches covers.

use std::mem::size_of_val;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use haloscope_time::intervals::Intervals;
use haloscope_time::stats;

/// The quantile, in percent, that a function gives.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Quantile {
    name: &'static str,
    percent: u8,
    signature: Signature,
}

/// `p50`, `p90`, `p99`: exact, as reports compute them.
pub(crate) fn quantiles() -> [AggregateUDF; 3] {
    [("p50", 50), ("p90", 90), ("p99", 99)].map(|(name, percent)| {
        let signature = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
        AggregateUDF::new_from_impl(Quantile { name, percent, signature })
    })
}

fn list(name: &str, part: &str, kind: DataType) -> FieldRef {
    let item = Arc::new(Field::new_list_field(kind, true));
    Arc::new(Field::new(format_state_name(name, part), DataType::List(item), true))
}

fn as_list(values: ArrayRef) -> ScalarValue {
    SingleRowListArrayBuilder::new(values).build_list_scalar()
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Samples { share: f64::from(self.percent) / 100.0, all: Vec::new() }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![list(args.name, "samples", DataType::Float64)])
    }
}

#[derive(Debug)]
struct Samples {
    share: f64,
    all: Vec<f64>,
}

impl Accumulator for Samples {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.all.extend(values[0].as_primitive::<Float64Type>().iter().flatten());
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.all.sort_by(f64::total_cmp);
        let value = (!self.all.is_empty()).then(|| stats::quantile(&self.all, self.share));
        Ok(ScalarValue::Float64(value))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.all.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![as_list(Arc::new(Float64Array::from(std::mem::take(&mut self.all))))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for list in states[0].as_list::<i32>().iter().flatten() {
            self.all.extend(list.as_primitive::<Float64Type>().iter().flatten());
        }
        Ok(())
    }
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Union {
    signature: Signature,
}

/// `union_ps(start, end)`.
pub(crate) fn union_ps() -> AggregateUDF {
    let signature = Signature::exact(vec![DataType::Int64, DataType::Int64], Volatility::Immutable);
    AggregateUDF::new_from_impl(Union { signature })
}

impl AggregateUDFImpl for Union {
    fn name(&self) -> &str {
        "union_ps"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::<Stretches>::default())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(["from", "to"].map(|part| list(args.name, part, DataType::Int64)).to_vec())
    }
}

#[derive(Debug, Default)]
struct Stretches(Vec<(i64, i64)>);

impl Stretches {
    fn add(&mut self, from: &ArrayRef, to: &ArrayRef) {
        let (from, to) = (from.as_primitive::<Int64Type>(), to.as_primitive::<Int64Type>());
        let stretches = from.iter().zip(to.iter()).filter_map(|(from, to)| Some((from?, to?)));
        self.0.extend(stretches.filter(|(from, to)| from <= to));
    }
}

impl Accumulator for Stretches {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], &values[1]);
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let all = std::mem::take(&mut self.0);
        let length = (!all.is_empty()).then(|| Intervals::union_of(all).length());
        Ok(ScalarValue::Int64(length))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.capacity() * size_of::<(i64, i64)>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let all = std::mem::take(&mut self.0);
        let part =
            |of: fn(&(i64, i64)) -> i64| as_list(Arc::new(Int64Array::from_iter_values(all.iter().map(of))));
        Ok(vec![part(|stretch| stretch.0), part(|stretch| stretch.1)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (from, to) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for (from, to) in from.iter().zip(to.iter()) {
            if let (Some(from), Some(to)) = (from, to) {
                self.add(&from, &to);
            }
        }
        Ok(())
    }
}
