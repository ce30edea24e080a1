#!/usr/bin/env python3
"""Compares `miniprof advise --json` with what follows from the rows that `miniprof dump` prints and
from the iterations of `miniprof iters`: the step that shares are of, the evidence of each finding
where it can be counted in rows, and gains that `miniprof deps --what-if` foretells too. Layers are
those of compare_layers.py, which works from the rows of the independent reader.

usage: compare_advise.py MINIPROF TRACE
"""
import bisect
import collections
import json
import re

import compare_layers
import kernel_advice
import sources
from compare_iters import DTOH, HTOD, trace_of

RULES = ("launch_bound", "pageable_copies", "synchronous_copies", "needless_wait",
         "exposed_copies", "small_kernels", "allocation", "host_bound", "slow_layer",
         "unused_streams", "tail", "page_faults", "reformat_layers", "layout_changes",
         "unfused_pointwise", "low_precision", "split_k", "repeated_casts", "small_grids",
         "constant_copies", "memory_bound", "idle_tensor_cores", "few_sms", "full_pcie",
         "low_clocks", "nccl_waiting", "graph_instantiation", "pool_release", "code_loading",
         "blocked_calls")
SMALL, LEAST_RUN, MOST_GAP = 5000, 3, 50000  # ns, kernels, ns: docs/advise.md
LAUNCH_GAP = 100000  # ns
MIGRATIONS, FAULTS = (1, 2, 8), (3, 4)  # kinds of unified
LEAST_SHARE, LEAST_TIMES, LEAST_LAYERS = 1 / 3, 3, 3  # of slow_layer
ALLOCATES = re.compile(r"cuda(Malloc|Free|HostAlloc|HostRegister|HostUnregister)|"
                       r"cuMem(Alloc|Free|HostAlloc|HostRegister|HostUnregister|Create|Release)")


class Loop:
    """The iterations, which of them count, and what belongs to each."""

    def __init__(self, program, path, trace):
        self.document = sources.document(program, "iters", "--json", "--each", path)
        self.items = self.document["iterations"]
        outliers = {one["iteration"] for one in self.document["outliers"]}
        self.counts = [one["iteration"] not in outliers for one in self.items]
        self.judged = sum(self.counts)
        self.trace = trace
        self.whole = self.document["by"] == "whole"
        self.begins = [one["begin_ns"] for one in self.items]
        assert self.begins == sorted(self.begins)
        self.longest = max(one["host_end_ns"] - one["begin_ns"] for one in self.items)

    def of_call(self, call):
        """The number of the first iteration that is open when a call begins; None: there is none,
        or it is another thread's."""
        first = bisect.bisect_left(self.begins, call.begin - self.longest)
        for number in range(first, bisect.bisect_right(self.begins, call.begin)):
            one = self.items[number]
            if call.begin < one["host_end_ns"]:
                return number if one["thread"] in (call.thread, None) else None
        return None

    def counted(self, number):
        """Whether it is an iteration that is no outlier."""
        return number is not None and self.counts[number]

    def mean(self, quantity):
        """Of those that count."""
        return sum(one[quantity] for one, counts in zip(self.items, self.counts)
                   if counts) / self.judged

    def steps(self):
        """From end to end, in order, of those that count; of requests their own time."""
        if self.document["by"] == "requests":
            return sorted(one["latency_ns"] for one, counts in zip(self.items, self.counts)
                          if counts)
        last, steps = self.items[0]["begin_ns"], []
        for one, counts in zip(self.items, self.counts):
            end = max(one["end_ns"], last)
            if counts:
                steps.append(end - last)
            last = end
        return sorted(steps)

    def step(self):
        """P50 of them."""
        return self.steps()[(self.judged + 1) // 2 - 1]


# ---- Layers ----

def said_of(name):
    """What TensorRT's object in the text of a range says: name, type."""
    try:
        said = json.loads(name)
    except ValueError:
        return name, None
    if not isinstance(said, dict):
        return name, None
    return said.get("Name", name), said.get("LayerType")


def mark_of(name):
    """`reformat`, `copy`, another mark or None."""
    name, kind = said_of(name)
    text = (kind or name).lower()
    for mark, sign in (("reformat", "reformat"), ("shuffle", "shuffle" if kind else "[shuffle]"),
                       ("noop", "noop" if kind else "[noop]")):
        if sign in text:
            return mark
    return "copy" if ("copy" in text if kind else re.search(r"(^|\W)copy$", text)) else None


def moves(path):
    """Whether the innermost layer with a mark reformats or copies."""
    marks = [mark_of(name) for _, name in path if mark_of(name)]
    return bool(marks) and marks[-1] in ("reformat", "copy")


class Layers:
    """Work of iterations that count by the path of ranges that launched it."""

    def __init__(self, path, loop):
        chains = compare_layers.chains_of_calls(path)
        captured = compare_layers.captured_labels(path)
        self.rows = compare_layers.expected_of(path)
        self.time, self.kernels, self.moved = (collections.Counter() for _ in range(3))
        self.moving, self.device, self.any = 0, 0, False
        own = loop.document["name"] if loop.document["by"] == "nvtx" else None
        for work in loop.trace.work:
            if not work.call or not loop.counted(loop.of_call(work.call)):
                continue
            chain = chains.get(work.correlation, ((), 0))[0]
            path = compare_layers.labels_of(
                compare_layers.chain_of({**work.row, "correlation": work.correlation}, chain,
                                        captured))
            length, kind = work.end - work.begin, work.kind
            self.device += length
            layer = bool(path) and path[-1][1] != own
            self.any |= layer
            if layer and kind in ("kernel", "graph"):
                self.time[path] += length
                self.kernels[path] += 1
            if moves(path) and (kind == "kernel" or kind == "copy" and
                                work.row["kind"] not in (HTOD, DTOH)):
                self.moved[path] += length
                self.moving += 1

    def slow(self):
        """The path of the layer that stands out, and the times of those it is compared with."""
        if not self.time:
            return None, []
        slow, time = max(self.time.items(), key=lambda item: item[1])
        kind = said_of(slow[-1][1])[1]
        for of_type in ((True, False) if kind else (False,)):
            others = sorted(self.time[path] for path in self.time if path != slow and
                            (not of_type or said_of(path[-1][1])[1] == kind))
            if len(others) >= LEAST_LAYERS - 1:
                median = others[(len(others) + 1) // 2 - 1]
                if time and time >= LEAST_SHARE * self.device and time >= LEAST_TIMES * median:
                    return slow, others
                break
        return None, []


def slow_layer(loop):
    """The layer that stands out; {} if none does."""
    path, others = loop.layers.slow()
    if not path:
        return {}
    time, judged, row = loop.layers.time[path], loop.judged, loop.layers.rows[path]
    return {"layer_ns": time / judged, "step_percent": 100 * time / judged / loop.step(),
            "gpu_percent": 100 * time / loop.layers.device, "others": len(others),
            "kernels": loop.layers.kernels[path] / judged, "layer_calls": row["calls"],
            "call_p50_ns": row["p50_ns"], "median_ns": others[(len(others) + 1) // 2 - 1] / judged}


def reformat_layers(loop):
    """What only reformats or copies."""
    time = sum(loop.layers.moved.values())
    return {"layers": sum(moved > 0 for moved in loop.layers.moved.values()),
            "activities": loop.layers.moving / loop.judged, "layers_ns": time / loop.judged,
            "gpu_percent": 100 * time / loop.layers.device}


# ---- The evidence of each rule, from rows ----

def small_kernels(loop):
    """Runs of small kernels of a stream, in iterations that count."""
    streams, found = collections.defaultdict(list), collections.Counter()
    for work in loop.trace.work:
        streams[work.row["stream"]].append(work)
    for works in streams.values():
        runs, of_last = [], None
        works.sort(key=lambda w: (w.begin, w.correlation))
        for before, work in zip([None] + works, works):
            of = loop.of_call(work.call) if work.call else None
            small = work.kind == "kernel" and work.end - work.begin < SMALL and of is not None
            if small and runs and of == of_last and runs[-1] and runs[-1][-1] is before and \
                    0 <= work.begin - before.end <= MOST_GAP:
                runs[-1].append(work)
            elif small:
                runs.append([work])
            else:
                runs.append([])
            of_last = of
        for run in runs:
            if len(run) >= LEAST_RUN and loop.counted(loop.of_call(run[0].call)):
                found["runs"] += 1
                found["kernels"] += len(run)
                found["kernels_ns"] += sum(work.end - work.begin for work in run)
                found["gaps_ns"] += sum(b.begin - a.end for a, b in zip(run, run[1:]))
    return {key: value / loop.judged for key, value in found.items()}


def outermost(calls):
    """The calls of a thread that are inside no other."""
    end = 0
    for call in calls:
        if call.begin >= end:
            end = call.end
            yield call


def launch_bound(loop):
    """Launches behind the first one of their stretch."""
    trace, found = loop.trace, collections.Counter()
    for calls in trace.threads.values():
        number, pending, last = None, None, None
        for call in outermost(calls):
            inside = [other for other in trace.within(calls, call.begin, call.end + 1)
                      if call.begin <= other.begin and other.end <= call.end]
            launched = [work for other in inside for work in trace.launched.get(other, ())]
            waits = any(other.waits or trace.waits_for_copy(other) for other in inside)
            of = loop.of_call(call)
            gap = call.begin - last.end if last else 0
            graph = any(work.row.get("node") or work.kind == "graph" for work in launched)
            if waits or of is None or of != number or gap > LAUNCH_GAP or graph:
                pending = None
            if launched and not waits and not graph:
                for other, host in (pending or []) + ([(call, gap)] if pending is not None else []):
                    if loop.counted(of):
                        found["calls"] += 1
                        found["calls_ns"] += other.end - other.begin
                        found["host_ns"] += host
                pending, number = [], of
            elif pending is not None:
                pending.append((call, gap))
            last = call
    return {key: value / loop.judged for key, value in found.items()}


def exposed_copies(loop):
    """Copies from and to the host less what kernels overlap."""
    copies = loop.mean("htod_ns") + loop.mean("dtoh_ns")
    overlap = loop.mean("overlap_ns")
    exposed = max(copies - overlap, 0)
    return {"copies_ns": copies, "exposed_ns": exposed,
            "bound_ns": min(exposed, loop.mean("kernel_ns") - overlap)}


def host_bound(loop):
    """Idle time while the host is outside of CUDA."""
    return {"idle_ns": loop.mean("idle_host_ns")}


def tail(loop):
    """Latency of outliers, but for the first iterations, above P50."""
    warm_up = next(i for i, counts in enumerate(loop.counts) if counts)
    latency = loop.document["statistics"]["latency_ns"]
    excess = [one["latency_ns"] - latency["p50"] for one in loop.document["outliers"]
              if one["iteration"] > warm_up]
    return {"outliers": len(excess), "excess_ns": sum(excess), "p50_ns": latency["p50"],
            "p99_ns": latency["p99"], "gain": sum(excess) // len(loop.items)}


EVIDENCE = {"small_kernels": small_kernels, "launch_bound": launch_bound, "tail": tail,
            "exposed_copies": exposed_copies, "host_bound": host_bound,
            "slow_layer": slow_layer, "reformat_layers": reformat_layers,
            **kernel_advice.EVIDENCE}


def pageable(loop):
    """Whether an iteration has a copy of pageable memory."""
    return any(row["kind"] in (HTOD, DTOH) and 1 in (row["source"], row["target"])
               for row in loop.trace.rows["copy"])


def allocates(loop):
    """Whether a call of an iteration allocates."""
    names = {row["id"]: loop.trace.texts[row["name"]] for row in loop.trace.rows["function"]}
    return any(ALLOCATES.match(names[row["function"]]) for row in loop.trace.rows["call"])


# ---- Comparing ----

def compare(program, path):
    """Yields what is wrong."""
    document, trace = sources.document(program, "advise", "--json", path), trace_of(program, path)
    loop = Loop(program, path, trace)
    loop.layers = Layers(path, loop)
    loop.shapes = {row["id"]: row for row in sources.dumped(program, path, "shape", "--raw")}
    loop.names = {id: trace.texts[row["kernel"]] for id, row in loop.shapes.items()}
    loop.kernels = lambda: sources.document(program, "kernels", "--json", "--demangling=off", path)
    findings, step = document["findings"], document["step_p50_ns"]
    not_tried = [one["rule"] for one in document["not_tried"]]
    if (document["iterations"], document["judged"]) != (len(loop.items), loop.judged):
        yield f"iterations: {document['iterations']}, {document['judged']} judged"
    if abs(step - loop.step()) > max(2, 0.002 * step):
        yield f"step: {step}, from end to end {loop.step()}"
    basis, known = document["basis_p50_ns"], trace.recording.known
    if document["basis"] != ("without_recording" if known else "as_recorded"):
        yield f"the basis is {document['basis']}"
    if basis > step or (basis != step and not known):
        yield f"the basis is {basis}, but an iteration takes {step}"
    gains = [one["gain_ns"] for one in findings]
    order = [(one["certainty"] == "bound", -one["gain_ns"] * one["confidence"])
             for one in findings]
    if order != sorted(order) or any(gain > basis for gain in gains):
        yield f"gains are not in order, or more than there is: {gains}"
    if not set(not_tried) | {one["rule"] for one in findings} <= set(RULES):
        yield "rules that there are not"
    for one in findings:
        yield from check(program, path, loop, one, basis)
    keys = {one["rule"] for one in findings}
    if "pageable_copies" in keys and not pageable(loop):
        yield "pageable copies without any"
    if "allocation" in keys and not allocates(loop):
        yield "allocation without any"
    if "reformat_layers" not in not_tried and not loop.layers.any:
        yield "reformat layers were looked for, but there are no layers"
    expected = tail(loop)["gain"]
    if "tail" not in keys and "tail" not in not_tried and expected >= 0.0101 * step:
        yield f"no tail, although it would gain {expected}"


def check(program, path, loop, one, basis):
    """Yields what is wrong with a finding."""
    if one["gain_percent"] < 1:
        yield f"{one['rule']}: gains {one['gain_percent']} %"
    if abs(one["gain_percent"] - 100 * one["gain_ns"] / basis) > 0.001:
        yield f"{one['rule']}: {one['gain_percent']} % of {basis}"
    if not one["numbers"] or not one["evidence"] or len(one["lines"]) > 5:
        yield f"{one['rule']}: no number"
    expected = EVIDENCE.get(one["rule"], lambda _: {})(loop)
    if one["rule"] == "slow_layer" and bool(expected) != ("layer_ns" in one["numbers"]):
        yield f"slow_layer: {one['title']}, but the layer is {expected}"
        return
    for key, value in expected.items():
        actual = one["gain_ns"] if key == "gain" else one["numbers"][key]
        if abs(actual - value) > (0.001 if "percent" in key else 1) + 1e-6 * value:
            yield f"{one['rule']}: {key} is {actual}, not {value}"
    if one["rule"] == "slow_layer" and loop.document["by"] == "nvtx":
        yield from check_what_if(program, path, loop, one)


def what_if(program, path, loop, names, change):
    """What an iteration gains with this change of the names, one window each."""
    changes = []
    for name in names:
        changes += ["--what-if", re.sub(r"([*?\[])", r"[\1]", name) + "=" + change]
    document = sources.document(program, "deps", "--json", "--iters", loop.document["name"],
                                *changes, path)
    return (document["what_if"]["now_ns"] - document["what_if"]["new_ns"]) / len(loop.items)


def check_what_if(program, path, loop, one):
    """The same changes, where the kernels of a layer are in no other."""
    names, gains = [line["name"] for line in one["lines"]], {"0.5x": one["gain_ns"]}
    if "layer_ns" in one["numbers"]:
        names, gains["0"] = names[1:], one["numbers"]["bound_ns"]
        layer = loop.layers.slow()[0]
        kernels = {work["name"]: work["calls"] for work in sources.document(
            program, "kernels", "--json", "--by-name", path)["kernels"]}
        if not layer or sum(kernels[name] for name in names) != loop.layers.rows[layer]["kernels"]:
            return
        critical = sum(row["critical_ns"] for row in sources.document(
            program, "deps", "--json", "--iters", loop.document["name"], path)["rows"]
                       if row["name"] in names)
        share = 100 * critical / (loop.items[-1]["end_ns"] - loop.items[0]["begin_ns"])
        if abs(share - one["numbers"]["critical_percent"]) > 0.5:
            yield f"slow_layer: {one['numbers']['critical_percent']} % of the path, not {share}"
    for change, expected in gains.items():
        gain = what_if(program, path, loop, names, change)
        if abs(gain - expected) > 0.03 * gain:
            yield f"slow_layer: {change} gains {expected}, what-if says {gain}"


if __name__ == "__main__":
    sources.main(__doc__, compare)
