"""What the tests of the Python package share: an interpreter that has numpy and pandas, and the
package with what was built beside it, as a wheel has it.

Import it first: it may start the program anew with another interpreter.
"""
import csv
import glob
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("BUILD") or SOURCE / "build")
DEBIANS = "/usr/bin/python3"  # apt's numpy is for this one
csv.field_size_limit(1 << 24)

if not all(map(importlib.util.find_spec, ("numpy", "pandas"))):
    if not os.environ.get("PYTHON_TRIED") and os.path.exists(DEBIANS):
        os.environ["PYTHON_TRIED"] = "1"
        os.execv(DEBIANS, [DEBIANS, *sys.argv])
    print("no numpy and pandas: 'make deps' installs them")
    sys.exit(77)

STAGE = tempfile.TemporaryDirectory(prefix="miniprof-python.")
os.environ["XDG_CACHE_HOME"] = "/nonexistent"  # not the user's recording costs


def stage(folder, library=True):
    """The package in a folder, with links to what was built."""
    package = pathlib.Path(folder) / "miniprof"
    shutil.copytree(SOURCE / "tools/python/miniprof", package,
                    ignore=shutil.ignore_patterns("__pycache__"))
    (package / "bin").mkdir()
    (package / "lib").mkdir()
    (package / "bin/miniprof").symlink_to(BUILD / "miniprof")
    if library:
        (package / "lib/libmptrace.so.1").symlink_to(BUILD / "libmptrace.so.1")
    return str(folder)


def run_python(code, *arguments, path=None, **settings):
    """Runs code with the package: exit code, stdout, stderr."""
    environment = {**os.environ, "PYTHONPATH": path or STAGE.name, "PYTHONDONTWRITEBYTECODE": "1",
                   **settings}
    result = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=False,
                            capture_output=True, env=environment, stdin=subprocess.DEVNULL)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def command(*arguments):
    """What the command prints, without the package between."""
    return subprocess.run([BUILD / "miniprof", *arguments], check=False, capture_output=True,
                          stdin=subprocess.DEVNULL).stdout.decode("utf-8", "backslashreplace")


def command_rows(*arguments):
    """The rows of its CSV."""
    return list(csv.DictReader(command(*arguments).splitlines(True)))


def command_json(*arguments):
    """Its document."""
    return json.loads(command(*arguments))


def traces():
    """Every committed trace."""
    return sorted(glob.glob(str(SOURCE / "tests/data/**/*.mpt"), recursive=True)
                  + glob.glob(str(SOURCE / "docs/tutorial/*.1.mpt")))


if not os.environ.get("INSTALLED"):  # else it is where pip has put it
    sys.path.insert(0, stage(STAGE.name))
