//! HLO opcodes and the classes that the cost model and the categories need.

macro_rules! opcodes {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// An HLO opcode. Variants are named after XLA's text form in camel case: `all-reduce` is `AllReduce`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Opcode {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
            /// An opcode that this version of the crate does not know; the instruction keeps its text.
            Other,
        }

        impl Opcode {
            /// The opcode of XLA's text form; [`Opcode::Other`] where it is not known.
            #[must_use]
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Other,
                }
            }

            /// XLA's text form, or `None` for [`Opcode::Other`].
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($name),)*
                    Self::Other => None,
                }
            }
        }
    };
}

opcodes! {
    Abs = "abs", Acos = "acos", Acosh = "acosh", Add = "add", AddDependency = "add-dependency",
    AfterAll = "after-all", AllGather = "all-gather", AllGatherDone = "all-gather-done",
    AllGatherStart = "all-gather-start", AllReduce = "all-reduce", AllReduceDone = "all-reduce-done",
    AllReduceStart = "all-reduce-start", AllToAll = "all-to-all", And = "and", Asin = "asin", Asinh = "asinh",
    AsyncDone = "async-done", AsyncStart = "async-start", AsyncUpdate = "async-update", Atan2 = "atan2",
    Atanh = "atanh", BatchNormGrad = "batch-norm-grad", BatchNormInference = "batch-norm-inference",
    BatchNormTraining = "batch-norm-training", Bitcast = "bitcast", BitcastConvert = "bitcast-convert",
    Broadcast = "broadcast", Call = "call", Cbrt = "cbrt", Ceil = "ceil", Cholesky = "cholesky", Clamp = "clamp",
    Clz = "count-leading-zeros", CollectiveBroadcast = "collective-broadcast",
    CollectivePermute = "collective-permute", CollectivePermuteDone = "collective-permute-done",
    CollectivePermuteStart = "collective-permute-start", Compare = "compare", Complex = "complex",
    Concatenate = "concatenate", Conditional = "conditional", Constant = "constant", Convert = "convert",
    Convolution = "convolution", Copy = "copy", CopyDone = "copy-done", CopyStart = "copy-start",
    Cosh = "cosh", Cosine = "cosine", CustomCall = "custom-call", Divide = "divide", Domain = "domain", Dot = "dot",
    DynamicReshape = "dynamic-reshape", DynamicSlice = "dynamic-slice",
    DynamicUpdateSlice = "dynamic-update-slice", Erf = "erf", Exponential = "exponential",
    ExponentialMinusOne = "exponential-minus-one", Fft = "fft", Floor = "floor", Fusion = "fusion",
    Gather = "gather", GetDimensionSize = "get-dimension-size", GetTupleElement = "get-tuple-element",
    Imag = "imag", Infeed = "infeed", Iota = "iota", IsFinite = "is-finite", Log = "log",
    LogPlusOne = "log-plus-one", Logistic = "logistic", Map = "map", Maximum = "maximum", Minimum = "minimum",
    Multiply = "multiply", MultiplyHigh = "mulhi",
    Negate = "negate", Not = "not", OptimizationBarrier = "opt-barrier", Or = "or",
    Outfeed = "outfeed", Pad = "pad", Parameter = "parameter", PartitionId = "partition-id",
    PopulationCount = "popcnt", Power = "power", RaggedAllToAll = "ragged-all-to-all", RaggedDot = "ragged-dot",
    Real = "real", Recv = "recv", RecvDone = "recv-done", Reduce = "reduce",
    ReducePrecision = "reduce-precision", ReduceScatter = "reduce-scatter", ReduceWindow = "reduce-window",
    Remainder = "remainder", ReplicaId = "replica-id", Reshape = "reshape", Reverse = "reverse", Rng = "rng",
    RngBitGenerator = "rng-bit-generator", RngGetAndUpdateState = "rng-get-and-update-state",
    RoundNearestAfz = "round-nearest-afz", RoundNearestEven = "round-nearest-even", Rsqrt = "rsqrt",
    ScaledDot = "scaled-dot", Scan = "scan", Scatter = "scatter", Select = "select",
    SelectAndScatter = "select-and-scatter", Send = "send", SendDone = "send-done",
    SetDimensionSize = "set-dimension-size", ShiftLeft = "shift-left",
    ShiftRightArithmetic = "shift-right-arithmetic", ShiftRightLogical = "shift-right-logical", Shuffle = "shuffle", Sign = "sign",
    Sine = "sine", Sinh = "sinh", Slice = "slice", Sort = "sort", Sqrt = "sqrt",
    StochasticConvert = "stochastic-convert", Subtract = "subtract", Tan = "tan", Tanh = "tanh", TopK = "topk",
    Transpose = "transpose", TriangularSolve = "triangular-solve", Tuple = "tuple", While = "while", Xor = "xor",
}

impl Opcode {
    /// Whether XLA counts one transcendental, rather than one FLOP, per output element.
    #[must_use]
    pub fn is_transcendental(self) -> bool {
        matches!(
            self,
            Self::Acos
                | Self::Acosh
                | Self::Asin
                | Self::Asinh
                | Self::Atan2
                | Self::Atanh
                | Self::Cbrt
                | Self::Cosh
                | Self::Cosine
                | Self::Erf
                | Self::Exponential
                | Self::ExponentialMinusOne
                | Self::Log
                | Self::LogPlusOne
                | Self::Logistic
                | Self::Power
                | Self::Rsqrt
                | Self::Sine
                | Self::Sinh
                | Self::Sqrt
                | Self::Tan
                | Self::Tanh
        )
    }

    /// Whether each output element depends on the operand elements at the same place only. As in XLA, `copy` counts.
    #[must_use]
    pub fn is_elementwise(self) -> bool {
        self.is_transcendental()
            || matches!(
                self,
                Self::Abs
                    | Self::Add
                    | Self::And
                    | Self::BitcastConvert
                    | Self::Ceil
                    | Self::Clamp
                    | Self::Clz
                    | Self::Compare
                    | Self::Complex
                    | Self::Convert
                    | Self::Copy
                    | Self::Divide
                    | Self::Floor
                    | Self::Imag
                    | Self::IsFinite
                    | Self::Maximum
                    | Self::Minimum
                    | Self::Multiply
                    | Self::MultiplyHigh
                    | Self::Negate
                    | Self::Not
                    | Self::Or
                    | Self::PopulationCount
                    | Self::Real
                    | Self::ReducePrecision
                    | Self::Remainder
                    | Self::RoundNearestAfz
                    | Self::RoundNearestEven
                    | Self::Select
                    | Self::ShiftLeft
                    | Self::ShiftRightArithmetic
                    | Self::ShiftRightLogical
                    | Self::Sign
                    | Self::StochasticConvert
                    | Self::Subtract
                    | Self::Xor
            )
    }

    /// Whether the instruction starts, polls or ends what another computation does.
    #[must_use]
    pub fn is_async(self) -> bool {
        matches!(self, Self::AsyncStart | Self::AsyncUpdate | Self::AsyncDone)
    }

    /// Whether the instruction talks to other devices, in one piece or as the start or end of an asynchronous pair.
    #[must_use]
    pub fn is_collective(self) -> bool {
        matches!(
            self,
            Self::AllGather
                | Self::AllGatherStart
                | Self::AllGatherDone
                | Self::AllReduce
                | Self::AllReduceStart
                | Self::AllReduceDone
                | Self::AllToAll
                | Self::CollectiveBroadcast
                | Self::CollectivePermute
                | Self::CollectivePermuteStart
                | Self::CollectivePermuteDone
                | Self::RaggedAllToAll
                | Self::ReduceScatter
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Opcode;

    #[test]
    fn names_round_trip() {
        for name in ["all-reduce", "opt-barrier", "popcnt", "count-leading-zeros", "round-nearest-afz"] {
            assert_eq!(Opcode::from_name(name).name(), Some(name));
        }
        assert_eq!(Opcode::from_name("no-such-op"), Opcode::Other);
        assert_eq!(Opcode::Other.name(), None);
    }

    #[test]
    fn classes() {
        assert!(Opcode::Tanh.is_transcendental() && Opcode::Tanh.is_elementwise());
        assert!(!Opcode::Add.is_transcendental() && Opcode::Add.is_elementwise());
        assert!(!Opcode::Dot.is_elementwise());
        assert!(Opcode::AllReduceDone.is_collective() && !Opcode::CopyStart.is_collective());
    }
}
