#!/usr/bin/env python3
"""Compares `miniprof gpu-trace` and `api-trace` with tests/readers/mpt.py, which shares no code.

usage: compare_traces.py MINIPROF TRACE

Every row of the merged table: its place in the order of time, start, duration, name, correlation
id, and what else it shows. Times in the CSV have six decimals of a unit; JSON has them in ns, so
both are looked at.
"""
import csv
import functools
import io
import re
from operator import eq

import sources

COPY_KINDS = ("unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
              "PtoP")
MEMORY = ("Unknown", "Pageable", "Pinned", "Device", "Array", "Managed")
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KB": 1 << 10, "MB": 1 << 20,
         "GB": 1 << 30}
ENCODING = "utf-8", "surrogateescape"
MARK, PUSH, POP, START, END = range(5)
CAPTURED = "captured_in"  # in JSON only


UNIFIED = {1: "Memcpy HtoD", 2: "Memcpy DtoH", 3: "CPU page faults", 4: "GPU page faults"}
BYTES_HTOD, BYTES_DTOH, CPU_FAULT, GPU_FAULT = 1, 2, 3, 4
NO_DEVICE = (1 << 32) - 1


def size_text(count):
    """As nvprof writes a size inside a text: the unit changes at 1000, and has 1024 of the last."""
    value, unit = float(count), 0
    while value >= 1000 and unit < 3:
        value, unit = value / 1024, unit + 1
    return f"{count}B" if not unit else f"{value:.6f}{('B', 'KB', 'MB', 'GB')[unit]}"


class Reader:
    """The rows of a trace as they should be printed, from mpt.py's rows."""

    def __init__(self, path):
        self.tables = sources.tables(path)
        self.strings = {row["id"]: row["text"] for row in self.tables["string"]}
        self.defined = {name: {row["id"]: row for row in self.tables[name]}
                        for name in ("stream", "device", "shape", "function")}
        self.kernels = {}
        for row in self.tables["kernel"]:
            if row["correlation"] and not row["node"]:
                self.kernels.setdefault(row["correlation"], self.kernel_name(row["shape"]))

        nodes = {(row["graph"], row["graph_node"]): row["id"] for row in self.tables["node"]}
        paths = {0: ()}
        for row in self.tables.get("path", ()):
            paths[row["id"]] = paths[row["parent"]] + (self.text(row["name"]) or "<unnamed>",)
        self.captured = {nodes.get((row["graph"], row["graph_node"])): " > ".join(
            paths[row["path"]]) for row in self.tables.get("captured", ())}

    def text(self, number):
        text = self.strings.get(number, "")
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else text

    def kernel_name(self, shape):
        return self.text(self.defined["shape"][shape]["kernel"])

    def place(self, row):
        stream = self.defined["stream"][row["stream"]]
        device = self.text(self.defined["device"][stream["device"]]["name"])
        return {"Device": f"{device} ({stream['device']})", "Context": str(stream["context"]),
                "Stream": str(stream["stream"]), "Correlation_ID": row["correlation"]}

    def gpu_row(self, table, row):
        """What a row of the GPU trace shows, by the CSV's titles."""
        shown = self.place(row)
        if table == "kernel":
            shape = self.defined["shape"][row["shape"]]
            name = self.text(shape["kernel"])
            shown.update({f"{what} {axis.upper()}": shape[f"{what.lower()}_{axis}"]
                          for what in ("Grid", "Block") for axis in "xyz"})
            shown.update({"Registers Per Thread": shape["registers"],
                          "Static SMem": shape["static_shared_memory"],
                          "Dynamic SMem": shape["dynamic_shared_memory"],
                          "Name": f"{name} [{row['correlation']}]" if row["correlation"] else name})
        elif table == "graph":
            shown["Name"] = f"[CUDA graph {row['graph']}]"
        elif table == "set":
            shown.update({"Name": "[CUDA memset]", "Size": row["bytes"],
                          "SrcMemType": MEMORY[row["memory"]]})
        else:
            shown.update({"Name": f"[CUDA memcpy {COPY_KINDS[row['kind']]}]", "Size": row["bytes"],
                          "SrcMemType": MEMORY[row["source"]],
                          "DstMemType": MEMORY[row["target"]]})
        if row.get("node") in self.captured:
            shown[CAPTURED] = self.captured[row["node"]]
        if "Size" in shown and row["duration"]:
            shown["Throughput"] = row["bytes"] / row["duration"] * 1e9
        return shown

    def unified_row(self, row):
        kind = row["kind"]
        shown = {"Name": f"[Unified Memory {UNIFIED[kind]}]",
                 "Virtual Address": f"0x{row['address']:x}"}
        if kind in (BYTES_HTOD, BYTES_DTOH):
            shown["Unified Memory"] = size_text(row["value"])
        elif kind == CPU_FAULT:  # CUPTI gives the place in the program
            shown["Unified Memory"] = f"PC 0x{row['value']:x}"
        else:
            shown["Unified Memory"] = str(row["value"])
        number = row["target"] if kind == BYTES_HTOD else row["source"]
        if number != NO_DEVICE:
            name = self.text(self.defined["device"][number]["name"])
            shown["Device"] = f"{name} ({number})"
        return shown

    def call_row(self, row):
        name = self.text(self.defined["function"][row["function"]]["name"])
        while re.search(r"(_v\d+|_ptsz|_ptds)$", name):
            name = re.sub(r"(_v\d+|_ptsz|_ptds)$", "", name)
        kernel = self.kernels.get(row["correlation"])
        if kernel:
            name += f" ({kernel} [{row['correlation']}])"
        return {"Name": name, "Correlation_ID": row["correlation"]}

    def nvtx_rows(self):
        """Begins and ends with their names, in order of time."""
        stacks, started = {}, {}
        for row in sorted(self.tables["nvtx"], key=lambda row: row["time"]):
            stack = stacks.setdefault((row["thread"], row["domain"]), [])
            kind, name = row["kind"], row["name"]
            if kind == PUSH:
                stack.append(name)
            elif kind == POP:
                name = stack.pop() if stack else 0
            elif kind == START:
                started[row["range"]] = name
            elif kind == END:
                name = started.pop(row["range"], 0)
            title = {MARK: "Marker", PUSH: "Range start", START: "Range start"}.get(
                kind, "Range end")
            yield row["time"], {
                "Name": f"[{title}] {self.text(name) or '<unnamed>'}"
                        f" (Domain: {self.text(row['domain']) or '<unnamed>'})"}

    def rows(self, gpu, api):
        """(start, duration or None, what else is shown), in the order of the table."""
        rows = (self.api_rows() if api else []) + (self.gpu_rows() if gpu else [])
        rows = [row for row in rows if row[0] and (row[1] or 0) < 1 << 63]
        return sorted(rows, key=lambda row: row[0])

    @functools.cache
    def api_rows(self):
        """Those of the host."""
        return [(time, None, shown) for time, shown in self.nvtx_rows()] + [
            (row["start"], row["duration"], self.call_row(row)) for row in self.tables["call"]]

    @functools.cache
    def gpu_rows(self):
        """Those of devices."""
        return [(row["start"], row["duration"], self.gpu_row(table, row))
                for table in ("kernel", "copy", "set", "graph") for row in self.tables[table]] + [
            (row["start"], row["duration"] or None, self.unified_row(row))
            for row in self.tables["unified"]]


def printed(text):
    """The rows of nvprof's CSV: {title: text}, with numbers of a unit in its base. What metrics
    there are stands below them."""
    _, _, text = text.partition('"Start"')
    lines = ('"Start"' + text.partition("\n==")[0]).strip().splitlines()
    titles, units, *rows = csv.reader(lines)
    scale = {title: UNITS.get(unit.removesuffix("/s"), 1) for title, unit in zip(titles, units)}
    return titles, scale, rows


def is_same(text, expected, scale):
    """Whether a field says what it should: texts as they are, numbers to their last digit."""
    if expected is None or text == "" or isinstance(expected, str):
        return text == ("" if expected is None else expected)
    return abs(float(text) - expected / scale) <= 0.51e-6 * max(1, abs(float(text)) * 1e-9)


def compare_columns(command, titles, rows, wanted, is_right):
    """Yields what differs between the rows of a CSV and {title: [value of each row]}. Columns that
    are equal at once need no closer look, and in others each pair of values one."""
    count = len(next(iter(wanted.values())))
    if len(rows) != count:
        yield f"{command}: {len(rows)} rows instead of {count}"
    if any(len(row) != len(titles) for row in rows):
        yield f"{command}: rows of another length"
    columns = dict(zip(titles, zip(*rows)))
    for title in [*titles, *(set(wanted) - set(titles))]:
        texts = columns.get(title) or ("",) * count
        wants = wanted.get(title) or (None,) * count
        if all(map(eq, texts, ["" if want is None else want for want in wants])):
            continue
        pairs = list(zip(texts, wants))
        wrong = {pair for pair in set(pairs) if not is_right(title, *pair)}
        for place, (text, want) in enumerate(pairs if wrong else ()):
            if (text, want) in wrong:
                yield f"{command} {place}: {title} is {text!r} instead of {want!r}"


def columns_of(reader_rows):
    """The same rows by the titles of nvprof's CSV."""
    shown = [row[2] for row in reader_rows]
    titles = dict.fromkeys(title for kind in {tuple(row) for row in shown} for title in kind)
    first = reader_rows[0][0]
    return {"Start": [start - first for start, _, _ in reader_rows],
            "Duration": [duration for _, duration, _ in reader_rows],
            **{title: [row.get(title) for row in shown] for title in titles if title != CAPTURED}}


def compare_csv(command, wanted, text):
    """Yields what differs between nvprof's CSV and what is wanted."""
    titles, scale, rows = printed(text)
    yield from compare_columns(command, titles, rows, wanted, lambda title, got, want: is_same(
        got, want, scale.get(title, 1)))


def compare_json(reader_rows, rows):
    """Yields what differs: times, to the nanosecond."""
    if len(rows) != len(reader_rows):
        yield f"json: {len(rows)} rows, reader {len(reader_rows)}"
    for place, (row, (start, duration, shown)) in enumerate(zip(rows, reader_rows)):
        got = row["start_ns"], row["duration_ns"], row["correlation"], row.get(CAPTURED)
        if got != (start, duration, shown.get("Correlation_ID"), shown.get(CAPTURED)):
            yield f"json {place}: {got}, reader {(start, duration, shown)}"


def is_field(_, text, value):
    """Whether a field of miniprof's own CSV is a value of its JSON."""
    if value is None or isinstance(value, str):
        return text == (value or "")
    return text == str(value) or text != "" and abs(float(text) - value) <= 1e-9 * abs(value)


def compare_sheet(command, document, text):
    """Yields what differs between miniprof's own CSV and its JSON."""
    titles, *rows = csv.reader(io.StringIO(text, newline=""))
    keys = dict.fromkeys(key for kind in {tuple(item) for item in document} for key in kind)
    wanted = {key: [item.get(key) for item in document] for key in keys}
    yield from compare_columns(command, titles, rows, wanted, is_field)


def compare(miniprof, path):
    """Yields what differs."""
    reader = Reader(path)
    for gpu, api, command in ((True, False, ["gpu-trace"]), (False, True, ["api-trace"]),
                              (True, True, ["gpu-trace", "--with-api"])):
        rows = reader.rows(gpu, api)
        if not rows:
            continue
        name = " ".join(command)
        nvprof = ["-i", path, "--csv", "--demangling", "off"]
        nvprof += ["--print-gpu-trace"] * gpu + ["--print-api-trace"] * api
        wanted = columns_of(rows)
        for what, options in ((name, []), (name + " -u ns", ["-u", "ns"])):
            done = sources.run(miniprof, *nvprof, *options)  # nvprof's output goes to stderr
            yield from compare_csv(what, wanted, (done.stdout or done.stderr).decode(*ENCODING))
        shown = sources.document(miniprof, *command, "--json", path)["rows"]
        yield from compare_json(rows, shown)
        yield from compare_sheet(name, shown, sources.output(miniprof, *command, "--csv", path))


if __name__ == "__main__":
    sources.main(__doc__, compare)
