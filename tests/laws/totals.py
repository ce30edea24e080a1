#!/usr/bin/env python3
"""Law: the rows of a report add up to the totals that it states, and to the rows of the trace.

The first part holds for every view, by the names of its columns. The second part has the sums that
each report states.
"""
import collections
import itertools
import re
import sys

import laws

class Sums:
    """Statements; each may hold for many traces and rows."""

    def __init__(self):
        self.wrong = collections.OrderedDict()
        self.count = collections.Counter()

    def say(self, statement, where, sum_, total, tolerance=1e-6):
        """That a sum is a total. `tolerance` is what rounding the parts may change."""
        wrong = self.wrong.setdefault(statement, [])
        self.count[statement] += 1
        if sum_ is None or total is None or not laws.near(sum_, total, tolerance, 1e-9):
            wrong.append(f"{where}: {sum_} against {total}")

    def holds(self, statement, where, holds, what):
        wrong = self.wrong.setdefault(statement, [])
        self.count[statement] += 1
        if not holds:
            wrong.append(f"{where}: {what}")


def total(rows, key):
    return sum(row[key] or 0 for row in rows)


# ---- All views, by the names of columns ----

# Each is at most the next one.
RISING = ["min_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "max_ns"]


def numbers(row, names):
    found = [(name, laws.value_of(row.get(name))) for name in names]
    return [(name, value) for name, value in found if value is not None]


def columns(sums):
    for view in laws.VIEWS:
        for subject in laws.subjects(view):
            for number, row in enumerate(laws.table(view, subject) or (), 1):
                where = f"{view.name} {row.get('process', subject[0])} row {number}"
                rising = numbers(row, RISING)
                sums.holds("min <= P50 <= ... <= max", where,
                           all(a[1] <= b[1] for a, b in itertools.pairwise(rising)), rising)
                if {"mean_ns", "calls", "total_ns"} <= row.keys() and row["mean_ns"]:
                    sums.say("mean times calls is the total", where,
                             float(row["mean_ns"]) * int(row["calls"]), float(row["total_ns"]),
                             int(row["calls"]) * 1e-6)
                mean = numbers(row, ["min_ns", "mean_ns", "max_ns"])
                sums.holds("min <= mean <= max", where,
                           all(a[1] <= b[1] + 1e-6 for a, b in itertools.pairwise(mean)), mean)
                for name, value in row.items():
                    if name.endswith("percent") and name not in MORE_THAN_ALL:
                        sums.holds("a share is from 0 to 100 %", f"{where} {name}",
                                   not value or -1e-6 <= float(value) <= 100 + 1e-6, value)


# Percentages that are no shares.
MORE_THAN_ALL = {"difference_percent", "deviation_percent", "percent", "of_iteration_percent",
                 "gain_percent", "share_percent"}


# ---- What each report states ----

def each(*report):
    """(process, document) of each single trace and of each rank."""
    for subject in [laws.SINGLE] + [(folder,) for folder in laws.FOLDERS]:
        if report[0] in laws.JOINING and subject[0] in laws.JOBS:
            subject = (subject[0] + "/rank0.mpt",)
        found = laws.document(*report, *subject)
        for document in found if isinstance(found, list) else [found]:
            yield document.get("process", subject[0]), document


def share_all(sums, report, where, rows, whole, time="total_ns"):
    """Rows with `percent`, which share `whole`."""
    sums.say(f"{report}: rows add up to the total", where, total(rows, time), whole)
    if rows and whole:
        sums.say(f"{report}: shares add up to 100 %", where, total(rows, "percent"), 100)
        for row in rows:
            sums.say(f"{report}: a share is time over total", where, row["percent"],
                     100 * row[time] / whole)


def kernel_time(sums, report, where, document):
    time = document["kernel_time"]
    if time is None:  # work is missing
        return
    sums.say(f"{report}: busy and beyond busy are all time of kernels", where,
             time["busy_ns"] + time["beyond_busy_ns"], time["total_ns"])
    sums.say(f"{report}: overlap in and between streams is that beyond busy", where,
             time["within_streams_ns"] + time["between_streams_ns"], time["beyond_busy_ns"])


def summary(sums):
    of_gpu = {}
    for where, document in each("summary", "--gpu", "--api", "--per-gpu"):
        for group in document["groups"]:
            share_all(sums, "summary", where, group["rows"], group["total_ns"])
        for device in document["devices"]:
            share_all(sums, "summary --per-gpu", where, device["rows"], device["total_ns"])
        of_gpu[where] = document["groups"][0]
        if document["devices"]:
            sums.say("summary --per-gpu: devices add up to all activities", where,
                     total(document["devices"], "total_ns"), document["groups"][0]["total_ns"])
        kernel_time(sums, "summary", where, document)
    return of_gpu


def dump(sums):
    """The rows of the trace."""
    for trace in laws.TRACES:
        document = laws.document("summary", trace)
        time = calls = 0
        for name in ("kernel", "copy", "set", "graph", "unified"):
            for row in laws.sheet("dump", "--table", name, trace) or ():
                if row["kind"] != "cpu_page_fault" if name == "unified" else True:  # no duration
                    time += int(row["duration_ns"] or 0)
                    calls += int(row.get("count") or 1)
        group = document["groups"][0]
        sums.say("summary: activities are those of the trace", trace, group["total_ns"], time)
        sums.say("summary: as many as the trace has", trace, total(group["rows"], "calls"), calls)
        group = document["groups"][1]
        rows = laws.sheet("dump", "--table", "call", trace)
        sums.say("summary: calls are those of the trace", trace, group["total_ns"],
                 sum(int(row["duration_ns"] or 0) for row in rows))


def kernels(sums):
    for where, document in each("kernels"):
        share_all(sums, "kernels", where, document["kernels"], document["total_ns"])
        sums.say("kernels: calls add up", where, total(document["kernels"], "calls"),
                 document["calls"])
        sums.say("kernels: tensor cores have the time of their kernels", where,
                 total([row for row in document["kernels"] if row["tensor_cores"]], "total_ns"),
                 document["tensor_core_ns"])
        kernel_time(sums, "kernels", where, document)


def deps(sums):
    for report in (("deps", "--parts"), ("deps", "--parts", "--iterations", "auto")):
        name = " ".join(report)
        for where, document in each(*report):
            if document["rows"] is not None:  # else work is missing
                paths(sums, name, where, document)
    for job in laws.JOBS:
        document = laws.document("deps", "--parts", job)
        paths(sums, "deps of a job", job, document)
        sums.say("deps of a job: ranks add up to the window", job,
                 total(document["by_rank"], "critical_ns"), document["window_ns"])
        for rank in document["by_rank"]:
            sums.holds("deps of a job: idle for peers is within the time for peers", job,
                       rank["peer_idle_ns"] <= rank["peer_ns"], rank)


def is_part(name):
    """Time of no activity, but not what recording costs: "rank1:<computing>", "<blocked> 'x'"."""
    return re.fullmatch(r"(rank\d+:)?<(?!recording>)[a-z ]+>( '.*'| thread \d+)?", name)


def paths(sums, name, where, document):
    sums.say(f"{name}: the path's rows add up to the window", where,
             total(document["rows"], "critical_ns"), document["window_ns"])
    sums.say(f"{name}: windows add up", where, total(document["windows"], "window_ns"),
             document["window_ns"])
    sums.say(f"{name}: parts add up to their rows", where, sum(document["parts"].values()),
             sum(row["critical_ns"] for row in document["rows"] if is_part(row["name"])))
    steps = document.get("iterations")
    if steps and steps["count"]:
        sums.say(f"{name}: means of rows add up to the mean length", where,
                 total(steps["rows"], "mean_ns"), steps["mean_ns"], 1e-3)
        sums.say(f"{name}: means of parts add up to those of their rows", where,
                 total(steps["parts"], "mean_ns"),
                 sum(row["mean_ns"] for row in steps["rows"] if is_part(row["name"])), 1e-3)


IDLE = ["idle_launch_ns", "idle_queued_ns", "idle_copy_ns", "idle_host_ns", "idle_sync_ns",
        "idle_peer_ns", "idle_recording_ns", "idle_unknown_ns"]
COPIES = ["htod_ns", "dtoh_ns", "other_copy_ns"]


def iters(sums):
    for where, document in each("iters", "--each"):
        rows = document["iterations"]
        statistics = document["statistics"]
        for cause in ("idle_recording_ns", "idle_peer_ns"):
            if statistics[cause] is None:  # what recording costs, or peers do, is not known
                statistics[cause] = {"mean": 0, "min": 0, "max": 0}
                for row in rows:
                    row[cause] = 0
        if None in statistics.values():  # work is missing
            continue
        means = {name: one["mean"] for name, one in statistics.items()}
        for number, row in [("mean", means)] + [(row["iteration"], row) for row in rows]:
            place = f"{where} iteration {number}"
            sums.say("iters: busy, busy for others and idle are the latency", place,
                     row["busy_ns"] + row["others_ns"] + row["idle_ns"], row["latency_ns"], 1e-3)
            sums.say("iters: reasons add up to idle", place, sum(row[name] for name in IDLE),
                     row["idle_ns"], 1e-3)
            copies = [row[name] for name in COPIES]
            parts = row["kernel_ns"] + sum(copies) + row["set_ns"]
            least = row["kernel_ns"] + max(copies) - row["overlap_ns"]
            sums.holds("iters: busy is its parts less what runs at once", place,
                       parts + 1e-3 >= row["busy_ns"] >= least - 1e-3,
                       f"{row['busy_ns']} is not from {least} to {parts}")
        sums.say("iters: there are as many rows as iterations", where, len(rows),
                 document["count"])
        for name, one in statistics.items():
            values = [row[name] for row in rows]
            if values:
                sums.say("iters: means are those of the rows", f"{where} {name}", one["mean"],
                         sum(values) / len(values), 1e-3)
                sums.say("iters: max is that of the rows", f"{where} {name}", one["max"],
                         max(values))
                sums.say("iters: min is that of the rows", f"{where} {name}", one["min"],
                         min(values))
        if document["by_thread"]:
            sums.say("iters: threads have all iterations", where,
                     total(document["by_thread"], "count"), document["count"])


def layers(sums):
    for where, document in each("layers", "--tree"):
        if document["by"] != "nvtx" or "layers" not in document:
            continue
        rows = document["layers"]
        inside = collections.Counter()
        for row in rows:
            if row["parent"] is not None:
                inside[row["parent"]] += row["total_ns"]
        for row in rows:
            sums.say("layers: children and self are a layer's total", f"{where} {row['name']}",
                     row["self_ns"] + inside[row["id"]], row["total_ns"])
        sums.say("layers: what is in no other adds up to the device time", where,
                 total(rows, "self_ns"), document["device_ns"])
        sums.say("layers: own shares add up to 100 %", where, total(rows, "self_percent"), 100)


def overlap(sums):
    for where, document in each("overlap"):
        kernel_time(sums, "overlap", where, document)
        for device in document["devices"] or ():
            place = f"{where} device {device['device']}"
            sums.say("overlap: busy and idle are the window", place,
                     device["busy_ns"] + device["idle_ns"], document["window_ns"])
            found = {row["activity"]: row for row in device["activities"]}
            at_once = device["kernels_at_once"]
            sums.say("overlap: times by kernels at once add up to that of kernels", place,
                     sum(at_once["time_ns"]), found["kernel"]["busy_ns"])
            sums.say("overlap: kernels at once are their time over their busy time", place,
                     (at_once["mean"] or 0) * found["kernel"]["busy_ns"],
                     found["kernel"]["total_ns"], 1)
            if device["streams"]:
                sums.say("overlap: shares of streams add up to 100 %", place,
                         total(device["streams"], "share_percent"), 100)
                sums.say("overlap: streams have all calls", place,
                         total(device["streams"], "calls"), total(found.values(), "calls"))
            for a, b in itertools.combinations([one for one in found if one in
                                                found["kernel"]["with_ns"]], 2):
                sums.say("overlap: a with b is b with a", f"{place} {a} {b}",
                         found[a]["with_ns"][b], found[b]["with_ns"][a])


def nvtx(sums):
    for where, document in each("nvtx"):
        for one in document["nvtx_ranges"]:
            for part in ("gpu_activities", "api_calls"):
                if one.get(part):
                    share_all(sums, "nvtx", f"{where} {one['name']}", one[part]["rows"],
                              one[part]["total_ns"])
            if one["instances"]:
                sums.say("nvtx: mean times instances is the total", f"{where} {one['name']}",
                         one["mean_ns"] * one["instances"], one["total_ns"], 1)


def memory(sums):
    for where, document in each("memory", "--top", "100000"):
        by_device = collections.defaultdict(list)
        for row in document["memory"]:
            by_device[row["device_name"]].append(row)
        for device, rows in by_device.items():
            all_kinds = [row for row in rows if row["kind"] == "all"]
            others = [row for row in rows if row["kind"] != "all"]
            for key in ("allocations", "frees", "bytes", "end_bytes"):
                sums.say(f"memory: kinds add up: {key}", f"{where} {device}",
                         total(others, key), total(all_kinds, key))
        for peak in document["peaks"]:
            row = next((row for row in by_device[peak["device_name"]] if row["kind"] == "all"), {})
            if len(peak["alive"]) == peak["allocations"]:
                sums.say("memory: what is alive at the peak adds up to it",
                         f"{where} {peak['device_name']}", total(peak["alive"], "bytes"),
                         row.get("peak_bytes"))
        kept = document["not_freed"]
        if len(kept["rows"]) == kept["groups"]:
            for key in ("allocations", "bytes"):
                sums.say(f"memory: rows of what is not freed add up: {key}", where,
                         total(kept["rows"], key), kept[key])
        churn = document["churn"]
        for key in ("allocations", "bytes", "frees", "freed_bytes", "pairs", "allocate_ns",
                    "free_ns"):
            sums.say(f"memory: rows of churn add up: {key}", where, total(churn[1:], key),
                     total(churn[:1], key))


def peers(sums):
    """The job's first rank has the job's iterations, in its trace alone too."""
    for job in laws.JOBS:
        whole, first, *_ = laws.document("iters", job)
        sums.say("iters of a job: a rank waits for peers alike", job,
                 first["statistics"]["idle_peer_ns"]["mean"],
                 whole["by_rank"][0]["peer_idle_mean_ns"], 1e-3)
        device = laws.document("overlap", job)[0]["devices"][0]
        ranks_ = [row for row in laws.document("ranks", job)["ranks"] if row["process"] == "rank 0"]
        sums.say("overlap of a job: idle for peers is what ranks has", job,
                 device["idle_peer_ns"], total(ranks_, "waiting_ns"), 1e-3)


def ranks(sums):
    for job in laws.JOBS:
        document = laws.document("ranks", "--trace", job)
        by_function, by_rank = document["functions"], document["ranks"]
        sums.say("ranks: functions and ranks wait alike", job, total(by_function, "waiting_ns"),
                 total(by_rank, "waiting_ns"))
        sums.say("ranks: late is what the others wait", job, total(by_rank, "late_ns"),
                 total(by_rank, "waiting_ns"))
        sums.say("ranks: causes are those of the late instances", job,
                 total(document["causes"], "instances"), total(by_function, "late_instances"))
        sums.say("ranks: the operations add up", job, len(document["trace"]),
                 total(by_function, "instances"))
        # Operations of one group share a kernel, which counts once.
        kernels_ = {(row["begin_ns"], row["communicator"], row["from_rank"]): row
                    for row in document["trace"]}.values()
        for key in ("waiting_ns", "transfer_ns"):
            sums.say(f"ranks: operations add up: {key}", job, total(kernels_, key),
                     total(by_function, key))


def info(sums):
    for trace in laws.TRACES:
        document = laws.document("info", trace)
        tables = document["tables"]
        for key in ("rows", "chunks", "raw_bytes"):
            sums.say(f"info: tables add up: {key}", trace, total(tables, key), document[key])
        sums.say("info: tables and the rest are the file", trace,
                 total(tables, "bytes") + document["other_bytes"], document["bytes"])
        sums.say("info: the file's size", trace, document["bytes"], laws.size(trace))


def diff(sums):
    for pair in laws.PAIRS:
        document = laws.document("diff", *pair)
        for row in document["quantities"]:
            sums.say("diff: a difference is B less A", f"{pair} {row['quantity']}",
                     row["b"] - row["a"], row["difference"], 1e-3)
        for row in document["kernels"]:
            sums.say("diff: a kernel's difference is B less A", f"{pair} {row['name'][:40]}",
                     (row["b_ns"] or 0) - (row["a_ns"] or 0), row["difference_ns"], 1e-2)


def main():
    sums, verdicts = Sums(), laws.Verdicts()
    for part in (columns, summary, dump, kernels, deps, iters, layers, overlap, nvtx, memory,
                 peers, ranks, info, diff):
        part(sums)
    for statement, wrong in sums.wrong.items():
        verdicts.say(f"{statement} ({len(wrong)} of {sums.count[statement]} wrong)", wrong)
    return verdicts


if __name__ == "__main__":
    sys.exit(main().end())
