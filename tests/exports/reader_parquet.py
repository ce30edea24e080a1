"""Reads `miniprof export --to parquet --events` by hyparquet."""
import glob

import parquet_tables

FORMAT = "parquet"
KINDS = {"kernel", "copy", "set", "graph", "call", "range"}
EXTRA = ("--events", "--analysis", "off")

TABLES = {"kernel": "kernel", "copy": "memcpy", "set": "memset", "graph": "graph", "call": "api",
          "range": "nvtx"}


def rows(path):
    """(kind, name, domain, duration in ns) of each row."""
    run, = glob.glob(path + "/runs/job=*/date=*/host=*/rank=*")
    found = parquet_tables.read(run, *(
        f"{table}:dur_ns,name{',domain,mark' if kind == 'range' else ''}"
        for kind, table in TABLES.items()))
    for kind, table in TABLES.items():
        columns = found[table]
        for i, name in enumerate(columns["name"]):
            if kind == "range" and columns["mark"][i]:
                continue
            domain = columns["domain"][i] if kind == "range" else None
            yield kind, name, domain, int(columns["dur_ns"][i])
