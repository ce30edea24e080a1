#!/usr/bin/env python3
"""What a person sees on terminals of 80 and 120 columns: every command, against committed texts.

usage: terminal.py MINIPROF DATA TEXTS [--update]

Each file of TEXTS is named TRACE.COLUMNS.txt and has all commands of one trace. Of long output it
has the begin and the end; no line of the output may be wider than the terminal, shown or not.
"""
import difflib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import on_terminal # noqa: E402

WIDTHS = (80, 120)
FIRST_LINES, LAST_LINES = 24, 4
TRACES = ("resnet50_graph", "inference", "memory", "metrics")
COMMANDS = """
gpu-trace
api-trace
gpu-trace --with-api
iters
iters --each
iters --candidates
nvtx
layers
layers --tree --kernels
layers --by-position
kernels
kernels --by-name
deps
deps --parts
deps --gains 5
deps --trace
deps --iters auto --slowest 2
overlap
advise
memory
memory --timeline
memory --points 3
metrics
metrics --each
info
check
dump --table shape
dump
""".split("\n")
SEVERAL = (
    ("resnet50_eager.mpt", "resnet50_graph.mpt", "diff"),
    ("resnet50_eager.mpt", "resnet50_graph.mpt", "diff --positions --all"),
    ("inference.mpt", None, "summary"),
    ("memory.mpt", None, "summary --per-gpu"),
    ("set", None, "summary --merge"),
    ("set", None, "summary --side-by-side"),
    ("set", None, "gpu-trace --merge"),
    ("set", None, "info"),
    (None, None, "sumary"),
    ("nothing.mpt", None, "summary"),
)
# Their texts are those of --help without a terminal, or of SEVERAL; only the widths are looked at.
WIDTH_ALONE = ("help", "deps --help", "run --help", "top --help", "summary resnet50_graph.mpt",
               "summary metrics.mpt", "summary --per-gpu inference.mpt")


def shown(text):
    """The begin and the end of the lines, and the widest of all of them."""
    lines = text.split("\n")
    widest = max(len(line) for line in lines)
    if len(lines) > FIRST_LINES + LAST_LINES + 1:
        left = len(lines) - FIRST_LINES - LAST_LINES
        lines = lines[:FIRST_LINES] + [f"[{left} lines]"] + lines[-LAST_LINES:]
    return "\n".join(lines), widest


def runs():
    """A name for each file, and the command lines that are in it."""
    for trace in TRACES:
        yield trace, [command.split() + [trace + ".mpt"] for command in COMMANDS if command]
    yield "several", [command.split() + [argument for argument in (first, second) if argument]
                      for first, second, command in SEVERAL]
    yield None, [command.split() for command in WIDTH_ALONE]


def main():
    miniprof, data, texts = (os.path.abspath(path) for path in sys.argv[1:4])
    update = "--update" in sys.argv[4:]
    passed = failed = 0
    os.chdir(data)
    os.environ.update(TERM="xterm", PAGER="cat", LC_ALL="C.UTF-8", NO_COLOR="1")
    for name, commands in runs():
        for width in WIDTHS:
            output = []
            for command in commands:
                raw, code = on_terminal.run([miniprof] + command, width, 50)
                text, widest = shown(on_terminal.plain(raw).decode("utf-8"))
                output.append(f"$ miniprof {' '.join(command)}\n{text}[{code}]\n")
                if widest > width:
                    print(f"FAILED: a line of {widest} of {width}: miniprof {' '.join(command)}")
                failed += widest > width
                passed += widest <= width
            if not name:
                continue
            path = os.path.join(texts, f"{name}.{width}.txt")
            now = "\n".join(output)
            if update:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(now)
                continue
            with open(path, encoding="utf-8") as file:
                before = file.read()
            difference = list(difflib.unified_diff(before.split("\n"), now.split("\n"), path, "now",
                                                   lineterm=""))
            print("\n".join(difference[:40]))
            failed += bool(difference)
            passed += not difference
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
