"""Reads `miniprof export --to nsys-parquet` by hyparquet."""
import parquet_tables

FORMAT = "nsys-parquet"
KINDS = {"kernel", "copy", "set", "graph", "call", "range"}
NAMES = False

KERNEL = "CUPTI_ACTIVITY_KIND_"
TABLES = {"kernel": KERNEL + "KERNEL", "copy": KERNEL + "MEMCPY", "set": KERNEL + "MEMSET",
          "graph": KERNEL + "GRAPH_TRACE", "call": KERNEL + "RUNTIME", "range": "NVTX_EVENTS"}
FURTHER = {"copy": ",copyKind", "range": ",eventType"}


def rows(path):
    """(kind, name, domain, duration in ns) of each row."""
    found = parquet_tables.read(path, *(f"{table}:start,end{FURTHER.get(kind, '')}"
                                        for kind, table in TABLES.items()))
    for kind, table in TABLES.items():
        columns = found.get(table, {"start": []})
        for i, start in enumerate(columns["start"]):
            if kind == "copy" and int(columns["copyKind"][i]) >= 11:
                continue
            if kind == "range" and int(columns["eventType"][i]) not in (59, 60):
                continue
            yield kind, None, None, int(columns["end"][i]) - int(start)
