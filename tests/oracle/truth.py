"""What the programs of a file did: their API calls in order, with the rows recorded of them.

The programs say what depends on what. Of the trace only times are taken: each row is found by its
correlation id, which follows from the log of run_programs. Table `sync` gives the times of queries,
which leave no other row; what it says of events and streams is not used, nor is table `edge`.
"""
import collections

import program

FIRST_MADE = 6
QUERIES = ("eventquery", "streamquery")
EVENT_QUERY, STREAM_QUERY = 8, 9  # sync_kind
COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}

# Operations that put something in a stream, and where in their numbers that stream is: None stands
# for the legacy default stream.
LAUNCHES = {"kernel": 0, "pdl": 0, "hostfunc": 0, "callback": 0, "copyin": 0, "copyout": 0,
            "copywithin": 0, "copypeer": 0, "set": 0, "graph": 1, "copyinnow": None,
            "copyoutnow": None, "copywithinnow": None, "setnow": None}
# Where the object that a host function posts to stands in the numbers.
HOST_FUNCTIONS = {"hostfunc": 3, "callback": 3}
ON_HOST = ("call", "wait")  # kinds of activities on threads
HOST = "host"  # the driver's thread, which runs host functions
BLOCKING_COPIES = ("copyinnow", "copyoutnow", "copywithinnow")
IN_EFFECT = ("alloc", "free", "hostalloc", "hostfree", "module")  # D8


class Mismatch(Exception):
    """The trace does not hold what the programs must have left in it."""


class Stream:
    """A stream; `launches`, `waits`, `records`, `values` in the order of the API."""

    def __init__(self, device, kind):
        self.device, self.kind = device, kind  # kind: default, blocking, nonblocking
        self.launches, self.waits, self.records = [], [], []
        self.values = []  # waits for them: (correlation, address, step)


class Launch:
    """All device activities of one call."""

    def __init__(self, call, stream):
        self.call, self.stream, self.correlation = call, stream, call.correlation
        self.activities, self.nodes = [], None  # nodes: {index: activity} and the program's nodes
        self.before = None  # the last launch of the same executable graph


class Activity:
    """A kernel, a copy, a set or a host function."""

    def __init__(self, kind, order, row, lane):
        self.kind, self.order, self.correlation = kind, order, row["correlation"]
        self.begin, self.duration = row["start"], row["duration"]
        self.end = self.begin + self.duration
        self.copy_kind = row.get("kind")
        self.pageable = 1 in (row.get("source"), row.get("target"))
        self.asynchronous = bool(row.get("flags", 0) & 1)
        self.launch = self.window = None
        self.node, self.run = row["node"], None  # run: in launch.nodes
        self.lane = lane
        self.name = "[CUDA memset]"
        self.graph = 0
        self.tid = row.get("thread")  # of a host function

    def key(self):
        """By which the same activity is found in the output of miniprof."""
        return self.kind, self.correlation, self.begin, self.duration, self.name


class Call:
    """A call that was recorded, or a query of which there is a row of `sync`."""

    kind = "call"

    def __init__(self, thread, correlation, name, begin, duration):
        self.thread, self.correlation, self.name = thread, correlation, name
        self.begin, self.duration, self.end = begin, duration, begin + duration
        self.op, self.context, self.window, self.tid = None, None, None, None
        self.event_or_stream = None  # what it asks for
        self.copy = None  # what a copying call copied, outside of graphs

    def key(self):
        """See Activity; the id says enough."""
        return self.kind, self.correlation, self.begin, self.duration, None


class Wait:
    """A wait of a thread outside of CUDA; `woken` and `waker` are None if nobody is known."""

    kind, correlation, copy = "wait", 0, None

    def __init__(self, row, system_tid):
        self.system_tid = system_tid
        self.tid, self.begin, self.duration = row["thread"], row["start"], row["duration"]
        self.end = self.begin + self.duration
        self.waker, self.woken, self.how = None, None, row["kind"]
        if row["waker"]:
            self.waker, self.woken = row["waker"], self.begin + row["woken"]
        self.op, self.window, self.previous, self.awaited = None, None, None, None

    def key(self):
        """See Activity; there is no id, but one wait at a time."""
        return self.kind, self.system_tid, self.begin, self.duration, None


Event = collections.namedtuple("Event", "correlation stream")  # stream None: cleared
Write = collections.namedtuple("Write", "correlation stream step")
Window = collections.namedtuple("Window", "range begin mark first last")


class Rows:
    """The rows of a trace, by correlation id."""

    def __init__(self, trace):
        self.trace = trace
        self.names = {row["id"]: row["text"] for row in self.table("string")}
        functions = {row["id"]: self.names[row["name"]] for row in self.table("function")}
        kernels = {row["id"]: self.names[row["kernel"]] for row in self.table("shape")}
        nodes = {row["id"]: (row["graph"], row["graph_node"]) for row in self.table("node")}
        # Rows name a stream of a green context by that, or by its parent.
        lanes = {row["id"]: (row["device"], row["stream"]) for row in self.table("stream")}
        self.calls, self.device = {}, collections.defaultdict(list)
        self.bodies = collections.defaultdict(list)  # of loops, by graph and kind
        self.queries = {}
        for row in self.table("call"):
            call = Call(row["thread"], row["correlation"], functions[row["function"]],
                        row["start"], row["duration"])
            call.tid = row["thread"]
            if self.calls.setdefault(call.correlation, call) is not call:
                raise Mismatch(f"two calls with correlation id {call.correlation}")
        order = 0
        for kind in ("kernel", "copy", "set", "host_function"):
            for row in self.table(kind):
                order += 1
                activity = Activity(kind, order, row, lanes[row["stream"]])
                if kind == "kernel":
                    activity.name = kernels[row["shape"]]
                elif kind == "copy":
                    activity.name = f"[CUDA memcpy {COPY_KINDS[row['kind']]}]"
                elif kind == "host_function":
                    activity.name = None
                if row["node"]:
                    activity.graph, activity.node = nodes[row["node"]]
                if activity.correlation:
                    self.device[activity.correlation].append(activity)
                else:
                    self.bodies[activity.graph, kind].append(activity)
        for row in self.table("sync"):
            if row["kind"] in (EVENT_QUERY, STREAM_QUERY) and not row["result"]:
                call = Call(row["thread"], row["correlation"], None, row["start"], row["duration"])
                call.tid = row["thread"]
                self.queries[row["correlation"]] = call
        self.threads = {row["tid"]: row["id"] for row in self.table("thread")}
        self.waits = collections.defaultdict(list)  # by thread, one after the other
        tids = {id: tid for tid, id in self.threads.items()}
        for row in sorted(self.table("wait"), key=lambda row: row["start"]):
            self.waits[row["thread"]].append(Wait(row, tids[row["thread"]]))

    def table(self, name):
        """The rows of a table as dictionaries."""
        columns = next((c for n, c in self.trace.tables.values() if n == name), ())
        names = [column for _, column, _ in columns]
        return [dict(zip(names, row)) for row in self.trace.rows.get(name, ())]

    def windows(self):
        """The capture ranges."""
        begun, windows = None, []
        for row in self.table("capture"):
            if row["kind"] == 1:
                begun = row
            else:
                windows.append(Window(row["range"], begun["time"], row["time"],
                                      begun["correlation"], row["correlation"]))
        return windows


class Truth:
    """What happened in a file of programs."""

    def __init__(self, programs, log, trace):
        self.rows = Rows(trace)
        self.windows = self.rows.windows()
        self.streams, self.events = {}, collections.defaultdict(list)
        self.of_device = collections.defaultdict(list)  # all streams there ever were
        self.writes = collections.defaultdict(list)  # by address
        self.launches, self.calls, self.waits = [], [], []
        self.last_launches = {}  # by graph
        self.graphs, self.current, self.window = {}, {}, None
        self.tokens = collections.defaultdict(collections.deque)  # of an object: who posted
        log = iter(log)
        self.tids = next(log)
        if len(self.windows) != len(programs):
            raise Mismatch(f"{len(self.windows)} capture ranges for {len(programs)} programs")
        for number, one in enumerate(programs):
            self.run(one, self.windows[number], log)
        self.match_all()

    def run(self, one, window, log):
        """The lines of one program."""
        # Streams that a program made are gone, but what is left in them still counts.
        self.streams = {key: s for key, s in self.streams.items() if key[1] < FIRST_MADE}
        self.window = None
        self.tokens.clear()
        lines = [(section, op, *next(log)) for section, op in one.lines()]
        start = next(before for section, _, before, _, _ in lines if section == "begin")
        shift = window.first - start
        for section, op, before, count, waits in lines:
            if section == "begin":
                self.window = window
            elif section == "end":
                self.window = None
                if before + shift != window.last:
                    raise Mismatch(f"range {window.range}: correlation ids do not count the calls")
            else:
                self.line(op, before + shift, count)
                self.host_line(op, waits, before + shift + count - 1)

    def line(self, op, correlation, count):
        """One operation; its first call has the id `correlation`."""
        if self.current.get(op.thread) != op.device:
            self.current[op.thread] = op.device
            correlation, count = correlation + 1, count - 1
        if op.name in ("capture", "build"):
            self.graphs[op.numbers[0]] = op
            self.last_launches.pop(op.numbers[0], None)
        if not self.window:
            return
        if op.name in QUERIES:
            self.query(op, correlation, count)
            return
        if count != program.api_calls(op):
            raise Mismatch(f"{op}: {count} calls")
        for each in range(correlation, correlation + count):
            call = self.rows.calls.get(each)
            if call:
                call.op, call.context, call.window = op, op.device, self.window
                self.calls.append(call)
        self.act(op, correlation)

    def host_line(self, op, waits, correlation):
        """What it means to threads outside of CUDA; `waits` is 1 if it was a wait. Its last call
        has the id `correlation`."""
        if op.name == "post":
            self.tokens[op.numbers[0]].extend([op.thread] * op.numbers[1])
        waker = None
        if op.name == "await" and self.tokens[op.numbers[0]]:
            waker = self.tokens[op.numbers[0]].popleft()
        elif op.name == "join":
            waker = op.numbers[0]
        if op.name == "streamsyncwait":
            self.wait_inside(op, self.rows.calls[correlation])
        elif waits:
            self.wait(op, waker)

    def wait_inside(self, op, call):
        """A wait that began inside of a call belongs to that. Behind the range it has no row."""
        rows = self.rows.waits[self.rows.threads.get(self.tids[op.thread])]
        if rows and call.begin <= rows[0].begin < call.end:
            rows.pop(0)

    def wait(self, op, waker):
        """The next wait of the operation's thread, which must say who woke it."""
        rows = self.rows.waits[self.rows.threads.get(self.tids[op.thread])]
        if not rows:
            raise Mismatch(f"{op}: no row of its wait")
        wait = rows.pop(0)
        if wait.waker is None:
            found = None
        elif wait.waker in {self.rows.threads.get(tid) for tid in self.tids}:
            found = self.tids.index(next(tid for tid, id in self.rows.threads.items()
                                         if id == wait.waker))
        else:
            found = HOST
        if found != waker:
            raise Mismatch(f"{op}: woken by {found}, must be {waker}")
        wait.op, wait.window = op, self.window
        self.waits.append(wait)

    def query(self, op, correlation, count):
        """Queries that found nothing done leave no row; a loop has one."""
        for each in range(correlation, correlation + count):
            call = self.rows.queries.get(each)
            if call:
                call.op, call.context, call.window = op, op.device, self.window
                call.name = "cuEventQuery" if op.name == "eventquery" else "cuStreamQuery"
                call.event_or_stream = (op.numbers[0] if op.name == "eventquery"
                                        else self.stream(op, op.numbers[0]))
                self.calls.append(call)

    def stream(self, op, number):
        """The stream that an operation names."""
        key = (op.device, number, op.thread) if number == 1 else (op.device, number)
        kind = ("default" if number == 0 else "nonblocking" if number in (4, 5) else "blocking")
        if key not in self.streams:
            self.add_stream(key, kind)
        return self.streams[key]

    def add_stream(self, key, kind):
        """A stream that was not there before."""
        self.streams[key] = Stream(key[0], kind)
        self.of_device[key[0]].append(self.streams[key])

    def act(self, op, correlation):
        """What the operation does to streams and events."""
        call = self.rows.calls.get(correlation)
        if op.name in LAUNCHES:
            place = LAUNCHES[op.name]
            self.launch(op, call, self.stream(op, 0 if place is None else op.numbers[place]))
        elif op.name == "record":
            stream = self.stream(op, op.numbers[1])
            self.events[op.numbers[0]].append(Event(correlation, stream))
            stream.records.append(correlation)
        elif op.name in ("makeevent", "dropevent"):
            self.events[op.numbers[0]].append(Event(correlation, None))
        elif op.name == "wait":
            self.stream(op, op.numbers[1]).waits.append((correlation, op.numbers[0]))
        elif op.name in ("valuewait", "valuewrite"):
            self.value(op, correlation)
        elif op.name == "makestream":
            kind = "nonblocking" if op.numbers[1] else "blocking"
            self.add_stream((op.device, op.numbers[0]), kind)
        elif op.name in ("streamsync", "streamsyncwait"):
            call.event_or_stream = self.stream(op, op.numbers[0])
        elif op.name == "eventsync":
            call.event_or_stream = op.numbers[0]

    def value(self, op, correlation):
        """A stream writes a value or waits for one. In the default stream, that is work of it."""
        number, address, step = op.numbers[:3]
        stream = self.stream(op, number)
        stream.records.append(correlation)
        if op.name == "valuewrite":
            self.writes[address].append(Write(correlation, stream, step))
        else:
            stream.values.append((correlation, address, step))

    def launch(self, op, call, stream):
        """A launch, with the activities that have its correlation id."""
        launch = Launch(call, stream)
        launch.activities = self.rows.device.get(call.correlation, [])
        for activity in launch.activities:
            activity.launch, activity.window = launch, self.window
        if op.name == "graph":
            self.runs_of(op, launch)
        elif len(launch.activities) != 1:
            raise Mismatch(f"{op}: {len(launch.activities)} rows")
        elif op.name in BLOCKING_COPIES or op.name in ("copyin", "copyout"):
            call.copy = launch.activities[0]
        self.tokens_of(op, launch)
        if launch.activities:
            stream.launches.append(launch)
            self.launches.append(launch)

    def runs_of(self, op, launch):
        """Which run of which node each activity is. CUPTI gives no correlation id to loops; they
        have those of their graph that come next in the file."""
        launch.nodes = program.graph_runs(self.graphs, self.graphs[op.numbers[0]])
        for kind in ("kernel", "copy", "set") if launch.activities else ():
            bodies = self.rows.bodies[launch.activities[0].graph, kind]
            count = sum(1 for run in launch.nodes if run.kind == kind and run.passes)
            for activity in bodies[:count]:
                activity.correlation, activity.launch = launch.correlation, launch
                activity.window = self.window
                launch.activities.append(activity)
            del bodies[:count]
        launch.before = self.last_launches.get(op.numbers[0])
        self.last_launches[op.numbers[0]] = launch
        found = sorted(launch.activities, key=lambda a: (a.node & 0xffffffff, a.begin))
        expected = sorted((run.number, at) for at, run in enumerate(launch.nodes) if run.kind)
        kinds = [launch.nodes[at].kind for _, at in expected]
        if kinds != [a.kind for a in found]:
            raise Mismatch(f"{op}: nodes {kinds}, rows {[a.kind for a in found]}")
        for (_, at), activity in zip(expected, found):
            activity.run = at
        launch.by_node = {activity.run: activity for activity in found}

    def tokens_of(self, op, launch):
        """What its host functions post."""
        objects = [node.posts for node in launch.nodes or ()]
        if op.name in HOST_FUNCTIONS:
            objects = [op.numbers[HOST_FUNCTIONS[op.name]]]
        for each in objects:
            if each >= 0:
                self.tokens[each].append(HOST)

    def match_all(self):
        """Every row must have found its operation."""
        for correlation, call in self.rows.calls.items():
            if not call.op:
                raise Mismatch(f"a call {call.name} with correlation id {correlation}")
        for correlation, activities in self.rows.device.items():
            if not activities[0].launch:
                raise Mismatch(f"an activity with correlation id {correlation}")
        for correlation, call in self.rows.queries.items():
            if not call.op:
                raise Mismatch(f"a query with correlation id {correlation}")
        for waits in self.rows.waits.values():
            if waits:
                raise Mismatch(f"a wait that no operation was: {waits[0].key()}")
