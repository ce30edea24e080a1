#!/usr/bin/env python3
"""The rules by which HTA, TraceLens and viewers read Kineto's files, on every committed trace. What
the files hold is compared in test_round_trip.py.
"""
import collections
import csv
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from common import add_tests, DATA, MINIPROF, TRACES
import reader_kineto
from reader_kineto import ns

TOP = ["schemaVersion", "deviceProperties", "distributedInfo", "displayTimeUnit",
       "baseTimeNanoseconds", "traceEvents", "traceName"]
PLACE = {"device", "context", "stream", "correlation"}
ARGUMENTS = {"kernel": PLACE | {"queued", "grid", "block", "registers per thread",
                                "shared memory"},
             "gpu_memcpy": PLACE | {"bytes", "memory bandwidth (GB/s)"},
             "gpu_memset": PLACE | {"bytes", "memory bandwidth (GB/s)"},
             "cuda_sync": PLACE | {"cuda_sync_kind"},
             "cuda_runtime": {"cbid"}, "cuda_driver": {"cbid"}, "cuda_event": {"event_id"}}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_graph")
CALLS = ("cuda_runtime", "cuda_driver")


def export(trace, path, *options):
    """Writes the file; traces may be damaged."""
    done = subprocess.run([MINIPROF, "export", "--to", "kineto", "-f", "-o", path, *options, trace],
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode <= 1, done.stderr


def place(event):
    """Where an arrow may begin or end."""
    return event["pid"], event["tid"], event["ts"]


class Kineto(unittest.TestCase):
    """A method for each trace is added below."""

    def check_head(self, text, document):
        """The order of the keys; HTA searches the rank line by line."""
        self.assertEqual([key for key in document if key in TOP], TOP)
        for number, line in enumerate(text.split("\n")):
            rank = re.search(r'"rank":\s+(\d+)', line)
            if rank:
                break
        self.assertLess(number, 12 + len(document["deviceProperties"]))
        self.assertEqual(int(rank.group(1)), document["distributedInfo"]["rank"])
        self.assertLess(document["distributedInfo"]["rank"],
                        document["distributedInfo"]["world_size"])

    def check_form(self, events):
        """HTA drops events without `dur`, and loses links to the very first event."""
        self.assertEqual(events[0]["ph"], "M")
        for event in events:
            self.assertLessEqual({"ph", "name", "pid", "tid", "ts"}, event.keys())
            self.assertGreaterEqual(ns(event["ts"]), 0)
            self.assertLess(ns(event["ts"]), 2 * 86400 * 10**9)
            if event["ph"] == "X":
                self.assertGreaterEqual(ns(event["dur"]), 0)
                self.assertLessEqual(ARGUMENTS.get(event["cat"], set()),
                                     event.get("args", {}).keys())

    def check_gpu(self, events):
        """On the GPU is, for HTA, what has a stream and a correlation id."""
        for event in events:
            args = event.get("args", {})
            if event.get("cat") in DEVICE:
                self.assertEqual((event["pid"], event["tid"]), (args["device"], args["stream"]))
                self.assertGreaterEqual(args["correlation"], 0)
            elif event.get("cat") != "cuda_sync":
                self.assertNotIn("stream", args)

    def check_links(self, events):
        """Arrows from calls to their work, and only those."""
        calls, work, begins, ends = (collections.defaultdict(list) for _ in range(4))
        for event in events:
            number = event.get("args", {}).get("correlation")
            if event.get("cat") in CALLS and number:
                calls[number].append(place(event))
            if event.get("cat") in DEVICE and number:
                work[number].append(place(event))
            if event["ph"] in "sf":
                (begins if event["ph"] == "s" else ends)[event["id"]].append(place(event))
        self.assertEqual(begins.keys(), ends.keys())
        self.assertEqual(begins.keys(), calls.keys() & work.keys())
        for number, begin in begins.items():
            self.assertEqual(len(begin), 1)
            self.assertIn(begin[0], calls[number])
            self.assertEqual(sorted(ends[number]), sorted(work[number]))

    def check_steps(self, events):
        """Iterations with work are steps; the times of work outside of them are not."""
        steps = [event["name"] for event in events
                 if event.get("cat") == "user_annotation" and reader_kineto.is_step(event)]
        numbers = [int(re.match(r"ProfilerStep\s*#\s*(\d+)", name).group(1)) for name in steps]
        used = {event["args"]["iteration"] for event in events
                if "iteration" in event.get("args", {})}
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertLessEqual(used, set(numbers))

    def check_ranges(self, events):
        """A range on a stream begins a nanosecond before a piece of work and ends one after."""
        begins, ends = collections.defaultdict(set), collections.defaultdict(set)
        for event in events:
            if event.get("cat") in DEVICE:
                where = event["pid"], event["tid"]
                begins[where].add(ns(event["ts"]))
                ends[where].add(ns(event["ts"]) + ns(event["dur"]))
        for event in events:
            if event.get("cat") == "gpu_user_annotation":
                where = event["pid"], event["tid"]
                self.assertIn(ns(event["ts"]) + 1, begins[where])
                self.assertIn(ns(event["ts"]) + ns(event["dur"]) - 1, ends[where])

    def check(self, trace):
        """All of it on one trace; with zlib compressed."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "export.json")
            export(trace, path)
            text, document = reader_kineto.text(path), reader_kineto.load(path)
        events = document["traceEvents"]
        self.check_head(text, document)
        self.check_form(events)
        self.check_gpu(events)
        self.check_links(events)
        self.check_steps(events)
        self.check_ranges(events)


    # ---- Collectives ----

    def collectives(self, rank):
        """The kernels and calls of NCCL in tests/data/ranks."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "export.json")
            export(f"{DATA}/ranks/rank{rank}.mpt", path)
            events = reader_kineto.load(path)["traceEvents"]
        told = [event for event in events if "Collective name" in event.get("args", {})]
        return ([event for event in told if event["cat"] == "kernel"],
                [event for event in told if event["name"] == "record_param_comms"])

    def test_collectives(self):
        """The arguments are those of what was played, to which both ranks agree."""
        with open(DATA + "/ranks/truth.csv", encoding="utf-8") as file:
            truth = list(csv.DictReader(file))
        for rank in 0, 1:
            kernels, calls = self.collectives(rank)
            played = collections.Counter(
                (row["communicator"], "allreduce" if row["function"] == "AllReduce" else
                 "recv" if int(row["peer"]) == rank else "send", int(row["bytes"]) // 4)
                for row in truth)
            self.assertEqual(played, collections.Counter(
                (args["Process Group Name"], args["Collective name"], args["In msg nelems"])
                for args in (call["args"] for call in calls)))
            self.assertEqual(sum(call["args"]["In msg nelems"] for call in calls),
                             sum(kernel["args"]["Out msg nelems"] for kernel in kernels))
            self.assertEqual(sum(kernel["args"].get("operations", 1) for kernel in kernels),
                             len(calls))
            for args in (event["args"] for event in kernels + calls):
                self.assertEqual((args["Group size"], args["dtype"], args["Rank"]),
                                 (2, "Float", rank))
                self.assertEqual(f"{args['Comms Id']:016x}", args["Process Group Name"])
                if args["Collective name"] == "send":
                    self.assertEqual((args["Src Rank"], args["Dst Rank"]), (rank, 1 - rank))
                elif args["Collective name"] == "recv":
                    self.assertEqual((args["Src Rank"], args["Dst Rank"]), (1 - rank, rank))

    def test_group_ranks(self):
        """Known if all ranks of the group are exported, by their rank in the job; else absent."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job")
            export(f"{DATA}/ranks/rank1.mpt", path, f"{DATA}/ranks/rank0.mpt")
            for name in os.listdir(path):
                events = reader_kineto.load(os.path.join(path, name))["traceEvents"]
                groups = [event["args"] for event in events
                          if "Process Group Name" in event.get("args", {})]
                self.assertTrue(groups)
                self.assertEqual({args.get("Process Group Ranks") for args in groups}, {"[0, 1]"})
        for event in (event for part in self.collectives(0) for event in part):
            self.assertNotIn("Process Group Ranks", event["args"])

    def test_collectives_link(self):
        """A kernel has the External id of the calls that it carries, and no other."""
        kernels, calls = self.collectives(0)
        carried = collections.Counter(call["args"]["External id"] for call in calls)
        self.assertEqual(carried, collections.Counter(
            {kernel["args"]["External id"]: kernel["args"].get("operations", 1)
             for kernel in kernels}))
        for kernel in kernels:
            self.assertEqual(kernel["args"]["External id"], kernel["args"]["correlation"])

    def test_collectives_match(self):
        """Group and place in it name the same operation on both ranks, as TraceLens takes them."""
        orders = []
        for rank in 0, 1:
            groups = collections.defaultdict(list)
            for kernel in sorted(self.collectives(rank)[0], key=lambda kernel: ns(kernel["ts"])):
                if kernel["args"]["Collective name"] == "allreduce":
                    groups[kernel["args"]["Process Group Name"]].append(kernel["args"]["Seq"])
            orders.append(groups)
        self.assertEqual(*orders)


add_tests(Kineto)

if __name__ == "__main__":
    unittest.main()
