#!/usr/bin/env python3
"""Exports for users of Nsight Systems: the schema against a list that is written here once more,
tables that come with their rows only, and queries as public scripts have them, on traces of known
content. The sums of all traces: test_round_trip.py.
"""
import collections
import csv
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from common import BUILD, DATA, MINIPROF
import parquet_tables

# Of schema 3.28.1: ! is NOT NULL, * the primary key; ~ is TEXT, % REAL, all others INTEGER.
WORK = "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid "
SCHEMA = {
    "META_DATA_EXPORT": "name!~ value~",
    "StringIds": "id!* value!~",
    "ThreadNames": "nameId! priority globalTid",
    "PROCESSES": "globalPid pid name~",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime~ localTime~ systemClockNs "
                                      "sessionStartCntVctNs",
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName!~ name!~ nameEnum! value!~",
    "TARGET_INFO_GPU": "vmId! id! name~ busLocation~ isDiscrete l2CacheSize totalMemory "
                       "memoryBandwidth clockRate smCount pwGpuId uuid~ luid chipName~ cuDevice "
                       "ctxswDevPath~ ctrlDevPath~ revision nodeMask constantMemory maxIPC "
                       "maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm "
                       "maxRegistersPerSm threadsPerWarp asyncEngines maxWarpsPerSm maxBlocksPerSm "
                       "maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ maxGridDimX "
                       "maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor "
                       "numaNodeId",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid! uuid~ numMultiprocessors",
    "CUPTI_ACTIVITY_KIND_KERNEL":
        WORK + "demangledName! shortName! mangledName launchType cacheConfig registersPerThread! "
               "gridX! gridY! gridZ! blockX! blockY! blockZ! staticSharedMemory! "
               "dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId! "
               "sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone "
               "qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ "
               "clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters "
               "sharedMemoryRequestedPercentage tensorSizeMinusOneElements!~",
    "CUPTI_ACTIVITY_KIND_MEMCPY":
        WORK + "bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId "
               "dstDeviceId dstContextId migrationCause graphNodeId virtualAddress copyCount",
    "CUPTI_ACTIVITY_KIND_MEMSET": WORK + "value! bytes! graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start! end! eventClass! globalTid correlationId nameId! "
                                   "returnValue! callchainId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION":
        WORK + "deprecatedSyncType syncType! eventId! eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "timestamp deviceId! contextId! greenContextId streamId! "
                                      "correlationId globalPid eventId! eventSyncId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": WORK + "graphId! graphExecId!",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start! globalPid! address! originalFaultPc CpuInstruction! "
                                     "module! unresolvedFaultPc sourceFile sourceLine",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start! end! globalPid! deviceId! address! "
                                     "numberOfPageFaults! faultAccessType!",
    "CUDA_GPU_MEMORY_USAGE_EVENTS":
        "start! globalPid! deviceId! contextId! address! pc! bytes! memKind! memoryOperationType! "
        "name~ correlationId streamId localMemoryPoolAddress localMemoryPoolReleaseThreshold "
        "localMemoryPoolSize localMemoryPoolUtilizedSize importedMemoryPoolAddress "
        "importedMemoryPoolProcessId",
    "NVTX_EVENTS": "start! end eventType! rangeId category color text~ globalTid endGlobalTid "
                   "textId domainId uint64Value int64Value doubleValue% uint32Value int32Value "
                   "floatValue% jsonTextId jsonText~ binaryData~ eventId!*",
    "CUDA_CALLCHAINS": "id! symbol! module! unresolved originalIP stackDepth!",
    "OSRT_API": "start! end! eventClass! globalTid nameId! returnValue! nestingLevel callchainId! "
                "argumentsId!",
}
ENUMS = {
    "ENUM_NSYS_EVENT_TYPE": {33, 34, 39, 59, 60, 75, 76},
    "ENUM_NSYS_EVENT_CLASS": {0, 1, 27},
    "ENUM_CUDA_MEMCPY_OPER": set(range(14)),
    "ENUM_CUDA_MEM_KIND": set(range(8)),
    "ENUM_CUDA_DEV_MEM_EVENT_OPER": {0, 1},
    "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE": set(range(5)),
    "ENUM_CUPTI_SYNC_TYPE": set(range(5)),
}
SCHEMA.update({name: "id!* name~ label~" for name in ENUMS})
ALWAYS = {"META_DATA_EXPORT", "TARGET_INFO_SESSION_START_TIME", "ANALYSIS_DETAILS", "PROCESSES",
          "ThreadNames", *ENUMS}

HEADER = """header pid=4242
header hostname=node-7
header executable=/opt/train
header start_clock_ns=1000
header start_realtime_ns=1700000000000001000
"""
# Each table has at least one row. Begin: 5000 of the recorder's clock.
KNOWN = HEADER + """string id=1 text=_ZN2ns5scaleIfEEvPT_i
string id=2 text=cudaLaunchKernel_v7000
string id=3 text=cuLaunchKernel
string id=4 text=forward
string id=5 text=NCCL
string id=6 text=NVIDIA-X
string id=7 text=loader
string id=8 text=/app/net.py
code id=1 name=4 file=8
frame id=1 kind=1 code=1 line=214
stack id=1 frame=1
thread id=1 tid=4243 name=7
thread id=2 tid=4244
device id=1 name=6 uuid_high=0x0123456789abcdef uuid_low=0x1122334455667788 multiprocessors=132 \
core_clock=1980000 memory=1000 memory_bandwidth=5 compute_major=9
stream id=1 stream=13 context=3 device=1
function id=1 api=1 cbid=211 name=2
function id=2 api=2 cbid=307 name=3
shape id=1 kernel=1 grid_x=4 grid_y=5 grid_z=6 block_x=32 block_y=2 block_z=1 registers=40 \
static_shared_memory=7 dynamic_shared_memory=8 shared_memory_executed=1024 local_memory=9
node id=1 graph=77 graph_node=0x4d00000002
call thread=1 function=1 start=5000 duration=10 correlation=101 stack=1
call thread=2 function=2 start=5100 duration=20 correlation=102 result=1
kernel stream=1 shape=1 start=6000 duration=1000 correlation=101
kernel stream=1 shape=1 node=1 start=8000 duration=3000 correlation=102
copy stream=1 kind=1 source=1 target=3 bytes=4096 start=12000 duration=100 correlation=103 count=1
copy stream=1 kind=10 source=3 target=3 bytes=64 start=12500 duration=50 correlation=104 \
source_device=1 source_context=3 target_device=2 target_context=5 count=1
set stream=1 bytes=256 value=0xff memory=3 start=13000 duration=7 correlation=105
graph stream=1 graph=77 start=8000 duration=3000 correlation=102
sync thread=1 kind=3 context=3 stream=13 start=14000 duration=500 correlation=106
sync thread=1 kind=5 context=3 stream=13 event=0xabc start=14600 duration=5 correlation=107
sync thread=1 kind=8 context=3 stream=13 event=0xabc start=14700 duration=5 correlation=108
nvtx thread=1 kind=1 name=4 time=5000 color=0xff00ff00 payload_type=5 payload=0xfffffffe
nvtx thread=1 kind=2 time=16000
nvtx thread=2 kind=3 domain=5 name=4 time=6000 range=9
nvtx thread=1 kind=4 time=7000 range=9 domain=5
nvtx thread=2 kind=0 name=4 time=6500 payload_type=3 payload=0x3ff8000000000000
memory operation=1 kind=3 device=1 context=3 bytes=512 address=0xffff000000000000 time=15000
memory operation=2 kind=2 device=1 context=3 bytes=512 address=0x10 time=15500
wait thread=2 kind=2 start=15600 duration=30
unified kind=1 source=4294967295 target=1 value=65536 address=0x100 start=15700 duration=40
unified kind=3 source=4294967295 target=4294967295 value=0x7f00 address=0x200 flags=2 start=15800
unified kind=4 source=1 target=4294967295 value=9 address=0x300 flags=1 start=15900 duration=60
"""
BEGIN = 1700000000000005000


class Case(unittest.TestCase):
    """A folder, and what exports give in it."""

    maxDiff = 3000

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        """A file of the folder."""
        return os.path.join(self.folder, name)

    def trace(self, rows, name="known.mpt"):
        """A trace of these rows."""
        rows = rows.replace("\\\n", "")
        subprocess.run([BUILD + "/tests/tools/write_trace", self.path(name)],
                       input=rows.encode("utf-8", "surrogateescape"), check=True)
        return self.path(name)

    def export(self, form, *arguments, code=0, **options):
        """The export's output; its complaints."""
        done = subprocess.run([MINIPROF, "export", "--to", form, *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              **options)
        if "built without SQLite" in done.stderr:
            self.skipTest("a build without SQLite")
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def database(self, *arguments, code=0):
        """Opens an export of these traces."""
        self.export("nsys-sqlite", "-f", "-o", self.path("out.sqlite"), *arguments, code=code)
        connection = sqlite3.connect(self.path("out.sqlite"))
        self.addCleanup(connection.close)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        return connection

    def query(self, connection, sql, *rows):
        """The rows that a query gives."""
        self.assertEqual(connection.execute(sql).fetchall(), list(rows), sql)


def tables_of(connection):
    """The names of its tables."""
    return {name for name, in connection.execute("SELECT name FROM sqlite_master")}


class Schema(Case):
    """Tables and columns."""

    def check_columns(self, table, columns):
        """Each as (name, type, NOT NULL, primary key)."""
        types = {"~": "TEXT", "%": "REAL"}
        wanted = [(text.rstrip("!*~%"), types.get(text[-1], "INTEGER"), "!" in text, "*" in text)
                  for text in SCHEMA[table].split()]
        self.assertEqual(columns, wanted, table)

    def test_all_tables(self):
        """The known trace has them all, with every column in order."""
        connection = self.database(self.trace(KNOWN))
        self.assertEqual(tables_of(connection), set(SCHEMA))
        for table in SCHEMA:
            self.check_columns(table, [
                (name, kind, bool(full), bool(key)) for _, name, kind, full, _, key
                in connection.execute(f"PRAGMA table_info({table})")])

    def test_parquet_has_the_same(self):
        """Columns, and every value of every table."""
        trace = self.trace(KNOWN)
        connection = self.database(trace)
        self.export("nsys-parquet", "-o", self.path("out"), trace)
        found = parquet_tables.read(self.path("out"))
        kinds = {"INT64": "INTEGER", "BYTE_ARRAY": "TEXT", "DOUBLE": "REAL"}
        self.assertEqual(set(found), set(SCHEMA))
        for table, columns in found.items():
            schema = columns.pop("")
            self.check_columns(table, [(name, kinds[kind], repetition == "REQUIRED",
                                        name + "!*" in SCHEMA[table].split())
                                       for name, kind, repetition in schema])
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            for at, (name, kind, _) in enumerate(schema):
                values = [int(value) if kind == "INT64" and value is not None else value
                          for value in columns[name]]
                self.assertEqual(values, [row[at] for row in rows], (table, name))

    def test_lazy(self):
        """A table without rows is not there, but ThreadNames: nsys stats skips reports without."""
        connection = self.database(self.trace(HEADER + "string id=1 text=a\n"))
        self.assertEqual(tables_of(connection), ALWAYS | {"TARGET_INFO_SYSTEM_ENV"})
        self.export("nsys-parquet", "-o", self.path("out"), self.path("known.mpt"))
        self.assertEqual({name[:-len(".parquet")] for name in os.listdir(self.path("out"))},
                         ALWAYS | {"TARGET_INFO_SYSTEM_ENV"})

    def test_enumerations(self):
        """Every value has a name and a label."""
        connection = self.database(self.trace(KNOWN))
        for table, values in ENUMS.items():
            rows = connection.execute(f"SELECT id, name, label FROM {table}").fetchall()
            self.assertEqual({row[0] for row in rows}, values)
            self.assertTrue(all(name and label for _, name, label in rows))
        self.query(connection, "SELECT name, label FROM ENUM_CUDA_MEM_KIND WHERE id = 2",
                   ("CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"))
        self.query(connection, "SELECT value FROM META_DATA_EXPORT "
                               "WHERE name = 'EXPORT_SCHEMA_VERSION'", ("3.28.1",))


class Content(Case):
    """What rows say, by queries as scripts have them."""

    def test_kernels(self):
        """By short name, with the launch and its process; launch shape; graph nodes."""
        connection = self.database(self.trace(KNOWN))
        self.query(connection,
                   "SELECT s.value, d.value, m.value, COUNT(*), SUM(k.end - k.start), "
                   "MIN(k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                   "JOIN StringIds s ON s.id = k.shortName JOIN StringIds d "
                   "ON d.id = k.demangledName JOIN StringIds m ON m.id = k.mangledName "
                   "GROUP BY k.shortName",
                   ("scale", "void ns::scale<float>(float*, int)", "_ZN2ns5scaleIfEEvPT_i", 2,
                    4000, 1000))
        self.query(connection,
                   "SELECT r.globalTid / 0x1000000 % 0x1000000, r.globalTid % 0x1000000, "
                   "n.value, r.eventClass, r.returnValue, k.start - r.start "
                   "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
                   "ON r.correlationId = k.correlationId AND r.globalTid / 0x1000000 = "
                   "k.globalPid / 0x1000000 JOIN StringIds n ON n.id = r.nameId ORDER BY k.start",
                   (4242, 4243, "cudaLaunchKernel_v7000", 0, 0, 1000),
                   (4242, 4244, "cuLaunchKernel", 1, 1, 2900))
        self.query(connection,
                   "SELECT r.correlationId, c.stackDepth, s.value, m.value FROM CUDA_CALLCHAINS c "
                   "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.callchainId = c.id "
                   "JOIN StringIds s ON s.id = c.symbol JOIN StringIds m ON m.id = c.module",
                   (101, 0, "forward (net.py:214)", "/app/net.py"))
        self.query(connection,
                   "SELECT deviceId, contextId, streamId, gridX, gridY, gridZ, blockX, blockY, "
                   "blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory, "
                   "sharedMemoryExecuted, localMemoryPerThread, graphNodeId, graphId "
                   "FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start",
                   (1, 3, 13, 4, 5, 6, 32, 2, 1, 40, 7, 8, 1024, 9, None, None),
                   (1, 3, 13, 4, 5, 6, 32, 2, 1, 40, 7, 8, 1024, 9, 0x4d00000002, 77))

    def test_memory(self):
        """Copies by nsys's kinds, sets, migrations, allocations."""
        connection = self.database(self.trace(KNOWN))
        self.query(connection,
                   "SELECT o.label, s.label, d.label, SUM(bytes), SUM(end - start), srcDeviceId, "
                   "dstDeviceId FROM CUPTI_ACTIVITY_KIND_MEMCPY m "
                   "JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = copyKind "
                   "JOIN ENUM_CUDA_MEM_KIND s ON s.id = srcKind "
                   "JOIN ENUM_CUDA_MEM_KIND d ON d.id = dstKind GROUP BY copyKind",
                   ("Host-to-Device", "Pageable", "Device", 4096, 100, None, None),
                   ("Peer-to-Peer", "Device", "Device", 64, 50, 1, 2),
                   ("Unified Host-to-Device", "Managed", "Managed", 65536, 40, None, None))
        self.query(connection, "SELECT value, bytes, memKind, end - start FROM "
                               "CUPTI_ACTIVITY_KIND_MEMSET", (255, 256, 2, 7))
        self.query(connection,
                   "SELECT o.label, k.label, bytes, address, e.start FROM "
                   "CUDA_GPU_MEMORY_USAGE_EVENTS e JOIN ENUM_CUDA_DEV_MEM_EVENT_OPER o "
                   "ON o.id = memoryOperationType JOIN ENUM_CUDA_MEM_KIND k ON k.id = memKind",
                   ("Allocation", "Device", 512, -(1 << 48), 10000),
                   ("Deallocation", "Pinned", 512, 16, 10500))

    def test_page_faults(self):
        """Those of unified memory: the CPU's by their instruction, the GPU's counted."""
        connection = self.database(self.trace(KNOWN))
        self.query(connection,
                   "SELECT start, address, originalFaultPc, i.value, m.value, unresolvedFaultPc "
                   "FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS JOIN StringIds i ON i.id = CpuInstruction "
                   "JOIN StringIds m ON m.id = module",
                   (10800, 0x200, 0x7f00, "0x7f00", "[Unknown]", 1))
        self.query(connection,
                   "SELECT start, end, deviceId, address, numberOfPageFaults, label FROM "
                   "CUDA_UM_GPU_PAGE_FAULT_EVENTS JOIN ENUM_CUDA_UNIF_MEM_ACCESS_TYPE ON "
                   "id = faultAccessType", (10900, 10960, 1, 0x300, 9, "Read"))
        connection = self.database(os.path.join(DATA, "managed.mpt"))
        self.query(connection, "SELECT COUNT(*) FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS", (18,))
        self.query(connection, "SELECT COUNT(*), SUM(numberOfPageFaults) FROM "
                               "CUDA_UM_GPU_PAGE_FAULT_EVENTS", (9, 73))

    def test_host(self):
        """NVTX with domains and payloads, synchronisation, events, waits, named threads."""
        connection = self.database(self.trace(KNOWN))
        self.query(connection,
                   "SELECT n.eventType, COALESCE(n.text, s.value), n.start, n.end - n.start, "
                   "n.globalTid % 0x1000000, n.domainId, n.color, n.int32Value, n.doubleValue, "
                   "d.text FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId "
                   "LEFT JOIN NVTX_EVENTS d ON d.eventType = 75 AND d.domainId = n.domainId "
                   "WHERE n.eventType IN (34, 59, 60) ORDER BY n.start",
                   (59, "forward", 0, 11000, 4243, 0, 0xff00ff00, -2, None, None),
                   (60, "forward", 1000, 1000, 4244, 1, None, None, None, "NCCL"),
                   (34, "forward", 1500, None, 4244, 0, None, None, 1.5, None))
        self.query(connection,
                   "SELECT start, end, deviceId, streamId, t.label FROM "
                   "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION JOIN ENUM_CUPTI_SYNC_TYPE t "
                   "ON t.id = syncType", (9000, 9500, 1, 13, "Stream sync"))
        self.query(connection, "SELECT timestamp, deviceId, streamId, eventId FROM "
                               "CUPTI_ACTIVITY_KIND_CUDA_EVENT", (9600, 1, 13, 0xabc))
        self.query(connection, "SELECT graphId, start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                   (77, 3000, 6000))
        self.query(connection, "SELECT s.value, o.end - o.start, eventClass FROM OSRT_API o JOIN "
                               "StringIds s ON s.id = o.nameId", ("pthread_mutex_lock", 30, 27))
        self.query(connection, "SELECT s.value, globalTid % 0x1000000 FROM ThreadNames JOIN "
                               "StringIds s ON s.id = nameId", ("loader", 4243))

    def test_target(self):
        """The session's begin, the host, the GPU."""
        connection = self.database(self.trace(KNOWN))
        self.query(connection, "SELECT utcEpochNs, utcTime FROM TARGET_INFO_SESSION_START_TIME",
                   (BEGIN, "2023-11-14 22:13:20"))
        self.query(connection, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'",
                   ("node-7",))
        self.query(connection,
                   "SELECT g.name, g.totalMemory, g.memoryBandwidth, g.clockRate, g.smCount, "
                   "c.cudaId, c.pid, c.uuid FROM TARGET_INFO_GPU g "
                   "JOIN TARGET_INFO_CUDA_DEVICE c ON c.gpuId = g.id",
                   ("NVIDIA-X", 1000, 5000, 1980000000, 132, 1, 4242,
                    "01234567-89ab-cdef-1122-334455667788"))
        self.query(connection, "SELECT pid, name, globalPid / 0x1000000 % 0x1000000 FROM "
                               "PROCESSES", (4242, "/opt/train", 4242))

    def test_processes(self):
        """One file, one clock: processes of two hosts with one pid stay apart."""
        other = KNOWN.replace("node-7", "node-8").replace("001000\n", "001500\n", 1)
        third = KNOWN.replace("header hostname=node-7\n", "header hostname=node-7\n"
                              "header rank=1\n")
        connection = self.database(self.trace(KNOWN), self.trace(other, "other.mpt"),
                                   self.trace(third.replace("start=6000", "start=6001"),
                                              "third.mpt"))
        self.query(connection, "SELECT COUNT(DISTINCT globalPid), COUNT(DISTINCT pid) FROM "
                               "PROCESSES", (3, 1))
        self.query(connection, "SELECT value FROM TARGET_INFO_SYSTEM_ENV ORDER BY value",
                   ("node-7",), ("node-8",))
        self.query(connection,
                   "SELECT MIN(start), COUNT(DISTINCT shortName) FROM CUPTI_ACTIVITY_KIND_KERNEL "
                   "GROUP BY globalPid ORDER BY MIN(start)", (1000, 1), (1001, 1), (1500, 1))
        self.query(connection, "SELECT COUNT(*), COUNT(DISTINCT value) FROM StringIds WHERE "
                               "value LIKE '%scale%'", (3, 3))
        self.query(connection, "SELECT COUNT(*), COUNT(DISTINCT eventId) FROM NVTX_EVENTS",
                   (10, 10))

    def test_names(self):
        """Quotes, markup, bytes that are no UTF-8 and 64 KiB, the most of a trace, arrive."""
        names = ["a'b\"c;DROP", "<b>&amp;\\n", "x\udcffy", "z" * 65535]
        rows = "".join(f"string id={at + 1} text={name}\n"
                       f"shape id={at + 1} kernel={at + 1}\n"
                       f"kernel shape={at + 1} start={at + 1} duration=1\n"
                       f"nvtx kind=0 name={at + 1} time={at + 1}\n"
                       for at, name in enumerate(names))
        trace = self.trace(HEADER + rows)
        wanted = [name.replace("\udcff", "\ufffd") for name in names]
        connection = self.database(trace)
        self.query(connection, "SELECT s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s "
                               "ON s.id = k.demangledName ORDER BY start",
                   *((name,) for name in wanted))
        self.query(connection, "SELECT text FROM NVTX_EVENTS ORDER BY start",
                   *((name,) for name in wanted))
        self.export("nsys-parquet", "-o", self.path("out"), trace)
        found = parquet_tables.read(self.path("out"), "NVTX_EVENTS:text")
        self.assertEqual(found["NVTX_EVENTS"]["text"], wanted)

    def test_payloads(self):
        """Extended payloads by the names of their fields: all types, names that JSON has to escape,
        values of another event, and events and fields that a damaged file lacks."""
        strings = {1: "r", 2: 'a"\\b', 3: "sum", 4: "t\udcffx\u00e9", 5: "plus"}
        rows = "".join(f"string id={number} text={text}\n" for number, text in strings.items())
        fields = [(1, 2, "unsigned", 0), (1, 1, "signed", 0), (1, 3, "real", 0), (1, 4, "text", 0),
                  (1, 5, "address", 0), (2, 3, "signed", 9)]
        kinds = {"unsigned": 1, "signed": 2, "real": 3, "text": 4, "address": 5}
        rows += "".join(f"payload_field id={at + 1} payload_schema={schema} name={name} "
                        f"type={kinds[kind]} enumeration={enumeration}\n"
                        for at, (schema, name, kind, enumeration) in enumerate(fields))
        rows += "payload_name enumeration=9 value=4 name=5\n"
        half = 0x3FE0000000000000
        values = [(1, 2**64 - 1), (2, -3), (3, half), (4, 4), (5, 4096), (6, 4)]
        rows += "".join(f"payload field={field} number=1 value={value}\n"
                        for field, value in values)
        rows += "payload field=3 number=2 value=9218868437227405312\n"  # infinity
        rows += "payload field=6 number=2 value=7\n"
        rows += "payload field=77 number=1 value=7\n"
        rows += "".join(
            f"nvtx kind=0 name=1 time={at + 1} payload_schema={schema} extended={number}\n"
            for at, (schema, number) in enumerate([(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (0, 0)]))
        connection = self.database(self.trace(HEADER + rows))
        found = [text and json.loads(text) for text, in connection.execute(
            "SELECT jsonText FROM NVTX_EVENTS ORDER BY start")]
        self.assertEqual(found, [
            {'a"\\b': 2**64 - 1, "r": -3, "sum": 0.5, "t\ufffdx\u00e9": "t\ufffdx\u00e9",
             "plus": 4096},
            {"sum": "plus"}, {"sum": None}, {"sum": 7}, None, None])

    def test_collectives(self):
        """NCCL's ranges have their communicator and size, as it was played."""
        connection = self.database(DATA + "/ranks")
        found = collections.Counter()
        for name, text in connection.execute(
                "SELECT text, jsonText FROM NVTX_EVENTS WHERE jsonText LIKE '%Message size%'"):
            payload = json.loads(text)
            found[f"{payload['NCCL communicator ID']:016x}", name[4:],
                  payload["Message size [bytes]"], payload.get("Peer rank")] += 1
        played = collections.Counter()
        with open(DATA + "/ranks/truth.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key, size, peer = row["communicator"], int(row["bytes"]), int(row["peer"])
                if row["function"] == "Send":
                    played[key, "Send", size, peer] += 1
                    played[key, "Recv", size, 1 - peer] += 1
                else:
                    played[key, row["function"], size, None] += 2
        self.assertEqual(found, played)

    def test_short_names(self):
        """The last part of a name, without what it is a template of."""
        names = {
            "plain": "plain",
            "_ZN2at6native18elementwise_kernelILi4EEEvi": "elementwise_kernel",
            "_ZN12_GLOBAL__N_15innerIfEEvT_": "inner",
            "_ZNK1A3runEi": "run",
            "Cijk_Ailk_Bljk": "Cijk_Ailk_Bljk",
            "<>": "<>",
        }
        rows = "".join(f"string id={at + 1} text={name}\nshape id={at + 1} kernel={at + 1}\n"
                       f"kernel shape={at + 1} start={at + 1} duration=1\n"
                       for at, name in enumerate(names))
        connection = self.database(self.trace(HEADER + rows))
        self.query(connection, "SELECT s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s "
                               "ON s.id = k.shortName ORDER BY start",
                   *((name,) for name in names.values()))


class Output(Case):
    """Where exports go."""

    def test_existing(self):
        """Nothing is overwritten without -f; then nothing of an older folder stays."""
        full, small = self.trace(KNOWN), self.trace(HEADER, "small.mpt")
        for form, name in (("nsys-sqlite", "out.sqlite"), ("nsys-parquet", "out")):
            out = self.path(name)
            self.export(form, "-o", out, full)
            self.assertIn("exists; -f replaces it",
                          self.export(form, "-o", out, small, code=2)[1])
        with open(self.path("out/notes.txt"), "w", encoding="utf-8") as file:
            file.write("mine")
        self.export("nsys-sqlite", "-f", "-o", self.path("out.sqlite"), small)
        self.export("nsys-parquet", "-f", "-o", self.path("out"), small)
        with sqlite3.connect(self.path("out.sqlite")) as connection:
            self.assertNotIn("OSRT_API", tables_of(connection))
        connection.close()
        self.assertNotIn("OSRT_API.parquet", os.listdir(self.path("out")))
        self.assertIn("notes.txt", os.listdir(self.path("out")))

    def test_stdout(self):
        """A database cannot go through a pipe."""
        trace = self.trace(KNOWN)
        self.assertIn("no SQLite file can be written there",
                      self.export("nsys-sqlite", "-o", "-", trace, code=2)[1])
        self.assertIn("the standard output takes one file",
                      self.export("nsys-parquet", "-o", "-", trace, code=2)[1])

    def test_full_disk(self):
        """Nothing is left, and a line says why."""
        subprocess.run([BUILD + "/tests/tools/make_trace", "many", self.path("many.mpt")],
                       check=True)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5 * 1024, 5 * 1024))

        for form in ("nsys-sqlite", "nsys-parquet"):
            said = self.export(form, "-o", self.path("out"), self.path("many.mpt"), code=3,
                               preexec_fn=limit)[1]
            self.assertRegex(said, r"^miniprof export: [^\n]*File too large\n$")
            self.assertEqual(os.listdir(self.folder), ["many.mpt"])

    def test_nsys(self):
        """`nsys stats` prints what `summary` does, where nsys is installed."""
        if not shutil.which("nsys"):
            self.skipTest("no nsys")
        trace = DATA + "/resnet50_eager.mpt"
        self.database(trace)
        done = subprocess.run(["nsys", "stats", "--report", "cuda_gpu_kern_sum", "--format", "json",
                               "--quiet", self.path("out.sqlite")], stdout=subprocess.PIPE,
                              check=True)
        text = done.stdout.decode()
        ours = subprocess.run([MINIPROF, "summary", "--json", trace], stdout=subprocess.PIPE,
                              check=False)
        total = sum(row["total_ns"] for group in json.loads(ours.stdout)["groups"]
                    if group["name"] != "api_calls" for row in group["rows"]
                    if not row["name"].startswith("[CUDA "))
        theirs = json.loads(text[text.index("["):])
        self.assertEqual(sum(int(row["Total Time (ns)"]) for row in theirs), total)


if __name__ == "__main__":
    unittest.main()
