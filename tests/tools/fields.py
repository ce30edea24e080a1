#!/usr/bin/env python3
"""The fields of CSV and JSON that the commands print, against those that docs/fields.md lists.

    fields.py MINIPROF FIELDS.md            prints "0 WHAT" for what holds, "1 WHAT" for the others
    fields.py MINIPROF FIELDS.md --update   writes the two lists of FIELDS.md anew

Runs in a folder with traces *.mpt, folders of two, `job`, `ranks` and `nccl`, and one of four,
`set`. The meanings in FIELDS.md are written by hand: | `field` | type | meaning |.
"""
import collections
import csv
import glob
import json
import re
import subprocess
import sys

# Of each trace. A name behind `=` is that of the list in FIELDS.md; else it is the command.
EACH = """
summary
summary --per-gpu
summary --gpu --per-gpu --table devices
gpu-trace --with-api = gpu-trace, api-trace
api-trace = gpu-trace, api-trace
iters
iters --table counts
iters --table outliers
iters --table threads
iters --table host_code
iters --each
iters --candidates
advise
nvtx
nvtx --table captured
layers
layers --table positions
layers --by-position
layers --table types
layers --table precisions
layers --table marks
deps
deps --parts --table host_code
deps --parts --table latencies
deps --trace
deps --iterations auto
deps --iterations auto --slowest 1 --table slowest
deps --what-if launch_latency=0
deps --gains 3
kernels
kernels --by-name = kernels
stacks
overlap
overlap --table kernels
overlap --table streams
memory
memory --table peaks
memory --table pools
memory --table not_freed
memory --table churn
memory --iterations auto --table iterations
memory --timeline
memory --points 5
metrics
metrics --each
counters
counters --table work
counters --by layer --table work = counters --table work
info
top
"""
# Of folders: they are one table.
SETS = """
summary --merge = summary
summary --side-by-side
gpu-trace --merge --with-api = gpu-trace, api-trace --merge
info = info FOLDER
ranks
ranks --table ranks
ranks --table causes
ranks --trace
"""
# Of a folder of ranks with NCCL.
JOBS = """
deps
deps --table ranks = deps FOLDER --table ranks
deps --trace
deps --what-if late=0 = deps --what-if launch_latency=0
iters --table peers = iters FOLDER --table peers
iters --each --table peers = iters FOLDER --each --table peers
"""
DOCUMENTS_OF_JOBS = """
deps --trace = deps FOLDER
deps --iterations auto --slowest 1 --what-if late=0 --gains 3 = deps FOLDER
advise = advise FOLDER
iters --each = iters FOLDER
"""
PAIRS = """
diff
diff --shapes = diff
diff --table latency
diff --table times
diff --table counts
diff --table positions --positions
diff --table layers
"""
DOCUMENTS = """
summary --gpu --api --per-gpu = summary
gpu-trace --with-api
iters --each = iters
iters --candidates = iters
advise
nvtx
layers --tree = layers
layers --by-position = layers
deps --trace = deps
deps --iterations auto --slowest 1 --what-if launch_latency=0 --gains 3 = deps
kernels
stacks
overlap
memory --iterations auto = memory
metrics --each = metrics
metrics = metrics
counters
info
top
"""
DOCUMENTS_OF_SETS = """
summary --merge
summary --side-by-side
gpu-trace --merge --with-api = gpu-trace --merge
info = info FOLDER
ranks --trace = ranks
"""
# Objects whose keys are names that come from elsewhere.
OPEN = {"properties", "counters", "statistics", "metrics"}
# Objects that several documents have; FIELDS.md lists them once.
SHARED = {"quality", "quality_of_rows", "damage", "flight", "kernel_time"}


def commands(text):
    for line in text.strip().splitlines():
        arguments, _, name = line.partition(" = ")
        yield arguments.split(), name.strip() or arguments


class Check:
    def __init__(self, miniprof):
        self.miniprof = miniprof
        self.wrong = []
        self.csv = collections.OrderedDict()  # name: fields
        self.json = collections.OrderedDict()  # name: set of paths
        self.cells = collections.defaultdict(set)  # field: some values

    def run(self, arguments):
        result = subprocess.run([self.miniprof, *arguments], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, check=False)
        if result.returncode > 1:
            self.wrong.append(f"{' '.join(arguments)}: exit code {result.returncode}: "
                              f"{result.stderr.strip()}")
            return None
        return result.stdout

    # ---- CSV ----

    def table(self, arguments, name, process):
        text = self.run([*arguments[:1], "--csv", *arguments[1:]])
        if text is None:
            return
        what = " ".join(arguments)
        rows = list(csv.reader(text.splitlines(), strict=True))
        if not rows:
            self.wrong.append(f"{what}: no header row")
            return
        fields = rows[0][:]
        if process and fields.pop(0) != "process":
            self.wrong.append(f"{what}: the first column is not process")
        if self.csv.setdefault(name, fields) != fields:
            self.wrong.append(f"{what}: {fields} here, {self.csv[name]} elsewhere")
        for field in fields:
            if not re.fullmatch("[a-z][a-z0-9_]*", field):
                self.wrong.append(f"{what}: a field is called '{field}'")
        if len(set(fields)) != len(fields):
            self.wrong.append(f"{what}: two fields have one name: {fields}")
        for row in rows[1:]:
            if len(row) != len(rows[0]):
                self.wrong.append(f"{what}: {len(row)} fields in {row}, not {len(rows[0])}")
                break
            for field, cell in zip(fields, row[process:]):
                if len(self.cells[field]) < 10000:
                    self.cells[field].add(cell)

    # ---- JSON ----

    def paths(self, value, path, found):
        if isinstance(value, dict):
            for key, item in value.items():
                name = "NAME" if path.split(".")[-1] in OPEN else key
                here = f"{path}.{name}" if path else name
                found.add(here)
                self.paths(item, here, found)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, (dict, list)):
                    self.paths(item, path + "[]" if not path.endswith("[]") else path, found)

    def document(self, arguments, name):
        text = self.run([*arguments[:1], "--json", *arguments[1:]])
        if text is None:
            return
        try:
            value = json.loads(text)
            first = value[0] if isinstance(value, list) else value  # of a job, then of its ranks
            self.paths(first, "", self.json.setdefault(name, set()))
        except json.JSONDecodeError as error:
            self.wrong.append(f"{' '.join(arguments)}: {error}")

    def several(self, arguments, folder):
        array = self.run([*arguments[:1], "--json", *arguments[1:], folder])
        lines = self.run([*arguments[:1], "--jsonl", *arguments[1:], folder])
        if array is None or lines is None:
            return
        documents = json.loads(array)
        if not isinstance(documents, list) or len(documents) != 2 or not all(
                isinstance(document.get("process"), str) for document in documents):
            self.wrong.append(f"{arguments} {folder}: not an array of two processes")
        if [json.loads(line) for line in lines.splitlines()] != documents:
            self.wrong.append(f"{arguments} {folder}: --jsonl says something else")

    # ---- Both ----

    def all(self):
        traces = sorted(glob.glob("*.mpt"))
        for arguments, name in commands(EACH):
            for trace in traces:
                self.table([*arguments, trace], name, False)
            if arguments[0] in ("top", "info"):
                continue
            for folder in ("job", "ranks"):
                self.table([*arguments, folder], name, True)
        for arguments, name in commands(SETS):
            for folder in ("job", "ranks", "nccl", "set"):
                self.table([*arguments, folder], name, False)
        for arguments, name in commands(JOBS):
            self.table([*arguments, "nccl"], name, False)
        for arguments, name in commands(DOCUMENTS_OF_JOBS):
            self.document([*arguments, "nccl"], name)
        for arguments, name in commands(PAIRS):
            for pair in (("inference.mpt", "two_streams.mpt"), ("nvtx.mpt", "plain.mpt"),
                         ("layers.mpt", "layers.mpt")):
                self.table([*arguments, *pair], name, False)
        for arguments, name in commands(DOCUMENTS):
            for trace in traces:
                self.document([*arguments, trace], name)
            if arguments[0] not in ("top", "info"):
                self.several(arguments, "job")
        for arguments, name in commands(DOCUMENTS_OF_SETS):
            for folder in ("job", "nccl", "set"):
                self.document([*arguments, folder], name)
        for pair in (("inference.mpt", "two_streams.mpt"), ("layers.mpt", "layers.mpt")):
            self.document(["diff", *pair], "diff")

    def dump(self):
        for trace in ("inference.mpt", "metrics.mpt", "memory.mpt", "captured.mpt",
                      "counters.mpt"):
            tables = json.loads(self.run(["info", "--json", trace]))["tables"]
            for table in tables:
                self.table(["dump", "--table", table["table"], trace], table["table"], False)


# ---- What FIELDS.md says ----

def csv_list(check):
    lines = []
    for name in check.csv:
        lines += [f"`{name}`", ""]
        text = ", ".join(check.csv[name])
        line = "   "
        for word in text.split(" "):
            if len(line) + 1 + len(word) > 98:
                lines.append(line)
                line = "   "
            line += " " + word
        lines += [line, ""]
    return "\n".join(lines)


def json_list(check):
    """A line for each object: its path, and its keys."""
    lines = []
    check.json["everywhere"] = {
        path[path.index(one):] for paths in check.json.values() for path in paths
        for one in SHARED - {"damage", "quality_of_rows"} if one + "." in path and
        one in path.split(".")}
    for name in check.json:
        objects = collections.OrderedDict()
        for path in sorted(check.json[name]):
            parent, _, key = path.rpartition(".")
            if name != "everywhere" and SHARED & set(parent.split(".")):
                continue
            objects.setdefault(parent, []).append(key)
        lines += [f"`{name}`", ""]
        for parent in sorted(objects):
            line = "    " + (parent + ":" if parent else "")
            for key in objects[parent]:
                if len(line) + 1 + len(key) > 98:
                    lines.append(line)
                    line = "       "
                line += (" " if line.strip() else "") + key
            lines.append(line)
        lines.append("")
    return "\n".join(lines)


def replace(text, mark, new):
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    return head + begin + "\n" + new + "\n" + end + tail


def meanings(text):
    return {field: kind for field, kind in
            re.findall(r"^\| `([^`]+)` \| ([^|]+?) \| .*\|$", text, re.MULTILINE)}


KINDS = {
    "text": lambda cell: True,
    "number": lambda cell: float(cell) is not None,
    "count": lambda cell: int(cell) >= 0,
    "ns": lambda cell: float(cell) is not None,
    "bytes": lambda cell: float(cell) is not None,
    "percent": lambda cell: float(cell) is not None,
    "0 or 1": lambda cell: cell in ("0", "1"),
    "true or false": lambda cell: False,
    "object": lambda cell: False,
    "array": lambda cell: False,
}


def holds(kind, cell):
    try:
        return cell == "" or any(KINDS[one](cell) for one in re.split(", | or (?!1|false)", kind))
    except ValueError:
        return False


def main():
    miniprof, page = sys.argv[1:3]
    check = Check(miniprof)
    check.all()
    documents = Check(miniprof)
    documents.dump()
    with open(page, encoding="utf-8") as file:
        text = file.read()
    new = replace(replace(text, "CSV", csv_list(check)), "JSON", json_list(check))
    if "--update" in sys.argv:
        with open(page, "w", encoding="utf-8") as file:
            file.write(new)
        text = new
    known = meanings(text)
    printed = {field for fields in check.csv.values() for field in fields} | {"process"}
    printed |= {path.rpartition(".")[2].replace("[]", "")
                for paths in check.json.values() for path in paths} - {"NAME"}
    verdicts = [(not check.wrong, "CSV and JSON of each command" + "".join(
                    "; " + wrong for wrong in check.wrong[:20])),
                (not documents.wrong, f"CSV of dump {documents.wrong[:3]}"),
                (new == text, "the lists of docs/fields.md; fields.py --update writes them"),
                (not printed - set(known), f"docs/fields.md lacks {sorted(printed - set(known))}"),
                (not set(known) - printed,
                 f"docs/fields.md has {sorted(set(known) - printed)}, which nothing prints")]
    for field, cells in sorted(check.cells.items()):
        kind = known.get(field, "text")
        odd = [cell for cell in cells if not holds(kind, cell)][:3]
        verdicts.append((not odd, f"{field} is {kind}: {odd}"))
    for good, what in verdicts:
        print(int(not good), what.replace("\n", " "))


if __name__ == "__main__":
    main()
