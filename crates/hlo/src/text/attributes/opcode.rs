//! Attributes that belong to an opcode.

use std::fmt;

use super::super::{
    Words, dims, escape,
    list::{Braced, join},
    literal, number, sharding,
    wrapped::wrapped,
};
use super::{API_VERSIONS, DOT_ALGORITHMS, List, name_of};
use crate::{
    instruction::{FusionKind, OutputOperandAlias},
    opcode::Opcode,
    rare::Rare,
    replica_groups::ReplicaGroups,
};

impl List<'_> {
    /// Attributes that the opcode calls for.
    pub(super) fn of_opcode(&mut self) {
        use Opcode as O;
        let attributes = self.instruction.attributes();
        let dimension = attributes.dimensions.first().copied();
        match self.instruction.opcode {
            O::BatchNormGrad | O::BatchNormInference | O::BatchNormTraining => {
                self.add("epsilon", number::general(f64::from(self.rare.epsilon), 6));
                self.add("feature_index", self.rare.feature_index);
            }
            O::Fft => {
                self.add("fft_type", name_of(self.rare.fft_type, &["FFT", "IFFT", "RFFT", "IRFFT"]));
                self.add("fft_length", Braced(&attributes.fft_length));
            }
            O::AsyncStart => {
                self.async_start();
                self.aliasing(&attributes.output_operand_aliasing);
            }
            O::AsyncUpdate | O::AsyncDone => self.aliasing(&attributes.output_operand_aliasing),
            O::CopyStart => {
                if let Some(index) = attributes.cross_program_prefetch_index {
                    self.add("cross_program_prefetch_index", index);
                }
            }
            O::Compare => self.compare(),
            O::TriangularSolve => self.triangular_solve(),
            O::Cholesky => self.add_if(self.rare.cholesky_lower, "lower", true),
            O::TopK => {
                self.add("k", self.rare.k);
                self.add("largest", self.rare.largest);
                self.add("is_stable", self.rare.is_stable);
            }
            O::Send | O::SendDone | O::Recv | O::RecvDone => {
                self.channel();
                self.add_if(attributes.is_host_transfer, "is_host_transfer", true);
            }
            O::AllGather | O::AllGatherStart => {
                self.collective();
                self.add("dimensions", format!("{{{}}}", dimension.unwrap_or_default()));
                self.global_ids();
            }
            O::AllReduce | O::AllReduceStart => {
                self.collective();
                self.global_ids();
            }
            O::ReduceScatter => {
                self.collective();
                self.global_ids();
                self.add("dimensions", format!("{{{}}}", dimension.unwrap_or_default()));
            }
            O::AllToAll => {
                self.collective();
                if let Some(dimension) = dimension {
                    self.add("dimensions", format!("{{{dimension}}}"));
                }
            }
            O::CollectiveBroadcast => {
                self.collective();
                self.add("has_dynamic_root", self.rare.has_dynamic_root);
            }
            O::RaggedAllToAll => self.collective(),
            O::CollectivePermute | O::CollectivePermuteStart => self.collective_permute(),
            O::Reverse | O::Concatenate | O::Reduce | O::Transpose | O::Broadcast => {
                self.add("dimensions", Braced(&attributes.dimensions));
            }
            O::Map => {
                let all: Vec<i64> = (0..).take(self.instruction.shape.dimensions.len()).collect();
                self.add("dimensions", Braced(&all));
            }
            O::Sort => {
                self.add("dimensions", Braced(&attributes.dimensions));
                self.add_if(self.rare.is_stable, "is_stable", true);
            }
            O::Reshape => {
                if let Some(dimension) = dimension.filter(|d| *d != -1) {
                    self.add("inferred_dimension", dimension);
                }
            }
            O::Slice => self.add("slice", dims::slice(&attributes.slice)),
            O::Fusion => {
                self.add("kind", attributes.fusion_kind.as_ref().map_or("", FusionKind::name));
                self.aliasing(&attributes.output_operand_aliasing);
            }
            O::Rng => {
                let distribution =
                    name_of(self.rare.distribution, &["rng_invalid", "rng_uniform", "rng_normal"]);
                self.add("distribution", distribution);
            }
            O::Parameter => {
                let replicated = &self.rare.replicated_at_leaf_buffers;
                let words: Vec<String> = replicated.iter().map(bool::to_string).collect();
                self.add_if(!words.is_empty(), "parameter_replication", format!("{{{}}}", words.join(",")));
            }
            O::GetTupleElement => self.add("index", attributes.tuple_index.unwrap_or_default()),
            O::ReducePrecision => {
                let (exponent, mantissa) = attributes.reduce_precision_bits.unwrap_or_default();
                self.add("exponent_bits", exponent);
                self.add("mantissa_bits", mantissa);
            }
            O::Infeed => self.transfer_config("infeed_config", &self.rare.infeed_config),
            O::Outfeed => {
                if let Some(shape) = &self.rare.outfeed_shape {
                    self.add("outfeed_shape", shape);
                }
                self.transfer_config("outfeed_config", &self.rare.outfeed_config);
            }
            O::Convolution => self.convolution(),
            O::ReduceWindow | O::SelectAndScatter => self.window(),
            O::CustomCall => self.custom_call(),
            O::Pad => self.add("padding", dims::padding(&attributes.padding)),
            O::DynamicSlice => self.add("dynamic_slice_sizes", Braced(&attributes.dynamic_slice_sizes)),
            O::Gather => {
                self.texts.extend(attributes.gather.as_ref().map(dims::gather));
                self.add("slice_sizes", Braced(&attributes.gather_slice_sizes));
                self.add_if(self.rare.indices_are_sorted, "indices_are_sorted", true);
            }
            O::Scatter => {
                self.texts.extend(attributes.scatter.as_ref().map(dims::scatter));
                self.add_if(self.rare.indices_are_sorted, "indices_are_sorted", true);
                self.add_if(self.rare.unique_indices, "unique_indices", true);
            }
            O::Iota => self.add("iota_dimension", dimension.unwrap_or_default()),
            O::Dot => {
                self.texts.push(dims::dot(attributes.dot.as_ref().unwrap_or(&Default::default())));
                self.precision(2);
            }
            O::RaggedDot => {
                self.texts
                    .push(dims::ragged_dot(attributes.ragged_dot.as_ref().unwrap_or(&Default::default())));
                self.precision(2);
            }
            O::Domain => self.domain(),
            O::GetDimensionSize | O::SetDimensionSize => {
                self.add("dimensions", format!("{{{}}}", dimension.unwrap_or_default()));
            }
            O::RngGetAndUpdateState => self.add("delta", self.rare.delta),
            O::RngBitGenerator => {
                let algorithm =
                    name_of(self.rare.rng_algorithm, &["rng_default", "rng_three_fry", "rng_philox"]);
                self.add("algorithm", algorithm);
            }
            _ => {}
        }
    }

    /// The thread, then what the one instruction that it runs would have.
    pub(super) fn async_start(&mut self) {
        let thread = self.instruction.attributes().async_execution_thread.as_deref();
        if let Some(thread) = thread.filter(|thread| *thread != "main") {
            self.add("async_execution_thread", format!("\"{thread}\""));
        }
        if let Some(called) = wrapped(self.module, self.instruction, self.options) {
            let root = self.module.instruction(called.root);
            let no_rare = Rare::default();
            let rare = root.attributes().rare.as_deref().unwrap_or(&no_rare);
            let mut list = List { texts: Vec::new(), instruction: root, rare, ..*self };
            // A computation that starts itself would start itself again.
            if root.opcode != Opcode::AsyncStart {
                list.of_opcode();
            }
            list.called();
            // Those of the start say it for both.
            list.common(self.instruction.attributes().frontend_attributes.is_empty());
            self.texts.extend(list.texts);
        }
    }

    pub(super) fn compare(&mut self) {
        let direction = self.instruction.attributes().comparison_direction.clone();
        self.add("direction", direction.unwrap_or_default());
        let (kind, order) = (self.rare.comparison_type.as_str(), self.rare.comparison_order.as_str());
        let operand = self.instruction.operands.first().map(|o| self.module.instruction(*o));
        let element = operand.map(|o| o.shape.element_type);
        let is_float = element.is_some_and(crate::ElementType::is_float);
        let usual = match element.map_or("", crate::ElementType::name) {
            _ if is_float => "FLOAT",
            name if name.starts_with('s') => "SIGNED",
            _ => "UNSIGNED",
        };
        // A total order of floats was once a type of its own.
        let is_total = kind == "TOTALORDER" || order == "TOTAL";
        self.add_if(!["", usual, "TOTALORDER"].contains(&kind), "type", kind);
        self.add_if(is_float && is_total, "order", "TOTAL");
        self.add_if(!is_float && order == "PARTIAL", "order", "PARTIAL");
    }

    pub(super) fn triangular_solve(&mut self) {
        let solve = self.rare.triangular_solve.unwrap_or_default();
        self.add_if(solve.left_side, "left_side", true);
        self.add_if(solve.lower, "lower", true);
        self.add_if(solve.unit_diagonal, "unit_diagonal", true);
        let transposes = ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
        self.add_if(solve.transpose_a != 0, "transpose_a", name_of(solve.transpose_a, &transposes));
    }

    pub(super) fn channel(&mut self) {
        if let Some(channel) = self.instruction.attributes().channel_id {
            self.add("channel_id", channel);
        }
    }

    pub(super) fn collective(&mut self) {
        self.channel();
        let groups = match &self.instruction.attributes().replica_groups {
            None => "{}".to_owned(),
            Some(ReplicaGroups::Lists(lists)) => sharding::lists(lists),
            Some(ReplicaGroups::Iota(iota)) => sharding::iota_groups(iota),
            Some(ReplicaGroups::MeshAxes(mesh)) => sharding::mesh_groups(mesh),
        };
        self.add("replica_groups", groups);
        self.add_if(self.rare.constrain_layout, "constrain_layout", true);
    }

    pub(super) fn global_ids(&mut self) {
        self.add_if(self.instruction.attributes().use_global_device_ids, "use_global_device_ids", true);
    }

    pub(super) fn collective_permute(&mut self) {
        self.channel();
        let attributes = self.instruction.attributes();
        let pairs: Vec<String> =
            attributes.source_target_pairs.iter().map(|(from, to)| format!("{{{from},{to}}}")).collect();
        self.add("source_target_pairs", format!("{{{}}}", pairs.join(",")));
        let sizes = &attributes.dynamic_slice_sizes;
        if !sizes.is_empty() {
            // Sizes of all slices stand in one list; each slice has as many as the input has dimensions.
            let input = self.instruction.operands.first().map(|o| self.module.instruction(*o));
            let rank = input.and_then(|i| i.shape.leaves().first().map(|s| s.dimensions.len()));
            let slices: Vec<String> =
                sizes.chunks(rank.unwrap_or(1).max(1)).map(|s| Braced(s).to_string()).collect();
            self.add("slice_sizes", format!("{{{}}}", slices.join(",")));
        }
    }

    pub(super) fn transfer_config(&mut self, key: &str, config: &[u8]) {
        if self.options.infeed_outfeed_config && !config.is_empty() {
            self.add(key, format!("\"{}\"", escape::c_escape(config)));
        }
    }

    pub(super) fn window(&mut self) {
        let window = &self.instruction.attributes().window;
        self.add_if(!window.is_empty(), "window", format!("{{{}}}", dims::window(window)));
    }

    pub(super) fn convolution(&mut self) {
        self.window();
        let attributes = self.instruction.attributes();
        if let Some(numbers) = &attributes.convolution {
            self.add("dim_labels", dims::convolution(numbers));
        }
        for (key, count) in [
            ("feature_group_count", attributes.feature_group_count),
            ("batch_group_count", attributes.batch_group_count),
        ] {
            if let Some(count) = count.filter(|count| *count != 1) {
                self.add(key, count);
            }
        }
        self.precision(if self.instruction.opcode == Opcode::Convolution { 2 } else { 0 });
    }

    /// Operands whose precision is not said have the default, if their number is known.
    pub(super) fn precision(&mut self, operands: usize) {
        let Some((given, algorithm)) = &self.instruction.attributes().precision else { return };
        if given.iter().any(|p| *p != 0) {
            let mut all = given.clone();
            all.resize(operands.max(given.len()), 0);
            let words: Vec<&str> = all.iter().map(|p| name_of(*p, &["default", "high", "highest"])).collect();
            self.add("operand_precision", format!("{{{}}}", words.join(",")));
        }
        self.add_if(*algorithm != 0, "algorithm", name_of(*algorithm, DOT_ALGORITHMS));
    }

    pub(super) fn custom_call(&mut self) {
        self.convolution();
        let (attributes, rare) = (self.instruction.attributes(), self.rare);
        let padding = name_of(rare.padding_type, &["PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"]);
        self.add_if(rare.padding_type != 0, "padding_type", padding);
        let target = attributes.custom_call_target.as_deref().unwrap_or_default();
        self.add("custom_call_target", format!("\"{}\"", escape::c_escape(target.as_bytes())));
        if rare.constrain_layout {
            let shapes: Vec<String> =
                rare.operand_shapes_with_layout.iter().map(ToString::to_string).collect();
            self.add("operand_layout_constraints", format!("{{{}}}", shapes.join(", ")));
        }
        self.add_if(rare.has_side_effect, "custom_call_has_side_effect", true);
        if let Some(bytes) = &attributes.literal {
            self.add("literal", Words(|f: &mut fmt::Formatter<'_>| literal::write(f, bytes, true)));
        }
        self.aliasing(&attributes.output_operand_aliasing);
        let schedules = ["SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"];
        let schedule = name_of(rare.custom_call_schedule, &schedules);
        self.add_if(rare.custom_call_schedule != 0, "schedule", schedule);
        // The original interface goes without saying.
        let version = name_of(rare.custom_call_api_version, API_VERSIONS);
        self.add_if(rare.custom_call_api_version != 1, "api_version", version);
    }

    pub(super) fn aliasing(&mut self, aliases: &[OutputOperandAlias]) {
        if aliases.is_empty() {
            return;
        }
        let write = |f: &mut fmt::Formatter<'_>| {
            join(f, aliases, ", ", |f, alias| {
                let (output, operand) = (Braced(&alias.output_index), Braced(&alias.operand_index));
                write!(f, "{output}: ({}, {operand})", alias.operand)
            })
        };
        self.add("output_to_operand_aliasing", format!("{{{}}}", Words(write)));
    }

    pub(super) fn domain(&mut self) {
        let Some((entry, exit)) = &self.rare.domain_shardings else { return };
        let text = |bytes: &[u8]| sharding::text(bytes, false).unwrap_or_else(|| "{}".to_owned());
        self.add("domain", format!("{{kind=\"sharding\", entry={}, exit={}}}", text(exit), text(entry)));
    }
}
