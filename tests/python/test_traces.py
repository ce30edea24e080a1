#!/usr/bin/env python3
# Takes 20 s.
"""What the package reads of every committed trace, against what the command prints of it: each
number of each table, the names of kernels and calls, sums, and each report.
"""
import collections
import csv
import inspect
import pathlib
import re
import sys
import unittest
import warnings

import common
import miniprof
import numpy
import pandas
from miniprof._library import tables

KERNEL = ("name", "start_ns", "duration_ns", "device", "context", "stream", "grid_x", "grid_y",
          "grid_z", "block_x", "block_y", "block_z", "registers", "static_shared_bytes",
          "dynamic_shared_bytes", "correlation")
COPY = ("name", "start_ns", "duration_ns", "bytes", "device", "context", "stream", "correlation")
CALL = ("name", "start_ns", "duration_ns", "thread", "correlation")


def number(text):
    """A cell of `dump --raw`."""
    return int(text, 0) if text else 0


def printed(text):
    """A string as the command prints it: docs/fields.md, "Names"."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029]", "?", text)


def copies_of(frame):
    """How many copies or other activities a row stands for: batches have a count."""
    return frame["count"].clip(lower=1) if "count" in frame else frame.duration_ns * 0 + 1


def text_rows(frame, fields):
    """The rows as a CSV has them, in no order."""
    columns = [["" if value is None or value != value else str(value)
                for value in frame[field].tolist()] for field in fields]
    return collections.Counter(zip(*columns))


class EveryTrace(unittest.TestCase):
    """Numbers equal the command's."""

    def each(self):
        """Each trace, opened, with its path."""
        self.assertGreater(len(common.traces()), 30)
        for path in common.traces():
            with self.subTest(path), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with miniprof.open(path) as trace:
                    yield trace, path

    def test_columns_are_those_of_dump(self):
        """All numbers of all tables, in the order of the file, under dump's names."""
        for trace, path in self.each():
            for table in common.command_json("info", "--json", path)["tables"]:
                name = table["table"]
                text = common.command("dump", "--raw", "--csv", "--table", name, path)
                head, *rows = csv.reader(text.splitlines(True))
                self.assertEqual(head, [column.name for column in tables()[name].columns])
                self.assertEqual(trace.rows(name), len(rows))
                for field, cells in zip(head, zip(*rows)):
                    if field == "text":
                        self.assertEqual(list(map(printed, trace.table(name)[field])),
                                         list(cells))
                        continue
                    self.assertEqual(trace.column(name, field).tolist(), list(map(number, cells)),
                                     f"{name}.{field}")

    def test_rows_are_those_of_the_traces(self):
        """Names and fields of kernels, copies, sets and calls are gpu-trace's and api-trace's."""
        for trace, path in self.each():
            wanted = collections.defaultdict(collections.Counter)
            for row in common.command_rows("gpu-trace", "--with-api", "--csv", path):
                fields = {"kernel": KERNEL, "copy": COPY, "set": COPY, "call": CALL}.get(
                    row["kind"])
                if fields:
                    row["correlation"] = row["correlation"] or "0" # bodies of conditional nodes
                    wanted[row["kind"]][tuple(row[field] for field in fields)] += 1
            for kind, fields, frame in (("kernel", KERNEL, trace.kernels),
                                        ("copy", COPY, trace.copies), ("set", COPY, trace.sets),
                                        ("call", CALL, trace.calls)):
                self.assertEqual(text_rows(frame, fields), wanted[kind], kind)

    def test_nvtx_events(self):
        """Begins and ends of ranges, with names, domains, threads and times."""
        for trace, path in self.each():
            wanted, found = collections.Counter(), collections.Counter()
            for row in common.command_rows("api-trace", "--csv", path):
                if row["kind"] in ("range_start", "marker"):
                    wanted[row["start_ns"], row["thread"], row["name"],
                           row["domain"].replace("<unnamed>", "")] += 1
            events = trace.nvtx[trace.nvtx.kind.isin(["push", "start", "mark"])]
            found = text_rows(events, ("time_ns", "thread", "name", "domain"))
            self.assertEqual(found, wanted)

    def test_sums_are_those_of_summary(self):
        """Total time and number by name: what people compute first."""
        for trace, path in self.each():
            document = common.command_json("summary", "--json", "--gpu", path)
            wanted = {row["name"]: (row["total_ns"], row["calls"])
                      for group in document["groups"] for row in group["rows"]}
            found = {}
            for frame in (trace.kernels, trace.copies, trace.sets):
                groups = frame.assign(times=copies_of(frame)).groupby("name")
                sums = groups[["duration_ns", "times"]].sum()
                found.update({name: (total, count) for name, total, count in zip(
                    sums.index, sums.duration_ns.tolist(), sums.times.tolist())})
            for name, sums in found.items():
                self.assertEqual(sums, wanted.get(name), name)

    def test_reports_are_the_commands(self):
        """iterations, deps, advise, layers, summary, report, info."""
        for trace, path in self.each():
            document = common.command_json("iters", "--each", "--json", path)
            self.assertEqual(trace.iterations().latency_ns.tolist(),
                             [one["latency_ns"] for one in document["iterations"]])
            # null where work is missing, and with it the path: then there are no rows.
            rows = common.command_json("deps", "--json", path)["rows"] or []
            self.assertEqual(dict(zip(*map(list, (trace.deps().name, trace.deps().critical_ns)))),
                             {row["name"]: row["critical_ns"] for row in rows})
            self.assertEqual(trace.advise().rule.tolist(), [
                row["rule"] for row in common.command_json("advise", "--json", path)["findings"]])
            self.assertEqual(len(trace.layers()),
                             len(common.command_rows("layers", "--csv", path)))
            self.assertEqual(trace.summary().total_ns.tolist(),
                             [int(row["total_ns"]) for row in
                              common.command_rows("summary", "--csv", path)])
            self.assertEqual(trace.report(), common.command_json("report", "--json", path))
            self.assertEqual(trace.info, common.command_json("info", "--json", path))

    def test_the_header(self):
        """Properties are those of info."""
        for trace, path in self.each():
            self.assertEqual(trace.properties,
                             common.command_json("info", "--json", path)["properties"])


class Access(unittest.TestCase):
    """What a caller may do with a trace."""

    path = str(common.SOURCE / "tests/data/inference.mpt")

    def test_chosen_columns(self):
        """Only what is asked for, in that order."""
        with miniprof.open(self.path) as trace:
            frame = trace.table("kernel", ["duration_ns", "name"])
        self.assertEqual(list(frame.columns), ["duration_ns", "name"])
        self.assertEqual(len(frame), 1000)

    def test_arrays_outlive_the_trace(self):
        """They are numpy's own memory."""
        with miniprof.open(self.path) as trace:
            column = trace.column("kernel", "duration_ns")
            frame = trace.kernels
        self.assertEqual(int(column.sum()), int(frame.duration_ns.sum()))
        self.assertEqual(frame.duration_ns.dtype, numpy.int64)

    def test_a_frame_does_not_copy(self):
        """The DataFrame's columns are the arrays that were read."""
        with miniprof.open(self.path) as trace:
            frame = trace.table("kernel", ["start_ns", "duration_ns"])
        for name in frame:
            self.assertIsNotNone(frame[name].to_numpy().base)

    def test_batches(self):
        """Parts are as the whole; many kernels come in several."""
        path = str(common.SOURCE / "tests/data/resnet50_eager.mpt")
        with miniprof.open(path) as trace:
            parts = list(trace.batches("call", ["name", "start_ns"]))
            whole = trace.table("call", ["name", "start_ns"])
        self.assertGreater(len(parts), 1)
        joined = pandas.concat([part.astype({"name": str}) for part in parts], ignore_index=True)
        self.assertTrue(joined.equals(whole.astype({"name": str})))
        with miniprof.open(path) as trace:
            strings = pandas.concat(trace.batches("string"), ignore_index=True)
            self.assertTrue(strings.equals(trace.table("string")))

    def test_options(self):
        """Keywords are the command's options."""
        with miniprof.open(self.path) as trace:
            self.assertEqual(len(trace.summary(gpu=True, top=2)), 2)
            self.assertEqual(trace.run("iters", json=True, range=1)["range"], 1)
            self.assertIn("more_by_ns", trace.iterations(table="outliers").columns)
            with self.assertRaisesRegex(miniprof.MiniprofError, "unknown option.*nonsense"):
                trace.summary(nonsense=True)

    def test_times_are_of_the_recorders_clock(self):
        """A time and `start_clock_ns` give the time of day."""
        with miniprof.open(self.path) as trace:
            start = int(trace.properties["start_clock_ns"])
            self.assertLess(start, trace.kernels.start_ns.min())
            self.assertLess(trace.kernels.start_ns.max() - start, 10**9)

    def test_notebook(self):
        """A report and a trace show themselves."""
        with miniprof.open(self.path) as trace:
            page = trace._repr_html_()  # pylint: disable=protected-access
        self.assertIn("An iteration takes 228.6us", page)
        self.assertEqual(page.count("<rect"), 50)

    def test_without_pandas(self):
        """The same fields and numbers in a small table."""
        code, out, err = common.run_python("""if True:
            import sys
            sys.modules["pandas"] = None
            import miniprof
            trace = miniprof.open(sys.argv[1])
            kernels = trace.kernels
            print(type(kernels).__name__, len(kernels), kernels.duration_ns.sum(),
                  kernels["name"][1], sorted(set(kernels.name)), kernels.columns[:3])
            print(len(trace.iterations()), trace.iterations().latency_ns[0])
            print(trace.nvtx.domain[0], trace.nvtx[["name", "domain"]].shape, len(kernels[:7]))
            print(kernels.head(2)._repr_html_().count("<tr>"), "conv_layer" in repr(kernels))
            """, self.path)
        with miniprof.open(self.path) as trace:
            total, latency = trace.kernels.duration_ns.sum(), trace.iterations().latency_ns[0]
            events = len(trace.nvtx)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines(), [
            f"Table 1000 {total} gemm_layer ['add_join', 'conv_layer', 'gemm_layer', 'relu_layer']"
            " ['name', 'device', 'context']", f"50 {latency}", f"None ({events}, 2) 7", "3 True"])

    def test_annotations(self):
        """Whatever a caller may call is annotated, and the package says so."""
        trace_class = type(miniprof.open(self.path))
        found = [getattr(miniprof, name) for name in ("open", "mark_layers")]
        found += [getattr(one, "func", one) for name, one in vars(trace_class).items()
                  if not name.startswith("_")]
        found += [one.__init__ for one in (trace_class, miniprof.range)]
        self.assertGreater(len(found), 20)
        for function in found:
            signature = inspect.signature(function)
            for name, parameter in signature.parameters.items():
                self.assertTrue(name == "self" or parameter.annotation is not parameter.empty,
                                f"{function.__qualname__}: {name}")
            self.assertTrue(function.__name__ == "__init__"
                            or signature.return_annotation is not signature.empty, function)
        self.assertTrue((pathlib.Path(miniprof.__file__).parent / "py.typed").exists())

    def test_several_threads(self):
        """Threads may read one trace."""
        code, out, err = common.run_python("""if True:
            import concurrent.futures, miniprof, sys
            trace = miniprof.open(sys.argv[1])
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                print(len(set(pool.map(lambda _: trace.column("call", "start_ns").sum(),
                                       range(40)))))
            """, common.SOURCE / "tests/data/resnet50_eager.mpt")
        self.assertEqual((code, out, err), (0, "1\n", ""))


if __name__ == "__main__":
    sys.exit(unittest.main())
