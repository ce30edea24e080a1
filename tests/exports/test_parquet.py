#!/usr/bin/env python3
"""The fleet layout: where files lie, which columns they have, and that the summary tier says what
the reports say. The sums of the event tables: test_round_trip.py.
"""
import csv
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from common import BUILD, DATA, MINIPROF
import parquet_tables

# ! is REQUIRED; ~ is text, # 32 bits, % a double, ? a bool, all others 64 bits.
NUMBERS = "calls! total_ns! min_ns! p50_ns! p99_ns! max_ns! critical_ns"
SHAPE = "grid_x# grid_y# grid_z# block_x# block_y# block_z# registers# smem_static# smem_dynamic#"
EVENT = "run_id!~ start_ns! dur_ns! "
WORK = EVENT + "device# context# stream# correlation name!~ graph_id graph_node_id "
KNOWN = " activity# iteration# on_critical_path? critical_ns"
QUANTITIES = ("latency_ns host_ns api_ns busy_ns kernel_ns htod_ns dtoh_ns other_copy_ns set_ns "
              "overlap_ns others_ns idle_ns idle_launch_ns idle_queued_ns idle_copy_ns "
              "idle_host_ns idle_sync_ns idle_peer_ns idle_recording_ns idle_unknown_ns launches "
              "kernels copies bytes_copied")
SUMMARY = {
    "run": "run_id!~ job!~ date!~ host!~ rank!# pid command~ recorder~ driver# cupti# gpus!# "
           "gpu_name~ gpu_uuid~ started_ns! dur_ns! records! dropped! whole!? iterations# "
           "iterations_by~ iterations_name~ coverage% step_p50_ns step_p99_ns kernels! kernel_ns! "
           "copies! copy_ns! sets! set_ns! calls! call_ns!",
    "iteration": "run_id!~ iteration!# start_ns! dur_ns! " +
                 "".join(name + ("! " if name != "idle_peer_ns" else " ")
                         for name in QUANTITIES.split()) +
                 "critical_kernel_ns! critical_copy_ns! critical_call_ns! critical_other_ns!",
    "kernel_summary": "run_id!~ name!~ device# " + SHAPE + " " + NUMBERS,
    "api_summary": "run_id!~ name!~ " + NUMBERS,
    "layer": "run_id!~ layer!~ name!~ domain~ depth!# instances! calls! total_ns! self_ns! "
             "kernels! copies! sets! graphs! p50_ns! p99_ns! launch_ns!",
    "advice": "run_id!~ rule!~ gain_ns! percent!% certainty!~ confidence!% title!~ evidence!~ "
              "to_do!~",
    "collective": "run_id!~ communicator~ name~ ranks# comm_rank# function!~ instances! bytes "
                  "kernel_ns! matched! waiting_ns transfer_ns last_instances late_ns",
}
EVENTS = {
    "kernel": WORK + SHAPE + KNOWN,
    "memcpy": WORK + "bytes!" + KNOWN,
    "memset": WORK + "bytes! value!" + KNOWN,
    "api": EVENT + "thread correlation name!~ result!" + KNOWN,
    "graph": WORK.strip() + KNOWN,
    "host_function": WORK.strip() + KNOWN,
    "wait": EVENT + "thread correlation name!~" + KNOWN,
    "sync": EVENT + "thread correlation name!~ context stream event iteration#",
    "nvtx": EVENT + "thread name!~ domain~ mark!? depth# open!? iteration#",
    "edge": "run_id!~ activity!# waited_for!# reason!~",
}
TYPES = {"~": "BYTE_ARRAY", "#": "INT32", "%": "DOUBLE", "?": "BOOLEAN"}


def document(*arguments):
    """What a command prints as JSON."""
    done = subprocess.run([MINIPROF, *arguments], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)


class Parquet(unittest.TestCase):
    """A folder for each test."""

    maxDiff = 3000

    def setUp(self):
        parquet_tables.modules()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "lake")

    def export(self, *arguments, code=0):
        """Exports; returns the complaints."""
        done = subprocess.run([MINIPROF, "export", "--to", "parquet", "-o", self.out, *arguments],
                              text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def runs(self):
        """The folders of runs, below OUT."""
        return sorted(os.path.relpath(os.path.dirname(path), self.out) for path in
                      glob.glob(self.out + "/**/run.parquet", recursive=True))

    def tables(self, *arguments, code=0):
        """Exports one trace and reads it."""
        self.export(*arguments, code=code)
        run, = self.runs()
        return parquet_tables.read(os.path.join(self.out, run))

    def made(self, kind):
        """A trace of known content."""
        path = os.path.join(self.folder, kind + ".mpt")
        subprocess.run([BUILD + "/tests/tools/make_trace", kind, path], check=True)
        return path

    def test_schema(self):
        """Every column, its type, whether it can be NULL; tables without rows too."""
        trace = self.made("plain")
        for wanted, options in ((SUMMARY, ()), ({**SUMMARY, **EVENTS}, ("--events",))):
            found = self.tables("-f", *options, trace)
            self.assertEqual(set(found), set(wanted))
            for table, text in wanted.items():
                self.assertEqual(found[table][""], [
                    [column.rstrip("!~#%?"), TYPES.get(column[-1], "INT64"),
                     "REQUIRED" if "!" in column else "OPTIONAL"] for column in text.split()],
                    table)
        self.assertEqual(found["memcpy"]["run_id"], found["run"]["run_id"] * 3)

    def test_summary_tier(self):
        """Numbers are those of summary, iters and advise."""
        for name in ("resnet50_graph", "two_streams", "zoo/torch_eager", "zoo/server"):
            trace = DATA + "/" + name + ".mpt"
            with self.subTest(trace=name):
                found = self.tables("-f", trace)
                self.check_names(found, trace)
                self.check_iterations(found, trace)
                self.check_layers(found["layer"], trace)
                advice = document("advise", "--json", trace)["findings"]
                self.assertEqual(
                    [(rule, int(gain)) for rule, gain in zip(found["advice"]["rule"],
                                                             found["advice"]["gain_ns"])],
                    [(each["rule"], each["gain_ns"]) for each in advice])
            shutil.rmtree(self.out)

    def check_names(self, found, trace):
        """kernel_summary and api_summary against the rows of summary."""
        for group in document("summary", "--json", trace)["groups"]:
            table = found["api_summary" if group["name"] == "api_calls" else "kernel_summary"]
            wanted = {row["name"]: (row["calls"], row["total_ns"], row["min_ns"], row["max_ns"])
                      for row in group["rows"] if not row["name"].startswith("[CUDA ")}
            rows = [(name, *(int(table[column][i]) for column in
                             ("calls", "total_ns", "min_ns", "max_ns")))
                    for i, name in enumerate(table["name"])]
            got = {}
            for row_name, calls, total, least, most in rows:
                old = got.get(row_name, (0, 0, least, most))
                got[row_name] = (old[0] + calls, old[1] + total, min(old[2], least),
                                 max(old[3], most))
            self.assertEqual(got, wanted)
            self.assertTrue(all(int(table["min_ns"][i]) <= int(table["p50_ns"][i]) <=
                                int(table["p99_ns"][i]) <= int(table["max_ns"][i])
                                for i in range(len(rows))))

    def check_layers(self, table, trace):
        """The layer table against layers."""
        layers = document("layers", "--json", trace).get("layers") or []
        for key in ("depth", "instances", "calls", "total_ns", "self_ns", "kernels", "copies",
                    "sets", "graphs", "p50_ns", "p99_ns", "launch_ns"):
            self.assertEqual([int(value) for value in table[key]],
                             [layer[key] for layer in layers], key)
        self.assertEqual(table["name"], [layer["name"] or "<no range>" for layer in layers])
        self.assertTrue(all(path.endswith(name) or "@" in path
                            for path, name in zip(table["layer"], table["name"])))

    def check_iterations(self, found, trace):
        """The iteration table against the statistics of iters."""
        report = document("iters", "--json", trace)
        table = found["iteration"]
        self.assertEqual(len(table["iteration"]), report["count"])
        self.assertEqual(found["run"]["iterations"], [report["count"]])
        for quantity in QUANTITIES.split():
            statistics = report["statistics"][quantity]
            if quantity == "idle_peer_ns":  # one trace does not know it
                self.assertEqual((statistics, set(table[quantity])), (None, {None}))
                continue
            values = [int(value) for value in table[quantity]]
            self.assertEqual([min(values), max(values)],
                             [statistics["min"], statistics["max"]], quantity)
            self.assertAlmostEqual(sum(values) / len(values), statistics["mean"], 3)
        statistics = report["statistics"]["latency_ns"]
        self.assertEqual([int(found["run"][key][0]) for key in ("step_p50_ns", "step_p99_ns")],
                         [statistics["p50"], statistics["p99"]])

    def test_events_know(self):
        """Iteration, critical path and edges of rows agree with the summary tier."""
        found = self.tables("--events", DATA + "/zoo/torch_eager.mpt")
        kernel, summary = found["kernel"], found["kernel_summary"]
        critical = [int(value) for value in kernel["critical_ns"]]
        self.assertEqual(sum(critical), sum(int(value) for value in summary["critical_ns"]))
        self.assertEqual(sum(critical),
                         sum(int(value) for value in found["iteration"]["critical_kernel_ns"]))
        self.assertEqual(kernel["on_critical_path"], [value > 0 for value in critical])
        counts = [kernel["iteration"].count(number) for number in found["iteration"]["iteration"]]
        self.assertEqual(counts, [int(value) for value in found["iteration"]["kernels"]])
        known = {number for table in EVENTS if table != "edge"
                 for number in found[table].get("activity", ())}
        self.assertTrue(set(found["edge"]["activity"]) <= known)
        launches = [at for at, reason in enumerate(found["edge"]["reason"]) if reason == "launch"]
        calls = set(found["api"]["activity"])
        self.assertTrue(launches)
        self.assertTrue(all(found["edge"]["waited_for"][at] in calls for at in launches))

    def played(self):
        """{(rank, communicator, function): [instances, bytes, kernel, waiting, last, late]} of
        tests/data/ranks, from what was played. Operations of one kernel have the same arrivals, and
        each counts its share of the kernel's times."""
        with open(DATA + "/ranks/truth.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        kernels, sums = {}, {}
        for row in rows:
            kernels.setdefault((row["communicator"], row["arrivals"]), []).append(row)
        for (communicator, arrivals), kernel in kernels.items():
            begins, count = [int(begin) for begin in arrivals.split(";")], len(kernel)
            end = max(int(row["end_ns"]) for row in kernel)
            for row in kernel:
                for rank, begin in enumerate(begins):
                    receives = row["function"] == "Send" and int(row["peer"]) == rank
                    last = int(row["last"]) == rank
                    total = sums.setdefault(
                        (rank, communicator, "Recv" if receives else row["function"]), [0] * 6)
                    for i, more in enumerate((1, int(row["bytes"]), (end - begin) / count,
                                              (max(begins) - begin) / count, last,
                                              last * int(row["late_ns"]) / count)):
                        total[i] += more
        return sums

    def test_collectives(self):
        """What was played, as both ways to a lake have it."""
        ranks = DATA + "/ranks"
        self.export(ranks)
        other = os.path.join(self.folder, "added")
        subprocess.run([MINIPROF, "fleet", "add", other, ranks], check=True,
                       stdout=subprocess.DEVNULL)
        for folder in self.out, other:
            found = {}
            for run in self.runs():
                table = parquet_tables.read(os.path.join(folder, run))["collective"]
                keys = ("communicator", "function", "instances", "bytes", "kernel_ns",
                        "waiting_ns", "last_instances", "late_ns")
                for row in zip(*(table[key] for key in keys)):
                    found[(int(run[-1]), *row[:2])] = [int(value) for value in row[2:]]
                self.assertEqual(table["matched"], table["instances"])
                self.assertEqual(set(table["ranks"]), {2})
                self.assertEqual(set(table["comm_rank"]), {int(run[-1])})
                self.assertEqual([int(kernel) - int(waiting) for kernel, waiting in
                                  zip(table["kernel_ns"], table["waiting_ns"])],
                                 [int(transfer) for transfer in table["transfer_ns"]])
            self.assertEqual(found, self.played())

    def test_collectives_alone(self):
        """One rank alone knows its operations, but not who waited."""
        table = self.tables(DATA + "/ranks/rank1.mpt")["collective"]
        played = {key[1:]: sums for key, sums in self.played().items() if key[0] == 1}
        self.assertEqual({(communicator, function): [int(instances), int(kernel)]
                          for communicator, function, instances, kernel in
                          zip(table["communicator"], table["function"], table["instances"],
                              table["kernel_ns"])},
                         {key: [sums[0], sums[2]] for key, sums in played.items()})
        self.assertEqual(set(table["matched"]), {"0"})
        for key in ("waiting_ns", "transfer_ns", "last_instances", "late_ns"):
            self.assertEqual(set(table[key]), {None})

    def test_layout(self):
        """Job, date, host and rank in the path; odd characters do not get there."""
        ranks = [self.made(f"rank{number}") for number in range(3)]
        self.export("--job", "a/b=c d", *ranks)
        self.assertEqual(self.runs(), [
            "runs/job=a_b_c_d/date=2023-11-14/host=node-a/rank=0",
            "runs/job=a_b_c_d/date=2023-11-14/host=node-a/rank=1",
            "runs/job=a_b_c_d/date=2023-11-14/host=node-b/rank=2"])
        found = parquet_tables.read(os.path.join(self.out, self.runs()[1]))
        self.assertEqual([found["run"][key] for key in ("job", "host", "rank", "date")],
                         [["a/b=c d"], ["node-a"], [1], ["2023-11-14"]])

    def test_same_place(self):
        """Two runs that would lie in one folder are not mixed, and nothing is left."""
        first = self.made("rank0")
        second = os.path.join(self.folder, "second.mpt")
        subprocess.run([BUILD + "/tests/tools/write_trace", second], check=True,
                       input=b"header pid=1\nheader executable=/opt/train\nheader rank=0\n"
                             b"header hostname=node-a\nheader start_clock_ns=1000\n"
                             b"header start_realtime_ns=1700000000000001000\n"
                             b"string id=1 text=k\nshape id=1 kernel=1\n"
                             b"kernel shape=1 start=2000 duration=1\n")
        said = self.export(first, second, code=2)
        self.assertRegex(said, "the same job, date, host and rank")
        self.assertFalse(os.path.exists(self.out))

    def test_full_disk(self):
        """Nothing is left, and a line says why."""
        trace = self.made("many")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5 * 1024, 5 * 1024))

        done = subprocess.run([MINIPROF, "export", "--to", "parquet", "--events", "-o", self.out,
                               trace], text=True, stderr=subprocess.PIPE, check=False,
                              preexec_fn=limit)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^miniprof export: [^\n]*File too large\n$")
        self.assertEqual(os.listdir(self.folder), ["many.mpt"])

    def test_existing(self):
        """Nothing is overwritten without -f; then no event table of an older export stays, and
        other runs do."""
        trace = self.made("rank0")
        self.export("--events", trace)
        self.assertIn("exists; -f replaces it", self.export(trace, code=2))
        self.export("-f", "--job", "other", trace)
        self.export("-f", trace)
        runs = self.runs()
        self.assertEqual(len(runs), 2)
        for run in runs:
            self.assertEqual({name[:-len(".parquet")] for name in
                              os.listdir(os.path.join(self.out, run))}, set(SUMMARY))

    def test_without_analyses(self):
        """--analysis off, and traces that cannot be analysed: the rest is there."""
        found = self.tables("--analysis", "off", "--events", DATA + "/two_streams.mpt")
        self.assertEqual(found["iteration"]["iteration"], [])
        self.assertEqual(found["advice"]["rule"], [])
        self.assertEqual(found["run"]["iterations"], [None])
        self.assertEqual(set(found["kernel"]["activity"]), {None})
        self.assertGreater(len(found["kernel_summary"]["name"]), 0)

    def test_wrong_options(self):
        """--events and --job are of this format."""
        done = subprocess.run([MINIPROF, "export", "--to", "csv", "--events", "x.mpt"],
                              text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (2, "miniprof export: --events and --job go with --to parquet\n"))


if __name__ == "__main__":
    unittest.main()
