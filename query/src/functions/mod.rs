//! What SQL has here beside its own functions.

mod checked;
mod collect;
mod scalar;
mod sum;

use std::sync::Arc;

use datafusion::prelude::SessionContext;

pub(crate) use checked::CheckSums;

/// Aggregates, with what the documentation says of them.
const AGGREGATES: [(&str, &str); 5] = [
    (
        "sum(x)",
        "As in SQL, but an error if a sum of whole numbers does not fit into 64 bits; the same for +, - and *.",
    ),
    ("p50(x)", "The median, exact, linear between neighbours as in reports."),
    ("p90(x)", "The 90th percentile, likewise."),
    ("p99(x)", "The 99th percentile, likewise."),
    ("union_ps(start, end)", "Picoseconds that the intervals cover together, each instant once."),
];

/// Makes them known.
pub(crate) fn register(context: &SessionContext) {
    scalar::ALL.iter().for_each(|function| context.register_udf(function.make()));
    context.register_udaf(sum::sum());
    context.register_udaf(collect::union_ps());
    collect::quantiles().into_iter().for_each(|quantile| context.register_udaf(quantile));
    context.add_analyzer_rule(Arc::new(CheckSums));
}

/// Makes known what stands in a plan for `+`, `-` and `*`, for whoever reads one that another made.
pub(crate) fn register_checked(context: &SessionContext) {
    checked::all().into_iter().for_each(|function| context.register_udf(function));
}

/// How each is called, and what it gives.
pub(crate) fn documentation() -> Vec<(&'static str, &'static str)> {
    scalar::ALL.iter().map(|function| (function.usage, function.doc)).chain(AGGREGATES).collect()
}
