"""Parquet files of an export as Python's lists, by hyparquet under node."""
import json
import os
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))


def modules():
    """Where `make deps` has put hyparquet; skips the test if it has not."""
    for build in (os.environ.get("BUILD", SOURCE + "/build"), SOURCE + "/build"):
        folder = os.path.join(build, "exports-tests", "node_modules")
        if os.path.isdir(os.path.join(folder, "hyparquet")):
            return folder
    raise unittest.SkipTest("no hyparquet (npm and 'make deps' fetch it)")


def read(folder, *wanted):
    """{TABLE: {COLUMN: [values]}}; under "" [name, type, repetition] of each column. Whole numbers
    of 64 bits are text. `wanted`: TABLE:COLUMN,... of what is read; without it all."""
    environment = {**os.environ, "EXPORT_TEST_MODULES": modules()}
    done = subprocess.run(["node", HERE + "/parquet_tables.mjs", folder, *wanted],
                          stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(done.stdout)
