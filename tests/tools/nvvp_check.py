#!/usr/bin/env python3
"""Compares a file of nvprof's with the trace it was made from: what its tables must hold is worked
out here from what tests/readers/mpt.py reads. Then asks what programs of others ask of such files.

usage: nvvp_check.py TRACE.mpt FILE.nvvp
"""
import pathlib
import sqlite3
import struct
import sys

import mpt

KERNEL = ("start", "end", "completed", "deviceId", "contextId", "streamId", "gridX", "gridY",
          "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
          "dynamicSharedMemory", "sharedMemoryExecuted", "localMemoryPerThread", "launchType",
          "correlationId", "name")
COPY = ("copyKind", "srcKind", "dstKind", "flags", "bytes", "start", "end", "deviceId",
        "contextId", "streamId", "correlationId")
CALL = ("cbid", "start", "end", "processId", "threadId", "correlationId", "returnValue")


class Known:
    """The rows of a trace as dictionaries, with times since 1970."""

    def __init__(self, path):
        trace = mpt.Trace(pathlib.Path(path).read_bytes())
        assert not trace.damage, trace.damage
        self.header = trace.header
        self.offset = int(trace.header["start_realtime_ns"]) - int(trace.header["start_clock_ns"])
        self.rows = {}
        for name, columns in trace.tables.values():
            keys = [column for _, column, _ in columns]
            kinds = {column: kind for _, column, kind in columns}
            self.rows[name] = [self.convert(dict(zip(keys, row)), kinds)
                               for row in trace.rows[name]]
        self.by_id = {name: {row["id"]: row for row in rows}
                      for name, rows in self.rows.items() if rows and "id" in rows[0]}

    def convert(self, row, kinds):
        """Times moved, and the end of what has a duration."""
        for column, kind in kinds.items():
            if kind == "time" and row[column]:
                row[column] += self.offset
        if "duration" in row:
            row["end"] = row["start"] + row["duration"]
        return row

    def stream(self, row):
        """Device, context and stream of a row."""
        stream = self.by_id["stream"][row["stream"]]
        return stream["device"], stream["context"], stream["stream"]

    def tid(self, row):
        """The system's id of a row's thread."""
        return self.by_id["thread"][row["thread"]]["tid"] if row["thread"] else 0


def rows_of(db, table, columns):
    """Rows of a table of nvprof's, in order, with their numbers."""
    names = ", ".join(columns)
    return db.execute(f"SELECT _id_, {names} FROM CUPTI_ACTIVITY_KIND_{table} "
                      "ORDER BY _id_").fetchall()


def expect(what, got, expected):
    """Fails with the first difference."""
    for at, (one, other) in enumerate(zip(got, expected)):
        assert one == other, f"{what}, row {at}: {one} instead of {other}"
    assert len(got) == len(expected), f"{what}: {len(got)} rows instead of {len(expected)}"


def check_work(db, known):
    kernels = []
    for number, row in enumerate(known.rows["kernel"], 1):
        shape = known.by_id["shape"][row["shape"]]
        kernels.append((number, row["start"], row["end"], row["end"], *known.stream(row),
                        *(shape[key] for key in (
                            "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
                            "registers", "static_shared_memory", "dynamic_shared_memory",
                            "shared_memory_executed", "local_memory", "launch_type")),
                        row["correlation"], shape["kernel"]))
    expect("kernels", rows_of(db, "CONCURRENT_KERNEL", KERNEL), kernels)
    copies = [(number, row["kind"], row["source"], row["target"], row["flags"], row["bytes"],
               row["start"], row["end"], *known.stream(row), row["correlation"])
              for number, row in enumerate(known.rows["copy"], 1)]
    expect("copies", rows_of(db, "MEMCPY", COPY), [row for row in copies if row[1] != 10])
    expect("peer copies", rows_of(db, "MEMCPY2", COPY), [row for row in copies if row[1] == 10])
    expect("sets", rows_of(db, "MEMSET", ("value", "bytes", "start", "end", "streamId")),
           [(number, row["value"], row["bytes"], row["start"], row["end"], known.stream(row)[2])
            for number, row in enumerate(known.rows["set"], 1)])


def check_calls(db, known):
    pid = int(known.header["pid"])
    calls = {1: [], 2: []}
    for number, row in enumerate(known.rows["call"], 1):
        function = known.by_id["function"][row["function"]]
        calls[function["api"]].append((number, function["cbid"], row["start"], row["end"], pid,
                                       known.tid(row), row["correlation"], row["result"]))
    expect("runtime calls", rows_of(db, "RUNTIME", CALL), calls[1])
    expect("driver calls", rows_of(db, "DRIVER", CALL), calls[2])
    waits = [row for row in known.rows["sync"] if 1 <= row["kind"] <= 4]
    got = rows_of(db, "SYNCHRONIZATION", ("type", "start", "end", "correlationId", "streamId"))
    expect("waits", got, [(number, row["kind"], row["start"], row["end"], row["correlation"],
                           row["stream"]) for number, row in enumerate(waits, 1)])
    records = [row for row in known.rows["sync"] if row["kind"] == 5]
    expect("event records", rows_of(db, "CUDA_EVENT", ("correlationId", "eventId")),
           [(number, row["correlation"], row["event"]) for number, row in enumerate(records, 1)])


def check_unified(db, known):
    """nvprof calls a page fault of the CPU that has an end an invalid record."""
    moments = (3, 5, 7)  # CUPTI's kinds: CPU page faults, thrashing, remote maps
    rows = [(number, row["kind"], row["value"], row["start"],
             0 if row["kind"] in moments else row["end"], row["address"])
            for number, row in enumerate(known.rows["unified"], 1)]
    expect("UNIFIED_MEMORY_COUNTER", rows_of(db, "UNIFIED_MEMORY_COUNTER", (
        "counterKind", "value", "start", "end", "address")), rows)


def check_markers(db, known):
    pid, stacks, started, last, rows = int(known.header["pid"]), {}, {}, 0, []
    for number, row in enumerate(known.rows["nvtx"], 1):
        kind = row["kind"]
        stack = stacks.setdefault((row["thread"], row["domain"]), [])
        if kind == 2 and stack:
            marker = stack.pop()
        elif kind == 4 and row["range"] in started:
            marker = started.pop(row["range"])
        else:
            last = marker = last + 1
            if kind == 1:
                stack.append(marker)
            elif kind == 3:
                started[row["range"]] = marker
        rows.append((number, {0: 1, 1: 2, 2: 4, 3: 2, 4: 4}[kind], row["time"], marker, 2,
                     struct.pack("<3I", pid, known.tid(row), 0), row["name"], row["domain"]))
    expect("markers", rows_of(db, "MARKER", ("flags", "timestamp", "id", "objectKind", "objectId",
                                             "name", "domain")), rows)


def check_tables_of_ours(db, known):
    """Those that hold whole rows have as many as the trace; the header is there line by line."""
    there = {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for name, rows in known.rows.items():
        table = f"MINIPROF_{name.upper()}"
        if table in there and name != "string":
            count, = db.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert count == len(rows), f"{table}: {count} rows instead of {len(rows)}"
    assert dict(db.execute("SELECT key, value FROM MINIPROF_PROPERTY")) == known.header
    strings = dict(db.execute("SELECT _id_, value FROM StringTable"))
    texts = {row["id"]: row["text"] for row in known.rows["string"]}
    assert strings == {0: "-- null --"} | {
        key: text.decode() if isinstance(text, bytes) else text for key, text in texts.items()}


def ask_as_others(db, known):
    """What programs that read nvprof's files ask for; columns by name, as they do."""
    db.row_factory = sqlite3.Row
    strings = {row["id"]: row["value"] for row in
               db.execute("SELECT _id_ AS id, value FROM StringTable")}
    pairs = db.execute(
        "SELECT b.id AS marker_id, b.name, b.timestamp AS start_time, e.timestamp AS end_time "
        "FROM CUPTI_ACTIVITY_KIND_MARKER AS b INNER JOIN CUPTI_ACTIVITY_KIND_MARKER AS e "
        "ON b.id = e.id WHERE b.name != 0 AND e.name = 0").fetchall()
    named = [row for row in known.rows["nvtx"] if row["kind"] in (1, 3) and row["name"]]
    ended = [row for row in known.rows["nvtx"] if row["kind"] in (2, 4)]
    assert len(pairs) == min(len(named), len(ended)), (len(pairs), len(named), len(ended))
    assert all(row["start_time"] <= row["end_time"] and strings[row["name"]] for row in pairs)
    total = sum(row["end"] - row["start"] for row in
                db.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"))
    assert total == sum(row["duration"] for row in known.rows["kernel"])
    launched, = db.execute(
        "SELECT count(DISTINCT k._id_) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k INNER JOIN "
        "(SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME UNION ALL SELECT correlationId "
        "FROM CUPTI_ACTIVITY_KIND_DRIVER) AS r ON k.correlationId = r.correlationId").fetchone()
    calls = {row["correlation"] for row in known.rows["call"]}
    assert launched == sum(row["correlation"] in calls for row in known.rows["kernel"])
    for table in ("KERNEL", "EVENT", "METRIC", "MEMCPY2", "OVERHEAD", "NAME", "DEVICE"):
        db.execute(f"SELECT * FROM CUPTI_ACTIVITY_KIND_{table}").fetchall()
    devices = db.execute("SELECT d.id, s.value AS name, hex(uuid) AS uuid FROM "
                         "CUPTI_ACTIVITY_KIND_DEVICE d JOIN StringTable s ON d.name = s._id_")
    assert [(row["id"], row["uuid"]) for row in devices] == [
        (row["id"], f"{row['uuid_high']:016X}{row['uuid_low']:016X}")
        for row in known.rows["device"]]


def main():
    known = Known(sys.argv[1])
    db = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert db.execute("SELECT version FROM Version").fetchall() == [(12,)]
    for check in (check_work, check_calls, check_unified, check_markers,
                  check_tables_of_ours, ask_as_others):
        check(db, known)


if __name__ == "__main__":
    main()
