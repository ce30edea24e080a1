"""Runs programs under miniprof; compares what `miniprof deps` says of the trace with the oracle."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "readers"))
sys.dont_write_bytecode = True

import mpt  # pylint: disable=wrong-import-position
import oracle  # pylint: disable=wrong-import-position
import truth  # pylint: disable=wrong-import-position
from walk import of_thread  # pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("BUILD", SOURCE / "build"))
RUN_PROGRAMS = BUILD / "tests" / "oracle" / "run_programs"
MINIPROF = BUILD / "miniprof"
TABLES = mpt.read_tables()
DROPS_TRIES = 5
# Room for the buffers of as many ranges as one process runs (each range returns CUPTI's buffers).
# run_programs has a miniprof_preload, which asks for nothing. CUPTI 13.1 tells of host functions.
SETTINGS = {"SIMGPU_DEVICES": "3", "MINIPROF_BUFFER_MB": "256", "MINIPROF_LOG": "none",
            "MINIPROF_ATTACH": "init", "SIMGPU_CUPTI_VERSION": "130100"}


class Failed(Exception):
    """A program of the test itself failed: run_programs or miniprof."""


def plays(function, library="cupti"):
    """Whether CUDA's headers, of which the software GPU is made, have a function of CUPTI, or of
    the driver."""
    name = "libcupti.so" if library == "cupti" else "libcuda.so.1"
    found = subprocess.run(["nm", "-D", "--defined-only", BUILD / "simgpu" / name],
                           capture_output=True, text=True, check=False).stdout
    return any(line.split("@")[0].endswith(" " + function) for line in found.splitlines())


def environment(folder, extra):
    """None of the caller's settings, and no other GPU."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("MINIPROF", "SIMGPU", "CUDA_INJECTION", "NVTX_INJECTION"))}
    return {**kept, **SETTINGS, "LD_LIBRARY_PATH": str(BUILD / "simgpu"),
            "CUDA_INJECTION64_PATH": str(BUILD / "libminiprof.so"),
            "MINIPROF_OUTPUT": str(folder / "trace.mpt"), **extra}


def command(arguments, env=None):
    """The output of a command that must succeed."""
    done = subprocess.run(list(map(str, arguments)), env=env, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode or done.stderr:
        raise Failed(f"{arguments[0]}: exit status {done.returncode}: "
                     + done.stderr.decode(errors="replace")[:2000])
    return done.stdout


def record(programs, folder, extra=()):
    """Runs the programs in one process; returns the log and the trace. Where the machine is so busy
    that records are dropped, anew."""
    text = "".join(each.text() for each in programs)
    (folder / "programs").write_text(text)
    for _ in range(DROPS_TRIES):
        (folder / "trace.mpt").unlink(missing_ok=True)
        command([RUN_PROGRAMS, folder / "programs", folder / "log"],
                environment(folder, dict(extra)))
        trace = mpt.Trace((folder / "trace.mpt").read_bytes(), TABLES)
        if not trace.lost:
            break
    if trace.lost or trace.damage:
        raise Failed(f"trace: {trace.lost} records dropped; {trace.damage}")
    log = [tuple(map(int, line.split())) for line in (folder / "log").read_text().splitlines()]
    return log, trace


def expected(programs, folder, broken=(), extra=()):
    """What the oracle says of programs, which it runs."""
    log, trace = record(programs, folder, extra)
    return oracle.Oracle(truth.Truth(programs, log, trace), broken)


def key_of(x):
    """How an activity is named in messages and comparisons."""
    return x.key() if x else None


def numbers_of(o, x):
    """What is compared of an activity."""
    if x.kind in truth.ON_HOST:
        rule, awaited = x.rule, x.previous if x.rule == "D1" else x.awaited
    else:
        rule, awaited = (x.bound.rule, x.bound.awaited) if x.bound else (None, None)
    return (o.critical[x], x.waiting, x.slack, rule, key_of(awaited), x.window.range)


FIELDS = ("critical_ns", "waiting_ns", "slack_ns", "bound_by", "bound_to", "range")


def of_oracle(o):
    """{key: [numbers]} of all activities."""
    found = collections.defaultdict(list)
    for x in o.everything():
        found[x.key()].append(numbers_of(o, x))
    return found


def product_key(a):
    """The same as Activity.key and Call.key."""
    kind = a["kind"].replace(" ", "_")
    return (kind, a["thread"] if kind == "wait" else a["correlation"], a["start_ns"],
            a["duration_ns"],
            a["name"] if kind in ("kernel", "copy", "set") else None)


def of_product(answer):
    """The same from the output of miniprof."""
    found = collections.defaultdict(list)
    keys = {a["number"]: product_key(a) for a in answer["activities"]}
    for a in answer["activities"]:
        awaited = a["bound_to"]
        to = None if awaited is None else keys.get(awaited, ("not listed", awaited))
        found[keys[a["number"]]].append((a["critical_ns"], a["waiting_ns"], a["slack_ns"],
                                         a["bound_by"], to, a["range"]))
    return found


def row_of_part(key):
    """host_code_ns -> <host code>."""
    return "<return from wait>" if key == "return_ns" else f"<{key[:-3].replace('_', ' ')}>"


def answer_rows(answer):
    """The rows, with those of host code by thread added up."""
    found = {}
    for row in answer["rows"]:
        name = re.sub(r"^(<[a-z ]+>) .*", r"\1", row["name"])
        earlier = found.get(name)
        found[name] = {**row, "name": name, "critical_ns": row["critical_ns"] +
                       (earlier["critical_ns"] if earlier else 0)}
    return found.values()


def by_rows(o, answer):
    """Rows as they must be: the oracle's numbers, summed by the names that miniprof gave."""
    names = {product_key(a): a["name"] for a in answer["activities"]}
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for x in o.everything():
        row = rows[names.get(x.key(), "?")]
        row[0] += o.critical[x]
        row[1 if x.kind in truth.ON_HOST else 2] += x.waiting
        row[3] += 1
    for part, ns in sum((collections.Counter(walk.parts) for walk in o.windows),
                        collections.Counter()).items():
        rows[row_of_part(part)] = [ns, 0, 0, 0]
    recording = sum(walk.recording for walk in o.windows)
    if recording:
        rows["<recording>"] = [recording, 0, 0, 0]
    return rows


def differences(o, answer):
    """(range or None, text) for each number that is not the same."""
    mine, theirs = of_oracle(o), of_product(answer)
    for key in sorted(mine.keys() | theirs.keys(), key=lambda k: (k[2], str(k))):
        one, other = sorted(mine.get(key, []), key=str), sorted(theirs.get(key, []), key=str)
        if one == other:
            continue
        window = (one or other)[0][-1]
        if len(one) != len(other):
            yield window, f"{key}: {len(one)} activities expected, {len(other)} listed"
            continue
        for a, b in zip(one, other):
            for field, wanted, got in zip(FIELDS, a, b):
                if wanted != got:
                    yield window, f"{key}: {field} is {got}, must be {wanted}"
    yield from whole_differences(o, answer)


def whole_differences(o, answer):
    """The same for windows, parts, rows and counts."""
    for walk, window in zip(o.windows, answer["windows"]):
        wanted = walk.window.range, walk.begin, walk.end, walk.end - walk.begin
        got = tuple(window[name] for name in ("range", "begin_ns", "end_ns", "window_ns"))
        if wanted != got:
            yield walk.window.range, f"window is {got}, must be {wanted}"
    total = sum(walk.end - walk.begin for walk in o.windows)
    if answer["window_ns"] != total or len(answer["windows"]) != len(o.windows):
        yield None, f"window_ns is {answer['window_ns']}, must be {total}"
    for part in oracle.PARTS:
        wanted = sum(walk.parts[part] for walk in o.windows)
        if answer["parts"][part] != wanted:
            yield None, f"part {part} is {answer['parts'][part]}, must be {wanted}"
    rows = by_rows(o, answer)
    for row in answer_rows(answer):
        got = [row[name] for name in ("critical_ns", "waiting_ns", "device_waiting_ns", "calls")]
        wanted = rows.pop(row["name"], None)
        if wanted != got:
            yield None, f"row {row['name']} is {got}, must be {wanted}"
    for name, wanted in rows.items():
        yield None, f"row {name} is missing, must be {wanted}"
    for count in ("clamped", "contradicted"):
        if answer[count] != o.counts[count]:
            yield None, f"{count} is {answer[count]}, must be {o.counts[count]}"


def ask(folder, *options):
    """What miniprof deps says of the trace in a folder."""
    return json.loads(command([MINIPROF, "deps", "--json", *options,
                               folder / "trace.mpt"]))


def check(programs):
    """Differences and counts of one batch."""
    with tempfile.TemporaryDirectory(prefix="miniprof-oracle.") as name:
        folder = pathlib.Path(name)
        o = expected(programs, folder)
        answer = ask(folder, "--trace")
        found = list(differences(o, answer))
        found += thread_differences(o, answer, folder, programs[0].seed % len(o.truth.tids))
        return found, o.counts + inconsistencies(o)


def thread_differences(o, answer, folder, number):
    """The same for the path of one thread, with the names of an answer for all of them."""
    tid = o.truth.tids[number]
    walks = list(of_thread(o, o.truth.rows.threads.get(tid), oracle.PARTS))
    if not walks:
        return
    names = {product_key(a): a["name"] for a in answer["activities"]}
    wanted, parts, rows = [], collections.Counter(), collections.Counter()
    for each in walks:
        wanted.append((each.begin, each.end))
        parts.update(each.parts)
        rows["<recording>"] += each.recording
        for x, ns in each.critical.items():
            rows[names[x.key()]] += ns
    rows.update({row_of_part(part): ns for part, ns in parts.items()})
    answer = ask(folder, f"--thread={tid}")
    windows = [(w["begin_ns"], w["end_ns"]) for w in answer["windows"]]
    for one, other in zip(wanted, windows):
        if one != other:
            yield None, f"thread {tid}: window is {other}, must be {one}"
    got = {part: answer["parts"][part] for part in oracle.PARTS}
    if len(wanted) != len(windows) or got != {**dict.fromkeys(oracle.PARTS, 0), **parts}:
        yield None, f"thread {tid}: {len(windows)} windows, must be {len(wanted)}; {got}: {parts}"
    for row in answer_rows(answer):
        if row["critical_ns"] != rows[row["name"]]:
            yield None, f"thread {tid}: row {row}, must be {rows[row['name']]}"


def inconsistencies(o):
    """The oracle's own check: what the page promises of its numbers."""
    wrong = collections.Counter()
    for walk in o.windows:
        if sum(walk.critical.values()) + sum(walk.parts.values()) + walk.recording != \
                walk.end - walk.begin:
            raise AssertionError(f"range {walk.window.range}: the sum is not the window")
        for x in walk.steps:
            if x.window is walk.window and x.end <= walk.end and x.slack:
                wrong["slack on the path"] += 1
    return wrong
