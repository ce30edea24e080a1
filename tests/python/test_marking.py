#!/usr/bin/env python3
# Takes 10 s.
"""Marking a program from Python: ranges, layers and profile(), on the software GPU; and without a
profiler, a GPU or CUDA, where they must do nothing.
"""
import os
import pathlib
import sys
import tempfile
import unittest

import common
import miniprof

RECORDER = common.BUILD / "libminiprof.so"
SIMGPU = common.BUILD / "simgpu"

# Sets memory three times; only the second one is inside of profile().
GPU = """if True:
    import ctypes, miniprof, sys, threading
    cuda = ctypes.CDLL("libcuda.so.1")
    def check(status):
        assert status == 0, status
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    def begin():
        check(cuda.cuInit(0))
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(cuda.cuCtxSetCurrent(context))
        check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)))
    def work(bytes):
        check(cuda.cuMemsetD8_v2(memory, 7, ctypes.c_size_t(bytes)))
        check(cuda.cuCtxSynchronize())
"""

RANGES = GPU + """
    begin()
    work(1000)
    @miniprof.range("decode", domain="server")
    def decode(depth):
        if depth:
            decode(depth - 1)
        else:
            work(2000)
    with miniprof.profile():
        with miniprof.range("iteration"):
            decode(2)
        try:
            with miniprof.range("fails \\u00e9\\"<"):
                raise ValueError
        except ValueError:
            pass
        def other():
            with miniprof.range("thread", "server"):
                pass
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    work(3000)
"""

# A model as PyTorch has it, as far as mark_layers looks at it.
LAYERS = GPU + """
    class Hook:
        def __init__(self, hooks, hook):
            self.hooks, self.hook = hooks, hook
            hooks.append(hook)
        def remove(self):
            self.hooks.remove(self.hook)
    class Module:
        def __init__(self, **parts):
            self.parts, self.before, self.after = parts, [], []
        def children(self):
            return iter(self.parts.values())
        def named_modules(self, prefix=""):
            yield prefix, self
            for name, part in self.parts.items():
                yield from part.named_modules(f"{prefix}.{name}" if prefix else name)
        def register_forward_pre_hook(self, hook):
            return Hook(self.before, hook)
        def register_forward_hook(self, hook):
            return Hook(self.after, hook)
        def __call__(self):
            for hook in self.before:
                assert hook(self, ()) is None
            for part in self.parts.values():
                part()
            if not self.parts:
                work(100)
            for hook in self.after:
                assert hook(self, (), None) is None
    model = Module(conv=Module(), block=Module(relu=Module(), conv=Module()))
    begin()
    hooks = miniprof.mark_layers(model, *sys.argv[1:])
    with miniprof.profile():
        model()
    for hook in hooks:
        hook.remove()
    with miniprof.profile():
        model()
"""


class Recorded(unittest.TestCase):
    """On the software GPU, what the trace says of the program."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        if not (SIMGPU / "libcuda.so.1").exists():
            print("built without the CUDA headers")
            sys.exit(77)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def record(self, code, *arguments, **settings):
        """The trace of a program."""
        path = os.path.join(tempfile.mkdtemp(dir=self.folder.name), "program.mpt")
        status, _, err = common.run_python(
            code, *arguments, LD_LIBRARY_PATH=str(SIMGPU), CUDA_INJECTION64_PATH=str(RECORDER),
            MINIPROF_OUTPUT=path, **settings)
        self.assertEqual(status, 0, err)
        self.assertRegex(err, f"^miniprof: {path}: .* 0 dropped.*\n$")  # the recorder's own line
        return miniprof.open(path)

    def ranges(self, trace):
        """(domain, name) of each begin, '.' for each end, in order."""
        return ["." if kind == "pop" else (None if domain != domain else domain, name)
                for kind, domain, name in zip(*(trace.nvtx[one].tolist()
                                                for one in ("kind", "domain", "name")))]

    def wanted_ranges(self, trace):
        """Those of RANGES."""
        main = trace.nvtx[trace.nvtx.thread == trace.nvtx.thread.iloc[0]]
        self.assertEqual(len(main), 10)
        self.assertEqual(self.ranges(trace), [
            (None, "iteration"), *[("server", "decode")] * 3, *"....", (None, 'fails é"<'), ".",
            ("server", "thread"), "."])
        self.assertEqual(trace.nvtx.thread.nunique(), 2)

    def test_ranges_and_profile(self):
        """Nested, recursive, in domains, with an exception, in another thread; what is outside of
        profile() is not recorded."""
        trace = self.record(RANGES)
        self.wanted_ranges(trace)
        self.assertEqual(trace.sets.bytes.tolist(), [2000])
        self.assertEqual(len(trace.table("capture")), 2)
        self.assertEqual(trace.table("capture").reason.tolist(), ["profiler_api"] * 2)

    def test_ranges_of_run(self):
        """The same under `miniprof run`, which sets the tool before the program begins."""
        path = os.path.join(self.folder.name, "run.mpt")
        status, _, err = common.run_python(
            "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", common.BUILD / "miniprof",
            "run", "-o", path, "--", sys.executable, "-c", RANGES, LD_LIBRARY_PATH=str(SIMGPU))
        self.assertEqual(status, 0, err)
        self.wanted_ranges(miniprof.open(path))

    def test_the_tool_comes_late(self):
        """A range that began before the recorder was there has no end in the trace, and later ones
        are whole."""
        trace = self.record(GPU + """
    with miniprof.range("early"):
        begin()
        work(1)
    with miniprof.range("late"):
        work(2)
""")
        self.assertEqual(self.ranges(trace), [(None, "late"), "."])

    def test_layers(self):
        """A range for each leaf, named as named_modules does, until the hooks are removed."""
        trace = self.record(LAYERS)
        leaves = ["conv", "block.relu", "block.conv"]
        self.assertEqual(self.ranges(trace), sum([[(None, name), "."] for name in leaves], []))
        self.assertEqual(len(trace.sets), 6)
        trace = self.record(LAYERS, "model")
        self.assertEqual(self.ranges(trace), sum([[("model", name), "."] for name in leaves], []))

    def test_another_tool(self):
        """A tool that cannot be loaded: nothing happens, once."""
        status, out, err = common.run_python(
            "import miniprof\nfor _ in range(3):\n  with miniprof.range('a'): print('in')",
            NVTX_INJECTION64_PATH="/nonexistent/tool.so")
        self.assertEqual((status, out, err), (0, "in\n" * 3, ""))


class Unrecorded(unittest.TestCase):
    """Without a profiler, and without a GPU."""

    def test_a_range_does_nothing(self):
        """It hands on results and exceptions."""
        @miniprof.range("f")
        def function(value):
            """A function."""
            return 2 * value
        self.assertEqual((function(4), function.__name__), (8, "function"))
        with self.assertRaises(KeyError), miniprof.range("g"):
            raise KeyError

    def test_no_gpu(self):
        """One warning, the program goes on. The driver's library may be there, of a package."""
        with tempfile.TemporaryDirectory() as empty:
            status, out, err = common.run_python("""if True:
                import miniprof
                for i in range(3):
                    with miniprof.profile():
                        print(i)""", LD_LIBRARY_PATH=empty, PATH=empty, CUDA_VISIBLE_DEVICES="")
        self.assertEqual((status, out), (0, "0\n1\n2\n"))
        self.assertEqual(err.count("MiniprofWarning"), 1, err)
        self.assertIn("miniprof.profile does nothing", err)
        self.assertRegex(err, r"libcuda\.so\.1|cuInit says \d+")

    def test_no_context(self):
        """One warning: the driver refuses to begin, and is not asked to end."""
        if not (SIMGPU / "libcuda.so.1").exists():
            return
        status, _, err = common.run_python("""if True:
            import miniprof
            with miniprof.profile():
                pass""", LD_LIBRARY_PATH=str(SIMGPU))
        self.assertEqual((status, err.count("MiniprofWarning")), (0, 1), err)
        self.assertIn("no CUDA context yet: cuProfilerStart says 201", err)

    def test_a_gpu_without_a_profiler(self):
        """It is the program's own call, and harmless."""
        if not (SIMGPU / "libcuda.so.1").exists():
            return
        status, _, err = common.run_python(RANGES, LD_LIBRARY_PATH=str(SIMGPU))
        self.assertEqual((status, err), (0, ""))

    def test_the_sample_takes_it(self):
        """samples/torch/loop.py finds the package in the source tree."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "torch.py").write_text("")
            status, out, err = common.run_python(
                "import sys; sys.path.insert(0, sys.argv[1]); import loop;"
                "print(loop.mark_layers.__module__)", common.SOURCE / "samples/torch",
                path=folder)
        self.assertEqual((status, out, err), (0, "miniprof._marking\n", ""))


if __name__ == "__main__":
    sys.exit(unittest.main())
