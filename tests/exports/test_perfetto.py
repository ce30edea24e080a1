#!/usr/bin/env python3
"""What a Perfetto file holds besides rows: arrows, correlation, the critical path, several
processes, and that Perfetto reads all of it. Counts and times by name: test_round_trip.py.
"""
import collections
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.dont_write_bytecode = True
from common import BUILD, DATA, HERE, MINIPROF
import perfetto_read


def trace_of(name):
    return os.path.join(DATA, name + ".mpt")


def export(traces, path, *options):
    """Exports and reads back; fails on what Perfetto would drop or misread."""
    done = subprocess.run([MINIPROF, "export", "--to", "perfetto", "-f", "-o", path, *options,
                           *traces], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode > 1:
        raise AssertionError(done.stderr)
    trace = perfetto_read.read(path)
    if trace.problems:
        raise AssertionError("\n".join(trace.problems))
    return trace


def dump(table, path):
    """The rows of a table as the file has them."""
    done = subprocess.run([MINIPROF, "dump", "--raw", "--json", "--table", table, path],
                          stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(path, text):
    subprocess.run([os.path.join(BUILD, "tests", "tools", "write_trace"), path], check=True,
                   input=text.encode("utf-8", "surrogateescape"))


class Work:
    """Kernels and copies of a trace as its tables have them, in order of time by stream."""

    def __init__(self, path):
        self.items = [row for table in ("kernel", "copy") for row in dump(table, path)]
        self.lanes = collections.defaultdict(list)
        for item in self.items:
            item["end"] = item["start"] + item["duration"]
            self.lanes[item["stream"]].append(item)
        for lane in self.lanes.values():
            lane.sort(key=lambda item: item["start"])
            for i, item in enumerate(lane):
                item["before"] = lane[i - 1] if i else None
                item["place"] = i

    def arrows(self, item, awaited, all_of_them=False):
        """Of what `item` waits for, that which gets an arrow (docs/export.md)."""
        before = item["before"]
        last = max(awaited, key=lambda other: other["end"], default=None)
        latest = {}
        for other in awaited:
            late = all_of_them or other is last or not before or other["end"] > before["start"]
            known = latest.get(other["stream"])
            if late and (not known or known["place"] < other["place"]):
                latest[other["stream"]] = other
        return {other["start"] for other in latest.values() if other is not before}


def events(path):
    """{start: starts of what it waits for} by cuEventRecord and cuStreamWaitEvent, in order of
    correlation ids. For traces whose streams wait for nothing else."""
    work = Work(path)
    numbers = {row["stream"]: row["id"] for row in dump("stream", path)}
    front = collections.defaultdict(list)   # what the next launch, or an event, stands for
    waits = collections.defaultdict(list)
    recorded = {}
    arrows = {}
    order = [(item["correlation"], 1, item) for item in work.items]
    order += [(row["correlation"], 0, row) for row in dump("sync", path)]
    for _, is_work, item in sorted(order, key=lambda each: each[:2]):
        if is_work:
            stream = item["stream"]
            arrows[item["start"]] = work.arrows(item, waits.pop(stream, []))
            front[stream] = [item]
        elif item["kind"] == 5:
            recorded[item["event"]] = list(front[numbers.get(item["stream"])])
        elif item["kind"] == 2:
            stream = numbers.get(item["stream"])
            waits[stream] += recorded.get(item["event"], [])
            front[stream] = front[stream] + recorded.get(item["event"], [])
    return arrows


def edges(path):
    """The same by the edges of graphs, for launches all of whose nodes are kernels."""
    work = Work(path)
    nodes = {row["id"]: row["graph_node"] for row in dump("node", path)}
    before = collections.defaultdict(set)
    for row in dump("edge", path):
        before[row["to"]].add(row["from"])
    launches = collections.defaultdict(dict)
    for item in work.items:
        launches[item["correlation"]][nodes.get(item["node"])] = item
    arrows = {}
    for launch in launches.values():
        for node, item in launch.items():
            awaited = [launch[other] for other in before[node] if other in launch]
            if awaited:
                arrows[item["start"]] = work.arrows(item, awaited, True)
    return arrows


class Arrows(unittest.TestCase):
    """event_wait_ids and gpu_correlation."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "a.pftrace")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def compare(self, name, expected):
        trace = export([trace_of(name)], self.path)
        starts = {stage.id: stage.start for stage in trace.stages}
        offset = min(starts.values()) - min(item["start"]
                                            for item in Work(trace_of(name)).items)
        got = {stage.start - offset: {starts[i] - offset for i in stage.awaited}
               for stage in trace.stages}
        for start, awaited in expected.items():
            self.assertEqual(got[start], awaited, start)
        return sum(map(len, expected.values())), sum(map(len, got.values()))

    def test_events(self):
        expected, got = self.compare("two_streams", events(trace_of("two_streams")))
        self.assertEqual(expected, got)
        self.assertEqual(got, 2 * 180 - 2)  # each kernel but the first two waits across

    def test_graph_edges(self):
        expected, _ = self.compare("branches", edges(trace_of("branches")))
        self.assertGreater(expected, 0)

    def test_launched(self):
        """A call submits what has its correlation id; a graph launch all of its nodes."""
        for name in ("resnet50_graph_edges", "inference", "zoo/jax_jit"):
            trace = export([trace_of(name)], self.path)
            expected = collections.defaultdict(set)
            for stage in trace.stages:
                expected[stage.args["correlation"]].add(stage.id)
            for call in trace.slices:
                if call.category == "cuda":
                    self.assertEqual(set(call.submitted), expected.pop(call.correlation, set()))
            self.assertFalse(expected)

    def test_awaited(self):
        """cudaStreamSynchronize behind each of 30 launches waits for the last kernel of its."""
        trace = export([trace_of("resnet50_graph_edges")], self.path)
        stages = sorted(trace.stages, key=lambda stage: stage.start)
        calls = [call for call in trace.slices if call.awaited]
        self.assertEqual(len(calls), 30)
        for call in calls:
            last = [s for s in stages if s.start + s.duration <= call.start + call.duration][-1]
            self.assertEqual(call.awaited, [last.id])

    def test_without_analyses(self):
        trace = export([trace_of("inference")], self.path, "--analysis", "off")
        self.assertEqual({s.category for s in trace.slices}, {"cuda", "nvtx", "sync"})
        self.assertFalse(any(s.awaited for s in trace.stages))
        self.assertFalse(any(s.submitted or s.awaited for s in trace.slices))


class Contents(unittest.TestCase):
    """What stands in the file besides."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "a.pftrace")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_critical_path(self):
        for name in ("inference", "two_streams", "zoo/server", "zoo/pdl_graph", "simgpu"):
            trace = export([trace_of(name)], self.path)
            done = subprocess.run([MINIPROF, "deps", "--json", trace_of(name)],
                                  stdout=subprocess.PIPE, check=False)
            deps = json.loads(done.stdout)
            steps = collections.Counter()
            for step in trace.slices:
                if step.category == "critical_path":
                    steps[step.name] += step.duration
            self.assertEqual(sum(steps.values()), deps["window_ns"], name)
            self.assertEqual({n: t for n, t in steps.items() if n[0] != "<"},
                             {row["name"]: row["critical_ns"] for row in deps["rows"]
                              if row["critical_ns"] and row["name"][0] != "<"}, name)

    def test_iterations(self):
        trace = export([trace_of("inference")], self.path)
        done = subprocess.run([MINIPROF, "iters", "--json", "--each",
                               trace_of("inference")], stdout=subprocess.PIPE, check=False)
        iterations = json.loads(done.stdout)["iterations"]
        found = sorted((s for s in trace.slices if s.category == "iteration"),
                       key=lambda s: s.start)
        self.assertEqual(len(found), len(iterations))
        for slice_, each in zip(found, iterations):
            self.assertEqual(slice_.duration, each["latency_ns"])
            for key, value in slice_.args.items():
                if key in each:
                    self.assertEqual(value, each[key], key)
            idle = sum(v for k, v in slice_.args.items() if k.startswith("idle_") and
                       k != "idle_ns")
            self.assertEqual(idle, slice_.args["idle_ns"])

    def test_kernels(self):
        """Names, shape and limits of a kernel, as Perfetto's tab for kernels asks for them."""
        trace = export([trace_of("resnet50_graph_edges")], self.path)
        kernels = [s for s in trace.stages if s.stage == "Kernel"]
        for kernel in kernels:
            self.assertTrue(kernel.kernel["name"] and kernel.kernel["readable"])
            self.assertEqual(kernel.kernel["arch"], "sm_90")
            self.assertEqual(len(kernel.args["grid"] + kernel.args["block"]), 6)
            x, y, z = kernel.args["block"]
            self.assertEqual(kernel.args["thread_count"] % (x * y * z), 0)
            for key in ("device", "stream", "registers_per_thread", "shared_mem_static",
                        "shared_mem_dynamic", "waves_per_multiprocessor",
                        "occupancy_limit_blocks"):
                self.assertIn(key, kernel.args)
        self.assertEqual([gpu[2] for gpu in trace.gpus], [[b"NVIDIA"]])

    def test_collectives(self):
        """Kernels of NCCL say what they carry, as it was played."""
        trace = export([DATA + "/ranks/rank1.mpt"], self.path)
        carried = collections.Counter()
        for stage in trace.stages:
            if "collective" in stage.args:
                keys = ("communicator", "collective", "ranks", "rank", "peer")
                key = tuple(stage.args.get(key) for key in keys)
                carried[key] += stage.args["bytes"]
        played = collections.Counter()
        with open(DATA + "/ranks/truth.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                pair = row["function"] == "Send"
                name = "Recv" if pair and row["peer"] == "1" else row["function"]
                played[row["communicator"], name, 2, 1, 0 if pair else None] += int(row["bytes"])
        self.assertEqual(carried, played)

    def test_memory(self):
        trace = export([trace_of("memory")], self.path)
        counters = [c for c in trace.counters if c.track.startswith("Memory in use")]
        rows = dump("memory", trace_of("memory"))
        live, used = {}, collections.Counter()
        for row in rows:
            if row["operation"] == 1:
                live[row["address"]] = row["bytes"], (row["kind"], row["device"])
                used[row["kind"], row["device"]] += row["bytes"]
            elif row["address"] in live:
                size, place = live.pop(row["address"])
                used[place] -= size
        last = {c.track: c.value for c in sorted(counters, key=lambda c: c.time)}
        self.assertEqual(sorted(last.values()), sorted(used.values()))
        self.assertGreaterEqual(min(c.value for c in counters), 0)

    def test_nesting(self):
        """Ranges that begin or end together, an outer one with 2000 inside, ends that cross."""
        rows = ["header clock=monotonic pid=7 start_clock_ns=1 start_realtime_ns=1000000001",
                "thread id=1 tid=8", *(f"string id={i + 1} text=n{i}" for i in range(5))]

        def push(time, name):
            rows.append(f"nvtx thread=1 kind=1 name={name} time={time}")

        def pop(time):
            rows.append(f"nvtx thread=1 kind=2 time={time}")

        push(99, 1)
        for i in range(2000):
            push(100 + 10 * i, 2)
            push(100 + 10 * i, 3)
            pop(105 + 10 * i)
            pop(110 + 10 * i)
        pop(20100)
        for i, (begin, end) in enumerate(((10, 30), (20, 40), (15, 20), (20, 20), (5, 50))):
            rows.append(f"nvtx thread=1 kind=3 name={1 + i % 4} time={begin} range={i + 1}")
            rows.append(f"nvtx thread=1 kind=4 time={end} range={i + 1}")
        path = os.path.join(self.folder, "a.mpt")
        write(path, "\n".join(rows) + "\n")
        trace = export([path], self.path)
        got = collections.Counter((s.name, s.duration) for s in trace.slices
                                  if s.category == "nvtx")
        self.assertEqual(got, {("n0", 20001): 1, ("n1", 10): 2000, ("n2", 5): 2000,
                               ("n0", 20): 1, ("n1", 20): 1, ("n2", 5): 2001, ("n3", 0): 1,
                               ("n0", 45): 1})

    def test_names(self):
        """Quotes and markup, a long name, and bytes that are not UTF-8."""
        names = ['"<b>&amp;</b>\\"', "x" * 65535, "\udcff\udcfe"]
        text = ["header clock=monotonic pid=7", "thread id=1 tid=8 name=1"]
        text += [f"string id={i + 1} text={name}" for i, name in enumerate(names)]
        for i in range(len(names)):
            text += [f"nvtx thread=1 kind=1 name={i + 1} time={100 * i + 100} domain={i + 1}",
                     f"nvtx thread=1 kind=2 domain={i + 1} time={100 * i + 150}"]
        path = os.path.join(self.folder, "a.mpt")
        write(path, "\n".join(text) + "\n")
        trace = export([path], self.path)
        expected = [names[0], names[1], "\ufffd\ufffd"]
        found = sorted((s for s in trace.slices if s.category == "nvtx"), key=lambda s: s.start)
        self.assertEqual([len(s.name) for s in found], list(map(len, expected)))
        self.assertEqual([s.name for s in found], expected)
        self.assertEqual([trace.tracks[s.track]["name"] for s in found],
                         ["NVTX: " + name for name in expected])
        self.assertIn(expected[0], [t["thread"][2] for t in trace.tracks.values() if t["thread"]])


class BadInput(unittest.TestCase):
    """Damage and full disks: one line, and what is whole is there."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_cut_trace(self):
        path = os.path.join(self.folder, "a.mpt")
        with open(trace_of("resnet50_eager"), "rb") as file:
            data = file.read()
        for share in (0.3, 0.6, 0.9):
            with open(path, "wb") as file:
                file.write(data[:int(len(data) * share)])
            out = os.path.join(self.folder, "a.pftrace")
            done = subprocess.run([MINIPROF, "export", "--to", "perfetto", "-f", "-o", out, path],
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertEqual(perfetto_read.read(out).problems, [])

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk(self):
        for name in ("simgpu", "inference"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([MINIPROF, "export", "--to", "perfetto", "-o", "-",
                                       trace_of(name)], stdout=full, stderr=subprocess.PIPE,
                                      text=True, check=False)
            self.assertEqual(done.returncode, 3)
            self.assertIn("No space left on device", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Processes(unittest.TestCase):
    """Several traces in one file, and in a .zip."""

    RANKS = [os.path.join(DATA, "set", f"rank{i}.mpt") for i in range(3)]

    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def tearDown(self):
        shutil.rmtree(self.folder)

    def check(self, trace):
        processes = [t["process"] for t in trace.tracks.values() if t["process"]]
        self.assertEqual(len({pid for pid, _ in processes}), 3)
        alone = [export([path], os.path.join(self.folder, "one.pftrace")) for path in self.RANKS]
        self.assertEqual(len(trace.stages), sum(len(each.stages) for each in alone))
        self.assertEqual(len(trace.slices), sum(len(each.slices) for each in alone))
        by_pid = collections.Counter(stage.pid for stage in trace.stages)
        self.assertEqual(sorted(by_pid.values()), sorted(len(each.stages) for each in alone))

    def test_file(self):
        self.check(export(self.RANKS, os.path.join(self.folder, "a.pftrace")))

    def test_zip(self):
        path = os.path.join(self.folder, "a.zip")
        trace = export(self.RANKS, path)
        self.check(trace)
        with zipfile.ZipFile(path) as archive:
            self.assertIsNone(archive.testzip())
            names = archive.namelist()
            self.assertTrue(archive.read("perfetto_manifest.json").lstrip().startswith(b"{"))
        manifest = trace.manifest["perfetto_manifest"]
        self.assertEqual(manifest["version"], 1)
        self.assertEqual([file["path"] for file in manifest["files"]],
                         [name for name in names if name.endswith(".pftrace")])
        self.assertTrue(all(file["machine"]["name"] for file in manifest["files"]))
        self.assertTrue(all(primary == 1 and 1 in clocks for primary, clocks in trace.clocks))


@unittest.skipUnless(shutil.which("protoc"), "no protoc (Debian: protobuf-compiler)")
class Protoc(unittest.TestCase):
    """protoc decodes the file by the .proto file beside this one, and nothing is unknown to it."""

    def test_decode(self):
        for name in ("simgpu", "inference", "memory", "metrics", "managed"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "a.pftrace")
                trace = export([trace_of(name)], path)
                with open(path, "rb") as file:
                    done = subprocess.run(["protoc", "--decode=perfetto.Trace", "-I", HERE,
                                           "perfetto.proto"], stdin=file, check=True,
                                          stdout=subprocess.PIPE)
            text = done.stdout.decode()
            self.assertEqual(re.findall(r"^ *\d+[: ].*", text, re.MULTILINE), [])
            self.assertEqual(text.count("\npacket {") + 1, trace.packets)
            self.assertEqual(text.count("  gpu_render_stage_event {"), len(trace.stages))
            self.assertEqual(text.count("type: TYPE_SLICE_BEGIN"), len(trace.slices))
            times = re.findall(r"  gpu_render_stage_event {\n    event_id: \d+\n"
                               r"    duration: (\d+)", text)
            self.assertEqual(sum(map(int, times)), sum(s.duration for s in trace.stages))


if __name__ == "__main__":
    unittest.main()
