//! Groups: the cases of XLA's own tests of grouping, restated.

use haloscope_event_groups::{Context, Direction};
use haloscope_profile::{HostId, Profile};

use crate::made::{Made, profile};

fn host() -> Made {
    let mut host = Made::named("/host:CPU");
    host.fact("process_id", haloscope_xspace::write::Value::Int(1));
    host
}

fn context(planes: Vec<Made>) -> (Profile, Context) {
    let profile = profile(planes);
    let context = Context::of(&profile, HostId(0));
    (profile, context)
}

/// The groups of the events of every line, in order.
fn groups(profile: &Profile, context: &Context) -> Vec<Vec<Option<u32>>> {
    context.lanes.iter().map(|lane| (0..lane.len(profile)).map(|at| lane.group(at)).collect()).collect()
}

fn names(context: &Context) -> Vec<&str> {
    context.groups.iter().map(|g| g.name.as_str()).collect()
}

/// A step that runs an executor on another thread, which launches a kernel.
fn step_with_kernel(root: (&str, &[(&str, i64)])) -> Vec<Made> {
    let mut host = host();
    host.line("main", 0, &[]);
    host.event(root.0, 0, 100, root.1);
    host.event("FunctionRun", 10, 80, &[("id", 0), ("_pt", 2), ("_p", 0)]);
    host.line("executor", 0, &[]);
    host.event("ExecutorState::Process", 20, 80, &[("id", 0), ("_ct", 2), ("_c", 0)]);
    host.event("matmul", 30, 70, &[("correlation_id", 100)]);
    let mut device = Made::named("/device:GPU:0");
    device.line("Stream #1", 0, &[]);
    device.event("matmul_kernel", 200, 300, &[("correlation_id", 100)]);
    vec![host, device]
}

#[test]
fn a_step_reaches_its_kernels_through_threads_and_launches() {
    for root in [("train", &[("step_num", 123), ("_r", 1)][..]), ("TraceContext", &[("step_num", 123)])] {
        let (profile, context) = context(step_with_kernel(root));
        assert_eq!(names(&context), [format!("{} 123", root.0)]);
        assert!(groups(&profile, &context).iter().flatten().all(|g| *g == Some(0)), "{root:?}");
        assert_eq!(context.lanes[0].named, [(0, 0)], "the root is shown under the group's name");
    }
}

#[test]
fn launches_are_linked_to_kernels() {
    let (_, context) = context(step_with_kernel(("train", &[("_r", 1)])));
    let (launch, kernel) = (context.lanes[1].links[1].1, context.lanes[2].links[0].1);
    assert_eq!((launch.direction, kernel.direction), (Direction::Out, Direction::In));
    assert_eq!(launch.id, kernel.id);
    let (made, used) = (context.lanes[0].links[0].1, context.lanes[1].links[0].1);
    assert_eq!((made.id, made.direction, used.direction), (used.id, Direction::Out, Direction::In));
    assert_ne!(made.id, launch.id);
}

#[test]
fn loops_are_grouped_by_iteration_in_the_order_of_their_starts() {
    let mut host = host();
    let executor = |id, iteration| [("id", id), ("iter_num", iteration), ("_ct", 2), ("_c", id)];
    host.line("first", 0, &[]);
    host.event("ExecutorState::Process", 220, 80, &executor(1, 0));
    host.event("ExecutorState::Process", 320, 80, &executor(1, 1));
    host.line("second", 0, &[]);
    host.event("ExecutorState::Process", 20, 80, &executor(0, 10));
    host.event("ExecutorState::Process", 120, 80, &executor(0, 11));
    let (profile, context) = context(vec![host]);
    assert_eq!(names(&context), ["10", "11", "0", "1"]);
    assert_eq!(groups(&profile, &context), [[Some(2), Some(3)], [Some(0), Some(1)]]);
    assert!(context.lanes.iter().all(|lane| lane.named.is_empty()), "nobody named these roots");
}

#[test]
fn contexts_with_other_ids_are_not_joined() {
    for (made, used, joined) in [(456, 456, Some(0)), (456, 789, None), (-1, -2, None)] {
        let mut host = host();
        host.line("main", 0, &[]);
        host.event("TraceContext", 0, 100, &[("_r", 1), ("step_num", 100)]);
        host.event("FunctionRun", 10, 80, &[("_pt", 123), ("_p", made)]);
        host.line("other", 0, &[]);
        host.event("ExecutorState::Process", 20, 80, &[("_ct", 123), ("_c", used)]);
        let (profile, context) = context(vec![host]);
        assert_eq!(groups(&profile, &context), [vec![Some(0); 2], vec![joined]]);
    }
}

#[test]
fn a_crowd_is_not_joined() {
    for (members, joined) in [(63, Some(0)), (64, None)] {
        let mut host = host();
        host.line("main", 0, &[]);
        host.event("step", 0, 10_000, &[("_r", 1)]);
        for at in 0..members {
            host.event("producer", at * 10, 5, &[("_pt", 5), ("_p", 1)]);
        }
        host.line("other", 0, &[]);
        for at in 0..64 {
            host.event("consumer", at * 10, 5, &[("_ct", 5), ("_c", 1)]);
        }
        let (profile, context) = context(vec![host]);
        assert_eq!(groups(&profile, &context)[1], vec![joined; 64], "{members} producers");
    }
}

#[test]
fn asynchronous_events_enclose_nothing_and_are_in_nothing() {
    let mut host = host();
    host.line("main", 0, &[]);
    host.event("parent", 0, 100, &[("_r", 1)]);
    host.event("async", 10, 200, &[("_a", 1)]);
    host.event("child", 20, 80, &[]);
    let (profile, context) = context(vec![host]);
    assert_eq!(groups(&profile, &context), [[Some(0), None, Some(0)]]);
}

#[test]
fn a_batch_is_a_group_of_its_own_that_its_requests_lead_to() {
    let mut host = host();
    host.line("requests", 0, &[]);
    for at in [0, 200] {
        // The names make them roots, of levels 1 and 2.
        host.event("BatchingSessionRun", at, 100, &[]);
        host.event("Schedule", at, 100, &[("_pt", 4), ("_p", 123)]);
    }
    host.line("batches", 0, &[]);
    host.event("ProcessBatch", 200, 100, &[("_ct", 4), ("_c", 123)]);
    let (profile, context) = context(vec![host]);
    assert_eq!(names(&context), ["ProcessBatch 0", "BatchingSessionRun 1", "BatchingSessionRun 2"]);
    assert_eq!(context.groups[0].parents, [1, 2]);
    assert_eq!((&context.groups[1].children[..], &context.groups[2].children[..]), (&[0][..], &[0][..]));
    assert!(groups(&profile, &context).iter().flatten().all(Option::is_some));
}

#[test]
fn what_an_eager_op_runs_is_eager_and_what_a_function_runs_is_not() {
    let mut host = host();
    host.line("main", 0, &[]);
    host.event("tf1 matmul", 10, 80, &[("correlation_id", 100)]);
    for (at, function) in [(100, None), (200, Some(0)), (300, Some(1))] {
        let stats: Vec<_> = function.map(|f| ("is_func", f)).into_iter().collect();
        host.event("EagerExecute", at, 90, &stats);
        host.event("launch", at + 10, 50, &[("correlation_id", at)]);
        host.event("op:MatMul", at + 60, 10, &[]);
    }
    let mut device = Made::named("/device:GPU:0");
    device.line("Stream #1", 0, &[]);
    for (at, id) in [(400, 100), (500, 200), (600, 300)] {
        device.event("kernel", at, 90, &[("correlation_id", id)]);
    }
    let (_, context) = context(vec![host, device]);
    // The launch and the op under the second EagerExecute, and the kernel that was launched there.
    assert_eq!(context.lanes[0].eager, [5, 6]);
    assert_eq!(context.lanes[1].eager, [1]);
}

/// A core with module executions and an op in each.
fn core(ordinal: i64, starts: &[i64]) -> Made {
    let mut core = Made::tpu(ordinal);
    core.line("XLA Modules", 0, &[]);
    for (run, start) in (10..).zip(starts) {
        core.event("jit_step(1)", *start, 100, &[("run_id", run), ("queue_id", 0)]);
    }
    core.line("XLA Ops", 0, &[]);
    for start in starts {
        core.event("fusion", start + 10, 80, &[]);
    }
    core
}

#[test]
fn cores_that_nobody_started_step_together() {
    let (profile, context) = context(vec![core(0, &[0, 200]), core(1, &[50, 250, 400])]);
    assert_eq!(names(&context), ["0", "1", "2"]);
    let found = groups(&profile, &context);
    assert_eq!((&found[0], &found[2]), (&vec![Some(0), Some(1)], &vec![Some(0), Some(1), Some(2)]));
    assert_eq!((&found[1], &found[3]), (&found[0], &found[2]), "ops belong to the execution around them");
}

#[test]
fn launches_on_the_host_group_the_executions_on_the_core() {
    let mut host = host();
    host.line("main", 0, &[]);
    for (step, run) in [(7, 10), (8, 11)] {
        let start = step * 1000;
        host.event("train", start, 500, &[("_r", 1), ("step_num", step)]);
        // Upper bits of the run are not those of the device.
        let stats = [("device_ordinal", 0), ("queue_id", 0), ("run_id", (1 << 27) + run)];
        host.event("DoEnqueueProgram", start + 10, 20, &stats);
    }
    let (profile, context) = context(vec![host, core(0, &[7100, 8100])]);
    assert_eq!(names(&context), ["train 7", "train 8"]);
    assert_eq!(groups(&profile, &context)[1..], [[Some(0), Some(1)], [Some(0), Some(1)]]);
    let (launch, run) = (context.lanes[0].links[1].1, context.lanes[1].links[1].1);
    assert_eq!((launch.id, launch.category), (run.id, 12));
}

#[test]
fn steps_of_several_modules_are_one_step() {
    let mut host = host();
    host.line("main", 0, &[]);
    host.event("train", 0, 50, &[("_r", 1), ("step_num", 3)]);
    for run in [10, 11] {
        let stats = [("device_ordinal", 0), ("queue_id", 0), ("run_id", run)];
        host.event("DoEnqueueProgram", run, 1, &stats);
    }
    let mut core = core(0, &[100, 300]);
    core.line("Steps", 0, &[]);
    core.event("0", 100, 100, &[]);
    core.event("1", 300, 100, &[]);
    core.event("2", 500, 100, &[]);
    let (profile, context) = context(vec![host, core]);
    let steps = context.lanes.last().unwrap();
    assert_eq!(steps.starts_ps(&profile), [100]);
    assert_eq!(steps.durations_ps(&profile).iter().collect::<Vec<_>>(), [300]);
    assert_eq!((steps.row(0), steps.group(0), &steps.named[..]), (Some(0), Some(0), &[(0, 0)][..]));
    assert_eq!(names(&context), ["train 3"]);
}

#[test]
fn regions_of_a_thread_pool_enclose_what_ran_in_them() {
    let mut host = host();
    host.line("pool", 0, &[]);
    host.event("ThreadpoolListener::StartRegion", 10, 0, &[("_ct", 15), ("_c", 1)]);
    host.event("work", 20, 30, &[]);
    host.event("ThreadpoolListener::StopRegion", 60, 0, &[]);
    let (profile, context) = context(vec![host]);
    let lane = &context.lanes[0];
    assert_eq!(lane.starts_ps(&profile), [10, 10, 20, 60]);
    assert_eq!(lane.durations_ps(&profile).iter().collect::<Vec<_>>(), [50, 0, 30, 0]);
    assert_eq!((0..4).map(|at| lane.row(at)).collect::<Vec<_>>(), [None, Some(0), Some(1), Some(2)]);
}

#[test]
fn what_the_profiler_grouped_is_left_as_it_is() {
    let mut host = host();
    host.line("main", 0, &[]);
    host.event("train", 0, 100, &[("_r", 1), ("group_id", 5)]);
    host.event("child", 10, 20, &[]);
    let (profile, context) = context(vec![host]);
    assert!(context.by_profiler);
    assert_eq!(groups(&profile, &context), [[Some(5), None]]);
    assert!(context.groups.is_empty() && context.lanes[0].links.is_empty());
}
