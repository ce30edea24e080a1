"""Traces that are made of others: all rows are read, changed and written anew.

Rows are read by tests/readers/mpt.py, and written here after docs/trace-format.md: nothing of src/
is between. What a column is (a time, a duration, a number that refers to another table) is what
section 8 of that document says of it. So a new column of a known type needs no change here.

    copy = transform.shifted(transform.read(path), 10 ** 12)
    transform.write(copy, other_path)

No function changes the trace that it is given.
"""
import collections
import ctypes
import os
import pathlib
import random
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "readers"))
import mpt  # noqa: E402 pylint: disable=wrong-import-position

Column = collections.namedtuple("Column", "number name kind target")
# number: its id in a chunk; kind: as the document has it; target: the table that a `ref` is to.
Trace = collections.namedtuple("Trace", "header rows lost closed")
# header: {key: value}; rows: {table: [tuple of a row's values]}; lost: records that are missing;
# closed: whether the file ends with an index, as that of a program that ended in order.
MASK = mpt.MASK
NOBODY = 0xFFFFFFFF
MAX_ROWS = 65536
# Tables whose ids a user knows from elsewhere; a stack has a greater number than its caller; lines
# of equal time stand in the order of their frames' numbers.
KNOWN_IDS = {"device", "stack", "frame"}
# Numbers that a second copy of the rows must not have again; 0 is none.
OWN_NUMBERS = {("nvtx", "range"), ("nvtx", "extended"), ("payload", "number"),
               ("collective", "number"), ("collective", "carrier")}
PER_RANGE = {("capture", "range"), ("loss", "range")}
# Lines of the header that are times of the trace's clock.
HEADER_TIMES = {"start_clock_ns", "flight_trigger_ns", "flight_from_ns", "flight_until_ns",
                "flight_step_start_ns"}
HEADER_DURATIONS = {"flight_step_ns", "flight_step_limit_ns"}
TEXT_FIELD = 4                # field_type of a payload that is a text
BEGIN, END = 1, 2             # capture_kind
PROFILER_API = 1              # capture_reason
RUNTIME = 1                   # api
EVENT_QUERY = 140             # CUPTI's callback id of cudaEventQuery
LAUNCH, SYNCHRONIZE = 211, 131  # of cudaLaunchKernel and cudaStreamSynchronize
STREAM_SYNCHRONIZE = 3        # sync_kind
WORK = ("kernel", "copy", "set", "graph", "call")


def _columns():
    """{table: [Column]} of the document, in its order."""
    text = mpt.DOCUMENT.read_text(encoding="utf-8").split("\n## 8. Tables\n")[1]
    found = {}
    for section in re.split(r"^### ", text.split("\n## 9. ")[0], flags=re.M)[1:]:
        table = re.match(r"\d+ `(\w+)`", section).group(1)
        found[table] = [Column(int(number), name, kind, target) for number, name, kind, target in
                        re.findall(r"^\| (\d+) \| `(\w+)` \| (\w+)(?: `(\w+)`)?", section, re.M)]
    return found


COLUMNS = _columns()
TABLES = mpt.read_tables()
IDS = {name: number for number, (name, _) in TABLES.items()}


def place(table, name):
    """Where a column stands in a row."""
    return next(at for at, column in enumerate(COLUMNS[table]) if column.name == name)


def read(path):
    found = mpt.Trace(pathlib.Path(path).read_bytes(), TABLES)
    if found.damage:
        raise ValueError(f"{path}: {found.damage}")
    return Trace(found.header, found.rows, found.lost, found.index is not None)


# ---- Writing (sections 3 to 7 of the document) ----

class Zstd:
    """The system's libzstd; its frames have a checksum and their content's size."""
    CHECKSUM_FLAG = 201

    def __init__(self):
        self.lib = ctypes.CDLL("libzstd.so.1")
        self.lib.ZSTD_createCCtx.restype = ctypes.c_void_p
        self.lib.ZSTD_compressBound.restype = self.lib.ZSTD_compress2.restype = ctypes.c_size_t
        self.lib.ZSTD_CCtx_setParameter.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_int
        self.lib.ZSTD_compress2.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t,
                                            ctypes.c_char_p, ctypes.c_size_t)
        self.lib.ZSTD_compressBound.argtypes = (ctypes.c_size_t,)
        self.context = self.lib.ZSTD_createCCtx()
        self.lib.ZSTD_CCtx_setParameter(self.context, self.CHECKSUM_FLAG, 1)

    def compress(self, content):
        room = ctypes.create_string_buffer(self.lib.ZSTD_compressBound(len(content)))
        size = self.lib.ZSTD_compress2(self.context, room, len(room), content, len(content))
        return room.raw[:size]


_ZSTD = Zstd()


class _Leb128(dict):
    """{number: its LEB128}."""

    def __missing__(self, number):
        left, out = number, bytearray()
        while left > 127:
            out.append(left & 127 | 128)
            left >>= 7
        out.append(left)
        self[number] = bytes(out)
        return self[number]


def stream(numbers):
    """A stream: CONSTANT or BYTES."""
    leb = _Leb128()
    if numbers and numbers.count(numbers[0]) == len(numbers):
        return b"\0" + leb[numbers[0]]
    return b"\1" + b"".join([leb[number] for number in numbers])


def zigzag(number):
    number = mpt.signed(number & MASK)
    return 2 * number if number >= 0 else -2 * number - 1


def entry(number, codec, partner, data, grid=b""):
    return (bytes((number, codec, 0, 0, 0, 0, partner)) + grid + _Leb128()[len(data)], data)


NO_CORRECTIONS = b"\0\0"
NANOSECONDS = b"\0" + _Leb128()[1 << 32] + b"\0"   # the grid: anchor 0, 1 ns a tick


def interval_entries(column, starts, partner, durations):
    """START and, if there are durations, its SPAN, without prediction: a gap counts from the end
    of the row before."""
    ends = [start + length & MASK for start, length in zip(starts, durations or [0] * len(starts))]
    gaps = [zigzag(start - end) for start, end in zip(starts, [0] + ends)]
    yield entry(column.number, mpt.START, partner.number if partner else 0,
                stream(gaps) + NO_CORRECTIONS, NANOSECONDS)
    if partner:
        yield entry(partner.number, mpt.SPAN, column.number,
                    stream([zigzag(length) for length in durations]) + NO_CORRECTIONS)


def entries(table, values):
    """The directory entries and data of a chunk's columns; those that are 0 are left out."""
    partners = partner_of(table)
    for at, column in enumerate(COLUMNS[table]):
        if column.kind == "time":
            span = partners[at]
            yield from interval_entries(column, values[at], span and COLUMNS[table][span],
                                        span and values[span])
        elif column.kind == "text":
            texts = [text.encode("utf-8", "surrogateescape") for text in values[at]]
            yield entry(column.number, mpt.TEXT, 0, stream(list(map(len, texts))) + b"".join(texts))
        elif at not in partners.values() and any(values[at]):
            yield entry(column.number, mpt.NUMBER, 0, stream(list(values[at])))


def partner_of(table):
    """{place of a START: place of its SPAN, or None}."""
    columns = COLUMNS[table]
    return {at: at + 1 if [one.kind for one in columns[at + 1:at + 2]] == ["duration"] else None
            for at, column in enumerate(columns) if column.kind == "time"}


def time_bounds(table, rows):
    """Least time that is not 0 and greatest end of such rows (section 4); (0, 0): there is none."""
    timed = [(row[at], row[at] + (row[span] if span else 0) & MASK)
             for at, span in partner_of(table).items() for row in rows if row[at]]
    return (min(begin for begin, _ in timed), max(end for _, end in timed)) if timed else (0, 0)


def frame(body):
    return (struct.pack("<II", 0x184D2A5D, len(body) + 8) + body +
            struct.pack("<Q", mpt.xxh64(body)))


def chunk(sequence, table, rows, lost):
    """Bytes of the chunk, and what the index says of it after the offset."""
    values = [list(column) for column in zip(*rows)]
    found = list(entries(table, values))
    content = (_Leb128()[len(found)] + b"".join(head for head, _ in found) +
               b"".join(data for _, data in found))
    packed = _ZSTD.compress(content)
    times = time_bounds(table, rows)
    head = struct.pack("<IHHIIIIQQQ", sequence, IDS[table], 0, len(rows), len(content),
                       len(packed), 0, *times, lost)
    return (frame(b"MPCHUNK\0" + head) + packed,
            (len(rows), len(packed), IDS[table], 0, len(content), *times))


def index(listed, lost):
    body = b"MPINDEX\0" + struct.pack("<IIQ", len(listed), 0, lost)
    body += b"".join(struct.pack("<QIIHHIQQ", *one) for one in listed)
    size = len(body) + 24
    return (struct.pack("<II", 0x184D2A5D, size - 8) + body +
            struct.pack("<QQ", mpt.xxh64(body), size))


def write(trace, path):
    """Definitions come before the rows that refer to them: tables in the order of the document."""
    text = "".join(f"{key}={value}\n" for key, value in trace.header.items()).encode()
    out = frame(b"MPTRACE\0" + struct.pack("<4I", 1, 0, len(text), 0) + text)
    listed = []
    for table in COLUMNS:
        rows = trace.rows.get(table, [])
        for at in range(0, len(rows), MAX_ROWS):
            data, known = chunk(len(listed), table, rows[at:at + MAX_ROWS], trace.lost)
            listed.append((len(out), *known))
            out += data
    pathlib.Path(path).write_bytes(out + (index(listed, trace.lost) if trace.closed else b""))
    return str(path)


# ---- Changes ----

def changed(trace, change, header=None):
    """`change` is asked for each column: (table, column) gives a function of a value, or None."""
    rows = {}
    for table, old in trace.rows.items():
        columns = list(zip(*old))
        for at, column in enumerate(COLUMNS[table] if old else ()):
            function = change(table, column)
            if function:
                columns[at] = [function(value) for value in columns[at]]
        rows[table] = list(zip(*columns))
    return trace._replace(header=header or trace.header, rows=rows)


def known(function):
    """The function, for values that are known: 0 stays 0."""
    return lambda value: function(value) & MASK if value else 0


def header_with(trace, function, names):
    return {key: str(function(int(value))) if key in names and value else value
            for key, value in trace.header.items()}


def unchanged(trace):
    """The same rows; only their encoding and the order of the tables differ."""
    return trace


def shifted(trace, by):
    """All times are `by` ns later. The moment since 1970 at which recording began is the same."""
    later = known(lambda value: value + by)
    return changed(trace, lambda _, column: later if column.kind == "time" else None,
                   header_with(trace, lambda value: value + by, HEADER_TIMES))


def without_costs(trace):
    """A trace that does not say which CUPTI recorded it, so what that cost is not known."""
    return trace._replace(header={key: value for key, value in trace.header.items()
                                  if key != "cupti_version"})


def with_costs(trace):
    """A trace that says what recording costs: the same of each launch, however many there are."""
    names = dict(row[:2] for row in trace.rows["string"])
    gpus = {names.get(row[place("device", "name")]) for row in trace.rows["device"]}
    versions = [trace.header.get(key) for key in ("driver_version", "cupti_version")]
    if len(gpus) != 1 or None in gpus or not all(versions):
        return without_costs(trace)
    costs = f"gpu={gpus.pop()};driver={versions[0]};cupti={versions[1]};launch_in=1500"
    return trace._replace(header=trace.header | {"recording_costs": costs})


def scaled(trace, factor):
    """All times and durations are `factor` times as great."""
    longer = known(lambda value: value * factor)
    return changed(trace, lambda _, column: longer if column.kind in ("time", "duration") else None,
                   header_with(trace, lambda value: value * factor,
                               HEADER_TIMES | HEADER_DURATIONS))


def correlated(trace, function):
    """Other correlation ids."""
    other = known(function)
    return changed(trace, lambda _, column: other if column.name == "correlation" else None)


def reversed_ids(trace, table):
    """{old id: new id} of a table: the first is the last."""
    ids = sorted({row[0] for row in trace.rows[table]})
    return dict(zip(ids, reversed(ids)))


def renumbered(trace, correlations=1000):
    """Ids of strings, threads, functions, streams and all else that rows refer to are other ones;
    correlation ids are greater. What a user may know, as CUPTI's ids of streams, stays."""
    new = {table: reversed_ids(trace, table) for table, columns in COLUMNS.items()
           if columns[0].name == "id" and table not in KNOWN_IDS}

    def change(table, column):
        target = table if column.name == "id" else column.target
        if target in new:
            return lambda value, ids=new[target]: ids.get(value, value)
        return None

    other = correlated(changed(trace, change), lambda value: value + correlations)
    return with_payload_texts(other, new["string"])


def with_payload_texts(trace, strings):
    """Values of extended payloads that are texts are ids of strings, which no column says."""
    texts = {row[0] for row in trace.rows["payload_field"]
             if row[place("payload_field", "type")] == TEXT_FIELD}
    rows = [(field, number, strings.get(value, value) if field in texts else value)
            for field, number, value in trace.rows["payload"]]
    return trace._replace(rows={**trace.rows, "payload": rows})


def spans(trace):
    """Begin and end of each capture range, [(begin, end)]; without any, of all work and calls."""
    found = collections.defaultdict(dict)
    for number, kind, time, *_ in trace.rows["capture"]:
        found[number][kind] = time
    whole = extent(trace, WORK)
    return [(one.get(BEGIN, whole[0]), one.get(END, whole[1]))
            for _, one in sorted(found.items())] or [whole]


def extent(trace, tables=tuple(COLUMNS)):
    """The first and the last moment of what was recorded."""
    bounds = [time_bounds(table, trace.rows[table]) for table in tables]
    return min(begin for begin, _ in bounds if begin), max(end for _, end in bounds)


def added(trace, **rows):
    return trace._replace(rows={**trace.rows, **{
        table: trace.rows[table] + more for table, more in rows.items()}})


def next_id(trace, table):
    return max((row[0] for row in trace.rows[table]), default=0) + 1


def row_of(table, **values):
    """A row; columns that are not named are 0 or empty."""
    names = {column.name for column in COLUMNS[table]}
    assert values.keys() <= names, f"{table}: {values.keys() - names}"
    return tuple(values.get(column.name, "" if column.kind == "text" else 0)
                 for column in COLUMNS[table])


QUERY_TIME = 200   # ns that a query takes


def with_poller(trace):
    """One more thread, which asks for an event at the begin and near the end of each range. The
    correlation ids of its calls lie between those of the calls around, as a recorder would have
    them: all others are doubled."""
    trace = correlated(trace, lambda value: value * 2)
    name, function, thread = (next_id(trace, table) for table in ("string", "function", "thread"))
    tid = max(row[place("thread", "tid")] for row in trace.rows["thread"]) + 1
    bounds = [(row[2], row[3]) for row in sorted(trace.rows["capture"], key=lambda row: row[2])]
    calls = []
    for begin, end in spans(trace):
        for start in (begin + 1, end - QUERY_TIME - 1):
            before = [correlation for time, correlation in bounds if time <= start]
            after = [correlation for time, correlation in bounds if time > start]
            own = before[-1] + 1 if before and start == begin + 1 else (
                after[0] - 1 if after and after[0] else last_correlation(trace) + 1 + len(calls))
            calls.append(row_of("call", thread=thread, function=function, start=start,
                                duration=QUERY_TIME, correlation=own))
    return added(trace, string=[(name, "cudaEventQuery_v3020")],
                 function=[row_of("function", id=function, api=RUNTIME, cbid=EVENT_QUERY,
                                  name=name)],
                 thread=[row_of("thread", id=thread, tid=tid)], call=calls)


def last_correlation(trace):
    return max((row[place(table, "correlation")] for table, rows in trace.rows.items()
                for row in rows if any(column.name == "correlation" for column in COLUMNS[table])),
               default=0)


def bracketed(trace):
    """With a capture range around all, if there is none; a range that was never ended ends with
    what was recorded."""
    (begin, end), numbers = extent(trace), {}
    for number, kind, *_ in trace.rows["capture"]:
        numbers.setdefault(number, set()).add(kind)
    more = [row_of("capture", range=number, kind=END, time=end + 1,
                   correlation=last_correlation(trace) + 1)
            for number, kinds in numbers.items() if END not in kinds]
    if not numbers:
        more = [row_of("capture", range=1, kind=BEGIN, time=begin - 1),
                row_of("capture", range=1, kind=END, time=end + 1,
                       correlation=last_correlation(trace) + 1)]
    return added(trace, capture=more)


def twice(trace, between=1000000):
    """The trace, and `between` ns after its end all of it again, as further capture ranges of the
    same process: definitions are there once. Returns it with the number of ranges of one copy."""
    begin, end = extent(trace)
    by = end - begin + between
    last = last_correlation(trace)
    ranges = max(row[0] for row in trace.rows["capture"])
    greatest = {(table, name): max((row[place(table, name)] for row in trace.rows[table]),
                                   default=0) for table, name in OWN_NUMBERS}

    def change(table, column):
        key = table, column.name
        if IDS[table] < IDS["kernel"]:
            return None
        if column.kind == "time":
            return known(lambda value: value + by)
        if column.name == "correlation":
            return known(lambda value: value + last)
        if key in PER_RANGE:
            return lambda value: value + ranges
        if key in OWN_NUMBERS:
            return known(lambda value, most=greatest[key]: value + most)
        return None

    copy = changed(trace, change)
    # The process goes on between the copies, and the second one has calls before it.
    capture = ([row[:4] + (row[4] if row[1] == BEGIN else PROFILER_API,)
                for row in trace.rows["capture"]] +
               [row[:3] + ((row[3] or last, PROFILER_API) if row[1] == BEGIN else row[3:])
                for row in copy.rows["capture"]])
    double = added(trace, **{table: more for table, more in copy.rows.items()
                             if IDS[table] >= IDS["kernel"]})
    return double._replace(rows={**double.rows, "capture": capture}), ranges


# ---- Generated ones ----

class Program:
    """A program of several threads that launch kernels, each on a stream of its own, and wait for
    them. Times are random; no two are the same program."""

    def __init__(self, seed):
        self.random, self.correlation, self.seed = random.Random(seed), 0, seed
        self.rows = {table: [] for table in COLUMNS}
        names = ["cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020", "first", "second",
                 "Generated GPU"]
        self.rows["string"] = list(enumerate(names, 1))
        self.rows["device"] = [row_of("device", id=0, name=5, multiprocessors=8, sm_warps=64,
                                      warp_threads=32, sm_blocks=16, compute_major=9)]
        self.rows["function"] = [row_of("function", id=number, api=RUNTIME, cbid=cbid, name=number)
                                 for number, cbid in ((1, LAUNCH), (2, SYNCHRONIZE))]
        self.rows["shape"] = [
            row_of("shape", id=number, kernel=number + 2, grid_x=number, grid_y=1, grid_z=1,
                   block_x=64, block_y=1, block_z=1) for number in (1, 2)]
        self.rows["context_info"] = [row_of("context_info", context=1, null_stream=7)]

    def call(self, thread, function, start, duration):
        self.correlation += 1
        self.rows["call"].append(row_of("call", thread=thread, function=function, start=start,
                                        duration=duration, correlation=self.correlation))

    def request(self, thread, now, free):
        """Two to four kernels and the wait for them; when the thread and the stream go on."""
        for number in range(self.random.randint(2, 4)):
            length = self.random.randint(2000, 6000)
            self.call(thread, 1, now, length)
            begin = max(now + length + self.random.randint(1000, 4000), free + 800)
            free = begin + self.random.randint(1000, 60000)
            self.rows["kernel"].append(row_of(
                "kernel", stream=thread, shape=1 + number % 2, start=begin, duration=free - begin,
                correlation=self.correlation))
            now += length + self.random.randint(100, 3000)
        until = max(free + self.random.randint(900, 5000), now + 500)
        self.call(thread, 2, now, until - now)
        self.rows["sync"].append(row_of(
            "sync", thread=thread, kind=STREAM_SYNCHRONIZE, context=1, stream=thread + 12,
            start=now, duration=until - now, correlation=self.correlation))
        return until + self.random.randint(500, 30000), free

    def capture(self, number, kind, time):
        self.rows["capture"].append(row_of("capture", range=number, kind=kind, time=time,
                                           correlation=self.correlation, reason=1))

    def run(self, threads, ranges, requests):
        now = 1000000
        for thread in range(1, threads + 1):
            self.rows["thread"].append(row_of("thread", id=thread, tid=100 + thread))
            self.rows["stream"].append(row_of("stream", id=thread, stream=thread + 12, context=1))
            self.rows["stream_info"].append(row_of("stream_info", stream=thread + 12, context=1,
                                                   flag=2))
        for number in range(1, ranges + 1):
            self.capture(number, BEGIN, now)
            at = {thread: (now + 100 * thread, 0) for thread in range(1, threads + 1)}
            for _ in range(requests * threads):
                first = min(at, key=lambda thread: at[thread][0])
                at[first] = self.request(first, *at[first])
            now = max(max(one) for one in at.values()) + 1000
            self.capture(number, END, now)
            now += 500000
        header = {"miniprof": "generated", "pid": "101", "clock": "monotonic",
                  "executable": f"/generated/{self.seed}", "start_clock_ns": "500000",
                  "start_realtime_ns": "1793577600000000000"}
        for table in ("call", "sync", "kernel"):
            self.rows[table].sort(key=lambda row, at=place(table, "start"): row[at])
        return Trace(header, self.rows, 0, True)


def generated():
    """{name: trace} of some programs."""
    return {f"generated {threads} threads {ranges} ranges":
            Program(seed).run(threads, ranges, 12)
            for seed, (threads, ranges) in enumerate(((1, 1), (3, 1), (2, 3)))}
