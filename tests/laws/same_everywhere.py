#!/usr/bin/env python3
"""Law: one fact has one value in all reports.

A fact is what several reports state of one trace, such as the number of kernels. Each report that
has none (null) is left out.
"""
import collections
import json
import os
import re
import sys
import tempfile

import laws


def sum_of(rows, key, holds=lambda row: True):
    return sum(row[key] or 0 for row in rows if holds(row))


def activities(overlap, kinds):
    return [row for device in overlap["devices"] for row in device["activities"]
            if row["activity"] in kinds]


def is_kernel(row):
    return not row["name"].startswith("[")


def is_device_work(row):
    return not row["name"].startswith("[Unified Memory")


def has_ended(of):
    """None: a range was not ended, as when the process was killed."""
    return all(one["end_ns"] for one in of["info"]["ranges"]) or None


KERNELS = ("kernel", "communication")
# fact: {report: value of the documents}
FACTS = {
    "kernels": {
        "summary": lambda of: sum_of(of["summary"]["groups"][0]["rows"], "calls", is_kernel),
        "kernels": lambda of: of["kernels"]["calls"],
        "overlap": lambda of: sum_of(activities(of["overlap"], KERNELS), "calls"),
        "top": lambda of: of["top"]["kernel_count_all"],
        "info": lambda of: sum_of(of["info"]["tables"], "rows",
                                  lambda row: row["table"] == "kernel"),
    },
    "time of kernels": {
        "summary": lambda of: of["summary"]["kernel_time"]["total_ns"],
        "summary's rows": lambda of: sum_of(of["summary"]["groups"][0]["rows"], "total_ns",
                                            is_kernel),
        "kernels": lambda of: of["kernels"]["total_ns"],
        "kernels' note": lambda of: of["kernels"]["kernel_time"]["total_ns"],
        "overlap": lambda of: sum_of(activities(of["overlap"], KERNELS), "total_ns"),
    },
    "time in which kernels ran": {
        report: lambda of, report=report: of[report]["kernel_time"]["busy_ns"]
        for report in ("summary", "kernels", "overlap")
    },
    "time of all work of the devices": {
        "summary": lambda of: sum_of(of["summary"]["groups"][0]["rows"], "total_ns",
                                     is_device_work),
        "layers": lambda of: of["layers"].get("device_ns"),
        "stacks": lambda of: of["stacks"]["all"]["device_ns"],
        "overlap": lambda of: sum_of(
            [row for device in of["overlap"]["devices"] for row in device["activities"]],
            "total_ns"),
    },
    "iterations": {
        "iters": lambda of: of["iters"]["count"],
        "report": lambda of: of["report"]["iterations"]["count"],
        "advise": lambda of: of["advise"]["iterations"],
        "deps": lambda of: of["deps"]["iterations"]["count"],
        "memory": lambda of: of["memory"]["iterations"]["count"],
        "diff": lambda of: of["diff"]["iterations"]["a"]["count"],
    },
    "P50 of the headline": {
        report: lambda of, report=report: of[report]["headline"]["p50_ns"]
        for report in ("iters", "report", "advise")
    },
    "what recording costs": {
        report: lambda of, report=report: of[report]["recording_cost"]["cost_ns"]
        for report in ("iters", "report", "advise")
    },
    "outliers": {
        "iters": lambda of: len(of["iters"]["outliers"]),
        "report": lambda of: of["report"]["iterations"]["outliers"],
    },
    "mean latency": {
        "iters": lambda of: of["iters"]["statistics"]["latency_ns"]["mean"],
        "report": lambda of: of["report"]["latency"]["mean_ns"],
        "deps": lambda of: of["deps"]["iterations"]["mean_ns"],
        "diff": lambda of: of["diff"]["iterations"]["a"]["mean_ns"],
    },
    "P50 of the latency": {
        "iters": lambda of: of["iters"]["statistics"]["latency_ns"]["p50"],
        "report": lambda of: of["report"]["latency"]["p50_ns"],
        "report's line": lambda of: of["report"]["traces"][0]["latency_p50_ns"],
        "advise": lambda of: of["advise"]["latency_p50_ns"],
        "deps": lambda of: of["deps"]["iterations"]["p50_ns"],
        "diff": lambda of: of["diff"]["iterations"]["a"]["p50_ns"],
    },
    "P99 of the latency": {
        "iters": lambda of: of["iters"]["statistics"]["latency_ns"]["p99"],
        "report": lambda of: of["report"]["latency"]["p99_ns"],
        "deps": lambda of: of["deps"]["iterations"]["p99_ns"],
        "diff": lambda of: of["diff"]["iterations"]["a"]["p99_ns"],
    },
    "mean busy time": {
        "iters": lambda of: of["iters"]["statistics"]["busy_ns"]["mean"],
        "report": lambda of: of["report"]["time"]["busy_ns"],
        "diff": lambda of: next(row["a"] for row in of["diff"]["quantities"]
                                if row["quantity"] == "busy_ns"),
    },
    "busy share": {
        "iters": lambda of: 100 * of["iters"]["statistics"]["busy_ns"]["mean"] /
                 of["iters"]["statistics"]["latency_ns"]["mean"],
        "report": lambda of: of["report"]["traces"][0]["busy_percent"],
    },
    "length of the ranges": {
        "info": lambda of: sum(one["end_ns"] - one["begin_ns"] for one in of["info"]["ranges"]),
        "report": lambda of: has_ended(of) and of["report"]["recording"]["in_ranges_ns"],
        "deps": lambda of: has_ended(of) and of["deps, ranges"]["window_ns"],
    },
    "from the first to the last record": {
        "info": lambda of: of["info"]["last_ns"] - of["info"]["first_ns"],
        "report": lambda of: of["report"]["recording"]["span_ns"],
    },
    "window": {
        "deps": lambda of: of["deps"]["window_ns"],
        "deps, with a change that is none": lambda of: of["deps"]["what_if"]["new_ns"] + (
            of["deps"]["window_ns"] - of["deps"]["what_if"]["now_ns"]),
    },
    "records": {
        "info": lambda of: of["info"]["records"],
        "report": lambda of: of["report"]["recording"]["records"],
    },
    "ranges": {
        "info": lambda of: len(of["info"]["ranges"]),
        **{report: lambda of, report=report: of[report]["ranges"]
           for report in ("summary", "kernels", "overlap", "iters", "advise", "deps", "layers",
                          "memory")},
    },
    "dropped records": {
        report: lambda of, report=report: of[report]["quality"]["dropped"]
        for report in ("summary", "kernels", "overlap", "iters", "advise", "deps", "layers",
                       "memory", "info")
    },
}
REPORTS = {
    "summary": ("summary",), "kernels": ("kernels",), "overlap": ("overlap",),
    "layers": ("layers",), "stacks": ("stacks",), "iters": ("iters",), "advise": ("advise",),
    "report": ("report",), "memory": ("memory", "--iterations", "auto"),
    "deps": ("deps", "--iterations", "auto", "--what-if", "*=1x"),
    "deps, ranges": ("deps",), "info": ("info",), "top": ("top",),
}


def documents(trace):
    found = {name: laws.document(*report, trace) for name, report in REPORTS.items()}
    found["diff"] = laws.document("diff", trace, trace)
    # `top` prints one for each refresh: of a trace that has ended one.
    return {name: one[0] if isinstance(one, list) else one for name, one in found.items()}


def values(fact, of):
    found = {}
    for report, value in FACTS[fact].items():
        try:
            found[report] = value(of)
        except (KeyError, TypeError, IndexError, StopIteration):  # no such part of this trace
            found[report] = None
    return {report: value for report, value in found.items() if value is not None}


def odd_ones(found):
    """Reports whose value is not that of most, or not that of the first of equally many."""
    groups = []
    for report, value in found.items():
        for group in groups:
            if laws.near(found[group[0]], value, 1e-3):
                group.append(report)
                break
        else:
            groups.append([report])
    groups.sort(key=len, reverse=True)
    return [report for group in groups[1:] for report in group]


# ---- Jobs ----

def page_document(job, name):
    """A document of the job's page."""
    with tempfile.TemporaryDirectory(prefix="miniprof-laws.") as folder:
        page = os.path.join(folder, "page.html")
        laws.run("html", "-o", page, job)
        with open(page, encoding="utf-8") as file:
            found = re.search(f'id="doc-{name}"[^>]*>(.*?)</script>', file.read(), re.S)
    return json.loads(found.group(1))


def gain_of(findings, rule, rank=None):
    return next((one["gain_ns"] for one in findings if one["rule"] == rule and
                 (rank is None or one["numbers"]["rank"] == rank)), None)


def say_jobs(verdicts):
    """A job has one answer: in all reports, in their sentences, and in the gains of findings."""
    wrong, stated = [], 0
    for job in laws.JOBS:
        advise = laws.document("advise", job)[0]
        answer = advise["job"]
        answers = {"iters": laws.document("iters", job)[0]["job"],
                   "report": laws.document("report", job)["job"],
                   "page": page_document(job, "job_advise")["job"]}
        wrong += [f"{job}: {report} has another answer: {found}"
                  for report, found in answers.items() if found != answer]
        for report in (("report",), ("report", "--markdown"), ("iters",), ("advise",)):
            text = re.sub(r"\s+", " ", laws.run(*report, job).replace("======== ", ""))
            wrong += [f"{job}: {' '.join(report)} does not say: {line}"
                      for line in answer["answer"] if line not in text]
        if answer["step_mean_ns"] != advise["step_mean_ns"]:
            wrong.append(f"{job}: two mean steps")
        for gain, key in ((gain_of(advise["findings"], "uneven_stages"), "balanced_gain_ns"),
                          (gain_of(advise["findings"], "late_rank", answer["late_rank"]),
                           "in_time_gain_ns")):
            stated += gain is not None
            if gain is not None and gain != answer[key]:
                wrong.append(f"{job}: {key} is {answer[key]}, the finding's gain {gain}")
    verdicts.say("a job has one answer everywhere", wrong)
    verdicts.say("and findings with its gains", [] if stated else ["no finding has such a gain"])


def main():
    verdicts, stated = laws.Verdicts(), collections.Counter()
    wrong = collections.defaultdict(list)
    for trace in laws.TRACES:
        of = documents(trace)
        for fact in FACTS:
            found = values(fact, of)
            stated.update((fact, report) for report in found)
            wrong[fact].extend(f"{trace}: {report} has another value: {found}"
                               for report in odd_ones(found))
    for fact in FACTS:
        verdicts.say(fact, wrong[fact])
    verdicts.say("each report states its facts", [
        f"{report} never states {fact}" for fact, reports in FACTS.items() for report in reports
        if not stated[fact, report]])
    say_jobs(verdicts)
    return verdicts


if __name__ == "__main__":
    sys.exit(main().end())
