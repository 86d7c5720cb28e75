"""Starts the profiler server of JAX, PyTorch/XLA or TensorFlow in a program that `haloscope run` started.

Python imports this file at its start, because its folder stands first in PYTHONPATH. It does nothing until the program imports
one of these frameworks; then a thread waits until the framework has a device, starts the server on a free port, and says so in
HALOSCOPE_RUN_DIR. It never raises into the program: what goes wrong is written there too. Only the standard library is used.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _others():
    """Runs the sitecustomize that this one stands in front of, where there is one."""
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != _FOLDER]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # Python's own import of this file expects to find an entry.
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


def _tell(kind, text):
    """Writes HALOSCOPE_RUN_DIR/PID.KIND, such as 17.jax.server, whole or not at all."""
    folder = os.environ.get("HALOSCOPE_RUN_DIR")
    if not folder or not os.path.isdir(folder):
        return
    path = os.path.join(folder, "%d.%s" % (os.getpid(), kind))
    try:
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".part", path)
    except OSError:
        pass


def _free_port():
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _is_imported(name):
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return module is not None and not getattr(spec, "_initializing", False)


class _Compiled:
    """Counts what JAX compiles, and says so: PID.jax.compiled holds how many programs were compiled, and of the function that was
    compiled most often its name, how often, how long in all, and when (seconds since 1970) the first and the last compilation ended."""

    def __init__(self):
        import threading

        self.lock = threading.Lock()
        self.count = 0
        self.of = {}

    def __call__(self, event, seconds, **named):
        try:
            if event == "/jax/core/compile/backend_compile_duration":
                self.add(str(named.get("fun_name") or ""), float(seconds))
        except Exception:  # Nothing of ours ends a program.
            pass

    def add(self, name, seconds):
        import time

        now = time.time()
        with self.lock:
            self.count += 1
            times, total, first, _ = self.of.get(name, (0, 0.0, now, now))
            self.of[name] = (times + 1, total + seconds, first, now)
            most = max(self.of, key=lambda one: (self.of[one][0], self.of[one][1]))
            words = "%d\n%s\n%d\n%f\n%f\n%f\n" % ((self.count, most.replace("\n", " ")) + self.of[most])
            _tell("jax.compiled", words)


class _Jax:
    """The server of JAX. A program may start one of its own beside it, or have one already: then that one is used."""

    name = "jax"

    def __init__(self):
        self.own = None
        self.kept = None
        self.compiled = None

    def listen(self):
        """Counts compilations from now on, where this JAX says them."""
        monitoring = sys.modules.get("jax.monitoring")
        register = getattr(monitoring, "register_event_duration_secs_listener", None)
        if self.compiled is None and register is not None:
            self.compiled = _Compiled()
            register(self.compiled)

    def is_ready(self):
        bridge = sys.modules.get("jax._src.xla_bridge")
        if bridge is None or not _is_imported("jax"):
            return False
        self.listen()
        initialized = getattr(bridge, "backends_are_initialized", None)
        if initialized is None:
            return bool(getattr(bridge, "_backends", None))
        # A server before there is a device would let a capture start the device's tracer too early.
        return initialized()

    def start(self, port):
        profiler = sys.modules["jax"].profiler
        inner = sys.modules.get("jax._src.profiler")
        if getattr(inner, "_profiler_server", None) is not None:
            return None
        profiler.start_server(port)
        self.own = getattr(inner, "_profiler_server", None)
        return port

    def patch(self, module):
        """Lets the program start a server of its own: JAX allows one, and that one would be ours."""
        original = getattr(module, "start_server", None)
        if original is None:
            return
        jax = self

        def start_server(port, *rest, **named):
            if jax.own is not None and getattr(module, "_profiler_server", None) is jax.own:
                # Ended while it records, it would wait for itself. So it stays, where JAX does not see it.
                jax.kept, jax.own = jax.own, None
                module._profiler_server = None
            server = original(port, *rest, **named)
            if jax.kept is None:
                _tell("jax.server", "%d" % port)
            return server

        start_server.__doc__ = original.__doc__
        module.start_server = start_server


class _TorchXla:
    name = "torch_xla"

    def __init__(self):
        self.server = None

    def is_ready(self):
        if not _is_imported("torch_xla"):
            return False
        core = getattr(sys.modules["torch_xla"], "_XLAC", None)
        initialized = getattr(core, "_xla_runtime_is_initialized", None)
        return True if initialized is None else bool(initialized())

    def start(self, port):
        import torch_xla.debug.profiler as profiler

        self.server = profiler.start_server(port, only_on_master=False)
        return port


class _TensorFlow:
    name = "tensorflow"

    def is_ready(self):
        return _is_imported("tensorflow")

    def start(self, port):
        sys.modules["tensorflow"].profiler.experimental.server.start(port)
        return port


def _serve(framework):
    """Waits for the framework to be ready, and starts its server. Runs in a thread of its own."""
    import time

    while True:
        try:
            if framework.is_ready():
                break
        except Exception as error:  # The program's import may be half way through.
            _tell(framework.name + ".failed", "%s: %s" % (type(error).__name__, error))
            return
        time.sleep(0.02)
    for last in (False, False, True):
        try:
            port = framework.start(_free_port())
            if port is not None:
                _tell(framework.name + ".server", "%d" % port)
            return
        except Exception as error:  # Another took the port: once more with another.
            if last:
                _tell(framework.name + ".failed", "%s: %s" % (type(error).__name__, error))


class _Finder:
    """Sees which modules are imported, and finds none of them itself."""

    frameworks = {"jax": _Jax, "torch_xla": _TorchXla, "tensorflow": _TensorFlow}

    def __init__(self):
        self.jax = None
        self.seen = set()

    def find_spec(self, name, path=None, target=None):
        try:
            if name == "jax._src.profiler" and self.jax is not None:
                return self._patched(name, path)
            kind = self.frameworks.get(name)
            # JAX programs read data with TensorFlow, and PyTorch/XLA imports JAX in places: each has its server where it is
            # ready, and who captures chooses.
            if kind is not None and name not in self.seen:
                self._begin(kind())
        except Exception as error:
            _tell(name + ".failed", "%s: %s" % (type(error).__name__, error))
        return None

    def _begin(self, framework):
        import threading

        self.seen.add(framework.name)
        if isinstance(framework, _Jax):
            self.jax = framework
        _tell(framework.name + ".imported", "")
        threading.Thread(target=_serve, args=(framework,), name="haloscope", daemon=True).start()

    def _patched(self, name, path):
        import importlib.machinery

        spec = importlib.machinery.PathFinder.find_spec(name, path)
        loader = getattr(spec, "loader", None)
        if loader is None or not hasattr(loader, "exec_module"):
            return None
        jax, run = self.jax, loader.exec_module

        def exec_module(module):
            run(module)
            jax.patch(module)

        loader.exec_module = exec_module
        return spec


try:
    if os.environ.get("HALOSCOPE_RUN_DIR"):
        sys.meta_path.insert(0, _Finder())
finally:
    _others()
