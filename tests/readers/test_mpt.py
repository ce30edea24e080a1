#!/usr/bin/env python3
"""Tests of mpt.py. The traces are put together here by hand, so that none of the project's own
writer is needed; MPT_TRACES may name real ones (separated by colons), which are then damaged too.
"""
import contextlib
import io
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import mpt  # pylint: disable=wrong-import-position

TABLES = mpt.read_tables()
STRING, KERNEL, CALL = 1, 32, 35


def leb(number):
    """LEB128."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(x):
    """The format's zigzag of a signed number."""
    return 2 * x if x >= 0 else -2 * x - 1


def constant(number):
    """A CONSTANT stream."""
    return b"\0" + leb(number)


def numbers(*values):
    """A BYTES stream."""
    return b"\1" + b"".join(map(leb, values))


def deltas(*values):
    """A BYTES stream of signed numbers."""
    return numbers(*map(zigzag, values))


def columns(*entries):
    """A chunk's content; an entry is (seven bytes, data) or (seven bytes, data, grid)."""
    out = leb(len(entries))
    for head, data, *grid in entries:
        out += bytes(head) + b"".join(map(leb, sum(grid, ()))) + leb(len(data))
    return out + b"".join(entry[1] for entry in entries)


def zstd_frame(content):
    """A zstd frame of raw blocks with a checksum, as RFC 8878 has it."""
    out = struct.pack("<IBI", 0xFD2FB528, 0xA4, len(content))
    for at in range(0, max(len(content), 1), 1 << 17):
        block = content[at:at + (1 << 17)]
        last = at + len(block) == len(content)
        out += (len(block) << 3 | last).to_bytes(3, "little") + block
    return out + struct.pack("<I", mpt.xxh64(content) & 0xFFFFFFFF)


def skippable(body):
    """A frame of the format, with its checksum."""
    return struct.pack("<II", 0x184D2A5D, len(body) + 8) + body + struct.pack("<Q", mpt.xxh64(body))


def header(text=b"miniprof=test\nclock=simgpu\n", version=1, features=0):
    """A file header."""
    return skippable(b"MPTRACE\0" + struct.pack("<4I", version, features, len(text), 0) + text)


def chunk(sequence, table, rows, content, times=(0, 0)):
    """A chunk."""
    frame = zstd_frame(content)
    return skippable(b"MPCHUNK\0" + struct.pack("<IHHIIIIQQQ", sequence, table, 0, rows,
                                               len(content), len(frame), 0, *times, 0)) + frame


def index(*chunks):
    """The index of chunks read."""
    body = b"MPINDEX\0" + struct.pack("<IIQ", len(chunks), 0, 0)
    body += b"".join(struct.pack("<QIIHHIQQ", *c.index_entry()) for c in chunks)
    size = len(body) + 24
    return (struct.pack("<II", 0x184D2A5D, size - 8) + body
            + struct.pack("<QQ", mpt.xxh64(body), size))


STRINGS = columns(((1, 1, 0, 0, 0, 0, 0), numbers(1, 2, 3)),
                  ((2, 4, 0, 0, 0, 0, 0), numbers(3, 0, 2) + "abcé".encode()))
KERNELS = columns(((1, 1, 0, 0, 0, 0, 0), constant(7)),
                  ((4, 2, 0, 1, 0, 0, 5), deltas(0, 2, 3) + deltas(0, 5, 1), (1000, 32 << 32, 0)),
                  ((5, 3, 0, 0, 0, 0, 4), deltas(10, 20, -1) + deltas(0, 0, -1)),
                  ((6, 1, 19, 1, 0, 0, 0), deltas(99, 0, 0)))
KERNEL_ROWS = [("kernel", 7, 0, 0, 1000, 320, 99), ("kernel", 7, 0, 0, 1389, 640, 198),
               ("kernel", 7, 0, 0, 2126, (1 << 64) - 34, 297)]


def sample():
    """A small trace with all that a trace has."""
    data = (header() + chunk(0, STRING, 3, STRINGS) + chunk(1, KERNEL, 3, KERNELS, (1000, 2126))
            + chunk(2, 999, 1, b"who?") + chunk(3, KERNEL, 3, KERNELS, (1000, 2126)))
    return data + index(*mpt.Trace(data, TABLES).chunks)


def decode(content, rows, *ids):
    """Columns of a chunk's content."""
    decoded = mpt.Columns(content, rows)
    return [decoded.get(column) for column in ids]


class Numbers(unittest.TestCase):
    """Checksums and numbers."""

    def test_xxh64(self):
        """The known values, and one that is longer than a stripe."""
        for data, value in ((b"", 0xEF46DB3751D8E999), (b"a", 0xD24EC4F1A98C6E5B),
                            (b"abc", 0x44BC2CF5AD770999),
                            (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1)):
            self.assertEqual(mpt.xxh64(data), value)

    def test_leb128(self):
        """Values, and what is cut, too long or too big."""
        for number in (0, 1, 127, 128, 300, mpt.MASK):
            data = b"x" + leb(number)
            self.assertEqual(mpt.leb128(data + b"x", 1), (number, len(data)))
        for data in (b"", b"\x80", b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\0"):
            self.assertRaises(mpt.Damage, mpt.leb128, data, 0)

    def test_zigzag(self):
        """Both ends of the range."""
        self.assertEqual(list(map(mpt.unzigzag, range(5))), [0, -1, 1, -2, 2])
        self.assertEqual(mpt.unzigzag(mpt.MASK), -(1 << 63))
        self.assertEqual(mpt.unzigzag(mpt.MASK - 1), (1 << 63) - 1)


class Streams(unittest.TestCase):
    """The layouts."""

    def test_tokens(self):
        """Every token with its least and its greatest number: they tile the 64 bits."""
        expected = 16
        for token in range(16, 136):
            bits = (token - 16) // 2 + 3
            for extra, number in ((0, expected), ((1 << bits) - 1, expected + (1 << bits) - 1)):
                data = bytes([2, token, 8]) + extra.to_bytes(8, "little")
                self.assertEqual(mpt.read_stream(data, 0, 1), ([number], 11))
            expected += 1 << bits
        self.assertEqual(expected, 1 << 64)

    def test_bits(self):
        """Extra bits are taken from the lowest up and across bytes."""
        data = bytes([2, 15, 16, 18, 17, 2, 0b1_0110_101, 0b101_0])
        self.assertEqual(mpt.read_stream(data, 0, 4), ([15, 16 + 5, 32 + 6, 24 + 5], 8))
        for bad in (bytes([2, 136, 9]) + bytes(9), bytes([2, 16, 0]), bytes([2, 16, 2, 0]), b"\2"):
            self.assertRaises(mpt.Damage, mpt.read_stream, bad, 0, 1)

    def test_crumbs_and_others(self):
        """CRUMBS with numbers above 2, CONSTANT, and an unknown layout."""
        data = bytes([3, 0b11_10_01_00, 0b11, 0]) + leb(1000)
        self.assertEqual(mpt.read_stream(data, 0, 5), ([0, 1, 2, 3, 1003], 6))
        self.assertEqual(mpt.read_stream(constant(300), 0, 3), ([300] * 3, 3))
        self.assertRaises(mpt.Damage, mpt.read_stream, b"\4\0", 0, 1)


class Prediction(unittest.TestCase):
    """Values by hand."""

    def test_last_by_lane(self):
        """BASE_LAST counts in each lane by itself."""
        content = columns(((1, 1, 0, 0, 0, 0, 0), numbers(1, 2, 1, 2)),
                          ((2, 1, mpt.BASE_LAST, 1, 0, 0, 0), deltas(5, 7, 1, -1)))
        self.assertEqual(decode(content, 4, 2), [[5, 7, 6, 6]])

    def test_self(self):
        """SELF | LAST begins by counting, then repeats what followed a value."""
        content = columns(((1, 1, 10, 0, 0, 0, 0), deltas(0, 0, -2, 0, 0)))
        self.assertEqual(decode(content, 5, 1), [[1, 2, 1, 2, 1]])

    def test_mean(self):
        """MEAN rounds and moves by a quarter, also below 0."""
        content = columns(((1, 1, mpt.MEAN, 0, 0, 0, 0), deltas(-100, -10, 0)))
        values = [mpt.signed(value) for value in decode(content, 3, 1)[0]]
        self.assertEqual(values, [-100, -110, -102])

    def test_previous_keys(self):
        """PREV tells rows apart by the key of the row before."""
        keys = (((1, 1, 0, 0, 0, 0, 0), numbers(1, 2, 1, 2, 2)),)
        content = columns(*keys, ((2, 1, 18, 0, 1, 0, 0), deltas(4, 5, 6, 0, 9)))
        self.assertEqual(decode(content, 5, 2), [[4, 5, 6, 5, 9]])

    def test_times(self):
        """START and SPAN: the grid, both columns' corrections and their drift."""
        trace = mpt.Trace(header() + chunk(0, KERNEL, 3, KERNELS, (1000, 2126)), TABLES, True)
        self.assertEqual((trace.damage, [("kernel", *row) for row in trace.rows["kernel"]]),
                         ([], KERNEL_ROWS))

    def test_drift(self):
        """A lean of 8 becomes offset; a correction of 0 takes from the lean."""
        grid = mpt.Grid(0, 1 << 32, 0)
        steps = [1] * 7 + [0] + [1] * 2 + [0, -3, 0]
        times = [grid.time(100, zigzag(step)) for step in steps]
        self.assertEqual(times, [101] * 7 + [100] + [101] * 2 + [101, 98, 98])
        self.assertEqual(grid.time(-5 & mpt.MASK, 0), -7 & mpt.MASK)

    def test_bad_references(self):
        """Columns that name later ones, themselves, or no partner."""
        plain = (2, 1, 0, 0, 0, 0, 0), constant(0)
        for bad in (((1, 1, 1, 2, 0, 0, 0), constant(0)), ((1, 1, 1, 1, 0, 0, 0), constant(0)),
                    ((1, 3, 0, 0, 0, 0, 2), constant(0) * 2),
                    ((1, 2, 0, 0, 0, 0, 2), constant(0) * 2, (0, 0, 0))):
            self.assertRaises(mpt.Damage, decode, columns(bad, plain), 1, 1)


class Files(unittest.TestCase):
    """Whole files, sound and damaged."""

    def test_sound(self):
        """All parts of the sample are read."""
        trace = mpt.Trace(sample(), TABLES)
        self.assertEqual(trace.damage, [])
        self.assertEqual(trace.header, {"miniprof": "test", "clock": "simgpu"})
        self.assertEqual(trace.rows["string"], [(1, "abc"), (2, ""), (3, "é")])
        self.assertEqual([("kernel", *row) for row in trace.rows["kernel"]], KERNEL_ROWS * 2)
        self.assertEqual(len(trace.index), 4)

    def test_refused(self):
        """Versions and features to come."""
        for bad in (header(version=2), header(features=1)):
            self.assertRaises(mpt.Refused, mpt.Trace, bad, TABLES)

    def test_lost_chunk(self):
        """A gap in the sequence is damage, and the rest is read."""
        data = header() + chunk(0, STRING, 3, STRINGS) + chunk(2, KERNEL, 3, KERNELS)
        trace = mpt.Trace(data, TABLES)
        self.assertEqual((len(trace.damage), len(trace.rows["kernel"])), (1, 3))

    def test_salvage(self):
        """What follows bytes put in, and a chunk whose frame is damaged, is read."""
        data = sample()
        second = data.index(b"MPCHUNK\0", data.index(b"MPCHUNK\0") + 1) - 8
        broken = bytearray(data)
        broken[second + 90] ^= 1
        for bad, kernels in ((data[:second] + b"junk" + data[second:], 6), (bytes(broken), 3)):
            trace = mpt.Trace(bad, TABLES)
            self.assertTrue(trace.damage)
            self.assertEqual(len(trace.rows["kernel"]), kernels)
            self.assertEqual(len(trace.index), 4)

    def test_every_bit(self):
        """No flipped bit raises, and none goes unseen but those that zstd has no use for."""
        data = sample()
        rows = mpt.Trace(data, TABLES).rows
        for bit in range(len(data) * 8):
            broken = bytearray(data)
            broken[bit // 8] ^= 1 << bit % 8
            trace = mpt.Trace(bytes(broken), TABLES, True)
            self.assertTrue(trace.damage or trace.rows == rows and data[bit // 8 - 4:bit // 8]
                            == b"\x28\xb5\x2f\xfd", bit)

    def test_every_length(self):
        """A file cut anywhere is read as far as it goes."""
        data = sample()
        ends = [0] + [c.end for c in mpt.Trace(data, TABLES).chunks]
        for length in range(len(data)):
            trace = mpt.Trace(data[:length], TABLES)
            self.assertEqual(len(trace.chunks), sum(end <= length for end in ends[1:]))
            self.assertTrue(trace.damage or length in ends + [len(header())])

    def test_columns_damaged(self):
        """Bytes that checksums would let pass end in values or Damage, nothing else."""
        chance = random.Random(1)
        for content, ids in ((STRINGS, (1,)), (KERNELS, (1, 4, 5, 6))):
            for _ in range(3000):
                broken = bytearray(content)
                for _ in range(chance.randint(1, 3)):
                    broken[chance.randrange(len(broken))] = chance.randrange(256)
                with contextlib.suppress(mpt.Damage):
                    for values in decode(bytes(broken), 3, *ids):
                        self.assertTrue(all(0 <= value <= mpt.MASK for value in values))

    def test_real_traces(self):
        """Real traces are sound, and damage to them is seen, or is in a bit that zstd ignores."""
        chance = random.Random(2)
        for path in filter(None, os.environ.get("MPT_TRACES", "").split(":")):
            data = pathlib.Path(path).read_bytes()
            sound = mpt.Trace(data, TABLES, True)
            self.assertEqual(sound.damage, [])
            for _ in range(20):
                broken = bytearray(data)
                broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
                trace = mpt.Trace(bytes(broken), TABLES)
                self.assertTrue(trace.damage or trace.rows == sound.rows)


class Program(unittest.TestCase):
    """The command line."""

    def run_on(self, data, *options):
        """Exit status and output of the program."""
        with tempfile.NamedTemporaryFile(suffix=".mpt") as file:
            file.write(data)
            file.flush()
            done = subprocess.run([sys.executable, mpt.__file__, file.name, *options],
                                  capture_output=True, encoding="utf-8", check=False)
        return done.returncode, done.stdout, done.stderr

    def test_output(self):
        """CSV, one table or all, and the summary."""
        expected = io.StringIO()
        mpt.print_table(mpt.Trace(sample(), TABLES), KERNEL, expected)
        self.assertEqual(self.run_on(sample(), "--table", "kernel"), (0, expected.getvalue(), ""))
        strings = "table,id,text\nstring,1,abc\nstring,2,\nstring,3,é\n"
        self.assertEqual(self.run_on(sample()), (0, strings + expected.getvalue(), ""))
        summary = "0 chunks, 0 rows, 0 lost, no index\n"
        self.assertEqual(self.run_on(header(), "--check"), (0, summary, ""))

    def test_damage(self):
        """Status 1 and words for damage, 2 for what cannot be read at all."""
        status, output, errors = self.run_on(sample()[:-1], "--table", "string")
        self.assertEqual((status, output.count("\n"), errors.count("\n")), (1, 4, 2))
        self.assertEqual(self.run_on(header(version=2))[0], 2)
        self.assertEqual(self.run_on(header(), "--table", "nonsense")[0], 2)


if __name__ == "__main__":
    unittest.main()
