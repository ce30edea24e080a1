"""Copies a trace as if other processes had written it. FILE COPY NUMBER makes one, of the process
NUMBER ids further on; with a %d in COPY it makes NUMBER of them, from 0 on. The new process id has
as many digits as the old one, so nothing else moves."""
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "readers"))
import mpt  # noqa: E402

source, target, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = bytearray(pathlib.Path(source).read_bytes())
end = 8 + struct.unpack_from("<I", data, 4)[0]
pid = re.search(rb"(?:^|\n)pid=(\d+)\n", data[32:end - 8])
assert pid, "the header has no process id"
digits = len(pid.group(1))
for number in range(last) if "%d" in target else [last]:
    changed = (int(pid.group(1)) + number) % 10 ** digits
    data[32 + pid.start(1):32 + pid.end(1)] = b"%0*d" % (digits, changed)
    data[end - 8:end] = struct.pack("<Q", mpt.xxh64(bytes(data[8:end - 8])))
    pathlib.Path(target.replace("%d", str(number))).write_bytes(data)
