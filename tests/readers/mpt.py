#!/usr/bin/env python3
"""Reads miniprof traces (.mpt): a second implementation, written from docs/trace-format.md alone.

It exists to prove that the document is enough and to cross-check the C reader, so it favours
being plain over being fast. Tables and columns are taken from section 8 of the document itself.
Section numbers in the docstrings are that document's.
"""
import argparse
import csv
import ctypes
import pathlib
import re
import signal
import struct
import sys

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "trace-format.md"
MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                      0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)  # XXH64's primes
BASE_LAST, LAST, MEAN, SELF, PREV = 1, 2, 4, 8, 16
NUMBER, START, SPAN, TEXT = 1, 2, 3, 4
FRAME_MAGIC = struct.pack("<I", 0x184D2A5D)
CHUNK_START = FRAME_MAGIC + struct.pack("<I", 64) + b"MPCHUNK\0"


class Damage(ValueError):
    """Bytes that the format does not allow; reading goes on at the next good chunk."""


class Refused(ValueError):
    """A file of a format that this reader does not know; nothing of it may be read."""


def need(condition, what):
    """Raise Damage unless the condition holds."""
    if not condition:
        raise Damage(what)


# Numbers

def xxh64(data, seed=0):
    """XXH64 of bytes: the checksum of all headers."""
    rotl = lambda x, n: ((x << n) | (x >> (64 - n))) & MASK
    mix = lambda acc, word: rotl((acc + word * P2) & MASK, 31) * P1 & MASK
    end = len(data) & ~31
    if end:
        acc = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        for stripe in struct.iter_unpack("<4Q", data[:end]):
            acc = [mix(a, word) for a, word in zip(acc, stripe)]
        h = sum(map(rotl, acc, (1, 7, 12, 18))) & MASK
        for a in acc:
            h = ((h ^ mix(0, a)) * P1 + P4) & MASK
    else:
        h = (seed + P5) & MASK
    h = (h + len(data)) & MASK
    while end + 8 <= len(data):
        word = int.from_bytes(data[end:end + 8], "little")
        h = (rotl(h ^ mix(0, word), 27) * P1 + P4) & MASK
        end += 8
    if end + 4 <= len(data):
        h = (rotl(h ^ int.from_bytes(data[end:end + 4], "little") * P1 & MASK, 23) * P2 + P3) & MASK
        end += 4
    for byte in data[end:]:
        h = rotl(h ^ byte * P5 & MASK, 11) * P1 & MASK
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


def signed(x):
    """The two's complement reading of a 64-bit number."""
    return x - (1 << 64) if x >> 63 else x


def unzigzag(x):
    """The signed number that zigzag made x of."""
    return -(x >> 1) - 1 if x & 1 else x >> 1


def leb128(data, pos):
    """A LEB128 number at pos, and the position behind it."""
    value = shift = 0
    while True:
        need(pos < len(data) and shift < 70, "LEB128 cut or too long")
        byte = data[pos]
        pos += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            need(value <= MASK, "LEB128 beyond 64 bits")
            return value, pos


# Streams (section 5): each reader takes the position behind the layout and returns (numbers, end).

def read_constant(data, pos, rows):
    """One number for all rows."""
    value, pos = leb128(data, pos)
    return [value] * rows, pos


def read_bytes(data, pos, rows):
    """A LEB128 for each row."""
    values = []
    for _ in range(rows):
        value, pos = leb128(data, pos)
        values.append(value)
    return values, pos


def read_bits(data, pos, rows):
    """A token for each row, and extra bits for those of 16 and more."""
    tokens = data[pos:pos + rows]
    need(len(tokens) == rows, "tokens cut")
    size, pos = leb128(data, pos + rows)
    need(size <= len(data) - pos, "extra bits cut")
    values, bit = [], pos * 8
    for token in tokens:
        need(token <= 135, "invalid token")
        if token < 16:
            values.append(token)
            continue
        n = (token - 16) // 2 + 3
        extra = int.from_bytes(data[bit >> 3:(bit + n + 7) >> 3], "little") >> (bit & 7)
        values.append((2 + token % 2 << n) + (extra & (1 << n) - 1))
        bit += n
    need(bit <= (pos + size) * 8, "extra bits missing")
    return values, pos + size


def read_crumbs(data, pos, rows):
    """Two bits for each row, and a LEB128 for those above 2."""
    end = pos + (rows + 3) // 4
    need(end <= len(data), "crumbs cut")
    values = [data[pos + row // 4] >> row % 4 * 2 & 3 for row in range(rows)]
    for row, value in enumerate(values):
        if value == 3:
            more, end = leb128(data, end)
            values[row] = more + 3 & MASK
    return values, end


LAYOUTS = (read_constant, read_bytes, read_bits, read_crumbs)


def read_stream(data, pos, rows):
    """The numbers of one stream at pos, and the position behind it."""
    need(pos < len(data) and data[pos] < len(LAYOUTS), "unknown layout")
    return LAYOUTS[data[pos]](data, pos + 1, rows)


def read_streams(data, rows):
    """The two streams that make up all the data of a START or SPAN column."""
    first, pos = read_stream(data, 0, rows)
    second, pos = read_stream(data, pos, rows)
    need(pos == len(data), "bytes behind a column's streams")
    return first, second


# Columns (sections 5 and 6)

class Predictor:
    """The state of one column in one chunk. A context that has a value is one that is `seen`."""

    def __init__(self, predict, lanes, keys1, keys2):
        self.flags, self.lanes, self.keys1, self.keys2 = predict, lanes, keys1, keys2
        self.last, self.keys_of, self.value = [0] * 1024, [0] * 1024, {}

    def guess(self, row):
        """Enter a row: find its lane and context, and return the context's value."""
        self.lane = lane = (self.lanes[row] * P1 & MASK) >> 54
        self.keys = h = self.keys1[row] * P2 + self.keys2[row] * P3 & MASK
        h += lane * P1
        if self.flags & PREV:
            h += self.keys_of[lane] * P4
        if self.flags & SELF:
            h += self.last[lane] * P5
        h &= MASK
        self.context = ((h ^ h >> 32) * 0xFF51AFD7ED558CCD & MASK) >> 52
        value = self.value.get(self.context)
        if value is None:
            return self.last[lane] + 1 if self.flags & SELF else 0
        return signed(value + 8 & MASK) >> 4 if self.flags & MEAN else value

    def learn(self, number):
        """Teach the row's context what its number was."""
        if self.flags & MEAN:
            number <<= 4
            old = self.value.get(self.context)
            if old is not None:
                number = old + (signed(number - old & MASK) >> 2)
        if self.flags & (MEAN | LAST):
            self.value[self.context] = number & MASK

    def leave(self, last):
        """End a row: what later rows of its lane see of it."""
        self.last[self.lane], self.keys_of[self.lane] = last, self.keys


class Grid:
    """Ticks to times (section 6.2); shared by the begins and the ends, which drift together."""

    def __init__(self, anchor, step, fraction):
        self.anchor, self.step, self.fraction = anchor, step, fraction
        self.offset = self.lean = 0

    def time(self, tick, correction):
        """The time of a tick."""
        c = unzigzag(correction)
        ticks = (signed(tick) * self.step + self.fraction) >> 32
        time = self.anchor + ticks + self.offset + c & MASK
        if c == 0:
            self.lean -= (self.lean > 0) - (self.lean < 0)
        else:
            self.lean += c
            if abs(c) > 1 or abs(self.lean) == 8:
                self.offset, self.lean = self.offset + c, 0
        return time


class Entry:
    """A column's entry in the directory, and its data once they are known."""

    def __init__(self, data, pos):
        need(pos + 7 <= len(data), "directory cut")
        (self.id, self.codec, self.predict, self.lane, self.key1, self.key2,
         self.partner) = data[pos:pos + 7]
        need(self.id and NUMBER <= self.codec <= TEXT, "bad directory entry")
        numbers, pos = [], pos + 7
        for _ in range(4 if self.codec == START else 1):
            number, pos = leb128(data, pos)
            numbers.append(number)
        *self.grid, self.size = numbers
        self.end = pos


class Columns:
    """The columns of a chunk, decoded when asked for: one that nothing needs is never looked at."""

    def __init__(self, payload, rows):
        self.rows, self.done, self.entries = rows, {}, {}
        count, pos = leb128(payload, 0)
        need(count <= 32, "too many columns")
        for _ in range(count):
            entry = Entry(payload, pos)
            need(entry.id not in self.entries, "column twice")
            self.entries[entry.id], pos = entry, entry.end
        for place, entry in enumerate(self.entries.values()):
            need(entry.size <= len(payload) - pos, "columns cut")
            entry.place, entry.data = place, payload[pos:pos + entry.size]
            pos += entry.size
        need(pos == len(payload), "bytes behind the columns")

    def get(self, column, is_text=False):
        """The values of a column in all rows; 0 or "" if it is not there."""
        entry = self.entries.get(column)
        if not entry:
            return ["" if is_text else 0] * self.rows
        need((entry.codec == TEXT) == is_text, "codec does not fit the column")
        if column not in self.done:
            decode = (self.number, self.start, self.span, self.text)[entry.codec - 1]
            self.done[column] = decode(entry)
        return self.done[column]

    def predictor(self, entry, lane):
        """A new state for a column, with the columns that it refers to."""
        for column in filter(None, (lane, entry.key1, entry.key2)):
            need(column in self.entries and self.entries[column].place < entry.place,
                 "column refers to a later one")
        return Predictor(entry.predict, *map(self.get, (lane, entry.key1, entry.key2)))

    def number(self, entry):
        """Section 6.1."""
        numbers, end = read_stream(entry.data, 0, self.rows)
        need(end == len(entry.data), "bytes behind a column's stream")
        if not entry.predict:
            return numbers
        state, values = self.predictor(entry, entry.lane), []
        for row, number in enumerate(numbers):
            value = unzigzag(number) + state.guess(row) & MASK
            state.learn(value)
            if entry.predict & BASE_LAST:
                value = value + state.last[state.lane] & MASK
            state.leave(value)
            values.append(value)
        return values

    def start(self, entry):
        """Section 6.2; fills in the SPAN column on the way, as their corrections interleave."""
        if entry.partner:
            span = self.entries.get(entry.partner)
            need(span and span.codec == SPAN and span.partner == entry.id
                 and span.place == entry.place + 1, "START without its SPAN")
        gaps, corrections = read_streams(entry.data, self.rows)
        state, grid = self.predictor(entry, entry.lane), Grid(*entry.grid)
        starts = self.done[entry.id] = []   # filled row by row: SPAN may have it as a key
        ends = self.ends(span, starts, grid) if entry.partner else None
        for row, (gap, correction) in enumerate(zip(gaps, corrections)):
            gap = unzigzag(gap) + state.guess(row) & MASK
            state.learn(gap)
            begin = state.last[state.lane] + gap & MASK
            starts.append(grid.time(begin, correction))
            state.leave(ends(row, begin) if ends else begin)
        return starts

    def ends(self, entry, starts, grid):
        """A function that decodes a row of the SPAN column and returns the tick of its end."""
        spans, corrections = read_streams(entry.data, self.rows)
        durations = self.done[entry.id] = []
        state = self.predictor(entry, 0)

        def end(row, begin):
            span = unzigzag(spans[row]) + state.guess(row) & MASK
            state.learn(span)
            tick = begin + span & MASK
            durations.append(grid.time(tick, corrections[row]) - starts[row] & MASK)
            return tick
        return end

    def span(self, entry):
        """Section 6.2: decoding the START column gives both."""
        start = self.entries.get(entry.partner)
        need(start and start.codec == START and start.partner == entry.id
             and start.id not in self.done, "SPAN without its START")
        self.get(start.id)
        return self.done[entry.id]

    def text(self, entry):
        """Texts; bytes that are no UTF-8 survive as surrogates."""
        lengths, pos = read_stream(entry.data, 0, self.rows)
        need(sum(lengths) == len(entry.data) - pos, "texts cut")
        values = []
        for length in lengths:
            values.append(entry.data[pos:pos + length].decode("utf-8", "surrogateescape"))
            pos += length
        return values


# Frames (sections 2, 3, 4 and 7)

class Zstd:
    """The system's libzstd, which verifies the content checksum of frames."""

    def __init__(self):
        self.lib = ctypes.CDLL("libzstd.so.1")
        for function in (self.lib.ZSTD_decompress, self.lib.ZSTD_findFrameCompressedSize):
            function.restype = ctypes.c_size_t
        self.lib.ZSTD_findFrameCompressedSize.argtypes = ctypes.c_char_p, ctypes.c_size_t
        self.lib.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t) * 2

    def decompress(self, frame, size):
        """The content of exactly one frame, which must have that size and a checksum."""
        need(frame[:4] == b"\x28\xb5\x2f\xfd" and len(frame) > 4 and frame[4] & 4,
             "no zstd frame with a checksum")
        need(self.lib.ZSTD_findFrameCompressedSize(frame, len(frame)) == len(frame),
             "zstd frame of another size")
        content = ctypes.create_string_buffer(size + 1)
        need(self.lib.ZSTD_decompress(content, size, frame, len(frame)) == size,
             "zstd frame damaged")
        return content.raw[:size]


class Chunk:
    """A chunk whose header is good."""

    def __init__(self, data, pos):
        (self.sequence, self.table, _, self.rows, self.content_bytes, self.frame_bytes, _,
         self.least, self.greatest, self.lost) = struct.unpack_from("<IHHIIIIQQQ", data, pos + 16)
        need(1 <= self.rows <= 65536 and self.content_bytes <= 8 << 20
             and self.frame_bytes <= 9 << 20, "chunk header out of bounds")
        self.offset, self.frame = pos, pos + 72
        self.end = self.frame + self.frame_bytes

    def index_entry(self):
        """What the index must say of it."""
        return (self.offset, self.rows, self.frame_bytes, self.table, 0, self.content_bytes,
                self.least, self.greatest)


def read_tables(document=DOCUMENT):
    """{table id: (name, [(column id, name, type)])} from section 8 of the document."""
    tables = {}
    text = document.read_text(encoding="utf-8").split("\n## 8. Tables\n")[1]
    text = text.split("\n## 9. ")[0]
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        table, name = re.match(r"(\d+) `(\w+)`", section).groups()
        columns = re.findall(r"^\| (\d+) \| `(\w+)` \| (\w+)", section, flags=re.M)
        tables[int(table)] = name, [(int(column), *rest) for column, *rest in columns]
    return tables


def time_bounds(columns):
    """Least START that is not 0 and greatest end of a chunk (section 4)."""
    start = next((entry for entry in columns.entries.values() if entry.codec == START), None)
    if not start:
        return 0, 0
    begins = columns.get(start.id, False)
    lengths = columns.get(start.partner, False) if start.partner else [0] * len(begins)
    rows = [(begin, max(begin, begin + length & MASK))
            for begin, length in zip(begins, lengths) if begin]
    return min((begin for begin, _ in rows), default=0), max((end for _, end in rows), default=0)


class Trace:
    """All that can be read of a file. `damage` says in words what could not."""

    def __init__(self, data, tables=None, check=False):
        self.data, self.tables, self.check = data, tables or read_tables(), check
        self.zstd, self.header, self.index, self.lost = Zstd(), None, None, 0
        self.damage, self.chunks = [], []
        self.rows = {name: [] for name, _ in self.tables.values()}
        pos = 0
        while pos < len(data):
            try:
                pos = self.read_frame(pos)
            except Damage as damage:
                after = self.next_frame(pos + 1)
                self.damage.append(f"{damage}: {after - pos} bytes skipped at offset {pos}")
                pos = after
        self.check_whole()

    def read_frame(self, pos):
        """Read the frame at pos and return the position behind it."""
        magic, size, kind = struct.unpack("<4sI8s", self.data[pos:pos + 16].ljust(16, b"\0"))
        end = pos + 8 + size
        need(magic == FRAME_MAGIC and end <= len(self.data), "no frame")
        if kind == b"MPTRACE\0":
            need(pos == 0, "header amid the file")
            self.read_header(self.data[pos + 8:end])
        elif kind == b"MPCHUNK\0":
            return self.read_chunk(pos)
        elif kind == b"MPINDEX\0":
            self.read_index(pos, end)
        else:
            raise Damage("unknown frame")
        return end

    def next_frame(self, pos):
        """The next chunk or index with a good checksum; the end of the file if there is none."""
        found = self.data.find(FRAME_MAGIC, pos)
        while found >= 0:
            if self.chunk_is_good(found) or self.index_is_good(found):
                return found
            found = self.data.find(FRAME_MAGIC, found + 1)
        return len(self.data)

    def chunk_is_good(self, pos):
        """Whether a chunk header stands at pos whose checksum fits."""
        header = self.data[pos + 8:pos + 72]
        return (self.data.startswith(CHUNK_START, pos) and len(header) == 64
                and header[56:] == struct.pack("<Q", xxh64(header[:56])))

    def index_is_good(self, pos):
        """Whether the rest of the file, from pos on, is an index whose checksum fits."""
        body = self.data[pos + 8:]
        return (self.data.startswith(b"MPINDEX\0", pos + 8)
                and body[-16:] == struct.pack("<QQ", xxh64(body[:-16]), len(body) + 8))

    def read_header(self, body):
        """Section 3; `body` begins behind the length."""
        need(len(body) >= 32, "header cut")
        version, features, size = struct.unpack_from("<3I", body, 8)
        need(size <= 1 << 20 and len(body) == size + 32, "header of another size")
        need(body[-8:] == struct.pack("<Q", xxh64(body[:-8])), "header damaged")
        if version > 1 or features:
            raise Refused(f"format version {version}, features {features:#x}: not known")
        text = body[24:-8].decode("utf-8", "replace")
        self.header = dict(line.split("=", 1) for line in text.split("\n") if "=" in line)

    def read_chunk(self, pos):
        """Section 4. All of a chunk is decoded before any row of it counts."""
        need(self.chunk_is_good(pos), "chunk header damaged")
        chunk = Chunk(self.data, pos)
        need(chunk.end <= len(self.data), "chunk cut")
        if chunk.table in self.tables or self.check:
            content = self.zstd.decompress(self.data[chunk.frame:chunk.end], chunk.content_bytes)
        if chunk.table in self.tables:
            name, columns = self.tables[chunk.table]
            decoded = Columns(content, chunk.rows)
            values = [decoded.get(column, kind == "text") for column, _, kind in columns]
            known = decoded.entries.keys() <= {column for column, *_ in columns}
            need(not (self.check and known)
                 or time_bounds(decoded) == (chunk.least, chunk.greatest),
                 f"times of chunk {chunk.sequence} not those of its header")
            self.rows[name].extend(zip(*values))
        self.chunks.append(chunk)
        self.lost = max(self.lost, chunk.lost)
        return chunk.end

    def read_index(self, pos, end):
        """Section 7. The index ends the file."""
        need(end == len(self.data) and self.index_is_good(pos), "index damaged")
        count, _, self.lost = struct.unpack_from("<IIQ", self.data, pos + 16)
        need(end - pos == 48 + 40 * count, "index of another size")
        self.index = list(struct.iter_unpack("<QIIHHIQQ", self.data[pos + 32:end - 16]))

    def check_whole(self):
        """Damage that shows only when all is read: lost chunks, and an index that is not true."""
        if self.header is None:
            self.damage.append("no header")
        sequences = {chunk.sequence for chunk in self.chunks}
        missing = max(sequences, default=-1) + 1 - len(sequences)
        if missing:
            self.damage.append(f"{missing} chunks lost by their sequence numbers")
        if self.index is not None and self.index != [c.index_entry() for c in self.chunks]:
            self.damage.append("the index does not list the chunks that were read")


def print_table(trace, table, out):
    """One table as CSV."""
    name, columns = trace.tables[table]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", *(column for _, column, _ in columns)])
    writer.writerows([name, *row] for row in trace.rows[name])


def main():
    """The program."""
    parser = argparse.ArgumentParser(description="Print a miniprof trace as CSV.")
    parser.add_argument("file")
    parser.add_argument("--table", help="only the table of this name")
    parser.add_argument("--check", action="store_true",
                        help="print no rows; also compare the times in chunk headers")
    options = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    tables = read_tables()
    if options.table and options.table not in [name for name, _ in tables.values()]:
        parser.error(f"no table {options.table}")
    try:
        trace = Trace(pathlib.Path(options.file).read_bytes(), tables, options.check)
    except (OSError, Refused) as error:
        parser.error(f"{options.file}: {error}")
    for table, (name, _) in tables.items():
        if not options.check and options.table in (None, name) and trace.rows[name]:
            print_table(trace, table, sys.stdout)
    if options.check:
        print(f"{len(trace.chunks)} chunks, {sum(map(len, trace.rows.values()))} rows, "
              f"{trace.lost} lost, {'no' if trace.index is None else 'with'} index")
    for damage in trace.damage:
        print(f"{options.file}: {damage}", file=sys.stderr)
    if trace.damage:
        print(f"{options.file}: damaged in {len(trace.damage)} places", file=sys.stderr)
    return 1 if trace.damage else 0


if __name__ == "__main__":
    sys.exit(main())
