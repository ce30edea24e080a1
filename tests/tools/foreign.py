#!/usr/bin/env python3
"""Runs all reports, the page and the exports of texts on traces by rename_trace, and prints a line
for each output in which a name acts: foreign.py TRACE...

- In no output, to a pipe or on a terminal, is a control character, one that turns the order of a
  line round, or one that nobody sees; line breaks of our own aside. All are UTF-8.
- No cell of CSV is a formula.
- JSON has the exact names.
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata

import on_terminal

MINIPROF = os.path.join(os.environ["BUILD"], "miniprof")
ENVIRONMENT = {"TERM": "dumb", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
COMMANDS = """summary, summary --per-gpu, gpu-trace, api-trace, deps, metrics, metrics --each,
kernels, iters, overlap, nvtx, layers, advise, counters, memory, stacks, ranks, info""".split(",")
TEXT_ONLY = """dump, report, report --markdown, check, deps --trace, nvprof -i, nvprof --csv -i,
nvprof --print-gpu-trace -i, nvprof --print-api-trace --csv -i,
nvprof --dependency-analysis -i""".split(",")
TABLES = "string", "shape"
EXACT = "\033[31m\a\x7f\x9b2J\u202e\u2066\u061c\u200b\u2028\U000e0041\ufffd<b>\"'\n\t\r"


def acts(character):
    return (unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") or
            0xe0000 <= ord(character) <= 0xe0fff)


def what_acts(output, breaks):
    """Where in the output something acts; None: nowhere."""
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"no UTF-8: {output[max(0, error.start - 60):error.end + 9]!r}"
    for at, character in enumerate(text):
        if character not in breaks and acts(character):
            return f"{text[max(0, at - 60):at + 9]!r}"
    return None


def formula(text):
    for row in csv.reader(text.split("\n")):
        for cell in row:
            if re.match("[=+@]|-(?![0-9.])", cell):
                return f"formula: {cell[:60]!r}"
    return None


def is_exact(value):
    """Whether all texts that were renamed end as they do in the trace."""
    if isinstance(value, dict):
        return all(is_exact(key) and is_exact(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_exact, value))
    return not isinstance(value, str) or "<b>" not in value or EXACT[:-3] in value


def documents(text):
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.split("\n") if line]


def run(*arguments):
    done = subprocess.run([MINIPROF, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    return done.stdout, done.stderr, done.returncode


def faults_of(form, output, error, code):
    """What is wrong with an output of that form."""
    if code not in (0, 1):
        yield f"exit code {code}: {error[:90]!r}"
        return
    yield what_acts(output, "\n")
    yield what_acts(error, "\n")
    if form == "--csv":
        yield formula(output.decode("utf-8", "replace"))
    if form == "--json" and not all(map(is_exact, documents(output.decode("utf-8", "replace")))):
        yield "a name is not exact"


def views(trace):
    """(arguments, form) of each report."""
    for command in COMMANDS:
        for form in "", "--csv", "--json":
            yield [*command.split(), *filter(None, [form]), trace], form
    for command in TEXT_ONLY:
        yield [*command.split(), trace], "--csv" if "--csv" in command else ""
    for table in TABLES:
        yield ["dump", "--csv", "--table", table, trace], "--csv"
    yield ["diff", trace, trace], ""


def reports(trace):
    for arguments, form in views(trace):
        for fault in faults_of(form, *run(*arguments)):
            yield " ".join(arguments), fault
        if form != "--json":
            seen, _ = on_terminal.run([MINIPROF, *arguments], 100, 30)
            yield " ".join(arguments) + " on a terminal", what_acts(seen, "\r\n")


def messages(trace):
    """Complaints that quote what was typed, and reports that quote a path."""
    odd = "\033[31m\a\x9b\u202e\u200b"
    path = os.path.join(odd, odd + ".mpt")
    os.makedirs(odd, exist_ok=True)
    shutil.copy(trace, path)
    lines = [[odd], ["summary", odd + ".mpt"], ["summary", "--" + odd], ["help", odd],
             ["summary", "--table", odd, trace], ["dump", "--table", odd, trace],
             ["dump", "--csv", "--table", odd, trace], ["summary", "--csv", "--table", odd, trace],
             ["summary", "--sort", odd, trace], ["export", "--to", odd, trace],
             ["export", "--to", "jsonl", "-o", odd + "/" + odd + "/x", trace],
             ["iters", "--by", odd, trace], ["iters", "--by", "nvtx:" + odd, trace],
             ["layers", "--domain", odd, trace], ["ctl", odd, odd], ["ctl", "1", odd],
             ["nvprof", "--" + odd], ["nvprof", "-i", odd],
             ["nvprof", "--log-file", odd, "-i", trace],
             ["run", "--" + odd], ["run", "-o", odd + "/%q{" + odd + "}", odd],
             ["fleet", odd], ["fleet", "add", "-o", odd, odd], ["completions", odd],
             ["check", path], ["summary", odd], ["diff", path, path], ["top", "--plain", path],
             ["info", path], ["report", path], ["html", path], ["export", "--to", "jsonl", path],
             ["summary", path, trace], ["diff", path, trace, "--json"], ["calibrate", "--" + odd]]
    for arguments in lines:
        output, error, _ = run(*arguments)
        what = " ".join(arguments)
        yield repr(what), what_acts(error, "\n")
        if arguments[0] not in ("html", "export"): # scripts read where the file is
            yield repr(what), what_acts(output, "\n")
        seen, _ = on_terminal.run([MINIPROF, *arguments], 100, 30)
        yield repr(what) + " on a terminal", what_acts(seen, "\r\n")


def files(trace):
    """What pages and exports hold. Only folded stacks and CSV are for people."""
    made = ["html", "-o", "page.html"], ["diff", "--html", "page2.html", trace]
    for arguments, name in zip(made, ("page.html", "page2.html")):
        _, error, code = run(*arguments, trace)
        if code in (0, 1):
            with open(name, "rb") as file:
                yield name, what_acts(file.read(), "\n")
        elif b"built without" not in error:
            yield name, f"exit code {code}: {error[:90]!r}"
    for arguments, form in (("folded", ""), ("csv", "--csv"), ("jsonl", "--json"),
                            ("kineto", "--json")):
        tables = ["--table", "kernel"] if form == "--csv" else []
        _, error, code = run("export", "--to", arguments, *tables, "-o", "out." + arguments, trace)
        if code in (0, 1):
            with open("out." + arguments, "rb") as file:
                for fault in faults_of(form, file.read(), error, code):
                    yield "export " + arguments, fault
        else:
            yield "export " + arguments, f"exit code {code}: {error[:90]!r}"
        for name in "page.html", "page2.html", "out." + arguments:
            if os.path.exists(name):
                os.remove(name)


def main():
    os.environ.update(ENVIRONMENT)
    found = [f"{what}: {fault}" for trace in sys.argv[1:]
             for source in (reports, messages, files) for what, fault in source(trace) if fault]
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
