#!/usr/bin/env python3
"""Is it true what the command prints of the traces in tests/data? Rows, sums and findings against
those of the comparisons here, which start from the rows of tests/readers/mpt.py or of `miniprof
dump` and share no code with the command. computed.sh runs it.

usage: computed.py MINIPROF DATA PAIR...

PAIR is A:B, two traces that `miniprof diff` compares. CHECKS=short leaves out what LONG names.
"""
import os
import pathlib
import subprocess
import sys
import traceback

import sources  # sets where modules are found
import compare
import compare_advise
import compare_diff
import compare_iters
import compare_kernels
import compare_layers
import compare_memory
import compare_nvtx
import compare_overlap
import compare_report
import compare_top
import compare_traces
import recording

RANKS = pathlib.Path(__file__).resolve().parents[1] / "e2e" / "ranks" / "compare.py"
DIGEST = "the digest is what the other reports say", compare_report.compare
OF_A_TRACE = (
    ("the independent reader has the same rows", compare.compare_rows),
    ("the summary's sums are those of the rows", compare.compare_sums),
    ("the NVTX result's sums are those of the rows", compare_nvtx.compare),
    ("the iterations follow from the rows", compare_iters.compare),
    ("what recording costs of the path follows from the rows", recording.compare),
    ("the layers are those of the rows", compare_layers.compare),
    ("the findings follow from the rows", compare_advise.compare),
    ("what top shows of all of it follows from the rows", compare_top.compare),
    ("memory is what follows from the rows", compare_memory.compare),
    ("the traces are those of the rows", compare_traces.compare),
    ("kernels' sums and occupancy follow from the rows", compare_kernels.compare),
    DIGEST,
    ("what overlaps is what the rows say", compare_overlap.compare),
)
# What `make check` leaves out: two comparisons that look at each row by itself, 30 of 42 CPU
# seconds for two large traces. They have the same rows as resnet50_graph_edges, which is the
# program of resnet50_graph with fewer iterations, and as inference, whose NVTX layers are like
# those of resnet50_eager.
LONG = {(trace, comparison) for trace in ("resnet50_eager", "resnet50_graph")
        for comparison in (compare_traces.compare, compare_iters.compare)}
OF_THE_ZOO = "server", "cupy_streams", "stream_alloc"


class Verdicts:
    """Counts them."""

    def __init__(self, program):
        self.program, self.passed, self.failed = program, 0, 0

    def take(self, what, comparison, *arguments):
        """One comparison; one that ends in an exception has failed."""
        try:
            differences = list(comparison(self.program, *arguments))
        except Exception:  # pylint: disable=broad-except
            differences = traceback.format_exc().splitlines()
        self.passed += not differences
        self.failed += bool(differences)
        print(f"FAILED {what}: {len(differences)} differences" if differences else f"ok {what}",
              *differences[:sources.MOST_DIFFERENCES], sep="\n    ", flush=True)


def compare_ranks(program, folder):
    """Yields what differs between who came last, and by how much, and what was played."""
    rows = subprocess.run([program, "ranks", "--one-clock", "--trace", "--csv", folder],
                          capture_output=True, check=False).stdout
    done = subprocess.run([sys.executable, RANKS, "/dev/stdin", f"{folder}/truth.csv", "0"],
                          input=rows, capture_output=True, check=False)
    counts = done.stdout.decode().split()
    if len(counts) != 5 or counts[1::3] != ["0", "0"] or "0" in counts[0::3]:
        yield (done.stdout + done.stderr).decode()


def main():
    """Exit code 1 when something differs."""
    program, data, *pairs = sys.argv[1:]
    verdicts = Verdicts(program)
    os.chdir(data)  # messages name a file as it is given
    here = pathlib.Path()
    for path in sorted(map(str, here.glob("*.mpt"))):
        for what, comparison in OF_A_TRACE:
            if os.environ.get("CHECKS", "all") == "all" or (path[:-4], comparison) not in LONG:
                verdicts.take(f"{path[:-4]}: {what}", comparison, path)
        sources.forget()
    for name in OF_THE_ZOO:
        verdicts.take(f"{name}: {DIGEST[0]}", DIGEST[1], f"zoo/{name}.mpt")
    for folder in sorted({str(path.parent) for path in here.glob("*/*.mpt")} - {"zoo"}):
        verdicts.take(f"{folder}: the merged sums are those of the rows", compare.compare_sums,
                      folder)
        if pathlib.Path(folder, "truth.csv").exists():
            verdicts.take(f"{folder}: who came last, and by how much, is what was played",
                          compare_ranks, folder)
    for pair in pairs:
        a, b = pair.split(":")
        verdicts.take(f"{a} against {b}: the differences are those of the rows",
                      compare_diff.compare, f"{a}.mpt", f"{b}.mpt", "iteration")
    print(f"{verdicts.passed} passed, {verdicts.failed} failed")
    sys.exit(bool(verdicts.failed or not verdicts.passed))


if __name__ == "__main__":
    main()
