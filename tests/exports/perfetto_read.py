"""Reads Perfetto traces as its trace processor does, from the wire format alone: numbers of fields
are all that is shared with the code under test. A .zip's members are read as one trace.

    trace = perfetto_read.read("a.pftrace")
    trace.slices      begin and end paired by track, after a stable sort by time
    trace.stages      render stages, with texts instead of numbers
    trace.problems    what Perfetto would drop or misread, one line each
"""
import json
import struct
import zipfile
from collections import defaultdict, namedtuple

Slice = namedtuple("Slice", "track category name start duration args submitted awaited correlation")
Stage = namedtuple("Stage", "id name stage queue gpu pid start duration args awaited kernel")
Counter = namedtuple("Counter", "track time value")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at


def fields(data):
    """Number and value of each field: an int, or the bytes of what has a length."""
    at, end = 0, len(data)
    while at < end:
        tag, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
            if len(value) < 8:
                raise ValueError("cut in a number")
        elif kind == 2:
            length, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) < length:
                raise ValueError("cut in a message")
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value


def message(data):
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def one(found, number, default=0):
    return found[number][-1] if number in found else default


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def double(value):
    return struct.unpack("<d", value)[0]


BOOTTIME = 6  # CLOCK_BOOTTIME, the importer's clock of a file


class Sequence:
    """The state of one sequence of packets."""

    def __init__(self):
        self.clock = None
        self.related = set()   # clocks of its snapshots
        self.interned = defaultdict(dict)  # field -> number -> message


class Trace:
    def __init__(self):
        self.problems = []
        self.tracks = {}       # uuid -> name, parent, process, thread, counter
        self.slices, self.stages, self.counters, self.instants = [], [], [], []
        self.gpus, self.clocks, self.packets = [], [], 0
        self.manifest = None
        self.events = []       # of tracks: time, message, sequence

    def problem(self, text):
        if len(self.problems) < 20:
            self.problems.append(text)


INTERNED = {1: "category", 2: "name", 3: "annotation", 23: "context", 24: "specification",
            1000: "kernel", 1001: "argument"}


def look_up(trace, sequence, field, number):
    found = sequence.interned[field].get(number)
    if found is None:
        trace.problem(f"{INTERNED[field]} {number} is used before it is interned")
    return found


def text_of(trace, sequence, field, number):
    found = look_up(trace, sequence, field, number)
    return (found[2][0] if found else b"?").decode("utf-8")  # fails for what is not UTF-8


def value_of(found, kinds):
    for number, convert in kinds.items():
        if number in found:
            return convert(found[number][-1])
    return None


def arguments(trace, sequence, messages):
    kinds = {3: signed, 4: int, 5: double, 6: bytes.decode}
    for data in messages:
        found = message(data)
        yield text_of(trace, sequence, 1001, one(found, 1)), value_of(found, kinds)


def annotations(trace, sequence, messages):
    kinds = {2: bool, 3: int, 4: signed, 5: double, 6: bytes.decode, 7: int}
    for data in messages:
        found = message(data)
        yield text_of(trace, sequence, 3, one(found, 1)), value_of(found, kinds)


def dimensions(found, number):
    if number not in found:
        return None
    size = message(one(found, number))
    return tuple(one(size, i) for i in (1, 2, 3))


def take_stage(trace, sequence, time, data):
    found = message(data)
    queue = look_up(trace, sequence, 24, one(found, 13))
    stage = look_up(trace, sequence, 24, one(found, 14))
    context = look_up(trace, sequence, 23, one(found, 5))
    launch = message(one(found, 21, b""))
    args = {}
    kernel = None
    if 19 in found:
        kernel = look_up(trace, sequence, 1000, one(found, 19)) or {}
        args.update(arguments(trace, sequence, kernel.get(5, [])))
        kernel = {"name": one(kernel, 2, b"").decode(), "readable": one(kernel, 3, b"").decode(),
                  "arch": one(kernel, 4, b"").decode()}
    args.update(arguments(trace, sequence, launch.get(3, ())))
    for key, number in (("grid", 1), ("block", 2)):
        if number in launch:
            args[key] = dimensions(launch, number)
    if not one(found, 1):
        trace.problem("a stage without an id")
    trace.stages.append(Stage(
        one(found, 1), text_of(trace, sequence, 2, one(found, 20)),
        one(stage, 2, b"?").decode() if stage else None,
        (one(found, 13), one(queue, 2, b"?").decode() if queue else None), one(found, 11),
        one(context, 2) if context else None, time, one(found, 2), args, found.get(18, []),
        kernel))


def take_track(trace, data):
    found = message(data)
    track = {"name": one(found, 2, b"").decode(), "parent": one(found, 5),
             "counter": 8 in found, "process": None, "thread": None}
    if 3 in found:
        process = message(one(found, 3))
        track["process"] = (one(process, 1), one(process, 6, b"").decode())
    if 4 in found:
        thread = message(one(found, 4))
        track["thread"] = (one(thread, 1), one(thread, 2), one(thread, 5, b"").decode())
    if one(found, 1) in trace.tracks:
        trace.problem(f"track {one(found, 1)} is announced twice")
    if track["parent"] and track["parent"] not in trace.tracks:
        trace.problem(f"the parent of track '{track['name']}' is not announced")
    trace.tracks[one(found, 1)] = track


def take_packet(trace, sequences, data):
    packet = message(data)
    number = one(packet, 10)
    flags = one(packet, 13)
    trace.packets += 1
    if not number:
        trace.problem("a packet without a sequence")
    if flags & 1:
        sequences[number] = Sequence()
    if number not in sequences:
        trace.problem("a sequence that does not begin with a cleared state")
        sequences[number] = Sequence()
    sequence = sequences[number]
    if 59 in packet:
        sequence.clock = one(message(one(packet, 59)), 58, None)
    for field, value in fields(one(packet, 12, b"")):
        entry = message(value)
        if one(entry, 1) in sequence.interned[field]:
            trace.problem(f"{INTERNED[field]} {one(entry, 1)} is interned twice")
        sequence.interned[field][one(entry, 1)] = entry
    if 6 in packet:
        snapshot = message(one(packet, 6))
        clocks = [message(clock) for clock in snapshot.get(1, ())]
        trace.clocks.append((one(snapshot, 2), {one(c, 1): one(c, 2) for c in clocks}))
        sequence.related.update(one(clock, 1) for clock in clocks)
    if 60 in packet:
        take_track(trace, one(packet, 60))
    if 128 in packet:
        trace.gpus += [message(gpu) for gpu in message(one(packet, 128)).get(1, ())]
    if (53 in packet or 11 in packet) and (sequence.clock != 1 or 8 not in packet):
        trace.problem("an event that is not on CLOCK_REALTIME")
    if (53 in packet or 11 in packet) and not {sequence.clock, BOOTTIME} <= sequence.related:
        trace.problem("an event whose clock no snapshot relates to the importer's")
    if 53 in packet:
        take_stage(trace, sequence, one(packet, 8), one(packet, 53))
    if 11 in packet:
        trace.events.append((one(packet, 8), message(one(packet, 11)), sequence))


def pair(trace):
    """Begins and ends: an end closes what began last on its track."""
    stacks = defaultdict(list)
    for time, event, sequence in sorted(trace.events, key=lambda event: event[0]):
        kind, uuid = one(event, 9), one(event, 11)
        if uuid not in trace.tracks:
            trace.problem(f"track {uuid} is not announced")
            continue
        if kind == 4:
            value = signed(one(event, 30)) if 30 in event else double(one(event, 44))
            trace.counters.append(Counter(trace.tracks[uuid]["name"], time, value))
        elif kind == 2:
            if not stacks[uuid]:
                trace.problem(f"an end without a begin on '{trace.tracks[uuid]['name']}'")
                continue
            begun, began = stacks[uuid].pop()
            trace.slices.append(begun._replace(duration=time - began))
        else:
            correlation = message(one(event, 3000, b""))
            found = Slice(uuid, text_of(trace, sequence, 1, one(event, 3)),
                          text_of(trace, sequence, 2, one(event, 10)), time, 0,
                          dict(annotations(trace, sequence, event.get(4, ()))),
                          correlation.get(1, []), correlation.get(2, []), one(event, 52))
            if kind == 1:
                stacks[uuid].append((found, time))
            else:
                trace.instants.append(found)
    for uuid, stack in stacks.items():
        if stack:
            trace.problem(f"{len(stack)} slices without an end on '{trace.tracks[uuid]['name']}'")


def check_ids(trace):
    ids = [stage.id for stage in trace.stages]
    known = set(ids)
    if len(known) < len(ids):
        trace.problem("an id of two stages")
    for what, wanted in (("a stage waits", (i for s in trace.stages for i in s.awaited)),
                         ("a call submitted", (i for s in trace.slices for i in s.submitted)),
                         ("a call waited", (i for s in trace.slices for i in s.awaited))):
        missing = set(wanted) - known
        if missing:
            trace.problem(f"{what} for {len(missing)} stages that there are not")


def members(path):
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            return {"": file.read()}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.compress_type or info.flag_bits & 8 or info.extract_version > 20:
                raise ValueError("a .zip that Perfetto does not read")
        return {name: archive.read(name) for name in archive.namelist()}


def read(path):
    trace = Trace()
    for name, data in members(path).items():
        if name.endswith(".json"):
            trace.manifest = json.loads(data)
            continue
        sequences = {}
        for number, value in fields(data):
            if number != 1:
                trace.problem(f"field {number} in the trace")
            take_packet(trace, sequences, value)
    pair(trace)
    check_ids(trace)
    return trace
