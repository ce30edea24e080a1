"""compare.py MINIPROF TRACE TRUTH: every call has the stack that Python told, native frames left
out. Prints how many."""
import csv
import io
import json
import subprocess
import sys

DEPTH = 512     # WALK_DEPTH


def table(miniprof, trace, name):
    text = subprocess.run([miniprof, "dump", trace, "--table", name, "--csv", "--raw"], check=True,
                          stdout=subprocess.PIPE).stdout.decode("utf-8", "surrogateescape")
    csv.field_size_limit(1 << 24)
    return list(csv.DictReader(io.StringIO(text)))


def stacks(miniprof, trace):
    """{tid: the stacks of its calls, in order}; a stack is a list of [name, file, line]."""
    text = {row["id"]: row["text"] for row in table(miniprof, trace, "string")}
    codes = {row["id"]: (text.get(row["name"], ""), text.get(row["file"], ""))
             for row in table(miniprof, trace, "code")}
    frames = {row["id"]: ["cut"] if row["kind"] in ("2", "cut") else
              None if row["kind"] in ("3", "native") else
              [*codes.get(row["code"], ("?", "?")), int(row["line"])]
              for row in table(miniprof, trace, "frame")}
    known = {"0": []}
    for row in table(miniprof, trace, "stack"):
        frame = frames[row["frame"]]
        known[row["id"]] = ([frame] if frame else []) + known[row["caller"]]
    tids = {row["id"]: row["tid"] for row in table(miniprof, trace, "thread")}
    names = {row["id"]: text[row["name"]] for row in table(miniprof, trace, "function")}
    taken = ("cuLaunchKernel", "cuMemcpyHtoD_v2", "cuMemsetD8_v2", "cuCtxSynchronize")
    found = {}
    for row in sorted(table(miniprof, trace, "call"), key=lambda row: int(row["correlation"])):
        if names[row["function"]] in taken:
            found.setdefault(tids[row["thread"]], []).append(known[row.get("stack") or "0"])
    return found


def expected(stack):
    if len(stack) > DEPTH:
        stack = stack[:DEPTH] + [["cut"]]
    return [[frame[0][-1023:], frame[1][-1023:], frame[2]] if len(frame) == 3 else frame
            for frame in stack]


def main():
    miniprof, trace, truth = sys.argv[1:]
    found = stacks(miniprof, trace)
    wrong = total = 0
    with open(truth) as file:
        told = json.load(file)
    for tid, calls in told.items():
        mine = found.get(tid, [])
        if len(mine) != len(calls):
            print("thread %s made %d calls, the trace has %d" % (tid, len(calls), len(mine)))
            wrong += 1
        for stack, recorded in zip(calls, mine):
            total += 1
            if expected(stack) != recorded:
                wrong += 1
                if wrong < 4:
                    print("told", expected(stack)[:6], "\nhas ", recorded[:6])
    print("%d stacks equal" % total if not wrong else "%d of %d stacks differ" % (wrong, total))
    return 1 if wrong else 0


sys.exit(main())
