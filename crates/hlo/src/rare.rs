//! Attributes that no analysis asks about and that only the text form shows.

use crate::{proto, shape::Shape};

/// What few instructions have and only the text form shows. Enumerations keep their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rare {
    pub(crate) infeed_config: Vec<u8>,
    pub(crate) outfeed_config: Vec<u8>,
    pub(crate) outfeed_shape: Option<Shape>,
    pub(crate) distribution: i32,
    pub(crate) rng_algorithm: i32,
    pub(crate) delta: i64,
    pub(crate) epsilon: f32,
    pub(crate) feature_index: i64,
    pub(crate) fft_type: i32,
    pub(crate) domain_shardings: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) constrain_layout: bool,
    pub(crate) operand_shapes_with_layout: Vec<Shape>,
    pub(crate) triangular_solve: Option<proto::TriangularSolveOptions>,
    pub(crate) cholesky_lower: bool,
    pub(crate) is_stable: bool,
    pub(crate) indices_are_sorted: bool,
    pub(crate) unique_indices: bool,
    pub(crate) replicated_at_leaf_buffers: Vec<bool>,
    pub(crate) has_side_effect: bool,
    pub(crate) comparison_type: String,
    pub(crate) comparison_order: String,
    pub(crate) has_dynamic_root: bool,
    pub(crate) original_value: Option<proto::OriginalValue>,
    pub(crate) padding_type: i32,
    pub(crate) custom_call_schedule: i32,
    pub(crate) custom_call_api_version: i32,
    pub(crate) k: i64,
    pub(crate) largest: bool,
    pub(crate) is_composite: bool,
    pub(crate) visualized_statistic: i64,
    pub(crate) result_accuracy: Option<proto::ResultAccuracy>,
}

impl Rare {
    /// Takes its fields out of an instruction; `None` where all have their defaults.
    pub(crate) fn take(hlo: &mut proto::HloInstruction) -> Option<Box<Self>> {
        use std::mem::take;
        let domain = (hlo.domain_entry_sharding.take(), hlo.domain_exit_sharding.take());
        let rare = Self {
            infeed_config: take(&mut hlo.infeed_config),
            outfeed_config: take(&mut hlo.outfeed_config),
            outfeed_shape: hlo.outfeed_shape.take().map(Shape::from),
            distribution: hlo.distribution,
            rng_algorithm: hlo.rng_algorithm,
            delta: hlo.delta,
            epsilon: hlo.epsilon,
            feature_index: hlo.feature_index,
            fft_type: hlo.fft_type,
            domain_shardings: domain.0.zip(domain.1),
            constrain_layout: hlo.constrain_layout,
            operand_shapes_with_layout: take(&mut hlo.operand_shapes_with_layout)
                .into_iter()
                .map(Shape::from)
                .collect(),
            triangular_solve: hlo.triangular_solve_options.take(),
            cholesky_lower: hlo.cholesky_options.take().is_some_and(|o| o.lower),
            is_stable: hlo.is_stable,
            indices_are_sorted: hlo.indices_are_sorted,
            unique_indices: hlo.unique_indices,
            replicated_at_leaf_buffers: hlo
                .parameter_replication
                .take()
                .unwrap_or_default()
                .replicated_at_leaf_buffers,
            has_side_effect: hlo.custom_call_has_side_effect,
            comparison_type: take(&mut hlo.comparison_type),
            comparison_order: take(&mut hlo.comparison_order),
            has_dynamic_root: hlo.has_dynamic_root,
            original_value: hlo.original_value.take(),
            padding_type: hlo.padding_type,
            custom_call_schedule: hlo.custom_call_schedule,
            custom_call_api_version: hlo.custom_call_api_version,
            k: hlo.k,
            largest: hlo.largest,
            is_composite: hlo.is_composite,
            visualized_statistic: hlo.statistics_viz.as_ref().map_or(0, |s| s.stat_index_to_visualize),
            result_accuracy: hlo.result_accuracy.take(),
        };
        (rare != Self::default()).then(|| Box::new(rare))
    }
}
