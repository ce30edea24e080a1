#!/usr/bin/env python3
# Takes 60 s.
"""Every system call that the recorder makes is denied once, by seccomp, with EPERM, ENOSYS and
ENOMEM: before the program begins, before CUDA begins, and in a capture range. The program does what
it does under the same filter without miniprof, and nothing is lost without a word (sweep.py)."""
import errno
import itertools
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
import sweep

ERRORS = ("EPERM", "ENOSYS", "ENOMEM")
# The first four cannot fail. A thread that cannot exit goes on, with or without miniprof. Where a
# futex or rseq fails, glibc ends any process whose threads wait or begin, and the real driver's do.
NOT_DENIED = {"exit_group", "rt_sigreturn", "restart_syscall", "set_tid_address", "exit", "futex",
              "rseq"}


def command(moment, call, error):
    """The program with that call denied from that moment on."""
    deny = f"deny={call}:{getattr(errno, error)}"
    if moment == "exec":
        return [sweep.LIFE, deny, ";".join([f"exec-program={sweep.STEPS}",
                                            *sweep.steps_of_ranges()])]
    if moment == "init":
        return [sweep.STEPS, deny, *sweep.steps_of_ranges()]
    return [sweep.STEPS, *sweep.steps_of_ranges(late=deny)]


def recorded(what, folder, *options):
    """A run by `miniprof run`, which also says why nothing was recorded if the library could not be
    loaded. CUPTI comes at the start: later, the program's own file is looked at, and `steps` has a
    module of kernels that launch kernels."""
    return sweep.Run([sweep.MINIPROF, "run", *options, "--attach", "init", "--capture", "range",
                      "-o", folder / "a.mpt", "--", *command(*what)], folder,
                     {"SIMGPU_REAL_TIME": "1"})


def judge(what, folder, whole):
    """Runs it without miniprof and with it."""
    bare = sweep.Run(command(*what), folder, {"SIMGPU_REAL_TIME": "1"})
    run = recorded(what, folder, "--no-summary")
    if bare.code not in (7, None) and run.behaves_like(bare):
        return "the program does not run", ""  # nor would it be recorded to its end
    if run.behaves_like(bare) and not (folder / "a.mpt").exists():
        run.words += recorded(what, folder).words  # which has the last word
    # Nobody waits for a thread that cannot sleep.
    without = ("wait",) if what[1] == "clock_nanosleep" else ()
    return sweep.judge_recording(run, bare, folder / "a.mpt", whole, without)


def unknown_calls(folder, known):
    """What strace sees an untroubled run do and the table in steps/sandbox.c does not have."""
    log = folder / "strace"
    if not shutil.which("strace"):
        return set()
    settings = {f"-E{name}={value}" for name, value in sweep.recording(folder).items()}
    subprocess.run(["strace", "-f", "-qq", "-o", log, *settings, "-ELD_LIBRARY_PATH=" +
                    str(sweep.BUILD / "simgpu"), sweep.STEPS, *sweep.steps_of_ranges()],
                   capture_output=True, check=False)
    text = log.read_text(errors="replace") if log.exists() else ""
    return set(re.findall(r"^\d+ +(\w+)\(", text, re.MULTILINE)) - known - NOT_DENIED


def main():
    """The sweep."""
    tries = sweep.Sweep("syscalls", needs=(sweep.LIFE,))
    calls = subprocess.run([sweep.STEPS, "deniable"], capture_output=True, text=True, check=True,
                           env={"LD_LIBRARY_PATH": str(sweep.BUILD / "simgpu")}).stdout.split()
    calls = [call for call in calls if call not in NOT_DENIED]
    for call in sorted(unknown_calls(tries.folder, set(calls))):
        tries.count(f"{call} is not in tests/e2e/steps/sandbox.c", "lost")
    whole = sweep.whole_rows(tries.folder)
    tries.attempt(list(itertools.product(("exec", "init", "range"), calls, ERRORS)),
                  lambda what, folder: judge(what, folder, whole))
    tries.finish()


main()
