"""What the comparisons of this folder read: the rows of a trace by tests/readers/mpt.py, which
shares no code with the command, and what the command prints. Each is read once for all comparisons
of a trace in one process; nobody may change what these functions return.
"""
import functools
import gc
import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "readers"))
import mpt  # pylint: disable=wrong-import-position

MOST_DIFFERENCES = 20
gc.disable()  # millions of rows, and nothing that refers to itself
caches = []


def kept(function):
    """A function whose results are kept until `forget`."""
    cached = functools.lru_cache(maxsize=None)(function)
    caches.append(cached)
    return cached


def forget():
    """Drops all that is kept."""
    for cached in caches:
        cached.cache_clear()


@kept
def trace(path):
    """The trace as the independent reader sees it."""
    return mpt.Trace(pathlib.Path(path).read_bytes(), check=True)


@kept
def columns(path):
    """{table: [name of a column]}"""
    return {name: [column for _, column, _ in described]
            for name, described in trace(path).tables.values()}


@kept
def tables(path):
    """{table: [row as a dictionary]}; tables that the trace lacks are empty."""
    names = columns(path)
    return {name: [dict(zip(names[name], row)) for row in rows]
            for name, rows in trace(path).rows.items()}


@kept
def run(*command):
    """What a command leaves; it may say that the trace is damaged (exit code 1)."""
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stderr.decode()}")
    return done


def output(*command):
    """What a command prints."""
    return run(*command).stdout.decode("utf-8", "surrogateescape")


@kept
def document(*command):
    """The JSON document that it prints."""
    return json.loads(output(*command))


@kept
def dumped(program, path, table, *options):
    """The rows of a table as `miniprof dump --json` prints them."""
    lines = run(program, "dump", "--json", *options, "--table", table, path).stdout.splitlines()
    return json.loads(b"[" + b",".join(lines) + b"]")


def main(usage, compare):
    """A program that prints differences; exit code 1 if there are any."""
    if len(sys.argv) != compare.__code__.co_argcount + 1:
        sys.exit(usage.split("\n\n")[1])
    differences = list(compare(*sys.argv[1:]))
    print("\n".join(differences[:MOST_DIFFERENCES]))
    print(f"{len(differences)} differences")
    sys.exit(bool(differences))
