#!/usr/bin/env python3
"""Compares `miniprof gpu-trace` and `api-trace` with tests/readers/mpt.py, which shares no code.

usage: compare_traces.py MINIPROF TRACE

Every row of the merged table: its place in the order of time, start, duration, name, correlation
id, and what else it shows. Times in the CSV have six decimals of a unit; JSON has them in ns, so
both are looked at.
"""
import csv
import io
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "readers"))
import mpt  # pylint: disable=wrong-import-position

COPY_KINDS = ("unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
              "PtoP")
MEMORY = ("Unknown", "Pageable", "Pinned", "Device", "Array", "Managed")
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KB": 1 << 10, "MB": 1 << 20,
         "GB": 1 << 30}
MARK, PUSH, POP, START, END = range(5)
MOST_DIFFERENCES = 20
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
        trace = mpt.Trace(pathlib.Path(path).read_bytes())
        names = {name: [column for _, column, _ in columns]
                 for name, columns in trace.tables.values()}
        self.tables = {name: [dict(zip(names[name], row)) for row in rows]
                       for name, rows in trace.rows.items()}
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
        rows = []
        if api:
            rows += [(time, None, shown) for time, shown in self.nvtx_rows()]
            rows += [(row["start"], row["duration"], self.call_row(row))
                     for row in self.tables["call"]]
        for table in ("kernel", "copy", "set", "graph") if gpu else ():
            rows += [(row["start"], row["duration"], self.gpu_row(table, row))
                     for row in self.tables[table]]
        if gpu:
            rows += [(row["start"], row["duration"] or None, self.unified_row(row))
                     for row in self.tables.get("unified", ())]
        rows = [row for row in rows if row[0] and (row[1] or 0) < 1 << 63]
        return sorted(rows, key=lambda row: row[0])


def output(*command):
    """What a command prints; it may say that the trace is damaged (exit code 1)."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="surrogateescape",
                          check=False)
    if done.returncode > 1:
        sys.exit(f"{command}: {done.stderr}")
    return done.stdout or done.stderr  # where nvprof's output goes


def printed(text):
    """The rows of nvprof's CSV: {title: text}, with numbers of a unit in its base. What metrics
    there are stands below them."""
    _, _, text = text.partition('"Start"')
    lines = ('"Start"' + text.partition("\n==")[0]).strip().splitlines()
    titles, units, *rows = csv.reader(lines)
    scale = {title: UNITS.get(unit.removesuffix("/s"), 1) for title, unit in zip(titles, units)}
    return titles, scale, [dict(zip(titles, row)) for row in rows]


def is_same(text, expected, scale):
    """Whether a field says what it should: texts as they are, numbers to their last digit."""
    if expected is None or text == "":
        return expected is None and text == ""
    if isinstance(expected, str):
        return text == expected
    return abs(float(text) - expected / scale) <= 0.51e-6 * max(1, abs(float(text)) * 1e-9)


def compare_csv(command, reader_rows, text):
    """Yields what differs."""
    titles, scale, rows = printed(text)
    first = reader_rows[0][0]
    if len(rows) != len(reader_rows):
        yield f"{command}: {len(rows)} rows, reader {len(reader_rows)}"
    for place, (row, (start, duration, shown)) in enumerate(zip(rows, reader_rows)):
        expected = dict(shown, Start=start - first, Duration=duration)
        expected.pop(CAPTURED, None)
        for title in set(titles) | set(expected):
            if not is_same(row.get(title, ""), expected.get(title), scale.get(title, 1)):
                yield (f"{command} {place}: {title} is {row.get(title)!r}, reader"
                       f" {expected.get(title)!r}")


def compare_json(reader_rows, text):
    """Yields what differs: times, to the nanosecond."""
    rows = json.loads(text)["rows"]
    if len(rows) != len(reader_rows):
        yield f"json: {len(rows)} rows, reader {len(reader_rows)}"
    for place, (row, (start, duration, shown)) in enumerate(zip(rows, reader_rows)):
        got = row["start_ns"], row["duration_ns"], row["correlation"], row.get(CAPTURED)
        if got != (start, duration, shown.get("Correlation_ID"), shown.get(CAPTURED)):
            yield f"json {place}: {got}, reader {(start, duration, shown)}"


def compare_sheet(command, document, text):
    """Yields what differs between miniprof's own CSV and its JSON."""
    rows = list(csv.DictReader(io.StringIO(text)))
    if len(rows) != len(document):
        yield f"{command}: {len(rows)} rows, JSON {len(document)}"
    for place, (row, item) in enumerate(zip(rows, document)):
        for key in set(row) | set(item):
            want, got = item.get(key), row.get(key, "")
            if isinstance(want, (int, float)):
                same = got != "" and abs(float(got) - want) <= 1e-9 * abs(want)
            else:
                same = got == (want or "")
            if not same:
                yield f"{command} {place}: {key} is {got!r}, JSON {want!r}"


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
        yield from compare_csv(name, rows, output(miniprof, *nvprof))
        yield from compare_csv(name + " -u ns", rows, output(miniprof, *nvprof, "-u", "ns"))
        text = output(miniprof, *command, "--json", path)
        yield from compare_json(rows, text)
        yield from compare_sheet(name, json.loads(text)["rows"],
                                 output(miniprof, *command, "--csv", path))


def main():
    """The program."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    differences = list(compare(*sys.argv[1:]))
    print("\n".join(differences[:MOST_DIFFERENCES]))
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
