//! Events whose names mean something to grouping.

use crate::framework_op::{Framework, FrameworkOp};

/// What an event's name says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventType {
    /// Nothing known.
    #[default]
    Other,
    /// A root of the older kind.
    TraceContext,
    /// `FunctionRun`, `SessionRun`, `RunGraph`: roots that nobody named.
    ImplicitRoot,
    /// TensorFlow's executor works on a step.
    ExecutorProcess,
    /// An op of TensorFlow's.
    TfOp,
    /// An eagerly executed op or function.
    EagerExecute,
    /// A function that `tf.data` calls.
    TfDataFunction,
    /// `IteratorGetNext…::DoCompute`: a step asks for its input.
    IteratorGetNext,
    /// Bookkeeping that no timeline shows.
    Internal,
    /// An event of another kind that has a name of its own, which keeps it from being taken for a kernel's launch.
    Known,
    /// A loop op of TensorFlow's: with one of them, nothing is grouped.
    Loop,
}

impl EventType {
    /// The type of events with this name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "TraceContext" => Self::TraceContext,
            "FunctionRun" | "SessionRun" | "RunGraph" => Self::ImplicitRoot,
            "ExecutorState::Process" => Self::ExecutorProcess,
            "TfOpRun" => Self::TfOp,
            "EagerExecute" => Self::EagerExecute,
            "InstantiatedCapturedFunction::Run"
            | "InstantiatedCapturedFunction::RunWithBorrowedArgs"
            | "InstantiatedCapturedFunction::RunInstantiated"
            | "InstantiatedCapturedFunction::RunAsync" => Self::TfDataFunction,
            "IteratorGetNextOp::DoCompute" | "IteratorGetNextAsOptionalOp::DoCompute" => {
                Self::IteratorGetNext
            }
            "MemoryAllocation"
            | "MemoryDeallocation"
            | "PrefetchProduce"
            | "PrefetchConsume"
            | "ParallelInterleaveProduce"
            | "ParallelInterleaveConsume"
            | "ParallelInterleaveInitializeInput"
            | "ParallelMapProduce"
            | "ParallelMapConsume"
            | "MapAndBatchProduce"
            | "MapAndBatchConsume"
            | "ParseExampleProduce"
            | "ParseExampleConsume" => Self::Internal,
            "ParallelForOp" | "ForeverOp" | "WhileOp-EvalCond" | "WhileOp-StartBody" | "ForOp" => Self::Loop,
            "RunGraphDone"
            | "ExecutorDoneCallback"
            | "Iterator"
            | "Iterator::Prefetch::Generator"
            | "KernelLaunch"
            | "KernelExecute" => Self::Known,
            _ => match FrameworkOp::parse(name).framework {
                Framework::TensorFlow => Self::TfOp,
                Framework::TfData => Self::Known,
                _ => Self::Other,
            },
        }
    }
}
