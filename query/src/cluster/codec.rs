//! The leaf on its way to a worker.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::{internal_err, plan_datafusion_err};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::bytes::Serializeable;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use haloscope_analyses::part;
use prost::Message;

use super::leaf::{FileScan, What};
use super::session;
use super::shelf::{FileRef, Version};
use crate::runs::Place;
use crate::tables::analysis::external;

/// Most partitions that a plan may ask for.
const MOST_PARTITIONS: u32 = 4_096;

/// Writes and reads [`FileScan`].
#[derive(Debug)]
pub(super) struct Codec;

#[derive(Clone, PartialEq, prost::Message)]
struct Scan {
    #[prost(string, tag = "1")]
    what: String,
    #[prost(string, repeated, tag = "2")]
    columns: Vec<String>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    filters: Vec<Vec<u8>>,
    #[prost(uint64, optional, tag = "4")]
    limit: Option<u64>,
    #[prost(uint32, tag = "5")]
    partitions: u32,
    #[prost(uint64, tag = "6")]
    events: u64,
    #[prost(message, repeated, tag = "7")]
    files: Vec<File>,
    #[prost(string, repeated, tag = "8")]
    questions: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct File {
    #[prost(uint32, tag = "1")]
    at: u32,
    #[prost(string, tag = "2")]
    run: String,
    #[prost(string, tag = "3")]
    path: String,
    #[prost(string, tag = "4")]
    shown: String,
    #[prost(uint64, tag = "5")]
    bytes: u64,
    #[prost(sint64, optional, tag = "6")]
    zero_ns: Option<i64>,
    #[prost(bool, tag = "7")]
    is_one_of_many: bool,
    #[prost(uint32, tag = "8")]
    first_line: u32,
    #[prost(bool, tag = "9")]
    is_elsewhere: bool,
    #[prost(string, optional, tag = "10")]
    etag: Option<String>,
    #[prost(uint64, tag = "11")]
    modified_ns: u64,
}

/// Whether a condition can be sent to a worker, and is the same there.
pub(super) fn is_sendable(filter: &Expr) -> bool {
    let bytes = filter.to_bytes();
    let there = bytes.and_then(|bytes| Expr::from_bytes_with_ctx(&bytes, &session::plain().task_ctx()));
    there.is_ok_and(|there| there == *filter)
}

impl PhysicalExtensionCodec for Codec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(scan) = node.downcast_ref::<FileScan>() else {
            return internal_err!("a step of a plan that cannot be sent: {}", node.name());
        };
        let file = |file: &FileRef| File {
            at: file.at,
            run: file.run.clone(),
            path: file.path.clone(),
            shown: file.shown.clone(),
            bytes: file.bytes,
            zero_ns: file.place.zero_ns,
            is_one_of_many: file.place.is_one_of_many,
            first_line: file.place.first_line,
            is_elsewhere: file.version.is_some(),
            etag: file.version.as_ref().and_then(|version| version.etag.clone()),
            modified_ns: file.version.as_ref().map_or(0, |version| version.modified_ns),
        };
        let filters = scan.filters.iter().map(|filter| Ok(filter.to_bytes()?.to_vec()));
        let message = Scan {
            what: scan.what.word().to_owned(),
            columns: scan.schema().fields().iter().map(|field| field.name().clone()).collect(),
            filters: filters.collect::<Result<_>>()?,
            limit: scan.limit.map(|limit| limit as u64),
            partitions: u32::try_from(scan.partitions()).unwrap_or(MOST_PARTITIONS),
            events: scan.events,
            files: scan.files.iter().map(file).collect(),
            questions: scan.questions.iter().map(|id| (*id).to_owned()).collect(),
        };
        message.encode(buf).map_err(|error| plan_datafusion_err!("a scan cannot be written: {error}"))
    }

    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let scan =
            Scan::decode(buf).map_err(|error| plan_datafusion_err!("a scan cannot be read: {error}"))?;
        let what = What::named(&scan.what).filter(|_| inputs.is_empty());
        let what = what.ok_or_else(|| plan_datafusion_err!("there is no table {}", scan.what))?;
        let all = what.schema()?;
        let field = |name: &String| Ok(Arc::clone(&all.fields()[all.index_of(name)?]));
        let fields = scan.columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        let task = session::plain().task_ctx();
        let filter = |bytes: &Vec<u8>| Expr::from_bytes_with_ctx(bytes, &task);
        let file = |file: File| FileRef {
            at: file.at,
            run: file.run,
            path: file.path,
            shown: file.shown,
            bytes: file.bytes,
            version: file.is_elsewhere.then_some(Version { etag: file.etag, modified_ns: file.modified_ns }),
            place: Place {
                zero_ns: file.zero_ns,
                is_one_of_many: file.is_one_of_many,
                first_line: file.first_line,
            },
        };
        let partitions = scan.partitions.min(MOST_PARTITIONS) as usize;
        let filters = scan.filters.iter().map(filter).collect::<Result<_>>()?;
        let files = scan.files.into_iter().map(file).collect();
        let mut leaf = FileScan::new(what, files, Arc::new(Schema::new(fields)), partitions);
        leaf.filters = filters;
        let question = |id: &String| part::asked(id).map(|analysis| analysis.id).map_err(external);
        leaf.questions = scan.questions.iter().map(question).collect::<Result<_>>()?;
        leaf.limit = scan.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        leaf.events = scan.events;
        Ok(Arc::new(leaf))
    }
}
