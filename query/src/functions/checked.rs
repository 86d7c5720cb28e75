//! `+`, `-` and `*` of whole numbers that fail where 64 bits do not hold the outcome, in place of SQL's own, which wrap.

use std::sync::{Arc, LazyLock};

use arrow::compute::kernels::numeric;
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;

/// An operation on two whole numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Checked {
    name: &'static str,
    sign: &'static str,
    signature: Signature,
}

fn checked(name: &'static str, sign: &'static str) -> Arc<ScalarUDF> {
    let signature = Signature::exact(vec![DataType::Int64, DataType::Int64], Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Checked { name, sign, signature }))
}

static PLUS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| checked("checked_plus", "+"));
static MINUS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| checked("checked_minus", "-"));
static TIMES: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| checked("checked_times", "*"));

/// All of them.
pub(super) fn all() -> [ScalarUDF; 3] {
    [&PLUS, &MINUS, &TIMES].map(|function| function.as_ref().clone())
}

fn of(op: Operator) -> Option<&'static Arc<ScalarUDF>> {
    match op {
        Operator::Plus => Some(&PLUS),
        Operator::Minus => Some(&MINUS),
        Operator::Multiply => Some(&TIMES),
        _ => None,
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        self.name
    }

    /// As the operator is called, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(&format!(" {} ", self.sign)))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (left, right) = (&arrays[0], &arrays[1]);
        let outcome = match self.sign {
            "+" => numeric::add(left, right),
            "-" => numeric::sub(left, right),
            _ => numeric::mul(left, right),
        };
        let outcome = outcome.map_err(|error| {
            let sign = self.sign;
            DataFusionError::Execution(format!(
                "{error}: the outcome of {sign} does not fit into 64 bits; cast to DOUBLE"
            ))
        })?;
        Ok(ColumnarValue::Array(outcome))
    }
}

/// Puts the checked operations in the place of SQL's, once types are settled.
#[derive(Debug)]
pub(crate) struct CheckSums;

impl AnalyzerRule for CheckSums {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let outcome = plan.transform_up_with_subqueries(|plan| {
            let schema = if plan.inputs().is_empty() {
                plan.schema().as_ref().clone()
            } else {
                merge_schema(&plan.inputs())
            };
            plan.map_expressions(|expr| expr.transform_up(|expr| Ok(rewritten(expr, &schema))))
        })?;
        Ok(outcome.data)
    }
}

fn rewritten(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_whole = |expr: &Expr| match expr {
        // Known without a walk over all of it, which long sums would pay for at each of their signs.
        Expr::ScalarFunction(call)
            if [&PLUS, &MINUS, &TIMES].iter().any(|own| Arc::ptr_eq(own, &call.func)) =>
        {
            true
        }
        expr => expr.get_type(schema as &dyn ExprSchema).is_ok_and(|kind| kind == DataType::Int64),
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match of(op) {
            Some(function) if is_whole(&left) && is_whole(&right) => {
                let call = ScalarFunction::new_udf(Arc::clone(function), vec![*left, *right]);
                Transformed::yes(Expr::ScalarFunction(call))
            }
            _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
        },
        other => Transformed::no(other),
    }
}
