#!/usr/bin/env python3
# Takes 90 s; with LAWS_SHORT=1 6 s.
"""Laws that hold for every trace in every mode, without a known answer: a change that is none, the
bound and the order of changes, the same windows and figures from all commands, a bystander, a
second copy, other times, other numbers, and both directions of a comparison.

The table LAWS says which law is for which traces; replays.py, figures.py, changes.py and
directions.py have the laws. What need not be equal stands in tables there, with the reason. A law
that compared nothing has failed. transform.py makes the traces that are not in tests/data.

LAWS_SHORT=1: ten traces. LAW=WORD: only laws whose name has the word.
"""
import collections
import itertools
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback

import changes
import directions
import figures
import laws
import replays
import transform
from checks import SHORT, Check, Subject

SHORT_TRACES = {"branches.mpt", "captured.mpt", "green.mpt", "managed.mpt", "metrics.mpt",
                "zoo/green_contexts.mpt", "zoo/batch_copies.mpt", "zoo/stream_memops.mpt",
                "zoo/pool_threshold.mpt", "ranks", "generated 2 threads 3 ranges"}
Law = collections.namedtuple("Law", "name holds most_bytes jobs")
# holds: a function of a Check and a Subject; most_bytes: of greater traces it would take too long;
# jobs: whether it is one for folders of ranks too.


# ---- The table ----

LAWS = (
    Law("a change that is none changes nothing", replays.nothing_changes, None, True),
    Law("a greater factor makes no window shorter", replays.factors_are_in_order, 60000, True),
    Law("recording gains at most its row", replays.recording_gains_at_most_its_row, None, False),
    Law("a gain is between nothing and the critical time", replays.gains_are_bounded, None, False),
    Law("windows of deps are iterations of iters", replays.windows_are_iterations, None, True),
    Law("the page says what the commands say", figures.page_is_the_commands, None, False),
    Law("JSON lines add up to the iterations", figures.json_lines_are_iterations, None, False),
    Law("steps of kineto are the iterations", figures.kineto_steps_are_iterations, None, False),
    Law("a thread that only polls changes nothing", changes.bystander_changes_nothing, 70000,
        False),
    Law("a second copy keeps the statistics", changes.copy_keeps_statistics, 70000, False),
    *(Law(f"{name} traces have the same reports", changes.transformed(name), 40000, False)
      for name in changes.TRANSFORMATIONS),
    Law("a trace does not differ from itself", directions.diff_of_itself_is_zero, None, False),
)
# Those of several traces at once.
PYTHON = Law("Python says what the commands say", figures.python_says_the_same, None, False)
PAIRS = Law("diff B A is diff A B with the sides exchanged", directions.diff_has_two_directions,
            100000, False)
ALL = (*LAWS, PYTHON, PAIRS)
# Compared with each other, and each with the next one of all traces.
ALL_PAIRS = ("inference.mpt", "two_streams.mpt", "captured.mpt", "resnet50_graph.mpt",
             "resnet50_graph_edges.mpt", "zoo/pdl_graph_baseline.mpt", "zoo/pdl_launched.mpt",
             "zoo/polling.mpt", "zoo/server_baseline.mpt", "zoo/loader.mpt")


# ---- Subjects ----

def made_subjects(folder):
    """Traces that are in no folder: of known content, generated ones, and jobs."""
    for path in laws.made():
        yield Subject("made " + os.path.basename(path), path, os.path.getsize(path), False)
    for name, trace in transform.generated().items():
        path = transform.write(trace, os.path.join(folder, name.replace(" ", "_") + ".mpt"))
        yield Subject(name, path, os.path.getsize(path), False)
    for name, ranks in (("job of 2", 2), ("job of 9", 9)):
        path = os.path.join(folder, name.replace(" ", "_"))
        os.mkdir(path)
        subprocess.run([os.path.join(laws.BUILD, "tests/tools/make_job"), path, str(ranks), "30"],
                       check=True)
        yield Subject(name, path, 0, True)


def subjects(folder):
    found = [Subject(trace, trace, laws.size(trace), False) for trace in laws.TRACES]
    found += [Subject(job, job, 0, True) for job in laws.JOBS]
    found += made_subjects(folder)
    return [one for one in found if not SHORT or one.name in SHORT_TRACES]


def pairs(found):
    """Each with the next one, and all of some with each other."""
    some = [one for one in found if one.name in ALL_PAIRS]
    chosen = list(itertools.combinations(some, 2)) + list(itertools.pairwise(found))
    return [Subject(f"{a.name} {b.name}", (a.path, b.path), a.size + b.size, False)
            for a, b in dict.fromkeys(chosen)]


def fits(law, subject):
    return (law.jobs or not subject.job) and (law.most_bytes is None or
                                              subject.size <= law.most_bytes)


def tasks(found):
    """(number of the law, subject), what takes longest first."""
    single = [one for one in found if not one.job]
    chosen = [(number, one) for number, law in enumerate(LAWS) for one in found if fits(law, one)]
    chosen.append((ALL.index(PYTHON), Subject("all traces", [one for one in single if fits(
        PYTHON, one)], 10 ** 9, False)))
    chosen += [(ALL.index(PAIRS), pair) for pair in pairs([one for one in single if
                                                           fits(PAIRS, one)])]
    only = os.environ.get("LAW", "")
    chosen = [(law, one) for law, one in chosen if only in ALL[law].name]
    return sorted(chosen, key=lambda task: -task[1].size)


def examine(task):
    """Runs in another process."""
    number, subject = task
    check = Check()
    try:
        ALL[number].holds(check, subject)
    except Exception:  # pylint: disable=broad-except
        check.wrong.append(f"{subject.name}: {traceback.format_exc(limit=-3)}")
    return number, check.compared, check.wrong


def main():
    verdicts = laws.Verdicts()
    compared, wrong, of = collections.Counter(), collections.defaultdict(list), set()
    skipped = set()
    with tempfile.TemporaryDirectory(prefix="miniprof-invariants.") as folder:
        todo = tasks(subjects(folder))
        with multiprocessing.Pool(2) as pool:
            for number, count, found in pool.imap_unordered(examine, todo):
                of.add(number)
                if count is None:
                    skipped.add(number)
                compared[number] += count or 0
                wrong[number] += found
    for number in sorted(of):
        name = ALL[number].name
        if number in skipped:
            print(f"skipped: {name}: no numpy and pandas")
            continue
        print(f"{compared[number]:8} comparisons: {name}")
        verdicts.say(name, wrong[number] or ["nothing was compared"] * (not compared[number]))
    return verdicts


if __name__ == "__main__":
    sys.exit(main().end())
