"""What the invariants share: a count of comparisons, runs of the command, and documents compared
value by value."""
import collections
import functools
import json
import math
import os
import subprocess

import laws

ENVIRONMENT = dict(os.environ, LC_ALL="C", XDG_CACHE_HOME="/nonexistent")
SHORT = bool(os.environ.get("LAWS_SHORT"))
# Rounding. JSON prints 12 digits of what is no whole number, so each of two numbers may be wrong
# by half of the last one.
DIGITS = 1e-11

Subject = collections.namedtuple("Subject", "name path size job")
# path: of a trace, of a folder if it is a job, or several of them.


class Check:
    """What a law compared, and what was wrong."""

    def __init__(self):
        self.compared, self.wrong = 0, []

    def holds(self, what, condition, found=""):
        self.compared += 1
        if not condition:
            self.wrong.append(f"{what}: {found}")

    def equal(self, what, expected, found):
        if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
            at = [number for number, (a, b) in enumerate(zip(expected, found)) if a != b]
            self.holds(what, not at, at and f"{len(at)} of {len(found)}, as number {at[0] + 1}: "
                       f"{shown(expected[at[0]])} expected, {shown(found[at[0]])} found")
            return
        self.holds(what, expected == found, f"{shown(expected)} expected, {shown(found)} found")

    def near(self, what, expected, found, relative=DIGITS):
        self.holds(what, expected == found or None not in (expected, found) and
                   math.isclose(expected, found, rel_tol=relative),
                   f"{shown(expected)} expected, {shown(found)} found")


def shown(value):
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    return text if len(text) < 120 else text[:117] + "..."


# ---- Runs ----

@functools.lru_cache(maxsize=40)
def printed(*arguments):
    """What the command prints; None: it has nothing to say of that (exit code 2)."""
    result = subprocess.run([laws.MINIPROF, *arguments], cwd=laws.DATA, env=ENVIRONMENT,
                            check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if result.returncode not in (0, 1, 2):
        raise RuntimeError(f"miniprof {' '.join(arguments)}: exit code {result.returncode}: "
                           f"{result.stderr.decode(errors='replace')}")
    return None if result.returncode == 2 else result.stdout


def ask(*arguments):
    """The document of a command line, the path at last; None: there is none."""
    text = printed(arguments[0], "--json", *arguments[1:])
    return json.loads(text) if text else None


def lengths(windows, key="window_ns"):
    return [one[key] for one in windows]


def deps(*arguments):
    """The document of deps; None too if it has no windows, as where kernels launch kernels of which
    there are no records."""
    found = ask("deps", *arguments)
    return found if found and found["windows"] else None


def ways(path, most=4):
    """What --iterations takes, besides auto."""
    found = ask("iters", "--candidates", path)
    if not isinstance(found, dict):
        return []
    return [one["by"] for one in found["candidates"]][:most]


def chosen_way(path):
    """The way that auto takes, under its name."""
    found = ask("iters", "--candidates", path)
    return next((one["by"] for one in found["candidates"] if one["chosen"]), None)


def in_data(path):
    return os.path.join(laws.DATA, path)


# ---- Documents ----

class Rounded(float):
    """A number that may be off by a known amount."""
    by = 0


def without(value, keys):
    """A document without the values of some keys, however deep."""
    if isinstance(value, dict):
        return {key: without(one, keys) for key, one in value.items() if key not in keys}
    return [without(one, keys) for one in value] if isinstance(value, list) else value


def compare(check, what, before, after, expected=lambda path, value: value, path=""):
    """Each value of a document against that of another one. `expected` says what a value of the
    first is in the second, or `...`: anything."""
    if isinstance(before, dict) and isinstance(after, dict):
        check.equal(f"{what}{path}, keys", sorted(before), sorted(after))
        for key in before.keys() & after.keys():
            compare(check, what, before[key], after[key], expected, f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list):
        check.equal(f"{what}{path}, rows", len(before), len(after))
        for number, (one, other) in enumerate(zip(before, after)):
            compare(check, what, one, other, expected, f"{path}/{number}")
    else:
        value = expected(path, before)
        if isinstance(value, Rounded):
            check.holds(what + path, abs(value - after) <= value.by + DIGITS * abs(value),
                        f"{shown(value)} +- {value.by} expected, {shown(after)} found")
        elif value is not ...:
            rounded = any(isinstance(number, float) for number in (value, after))
            (check.near if rounded and number_or_none(value) and number_or_none(after)
             else check.equal)(what + path, value, after)


def number_or_none(value):
    return value is None or isinstance(value, (int, float)) and not isinstance(value, bool)
