"""Reads `miniprof export --to nsys-sqlite` by Python's sqlite3, as scripts for nsys do."""
import sqlite3
import unittest

FORMAT = "nsys-sqlite"
KINDS = {"kernel", "copy", "set", "graph", "call", "range"}
NAMES = False  # nsys's: names of copies are an enumeration, of calls have a suffix

QUERIES = {
    "kernel": 'SELECT "end" - start FROM CUPTI_ACTIVITY_KIND_KERNEL',
    "copy": 'SELECT "end" - start FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind < 11',
    "set": 'SELECT "end" - start FROM CUPTI_ACTIVITY_KIND_MEMSET',
    "graph": 'SELECT "end" - start FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE',
    "call": 'SELECT "end" - start FROM CUPTI_ACTIVITY_KIND_RUNTIME',
    "range": 'SELECT "end" - start FROM NVTX_EVENTS WHERE eventType IN (59, 60)',
}


def rows(path):
    """(kind, name, domain, duration in ns) of each row."""
    with open(path, "rb") as file:
        if file.read(15) != b"SQLite format 3":
            raise unittest.SkipTest("a build without SQLite")
    connection = sqlite3.connect(path)
    tables = {name for name, in connection.execute("SELECT name FROM sqlite_master")}
    for kind, query in QUERIES.items():
        if query.split(" FROM ")[1].split()[0] in tables:
            for duration, in connection.execute(query):
                yield kind, None, None, duration
    connection.close()
