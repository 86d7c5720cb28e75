"""Serving: inference_profile, and the latency table of the overview."""
from cases import case
from wire import Space, Uint

US = 1_000_000
TOOLS = ("inference_profile", "overview_page")
SORTED = ("=inference_profile?request_column=Host preprocess&batch_column=Padding amount",)


class Server:
    """A host with threads and a core, whose groups are those of contexts: a request leads to batches by producer and consumer ids."""

    def __init__(self, host="host0", cores=1, start_ns=1_000):
        self.space = Space(host)
        self.host = self.space.plane("/host:CPU")
        self.threads, self.start_ns = {}, start_ns
        self.cores = []
        for number in range(cores):
            plane = self.space.plane(f"/device:TPU:{number}", device_type_string="TPU v5 Lite")
            self.cores.append((plane.line("XLA Modules", 1, start_ns), plane.line("XLA Ops", 2, start_ns)))

    def on(self, thread, name, start, length, **stats):
        line = self.threads.get(thread) or self.threads.setdefault(thread, self.host.line(thread, len(self.threads) + 1, self.start_ns))
        line.event(name, int(start * US), int(length * US), **stats)
        return self

    def runs(self, start, length, number, core=0):
        modules, ops = self.cores[core]
        modules.event("jit_f(1)", int(start * US), int(length * US), meta=dict(program_id=1), run_id=number, _c=number, _ct=12)
        ops.event("fusion.1", int(start * US), int(length * US), meta=dict(program_id=1, symbol_id=1, hlo_category="loop fusion"), display="fusion.1")


def plain(server, number, start, scale=1.0, model=None, tensors=False):
    """A request without batching: it runs a session, writes, executes, reads."""
    more = dict(model_id=model) if model else {}
    thread = f"worker {number % 3}"
    s = lambda t: start + t * scale
    server.on(thread, "SessionRun", s(0), 100 * scale, _r=1, **more)
    server.on(thread, "TransferH2DRequest", s(10), 8 * scale)
    server.on(thread, "tpu::System::Execute", s(20), 30 * scale)
    server.on(thread, "DoEnqueueProgram", s(25), 5 * scale, run_id=number, _p=number, _pt=12)
    if tensors:
        server.on(thread, "Linearize", s(12), 2 * scale, shape="[2, 3]", layout="{0,1}")
        server.on(thread, "Delinearize", s(85), 3 * scale, shape="[7]", layout="{0}")
    server.on(thread, "TransferD2HRequest", s(80), 6 * scale)
    server.on(thread, "CompleteCallbacks", s(88), 2 * scale)
    server.runs(s(35), 40 * scale, number)


@case(*TOOLS)
def requests():
    """Five requests, each slower than the one before."""
    server = Server()
    for i in range(5):
        plain(server, i + 1, 50 + 200 * i, 1 + i / 8)
    return server.space


@case(*TOOLS)
def requests_of_models():
    """Models by version; one request that names none."""
    server = Server()
    for i, model in enumerate(("b:2", "a:1", "b:2", None, "a:1")):
        plain(server, i + 1, 50 + 200 * i, 1 + i / 8, model)
    return server.space


@case(*TOOLS)
def requests_with_tensors():
    """Tensors that are laid out for the device and back."""
    server = Server()
    for i in range(6):
        plain(server, i + 1, 50 + 200 * i, 1 + i / 8, tensors=True)
    return server.space


@case("inference_profile", "=inference_profile?request_column=Device compute", "=inference_profile?request_column=Latency")
def many_requests():
    """Two hundred requests, of which some stand for each percentile."""
    server = Server()
    for i in range(200):
        plain(server, i + 1, 50 + 400 * i, 1 + (i * 37 % 200) / 200)
    return server.space


def batched(server, start, first, sizes, padding=1, scale=1.0, split=False):
    """Requests that wait for a batch, which a thread of its own runs."""
    for i, size in enumerate(sizes):
        thread = f"rpc {i}"
        at = start + 5 * i
        server.on(thread, "BatchingSessionRun", at, 150 * scale, _r=1)
        server.on(thread, "ScheduleWithSplit" if split else "ScheduleWithoutSplit", at + 2, 3, batching_input_task_size=size, _p=first, _pt=14)
    at = start + 30
    run = lambda name, t, length, **stats: server.on("batcher", name, at + t * scale, length * scale, **stats)
    run("ProcessBatch", 0, 100, _c=first, _ct=14, _r=1)
    run("ConcatInputTensors", 2, 4, padding_amount=padding, batch_size_after_padding=sum(sizes) + padding)
    run("SessionRun", 8, 85, model_id="m:1")
    run("tpu::System::TransferToDevice=>IssueEvent", 10, 1, _c=first * 100, _ct=16)
    run("tpu::System::TransferToDevice=>IssueEvent=>Done", 14, 2, _c=first * 100, _ct=16)
    run("tpu::System::Execute", 20, 10)
    run("DoEnqueueProgram", 25, 2, run_id=first, _p=first, _pt=12)
    run("Linearize", 11, 2, shape="[2]", layout="{0}")
    run("ReadHbm", 80, 5)
    run("CompleteCallbacks", 88, 2)
    server.runs(at + 30 * scale, 45 * scale, first)


def serving(host="host0", turns=4, **more):
    server = Server(host)
    for i in range(turns):
        batched(server, 50 + 400 * i, 10 * (i + 1), [1, 2 + i % 2], padding=i % 3, scale=1 + i / 10, **more)
    return server.space


case(*TOOLS, *SORTED, name="batches")(serving)
case(*TOOLS, name="batches_split")(lambda: serving(split=True))


@case(*TOOLS)
def batches_with_parameters():
    """What the server's counters say of its batching: the second snapshot counts."""
    space = serving()
    line = space.plane("/host:tfstreamz").line("counters", 1)
    line.event("/tensorflow", 0, 0)
    base = "/tensorflow/serving/batching/"
    stats = dict(num_batch_threads=8, batch_timeout_micros=1500, max_batch_size=64, max_enqueued_batches=100, allowed_batch_sizes="1,8,64")
    line.event("/tensorflow", 5 * US, 0, **{f"{base}{k}{{model_name=m, op_name=x}}": v for k, v in stats.items()})
    return space


@case(*TOOLS, hosts=("host0", "host1"))
def two_hosts():
    """Requests of two hosts, with models in another order."""
    first, second = Server("host0"), Server("host1")
    for i, model in enumerate(("a:1", "b:1", "a:1")):
        plain(first, i + 1, 50 + 200 * i, 1 + i / 8, model)
    for i, model in enumerate(("b:1", "c:1", "a:1")):
        plain(second, i + 1, 60 + 250 * i, 1 + i / 5, model)
    return {"host0": first.space, "host1": second.space}


@case(*TOOLS)
def users_own_requests():
    """Roots that a user marked, and those of another server."""
    server = Server()
    for i in range(3):
        at = 50 + 300 * i
        server.on("main", "MyRequest", at, 150, _r=-1, model_id="mine")
        server.on("main", "TransferH2DRequest", at + 5, 10)
        server.on("rpc", f"ModelServerRequest_{i}", at + 2, 200, _r=1)
        server.on("rpc", "WriteHbm", at + 9, 10)
    return server.space


@case(*TOOLS)
def requests_of_tfrt():
    """Other kinds of request; a plain session does not count beside them."""
    server = Server()
    for i in range(3):
        at = 50 + 300 * i
        server.on("main", "TfrtModelRun", at, 150, _r=1, model_id="t:1")
        server.on("main", "TransferPreprocessedH2DRequest", at + 5, 10)
        server.on("main", "TPUPartitionedCallOp-ExecuteLocal", at + 20, 20)
        server.on("other", "SessionRun", at + 3, 100, _r=1)
    return server.space


@case(*TOOLS)
def grouped_by_the_profiler():
    """Groups that stand in the file: requests are known, batches are not."""
    server = Server()
    for i in range(3):
        at = 50 + 300 * i
        server.on("main", "SessionRun", at, 150 + i, group_id=i, model_id="g:1")
        server.on("main", "ReadHbm", at + 100, 10, group_id=i)
        server.on("batcher", "ProcessBatch", at + 20, 40, group_id=100 + i)
        modules, _ = server.cores[0]
        modules.event("jit_f(1)", int((at + 40) * US), 30 * US, group_id=i)
    return server.space


@case(*TOOLS)
def nothing_served():
    """Threads without requests."""
    return Server().on("main", "work", 0, 10).space
