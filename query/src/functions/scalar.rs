//! Functions of one row.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, Int64Array, MapArray, StringArray};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_float64_array, as_int64_array, as_map_array, as_string_array};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use haloscope_profile::load;
use haloscope_report::scope::parse_time_ps;

/// A function, and what the documentation says of it.
pub(crate) struct Function {
    pub(crate) usage: &'static str,
    pub(crate) doc: &'static str,
    make: fn() -> ScalarUDF,
}

impl Function {
    pub(crate) fn make(&self) -> ScalarUDF {
        (self.make)()
    }
}

/// The functions that SQL does not have of itself.
pub(crate) const ALL: [Function; 7] = [
    Function {
        usage: "s(ps)",
        doc: "Picoseconds as seconds.",
        make: || scaled("s", |arrays| divide(arrays, 1e12)),
    },
    Function {
        usage: "ms(ps)",
        doc: "Picoseconds as milliseconds.",
        make: || scaled("ms", |arrays| divide(arrays, 1e9)),
    },
    Function {
        usage: "us(ps)",
        doc: "Picoseconds as microseconds.",
        make: || scaled("us", |arrays| divide(arrays, 1e6)),
    },
    Function {
        usage: "ps('1.5ms')",
        doc: "A time as picoseconds; units: ps, ns, us, ms, s.",
        make: || of("ps", vec![DataType::Utf8], DataType::Int64, parse_ps),
    },
    Function {
        usage: "size('2GiB')",
        doc: "A size as bytes; units: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB.",
        make: || of("size", vec![DataType::Utf8], DataType::Int64, parse_size),
    },
    Function {
        usage: "overlap_ps(start, end, start, end)",
        doc: "Picoseconds that two intervals share; 0 if none.",
        make: || of("overlap_ps", vec![DataType::Int64; 4], DataType::Int64, overlap),
    },
    Function {
        usage: "arg(args, 'key')",
        doc: "The text of an event's arg; unknown if it has no such arg.",
        make: arg,
    },
];

type Apply = fn(&[ArrayRef]) -> Result<ArrayRef>;

/// A function that is a plain function of arrays.
struct Plain {
    name: &'static str,
    signature: Signature,
    returns: DataType,
    apply: Apply,
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Plain {}

impl Hash for Plain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Plain {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.returns.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        Ok(ColumnarValue::Array((self.apply)(&arrays)?))
    }
}

fn of(name: &'static str, takes: Vec<DataType>, returns: DataType, apply: Apply) -> ScalarUDF {
    let signature = Signature::exact(takes, Volatility::Immutable);
    ScalarUDF::new_from_impl(Plain { name, signature, returns, apply })
}

fn arg() -> ScalarUDF {
    let signature = Signature::any(2, Volatility::Immutable);
    ScalarUDF::new_from_impl(Plain { name: "arg", signature, returns: DataType::Utf8, apply: arg_of })
}

/// A function that divides picoseconds by so many.
fn scaled(name: &'static str, apply: Apply) -> ScalarUDF {
    of(name, vec![DataType::Float64], DataType::Float64, apply)
}

fn divide(arrays: &[ArrayRef], by: f64) -> Result<ArrayRef> {
    let ps = as_float64_array(&arrays[0])?;
    Ok(Arc::new(Float64Array::from_iter(ps.iter().map(|ps| ps.map(|ps| ps / by)))))
}

/// The numbers that texts stand for.
fn parsed(arrays: &[ArrayRef], read: impl Fn(&str) -> Result<i64>) -> Result<ArrayRef> {
    let texts = as_string_array(&arrays[0])?;
    let numbers = texts.iter().map(|text| text.map(&read).transpose());
    Ok(Arc::new(numbers.collect::<Result<Int64Array>>()?))
}

fn parse_ps(arrays: &[ArrayRef]) -> Result<ArrayRef> {
    parsed(arrays, |text| {
        let ps = parse_time_ps(text.trim());
        ps.map_or_else(|| exec_err!("ps: expected a time such as 1.5ms, found `{text}`"), Ok)
    })
}

fn parse_size(arrays: &[ArrayRef]) -> Result<ArrayRef> {
    parsed(arrays, |text| {
        let size = load::size(text.trim()).ok().and_then(|size| i64::try_from(size).ok());
        size.map_or_else(|| exec_err!("size: expected a size such as 2GiB, found `{text}`"), Ok)
    })
}

fn overlap(arrays: &[ArrayRef]) -> Result<ArrayRef> {
    let columns = arrays.iter().map(|array| as_int64_array(array)).collect::<Result<Vec<_>>>()?;
    let [a, b, c, d] = columns.as_slice() else { return exec_err!("overlap_ps takes four times") };
    let shared = (0..a.len()).map(|row| {
        let at = |column: &Int64Array| column.is_valid(row).then(|| column.value(row));
        let (from, to) = (at(a)?.max(at(c)?), at(b)?.min(at(d)?));
        Some(to.saturating_sub(from).max(0))
    });
    Ok(Arc::new(Int64Array::from_iter(shared)))
}

fn arg_of(arrays: &[ArrayRef]) -> Result<ArrayRef> {
    if !matches!(arrays[0].data_type(), DataType::Map(..)) {
        return exec_err!("arg: expected the column args first, found {}", arrays[0].data_type());
    }
    let maps: &MapArray = as_map_array(&arrays[0])?;
    let wanted = arrow::compute::cast(&arrays[1], &DataType::Utf8)?;
    let wanted: &StringArray = as_string_array(&wanted)?;
    let (keys, values) = (as_string_array(maps.keys())?, as_string_array(maps.values())?);
    let offsets = maps.offsets();
    let text = |row: usize| {
        if maps.is_null(row) || wanted.is_null(row) {
            return None;
        }
        let mut places = offsets[row] as usize..offsets[row + 1] as usize;
        let place = places.find(|place| keys.value(*place) == wanted.value(row))?;
        values.is_valid(place).then(|| values.value(place))
    };
    Ok(Arc::new(StringArray::from_iter((0..maps.len()).map(text))))
}
