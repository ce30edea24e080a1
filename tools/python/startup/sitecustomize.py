"""Names of a framework's operators without changes of the program: `miniprof run --operators`.

Python imports this when it starts, since `miniprof run` puts its folder in front of PYTHONPATH. It
imports nothing of the framework. Once the program has imported torch, PyTorch tells NVTX of each
operator, in the thread that imported it and in those that run its backward pass. With `modules`
there is also a range around each module's forward, named after its place in the model.

A profiler of the program's own goes first: when it begins, this ends.
"""
import importlib.util
import os
import sys
import threading


def hand_over():
    """Imports the sitecustomize that Python would have imported."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    own = sys.modules.pop(__name__, None)
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault(__name__, own)


class Waiter:
    """Calls `begin` with the module `name` once it has been imported."""

    def __init__(self, name, begin):
        self.name, self.begin = name, begin

    def find_spec(self, name, path=None, target=None):
        """Asked first for each module."""
        del path, target
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                try:
                    self.begin(module)
                except Exception as error:  # pylint: disable=broad-except
                    say(f"{type(error).__name__}: {error}")
            spec.loader.exec_module = exec_module
        return spec


def say(why):
    """One line, as the recorder says what it cannot do."""
    print(f"miniprof: MINIPROF_OPERATORS: {why}: no names of operators", file=sys.stderr)


def tell_operators(torch):
    """Switches PyTorch's own NVTX ranges on, without a look at the GPU."""
    profiler = torch.autograd.profiler
    config = torch._C._profiler.ProfilerConfig(
        torch._C._profiler.ProfilerState.NVTX, False, False, False, False, False,
        torch._C._profiler._ExperimentalConfig())
    torch._C._autograd._enable_profiler(config, set())
    thread = threading.get_ident()
    kept = {name: getattr(profiler, name) for name in ("_prepare_profiler", "_enable_profiler")
            if hasattr(profiler, name)}

    def yields(name):
        def begin(*arguments, **named):
            if getattr(profiler, name) is begin and threading.get_ident() == thread:
                for other, function in kept.items():
                    setattr(profiler, other, function)
                torch._C._autograd._disable_profiler()
            return kept[name](*arguments, **named)
        return begin
    for name in kept:
        setattr(profiler, name, yields(name))


def tell_modules(torch):
    """A range around each module's forward."""
    state = threading.local()
    nvtx = torch.cuda.nvtx

    def name_of(module):
        names = state.__dict__.setdefault("names", {})
        stack = state.__dict__.setdefault("stack", [])
        if not stack and id(module) not in names:
            names.clear()
            root = type(module).__name__
            for path, inner in module.named_modules():
                names[id(inner)] = f"{root}.{path}" if path else root
        return names.get(id(module), type(module).__name__)

    def begin(module, _inputs):
        nvtx.range_push(name_of(module))
        state.stack.append(module)

    def end(module, _inputs, _output):
        while state.stack:  # those inside that have ended by an exception too
            nvtx.range_pop()
            if state.stack.pop() is module:
                break
    modules = torch.nn.modules.module
    modules.register_module_forward_pre_hook(begin)
    modules.register_module_forward_hook(end)


def begin_torch(torch):
    """PyTorch is there."""
    tell_operators(torch)
    if os.environ.get("MINIPROF_OPERATORS") == "modules":
        tell_modules(torch)


if os.environ.get("MINIPROF_OPERATORS") in ("torch", "modules"):
    sys.meta_path.insert(0, Waiter("torch", begin_torch))
hand_over()
