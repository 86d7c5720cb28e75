//! `sum` of whole numbers that fails where 64 bits do not hold it, in place of SQL's own, which wraps.

use std::mem::size_of_val;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int64Array};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};

/// Sums on their way between threads: enough for any number of 64-bit numbers.
const STATE: DataType = DataType::Decimal128(38, 0);

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum {
    own: Arc<AggregateUDF>,
}

/// `sum`.
pub(crate) fn sum() -> AggregateUDF {
    AggregateUDF::new_from_impl(Sum { own: sum_udaf() })
}

fn is_checked(kind: &DataType, is_distinct: bool) -> bool {
    *kind == DataType::Int64 && !is_distinct
}

fn fits(sum: i128) -> Result<i64> {
    i64::try_from(sum).map_err(|_| {
        let message =
            format!("sum: {sum} does not fit into 64 bits; sum DOUBLEs, as in sum(CAST(x AS DOUBLE))");
        DataFusionError::Execution(message)
    })
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        self.own.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.own.return_type(arg_types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if is_checked(args.return_field.data_type(), args.is_distinct) {
            return Ok(Box::<One>::default());
        }
        self.own.accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if is_checked(args.return_field.data_type(), args.is_distinct) {
            return Ok(Box::<One>::default());
        }
        self.own.create_sliding_accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if is_checked(args.return_field.data_type(), args.is_distinct) {
            return Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sum"), STATE, true))]);
        }
        self.own.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        is_checked(args.return_field.data_type(), args.is_distinct)
            || self.own.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        if is_checked(args.return_field.data_type(), args.is_distinct) {
            return Ok(Box::<Many>::default());
        }
        self.own.create_groups_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// One sum.
#[derive(Debug, Default)]
struct One {
    sum: i128,
    count: u64,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for number in values[0].as_primitive::<Int64Type>().iter().flatten() {
            self.sum += i128::from(number);
            self.count += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for number in values[0].as_primitive::<Int64Type>().iter().flatten() {
            self.sum -= i128::from(number);
            self.count -= 1;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(if self.count == 0 { None } else { Some(fits(self.sum)?) }))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Decimal128((self.count > 0).then_some(self.sum), 38, 0)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for sum in states[0].as_primitive::<Decimal128Type>().iter().flatten() {
            self.sum += sum;
            self.count += 1;
        }
        Ok(())
    }
}

/// A sum for each group; `None` where no number was.
#[derive(Debug, Default)]
struct Many(Vec<Option<i128>>);

impl Many {
    fn add(&mut self, group: usize, number: i128) {
        *self.0[group].get_or_insert(0) += number;
    }

    fn taken(&mut self, emit_to: EmitTo) -> Vec<Option<i128>> {
        emit_to.take_needed(&mut self.0)
    }
}

fn state_of(sums: impl Iterator<Item = Option<i128>>) -> Result<ArrayRef> {
    Ok(Arc::new(Decimal128Array::from_iter(sums).with_precision_and_scale(38, 0)?))
}

impl GroupsAccumulator for Many {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.resize(total_num_groups, None);
        let numbers = values[0].as_primitive::<Int64Type>();
        if numbers.null_count() == 0 && opt_filter.is_none() {
            for (group, number) in group_indices.iter().zip(numbers.values()) {
                self.add(*group, i128::from(*number));
            }
            return Ok(());
        }
        for (row, group) in group_indices.iter().enumerate() {
            let counts = opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if counts && numbers.is_valid(row) {
                self.add(*group, i128::from(numbers.value(row)));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = self.taken(emit_to).into_iter().map(|sum| sum.map(fits).transpose());
        Ok(Arc::new(sums.collect::<Result<Int64Array>>()?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![state_of(self.taken(emit_to).into_iter())?])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.resize(total_num_groups, None);
        let sums = values[0].as_primitive::<Decimal128Type>();
        for (group, sum) in group_indices.iter().zip(sums.iter()) {
            if let Some(sum) = sum {
                self.add(*group, sum);
            }
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let counts = |row: usize| opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        let numbers = values[0].as_primitive::<Int64Type>().iter().enumerate();
        Ok(vec![state_of(numbers.map(|(row, number)| number.filter(|_| counts(row)).map(i128::from)))?])
    }

    fn size(&self) -> usize {
        self.0.capacity() * size_of::<Option<i128>>()
    }
}
