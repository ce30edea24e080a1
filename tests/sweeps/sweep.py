"""What the sweeps share: a program that is recorded on the software GPU, what must be true of each
try, and the counts.

A try is **harmed** if the program's exit code, its stdout or what it says itself on stderr is not
what it is without miniprof, or if it does not end. Something is **lost without a word** if the
trace has other rows than that of an untroubled run, and neither a line on stderr, nor the trace's
counters, nor `miniprof check` says that anything is missing.

SWEEP_SEED=N: what is random comes from it; a fixed one by default, and printed. SWEEP_ALL=1: the
whole sweep, where a part of it is made by default.
"""
import atexit
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", SOURCE / "build")).resolve()
MINIPROF = str(BUILD / "miniprof")
STEPS = str(BUILD / "tests/e2e/steps")
LIFE = str(BUILD / "tests/e2e/life")
RECORDER = BUILD / "libminiprof.so"
PRELOAD = BUILD / "libminiprof_preload.so"

SEED = int(os.environ.get("SWEEP_SEED", "34"))
ALL = os.environ.get("SWEEP_ALL") == "1"
AT_ONCE = int(os.environ.get("SWEEP_JOBS", "2"))
SECONDS = 60  # a try that takes longer does not end
MAX_SHOWN = 20

EVENTS = ("kernel", "copy", "set", "call", "sync", "nvtx", "memory", "node", "edge", "capture")
CLOSING = re.compile(r"records, ([\d,]+) dropped, writer .* CPU$")


class Run:  # pylint: disable=too-few-public-methods
    """What a process said, and how it ended: `code` is None if it did not."""

    def __init__(self, command, folder, settings):
        environment = {name: value for name, value in os.environ.items() if not re.match(
            "(MINIPROF|SIMGPU|NCCL|CUDA_INJECTION|NVTX_INJECTION)", name)}
        environment.update(LC_ALL="C", LD_LIBRARY_PATH=str(BUILD / "simgpu"), HOME=str(folder),
                           XDG_CACHE_HOME=str(folder), TMPDIR=str(folder))
        environment.update(settings)
        with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as process:
            self.pid = process.pid
            try:
                out, err = process.communicate(timeout=SECONDS)
                self.code = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                out, err = process.communicate()
                self.code = None
        self.out = out
        self.lines = err.decode(errors="replace").splitlines()
        # The loader names a library that it cannot preload.
        ours = [line for line in self.lines if re.match(
            "miniprof( run)?:|ERROR: ld.so: object .*miniprof", line)]
        self.own_lines = [line for line in self.lines if line not in ours]
        self.words = [line for line in ours if not CLOSING.search(line)]
        self.dropped = sum(int(count.replace(",", ""))
                           for count in CLOSING.findall("\n".join(self.lines)))

    def behaves_like(self, other):
        """Whether the program did what it did in the other run."""
        return (self.code is not None and self.code == other.code and self.out == other.out and
                self.own_lines == other.own_lines)

    def __str__(self):
        return f"exit code {self.code}, {self.lines[-3:]}"


def recording(folder, **settings):
    """The settings that record into FOLDER/a.mpt."""
    return {"CUDA_INJECTION64_PATH": str(RECORDER), "LD_PRELOAD": str(PRELOAD),
            "MINIPROF_OUTPUT": str(folder / "a.mpt"), "SIMGPU_REAL_TIME": "1", **settings}


def ask(*words):
    """(exit code, stdout and stderr) of a command about a trace."""
    done = subprocess.run([MINIPROF, *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=SECONDS)
    return done.returncode, done.stdout + done.stderr


def rows_of(trace):
    """{table: rows} of what the program did. How often a thread waits is chance: once, or never."""
    _, text = ask("info", "--csv", trace)
    rows = dict(re.findall(r'^"(\w+)",(\d+),', text, re.MULTILINE))
    found = {table: int(rows.get(table, 0)) for table in EVENTS}
    return {**found, "wait": int("wait" in rows)}


def says_what_is_missing(run, trace):
    """Whether anything tells the user that the trace is not whole."""
    if run.words or run.dropped or not trace.exists():
        return bool(run.words or run.dropped)
    code, _ = ask("check", trace)
    return code != 0 or ask("report", trace)[0] == 1


class Sweep:
    """The tries of a sweep, with their counts."""

    def __init__(self, name, needs=()):
        for path in (RECORDER, PRELOAD, MINIPROF, STEPS, *needs):
            if not os.path.exists(path):
                print(f"no {path}: built without the CUDA headers")
                sys.exit(77)
        if os.environ.get("SAN"):
            print("not with a build that has sanitizers")
            sys.exit(77)
        self.random = random.Random(SEED)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"miniprof-{name}."))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.tried = 0
        self.kinds = {}  # what became of the tries, for people
        self.harmed = []
        self.lost = []
        print(f"{name}: SWEEP_SEED={SEED}{' SWEEP_ALL=1' if ALL else ''}", flush=True)

    def attempt(self, tries, judge):
        """judge(try, folder) in a folder of its own for each; it returns (verdict, text), where the
        verdict is "harmed", "lost" or another kind; None: this was no try."""
        def one(number, what):
            folder = self.folder / str(number)
            folder.mkdir()
            verdict = judge(what, folder)
            shutil.rmtree(folder)
            return verdict

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for what, verdict in zip(tries, pool.map(one, range(len(tries)), tries)):
                if verdict:
                    self.count(f"{what}: {verdict[1]}", verdict[0])

    def count(self, text, kind):
        """One more try."""
        self.tried += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        for name, tries in (("harmed", self.harmed), ("lost", self.lost)):
            if kind == name:
                tries.append(text)

    def finish(self):
        """Prints the counts, and ends."""
        for name, tries in (("harmed", self.harmed), ("lost without a word", self.lost)):
            for text in tries[:MAX_SHOWN]:
                print(f"FAILED {name}: {text}")
        print(", ".join(f"{kind} {count}" for kind, count in sorted(self.kinds.items())))
        print(f"tried {self.tried}, harmed {len(self.harmed)}, "
              f"lost without a word {len(self.lost)}")
        failed = len(self.harmed) + len(self.lost)
        print(f"{self.tried - failed} passed, {failed} failed")
        sys.exit(1 if failed or not self.tried else 0)


def judge_recording(run, bare, trace, whole, without=()):
    """(verdict, text) of a run of a program that was to be recorded; `without`: tables that do not
    count."""
    if not run.behaves_like(bare):
        return "harmed", f"{run}; without miniprof: {bare}"
    rows = rows_of(trace) if trace.exists() else {}
    rows.update({table: whole[table] for table in without if rows})
    if rows == whole and not says_what_is_missing(run, trace):
        return "whole", ""
    if says_what_is_missing(run, trace):
        return "said" if rows != whole else "whole, with a word", ""
    return "lost", f"{sorted(set(whole.items()) ^ set(rows.items()))}, {run}"


# Two capture ranges with NVTX, copies, a set, an event, a thread that the first one waits for, and
# a graph. Before, between and after them is work that is not to be recorded.
STEPS_OF_RANGES = (
    "init name-thread=main push=setup alpha=3 copy-in=4096 sync pop {early} "
    "start push=one alpha=4 beta=2 copy-in=4096 copy-out=4096 set=4096 sync mark=here pop "
    "begin-thread=push-in=work:load,beta=3,sync,sleep=5,pop-in=work join-thread {late} "
    "gamma=2 sync stop alpha=2 make-graph=0 instantiate=0 launch=0 sync "
    "start push=two launch=0 launch=0 record=0 wait=0 sync-event=0 alloc=4096 free sync pop stop "
    "churn=2 destroy-exec=0 print=done exit=7")


def steps_of_ranges(early="", late=""):
    """The program's steps, with another one before the first range, or in its middle."""
    return STEPS_OF_RANGES.format(early=early, late=late).split()


def whole_rows(folder):
    """What an untroubled run records, which must be the same each time."""
    found = []
    for number in range(3):
        place = folder / f"whole{number}"
        place.mkdir()
        run = Run([STEPS, *steps_of_ranges()], place,
                  recording(place, MINIPROF_CAPTURE="range"))
        if run.code != 7 or run.words or run.dropped:
            sys.exit(f"the untroubled run: {run}")
        found.append(rows_of(place / "a.mpt"))
    if found[0] != found[1] or found[0] != found[2]:
        sys.exit(f"untroubled runs differ: {found}")
    return found[0]
