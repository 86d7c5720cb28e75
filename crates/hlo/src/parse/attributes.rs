//! What stands behind the operands.

use std::collections::BTreeMap;

use super::{
    cursor::{Cursor, Parsed},
    dims, literal, metadata, shape, sharding,
};
use crate::{
    opcode::Opcode,
    proto::{self, HloInstruction},
    text::attributes::{API_VERSIONS, DOT_ALGORITHMS},
};

/// Names that an instruction mentions, which are looked up once everything has been read, and where each stands.
#[derive(Default)]
pub(super) struct Mentions<'a> {
    /// Called computations: place among those of the instruction, name, place in the text.
    pub(super) called: Vec<(usize, &'a str, usize)>,
    pub(super) predecessors: Vec<(&'a str, usize)>,
}

impl<'a> Mentions<'a> {
    fn call(&mut self, cursor: &mut Cursor<'a>, position: usize) -> Parsed<()> {
        let place = cursor.place();
        self.called.push((position, cursor.name("the name of a computation")?, place));
        Ok(())
    }

    fn calls(&mut self, cursor: &mut Cursor<'a>) -> Parsed<()> {
        cursor.list("{", "}", |cursor| {
            let position = self.called.len();
            self.call(cursor, position)
        })
    }
}

/// Reads the value of an attribute; false where the key is not known and the value has not been read.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    key: &str,
    opcode: Opcode,
    hlo: &mut HloInstruction,
    mentions: &mut Mentions<'a>,
) -> Parsed<bool> {
    Ok(called(cursor, key, mentions)?
        || common(cursor, key, hlo, mentions)?
        || numbers(cursor, key, opcode, hlo)?
        || dimension_numbers(cursor, key, hlo)?
        || keyword(cursor, key, opcode, hlo)?
        || structures(cursor, key, hlo)?)
}

/// Computations that the instruction calls.
fn called<'a>(cursor: &mut Cursor<'a>, key: &str, mentions: &mut Mentions<'a>) -> Parsed<bool> {
    match key {
        "calls" => {
            if cursor.peek() == Some(b'{') {
                mentions.calls(cursor)?;
                return Ok(true);
            }
            mentions.call(cursor, 0)?;
            // Further names are told from the next attribute by what follows them.
            loop {
                let mut ahead = *cursor;
                if !ahead.eat(",") || ahead.key().is_some() || ahead.name("").is_err() {
                    return Ok(true);
                }
                cursor.expect(",")?;
                mentions.call(cursor, mentions.called.len())?;
            }
        }
        "to_apply" | "body" | "select" | "true_computation" => mentions.call(cursor, 0)?,
        "condition" | "scatter" | "false_computation" => mentions.call(cursor, 1)?,
        "branch_computations" | "called_computations" => mentions.calls(cursor)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Attributes that any instruction can have.
fn common<'a>(
    cursor: &mut Cursor<'a>,
    key: &str,
    hlo: &mut HloInstruction,
    mentions: &mut Mentions<'a>,
) -> Parsed<bool> {
    match key {
        "metadata" => hlo.metadata = Some(metadata::metadata(cursor)?),
        "backend_config" => hlo.backend_config = cursor.bytes_or_dictionary()?,
        "sharding" => hlo.sharding = Some(sharding::sharding(cursor)?),
        "frontend_attributes" => {
            hlo.frontend_attributes = Some(proto::FrontendAttributes { map: frontend_attributes(cursor)? });
        }
        "control-predecessors" => cursor.list("{", "}", |cursor| {
            let place = cursor.place();
            mentions.predecessors.push((cursor.name("the name of an instruction")?, place));
            Ok(())
        })?,
        "statistics" => hlo.statistics_viz = Some(statistics(cursor)?),
        "origin" => hlo.original_value = Some(origin(cursor)?),
        "result_accuracy" => hlo.result_accuracy = Some(result_accuracy(cursor)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Numbers, lists of them, and switches.
fn numbers(cursor: &mut Cursor<'_>, key: &str, opcode: Opcode, hlo: &mut HloInstruction) -> Parsed<bool> {
    match key {
        "dimensions" => {
            let dimensions = cursor.integers()?;
            // A map is over all dimensions, which goes without saying in the proto.
            if opcode != Opcode::Map {
                hlo.dimensions = dimensions;
            }
        }
        "iota_dimension" | "inferred_dimension" => hlo.dimensions = vec![cursor.integer()?],
        "index" => hlo.tuple_index = cursor.integer()?,
        "channel_id" => hlo.channel_id = cursor.integer()?,
        "dynamic_slice_sizes" => hlo.dynamic_slice_sizes = cursor.integers()?,
        "slice_sizes" if opcode == Opcode::Gather => hlo.gather_slice_sizes = cursor.integers()?,
        "slice_sizes" => hlo.dynamic_slice_sizes = cursor.lists_of_integers()?.concat(),
        "feature_group_count" => hlo.feature_group_count = cursor.integer()?,
        "batch_group_count" => hlo.batch_group_count = cursor.integer()?,
        "fft_length" => hlo.fft_length = cursor.integers()?,
        "exponent_bits" => hlo.exponent_bits = cursor.number("a number of bits")?,
        "mantissa_bits" => hlo.mantissa_bits = cursor.number("a number of bits")?,
        "feature_index" => hlo.feature_index = cursor.integer()?,
        "epsilon" => hlo.epsilon = cursor.real("a number")?.0,
        "delta" => hlo.delta = cursor.integer()?,
        "k" => hlo.k = cursor.integer()?,
        "cross_program_prefetch_index" => {
            hlo.cross_program_prefetch_index = Some(cursor.number("an integer of 32 bits")?);
        }
        "use_global_device_ids" => hlo.use_global_device_ids = cursor.boolean()?,
        "is_host_transfer" => hlo.is_host_transfer = cursor.boolean()?,
        "constrain_layout" => hlo.constrain_layout = cursor.boolean()?,
        "custom_call_has_side_effect" => hlo.custom_call_has_side_effect = cursor.boolean()?,
        "indices_are_sorted" => hlo.indices_are_sorted = cursor.boolean()?,
        "unique_indices" => hlo.unique_indices = cursor.boolean()?,
        "is_stable" => hlo.is_stable = cursor.boolean()?,
        "is_composite" => hlo.is_composite = cursor.boolean()?,
        "has_dynamic_root" => hlo.has_dynamic_root = cursor.boolean()?,
        "largest" => hlo.largest = cursor.boolean()?,
        "lower" if opcode == Opcode::Cholesky => {
            hlo.cholesky_options = Some(proto::CholeskyOptions { lower: cursor.boolean()? });
        }
        "left_side" => triangular(hlo).left_side = cursor.boolean()?,
        "lower" => triangular(hlo).lower = cursor.boolean()?,
        "unit_diagonal" => triangular(hlo).unit_diagonal = cursor.boolean()?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn triangular(hlo: &mut HloInstruction) -> &mut proto::TriangularSolveOptions {
    hlo.triangular_solve_options.get_or_insert_default()
}

/// Dimension numbers of dots, gathers and scatters.
fn dimension_numbers(cursor: &mut Cursor<'_>, key: &str, hlo: &mut HloInstruction) -> Parsed<bool> {
    let dot = &mut hlo.dot_dimension_numbers;
    let ragged = &mut hlo.ragged_dot_dimension_numbers;
    let gather = &mut hlo.gather_dimension_numbers;
    let scatter = &mut hlo.scatter_dimension_numbers;
    let field = match key {
        "lhs_batch_dims" => &mut dot.get_or_insert_default().lhs_batch_dimensions,
        "rhs_batch_dims" => &mut dot.get_or_insert_default().rhs_batch_dimensions,
        "lhs_contracting_dims" => &mut dot.get_or_insert_default().lhs_contracting_dimensions,
        "rhs_contracting_dims" => &mut dot.get_or_insert_default().rhs_contracting_dimensions,
        "lhs_ragged_dims" => &mut ragged.get_or_insert_default().lhs_ragged_dimensions,
        "rhs_group_dims" => &mut ragged.get_or_insert_default().rhs_group_dimensions,
        "offset_dims" => &mut gather.get_or_insert_default().offset_dims,
        "collapsed_slice_dims" => &mut gather.get_or_insert_default().collapsed_slice_dims,
        "start_index_map" => &mut gather.get_or_insert_default().start_index_map,
        "operand_batching_dims" => &mut gather.get_or_insert_default().operand_batching_dims,
        "start_indices_batching_dims" => &mut gather.get_or_insert_default().start_indices_batching_dims,
        "update_window_dims" => &mut scatter.get_or_insert_default().update_window_dims,
        "inserted_window_dims" => &mut scatter.get_or_insert_default().inserted_window_dims,
        "scatter_dims_to_operand_dims" => &mut scatter.get_or_insert_default().scatter_dims_to_operand_dims,
        "input_batching_dims" => &mut scatter.get_or_insert_default().input_batching_dims,
        "scatter_indices_batching_dims" => &mut scatter.get_or_insert_default().scatter_indices_batching_dims,
        "index_vector_dim" => {
            let number = cursor.integer()?;
            match (gather, scatter) {
                (_, Some(scatter)) => scatter.index_vector_dim = number,
                (gather, None) => gather.get_or_insert_default().index_vector_dim = number,
            }
            return Ok(true);
        }
        _ => return Ok(false),
    };
    *field = cursor.integers()?;
    Ok(true)
}

/// One word of a few, or text.
fn keyword(cursor: &mut Cursor<'_>, key: &str, opcode: Opcode, hlo: &mut HloInstruction) -> Parsed<bool> {
    match key {
        "kind" => hlo.fusion_kind = cursor.word("a kind of fusion")?.to_owned(),
        "direction" => hlo.comparison_direction = cursor.word("a direction of comparison")?.to_owned(),
        "type" => hlo.comparison_type = cursor.word("a type of comparison")?.to_owned(),
        "order" => hlo.comparison_order = cursor.word("an order of comparison")?.to_owned(),
        "custom_call_target" => hlo.custom_call_target = cursor.string()?,
        "async_execution_thread" => hlo.async_execution_thread = cursor.string()?,
        "infeed_config" => hlo.infeed_config = cursor.bytes()?,
        "outfeed_config" => hlo.outfeed_config = cursor.bytes()?,
        "fft_type" => hlo.fft_type = cursor.one_of(&["FFT", "IFFT", "RFFT", "IRFFT"], "a kind of FFT")?,
        "distribution" => {
            let known = ["rng_invalid", "rng_uniform", "rng_normal"];
            hlo.distribution = cursor.one_of(&known, "rng_uniform or rng_normal")?;
        }
        "algorithm" if opcode == Opcode::RngBitGenerator => {
            let known = ["rng_default", "rng_three_fry", "rng_philox"];
            hlo.rng_algorithm = cursor.one_of(&known, "rng_default, rng_three_fry or rng_philox")?;
        }
        "algorithm" => {
            precision(hlo).algorithm = cursor.one_of(DOT_ALGORITHMS, "the algorithm of a dot")?;
        }
        "operand_precision" => {
            let mut precisions = Vec::new();
            cursor.list("{", "}", |cursor| {
                let known = ["default", "high", "highest", "packed_nibble"];
                precisions.push(cursor.one_of(&known, "default, high or highest")?);
                Ok(())
            })?;
            precision(hlo).operand_precision = precisions;
        }
        "transpose_a" => {
            let known = ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
            triangular(hlo).transpose_a = cursor.one_of(&known, "NO_TRANSPOSE, TRANSPOSE or ADJOINT")?;
        }
        "padding_type" => {
            let known = ["PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"];
            hlo.padding_type = cursor.one_of(&known, "PADDING_VALID or PADDING_SAME")?;
        }
        "schedule" => {
            let known = ["SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"];
            hlo.custom_call_schedule = cursor.one_of(&known, "SCHEDULE_LATEST or SCHEDULE_EARLIEST")?;
        }
        "api_version" => {
            hlo.custom_call_api_version = cursor.one_of(API_VERSIONS, "the version of an interface")?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn precision(hlo: &mut HloInstruction) -> &mut proto::PrecisionConfig {
    hlo.precision_config.get_or_insert_default()
}

/// What has parts of its own.
fn structures(cursor: &mut Cursor<'_>, key: &str, hlo: &mut HloInstruction) -> Parsed<bool> {
    match key {
        "window" => hlo.window = Some(dims::window(cursor)?),
        "dim_labels" => hlo.convolution_dimension_numbers = Some(dims::convolution(cursor)?),
        "padding" => hlo.padding_config = Some(dims::padding(cursor)?),
        "slice" => hlo.slice_dimensions = dims::slice(cursor)?,
        "replica_groups" => sharding::replica_groups(cursor, hlo)?,
        "source_target_pairs" => cursor.list("{", "}", |cursor| {
            cursor.expect("{")?;
            let source = cursor.integer()?;
            cursor.expect(",")?;
            let target = cursor.integer()?;
            hlo.source_target_pairs.push(proto::SourceTarget { source, target });
            cursor.expect("}")
        })?,
        "output_to_operand_aliasing" => cursor.list("{", "}", |cursor| {
            let output_shape_index = cursor.integers()?;
            cursor.expect(":")?;
            cursor.expect("(")?;
            let operand_index = cursor.integer()?;
            cursor.expect(",")?;
            let operand_shape_index = cursor.integers()?;
            cursor.expect(")")?;
            hlo.output_operand_aliasing.push(proto::OutputOperandAliasing {
                output_shape_index,
                operand_index,
                operand_shape_index,
            });
            Ok(())
        })?,
        "operand_layout_constraints" => {
            hlo.constrain_layout = true;
            cursor.list("{", "}", |cursor| {
                hlo.operand_shapes_with_layout.push(shape::shape(cursor)?);
                Ok(())
            })?;
        }
        "outfeed_shape" => hlo.outfeed_shape = Some(shape::shape(cursor)?),
        "literal" => hlo.literal = literal::literal_with_shape(cursor)?,
        "parameter_replication" => {
            let mut replication = proto::ParameterReplication::default();
            cursor.list("{", "}", |cursor| {
                replication.replicated_at_leaf_buffers.push(cursor.boolean()?);
                Ok(())
            })?;
            hlo.parameter_replication = Some(replication);
        }
        "domain" => metadata::pairs(cursor, |cursor, key| {
            match key {
                "entry" => hlo.domain_entry_sharding = Some(sharding::sharding(cursor)?),
                "exit" => hlo.domain_exit_sharding = Some(sharding::sharding(cursor)?),
                _ => cursor.pass_value()?,
            }
            Ok(())
        })?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Keys with text in quotes, or with dictionaries that stand for themselves.
pub(super) fn frontend_attributes(cursor: &mut Cursor<'_>) -> Parsed<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    metadata::pairs(cursor, |cursor, key| {
        let value = cursor.bytes_or_dictionary()?;
        map.insert(key.to_owned(), String::from_utf8_lossy(&value).into_owned());
        Ok(())
    })?;
    Ok(map)
}

fn statistics(cursor: &mut Cursor<'_>) -> Parsed<proto::StatisticsViz> {
    let mut all = proto::StatisticsViz::default();
    metadata::pairs(cursor, |cursor, key| {
        if key == "visualizing_index" {
            all.stat_index_to_visualize = cursor.integer()?;
        } else {
            let stat_val = cursor.real("a number")?.0;
            all.statistics.push(proto::Statistic { stat_name: key.to_owned(), stat_val });
        }
        Ok(())
    })?;
    Ok(all)
}

/// `{{"add.1"}}`, `{({"while.2" {0}}, {"while.2" {1}})}` or `{[synthetic_call]}`: for each array of the shape, what it was
/// called before optimisation, and which part of that it is.
fn origin(cursor: &mut Cursor<'_>) -> Parsed<proto::OriginalValue> {
    let mut origin = proto::OriginalValue::default();
    cursor.expect("{")?;
    if cursor.eat("[") {
        origin.is_synthetic_call = cursor.eat_word("synthetic_call");
        cursor.expect("]")?;
        cursor.expect("}")?;
        return Ok(origin);
    }
    let mut at: Vec<i64> = Vec::new();
    while !cursor.eat("}") {
        if cursor.eat("(") {
            if at.len() >= shape::NESTING_LIMIT {
                return cursor
                    .unexpected(format!("at most {} tuples inside of each other", shape::NESTING_LIMIT));
            }
            at.push(0);
        } else if cursor.eat(")") {
            at.pop();
        } else if cursor.eat(",") {
            if let Some(last) = at.last_mut() {
                *last += 1;
            }
        } else {
            cursor.expect("{")?;
            let mut original_array = None;
            if cursor.peek() == Some(b'"') {
                let instruction_name = cursor.string()?;
                let shape_index = if cursor.peek() == Some(b'{') { cursor.integers()? } else { Vec::new() };
                original_array = Some(proto::OriginalArray { instruction_name, shape_index });
            }
            cursor.expect("}")?;
            origin.elements.push(proto::OriginalElement { shape_index: at.clone(), original_array });
        }
    }
    Ok(origin)
}

fn result_accuracy(cursor: &mut Cursor<'_>) -> Parsed<proto::ResultAccuracy> {
    let mut accuracy = proto::ResultAccuracy::default();
    metadata::pairs(cursor, |cursor, key| {
        match key {
            "mode" => accuracy.mode = Some(cursor.one_of(&["default", "highest"], "default or highest")?),
            "tolerance" => {
                let mut tolerance = proto::Tolerance::default();
                metadata::pairs(cursor, |cursor, key| {
                    match key {
                        "atol" => tolerance.atol = cursor.real("a number")?.0,
                        "rtol" => tolerance.rtol = cursor.real("a number")?.0,
                        "ulps" => tolerance.ulps = cursor.integer()?,
                        _ => cursor.pass_value()?,
                    }
                    Ok(())
                })?;
                accuracy.tolerance = Some(tolerance);
            }
            _ => cursor.pass_value()?,
        }
        Ok(())
    })?;
    Ok(accuracy)
}
