#!/usr/bin/env python3
"""Compares `miniprof report --json` with what the other commands say of the same trace: each number
of the digest is one of theirs, to the last digit. Also: the screen fits, and its first line has the
latency that the document has.

usage: compare_report.py MINIPROF TRACE
"""
import sources

LINES, COLUMNS, PAGES = 40, 80, 110
FINDINGS, HOT = 3, 5
wrong = []


def same(what, expected, got):
    if expected != got:
        wrong.append(f"{what}: {got} instead of {expected}")


def compare_recording(digest, info):
    got, of = digest["recording"], info["properties"]
    for key, field in (("driver_version", "driver_version"), ("cupti_version", "cupti_version"),
                       ("start_ns", "start_realtime_ns")):
        same(key, int(of.get(field, 0)) or None, got[key])
    same("command", of.get("argv") or of.get("executable"), got["command"])
    same("recorder", of.get("miniprof"), got["recorder"])
    same("capture", of.get("MINIPROF_CAPTURE"), got["capture"])
    same("records", info["records"], got["records"])
    same("bytes", info["bytes"], got["bytes"])
    same("span", info["last_ns"] - info["first_ns"], got["span_ns"])
    same("ranges", len(info["ranges"]), got["ranges"])
    ended = [one for one in info["ranges"] if one["end_ns"] is not None]
    same("length of ranges", sum(one["end_ns"] - one["begin_ns"] for one in ended),
         got["in_ranges_ns"])


def compare_quality(digest, iters, info):
    got = digest["quality"]
    warnings = [one["quality"]["warning"] for one in (iters, info)]
    same("warning", warnings[0] or warnings[1], got["warning"])
    same("whole", not any(warnings), got["whole"])
    same("dropped", iters["quality"]["dropped"], got["dropped"])


def compare_iterations(digest, iters):
    got = digest["iterations"]
    for key in ("by", "asked_for", "name", "graph", "why_whole", "count", "threads", "at_once",
                "coverage_percent"):
        same(key, iters[key], got[key])
    same("period", iters["kernel_period"] or iters["wait_period"], got["period"])
    same("outliers", len(iters["outliers"]), got["outliers"])
    for key in ("mean", "min", "p50", "p90", "p95", "p99", "max"):
        same(key, iters["statistics"]["latency_ns"][key], digest["latency"][key + "_ns"])
    same("throughput", iters["throughput_per_second"],
         digest["latency"]["throughput_per_second"])


def compare_time(digest, iters):
    got = dict(digest["time"])
    means = {key: one and one["mean"] for key, one in iters["statistics"].items()}
    same("busy", means["busy_ns"], got.pop("busy_ns"))
    alone = means["busy_ns"] - means["kernel_ns"]
    if abs(got["copies_alone_ns"] - alone) > 1e-6 * means["latency_ns"]:
        wrong.append(f"copies alone: {got['copies_alone_ns']} instead of {alone}")
    whole = sum(value or 0 for value in got.values())
    if abs(whole - means["latency_ns"]) > 1:
        wrong.append(f"parts add up to {whole}, and the latency is {means['latency_ns']}")
    del got["copies_alone_ns"]
    for key, value in got.items():
        same(key, means[key], value)
    row = digest["traces"][digest["shown"]]
    if abs(row["busy_percent"] - 100 * means["busy_ns"] / means["latency_ns"]) > 1e-6:
        wrong.append(f"busy: {row['busy_percent']} %")


def compare_baseline(digest, iters):
    got, of = digest["recording_cost"], iters.get("baseline")
    same("recording_cost", iters["recording_cost"], got)
    if of is not None and of["known"]:
        without, recorded = of["unrecorded"], of["recorded"]["p50_ns"]
        same("measured", ("not_recorded", recorded, max(0, recorded - without["p50_ns"]),
                          without["p50_ns"], without["p25_ns"], without["p75_ns"],
                          without["steps"], of["name"]),
             tuple(got[key] for key in ("source", "of_ns", "cost_ns", "without_ns", "low_ns",
                                        "high_ns", "steps", "step_name")))


def compare_findings(digest, advise):
    same("findings", len(advise["findings"]), digest["findings_all"])
    same("findings that are shown", min(FINDINGS, len(advise["findings"])),
         len(digest["findings"]))
    same("step", advise["step_p50_ns"], digest["step_p50_ns"])
    same("framework", (advise["framework"], advise["framework_percent"]),
         (digest["recording"]["framework"], digest["recording"]["framework_percent"]))
    for expected, got in zip(advise["findings"], digest["findings"]):
        for key, value in got.items():
            same(f"{got['rule']}: {key}", expected[key], value)


def compare_hot(digest, summary):
    rows = summary["groups"][0]["rows"]
    same("names", len(rows), digest["hot_all"])
    same("names that are shown", min(HOT, len(rows)), len(digest["hot"]))
    for expected, got in zip(rows, digest["hot"]):
        same(got["name"], [expected[key] for key in
                           ("name", "calls", "total_ns", "mean_ns", "percent")],
             [got[key] for key in ("name", "calls", "total_ns", "mean_ns", "percent")])


def time_text(ns):
    """With four digits."""
    unit, scale = next((u, s) for u, s in (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1))
                       if ns >= s or s == 1)
    if unit == "ns":
        return f"{ns}ns"
    number = ns / scale
    return (f"{number:,.0f}" if number >= 999.95 else f"{number:#.4g}") + unit


def compare_texts(program, path, digest):
    lines = sources.output(program, "report", path).split("\n")[:-1]
    commands = lines.index("Look further")
    if len(lines) > LINES:
        wrong.append(f"{len(lines)} lines")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS and number <= commands:
            wrong.append(f"line {number} has {len(line)} columns")
        if line != line.rstrip():
            wrong.append(f"line {number} ends in a space")
    if digest["latency"]["p50_ns"] is not None:
        first = next(line for line in lines if not line.startswith(("Warning", " ")))
        if f"takes {time_text(digest['latency']['p50_ns'])}" not in first:
            wrong.append(f"the first line is {first!r}")
    pages = sources.output(program, "report", "--markdown", path).count("\n")
    if pages > PAGES:
        wrong.append(f"{pages} lines of Markdown")


def compare(program, path):
    """What differs."""
    wrong.clear()
    digest = sources.document(program, "report", "--json", path)
    iters = sources.document(program, "iters", "--json", path)
    info = sources.document(program, "info", "--json", path)
    compare_recording(digest, info)
    compare_quality(digest, iters, info)
    compare_texts(program, path, digest)
    compare_iterations(digest, iters)
    if not digest["answer"]:
        wrong.append("no answer")
    else:
        compare_time(digest, iters)
        compare_baseline(digest, iters)
        compare_findings(digest, sources.document(program, "advise", "--json", path))
        compare_hot(digest, sources.document(program, "summary", "--gpu", "--json", path))
    return wrong


if __name__ == "__main__":
    sources.main(__doc__, compare)
