//! Sessions of the engine: of whoever asks, and what both sides know.

use std::sync::{Arc, LazyLock};

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedExt, DistributedGetterExt,
    DistributedLeafExec, RouteTasksEvent, RouteTasksEventResponse, ScaleUpLeafNodeEvent,
    ScaleUpLeafNodeEventResponse, SessionStateBuilderExt, WorkerResolver,
};
use url::Url;

use super::channel::Channels;
use super::codec::Codec;
use super::leaf::FileScan;
use super::members::Member;
use super::placement;
use super::shelf::{FileRef, Shelf};
use crate::functions;

/// With fewer tasks a plan would not leave the process that makes it.
const FEWEST_TASKS: usize = 2;

/// A session that knows the functions and nothing else.
pub(super) fn plain() -> &'static SessionState {
    static PLAIN: LazyLock<SessionState> = LazyLock::new(|| {
        let context = SessionContext::new();
        functions::register(&context);
        functions::register_checked(&context);
        context.state()
    });
    &PLAIN
}

/// The workers of a question, none of which comes or goes.
struct Workers(Vec<Url>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}

/// Makes of a session one whose plans are worked on by these workers.
///
/// # Errors
/// Never in practice: settings that are not known.
pub(super) fn spread(
    state: SessionStateBuilder,
    members: &[Member],
    channels: &Channels,
    shelf: &Arc<Shelf>,
) -> Result<SessionStateBuilder> {
    let mut state = state;
    let config = state.config().get_or_insert_default();
    config.set_extension(Arc::clone(shelf));
    // A union whose inputs go to some of the workers each would put files where they are not kept.
    state
        .with_distributed_planner()
        .with_distributed_worker_resolver(Workers(members.iter().map(|member| member.url.clone()).collect()))
        .with_distributed_channel_resolver(channels.clone())
        .with_distributed_user_codec(Codec)
        .with_distributed_desired_task_count_handler(tasks)
        .with_distributed_scale_up_leaf_node_handler(files_of_tasks)
        .with_distributed_route_tasks_handler(workers_of_tasks)
        .with_distributed_children_isolator_unions(false)?
        .with_distributed_metrics_collection(false)?
        .with_distributed_max_tasks_per_stage(members.len().max(FEWEST_TASKS))
}

fn workers(config: &SessionConfig) -> Result<Vec<Url>> {
    config.get_distributed_worker_resolver()?.get_urls()
}

/// Files are read by all workers.
fn tasks(event: DesiredTaskCountEvent<'_>) -> Option<Result<DesiredTaskCountEventResponse>> {
    event.plan.downcast_ref::<FileScan>()?;
    let count = workers(event.session_config).map(|workers| workers.len().max(FEWEST_TASKS));
    Some(count.map(DesiredTaskCountEventResponse::desired))
}

/// Each task gets the files of its worker: no file is read by two.
fn files_of_tasks(event: ScaleUpLeafNodeEvent<'_>) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let scan = event.plan.downcast_ref::<FileScan>()?;
    let leaf = workers(event.session_config).and_then(|workers| {
        let names: Vec<&str> = workers.iter().map(Url::as_str).collect();
        let mut of_task: Vec<Vec<FileRef>> = vec![Vec::new(); event.task_count.max(1)];
        for file in scan.files.iter() {
            let task = placement::of(&file.path, &names) % of_task.len();
            of_task[task].push(file.clone());
        }
        let scans = of_task.into_iter().map(|files| Arc::new(scan.of_files(files)) as Arc<dyn ExecutionPlan>);
        DistributedLeafExec::try_new(Arc::clone(event.plan), scans)
    });
    Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
}

/// Task and worker have the same position. A stage of one task goes where its input is, as the engine has it.
#[expect(clippy::needless_pass_by_value, reason = "what the engine calls takes it so")]
fn workers_of_tasks(event: RouteTasksEvent<'_>) -> Option<Result<RouteTasksEventResponse>> {
    if event.task_count == 1 {
        return None;
    }
    let all = workers(event.task_ctx.session_config()).map(|workers| {
        let urls = workers.iter().cycle().take(event.task_count).cloned().collect();
        RouteTasksEventResponse::new(urls)
    });
    Some(all)
}
