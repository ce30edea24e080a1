"""What a program of the oracle is: its lines, which of them are valid, what its graphs hold.

A program is one capture range. Lines are "THREAD DEVICE NAME NUMBER..." (run_programs.c runs them
in this order); those of `before` and `after` lie outside the range. Streams: 0 legacy default, 1
the thread's own default, 2 and 3 blocking, 4 and 5 non-blocking (4 of a green context), 6 and 7
made by `makestream`, all of the line's device. Events: number = 12 * device + index, the last four
of a device are for captures. Objects that threads wait for have numbers too (waits.h).
"""
import collections

from values import NAMES as VALUES
from values import Held

THREADS, DEVICES = 3, 3
POLLER = 3  # a thread that only watches
EVENTS, FIRST_CAPTURED = 12, 8
OBJECTS = 8
MADE_STREAMS = (6, 7)

Op = collections.namedtuple("Op", "thread device name numbers")


class Program:
    """A capture range: operations in the order of their API calls."""

    def __init__(self, seed, ops, before=(), carry=True, join=True):
        self.seed, self.ops, self.before = seed, list(ops), list(before)
        self.carry, self.join, self.after = carry, join, []

    def lines(self):
        """All operations with the markers of the range, as (section, Op)."""
        yield from (("before", op) for op in self.before)
        yield "begin", Op(0, 0, "begin", (int(self.carry),))
        yield from (("in", op) for op in self.ops)
        yield "end", Op(0, 0, "end", (int(self.join),))
        yield from (("after", op) for op in self.after)

    def text(self):
        """The lines as run_programs reads them."""
        return "".join(f"{op.thread} {op.device} {op.name} {' '.join(map(str, op.numbers))}\n"
                       for _, op in self.lines())

    def without(self, places):
        """The same program less some operations, made valid again."""
        ops = [op for at, op in enumerate(self.before + self.ops) if at not in places]
        cut = len(self.before) - sum(at < len(self.before) for at in places)
        return repaired(Program(self.seed, ops[cut:], ops[:cut], self.carry, self.join))


class Slots:
    """What exists while the lines are walked, so that no line uses what is not there."""

    def __init__(self):
        self.streams, self.blocks, self.host_blocks = set(), set(), set()
        self.graphs, self.execs, self.gone_events = {}, {}, set()
        self.held = Held()

    def has_stream(self, op, stream):
        """Whether a stream of the operation's device can be used."""
        return stream not in MADE_STREAMS or (op.device, stream) in self.streams

    def accept(self, op):
        """Whether the operation is valid now; it then takes effect."""
        rule = getattr(self, "do_" + op.name, None)
        if op.name in VALUES and not self.plain(op):
            return False
        return self.held.accept(op) and (rule(op, *op.numbers) if rule else self.plain(op))

    def plain(self, op):
        """Operations that only need their stream or event."""
        numbers = op.numbers
        if op.name in ("record", "wait"):
            return numbers[0] not in self.gone_events and self.has_stream(op, numbers[1])
        if op.name in ("eventsync", "eventquery"):
            return numbers[0] not in self.gone_events
        if op.name in ("kernel", "pdl", "hostfunc", "callback", "copyin", "copyout", "copywithin",
                       "copypeer", "set", "hold", "streamsync", "streamsyncwait", "streamquery",
                       *VALUES):
            return self.has_stream(op, numbers[0])
        return True

    def do_makestream(self, op, stream, _):
        """A slot holds one stream."""
        if (op.device, stream) in self.streams:
            return False
        self.streams.add((op.device, stream))
        return True

    def do_dropstream(self, op, stream):
        """Of the streams only those that programs make."""
        if (op.device, stream) not in self.streams:
            return False
        self.streams.remove((op.device, stream))
        return True

    def do_makeevent(self, _, event):
        """All events exist at first."""
        if event not in self.gone_events:
            return False
        self.gone_events.remove(event)
        return True

    def do_dropevent(self, _, event):
        """See makeevent."""
        if event in self.gone_events:
            return False
        self.gone_events.add(event)
        return True

    def do_alloc(self, op, block, _):
        """Blocks may be freed by any thread, on their device."""
        if any(block == b for b, _ in self.blocks):
            return False
        self.blocks.add((block, op.device))
        return True

    def do_free(self, op, block):
        """See alloc."""
        if (block, op.device) not in self.blocks:
            return False
        self.blocks.remove((block, op.device))
        return True

    def do_hostalloc(self, _, block, __):
        """Pinned memory."""
        if block in self.host_blocks:
            return False
        self.host_blocks.add(block)
        return True

    def do_hostfree(self, _, block):
        """See hostalloc."""
        if block not in self.host_blocks:
            return False
        self.host_blocks.remove(block)
        return True

    def do_capture(self, op, graph, *_):
        """A graph slot is used once."""
        if graph in self.graphs:
            return False
        self.graphs[graph] = op
        return True

    def do_build(self, op, graph, *_):
        """Graphs inside have been made before it, on its device, and call no host functions. A loop
        holds no other one."""
        for node in built_nodes(op.numbers):
            inner = self.graphs.get(node.inner[0]) if node.inner else op
            if not inner or inner.device != op.device or "h" in inner.numbers:
                return False
            if node.inner and node.inner[1] is not None and has_loop(self.graphs, inner):
                return False
        return self.do_capture(op, graph)

    def do_instantiate(self, op, graph):
        """Once for each graph."""
        if graph not in self.graphs or graph in self.execs:
            return False
        self.execs[graph] = op.device
        return True

    def do_graph(self, op, graph, stream):
        """A launch, on a stream of the graph's device."""
        return (graph in self.execs and self.graphs[graph].device == op.device
                and self.has_stream(op, stream))


def add_waits(program, slots):
    """Nobody knows of which range a loop is that runs on after it: so it has to end before."""
    loops = {op.device for op in slots.graphs.values() if has_loop(slots.graphs, op)}
    for device in sorted(loops):
        last = Op(0, device, "contextsync", ())
        if last not in program.ops[-len(loops):]:
            program.ops.append(last)


def repaired(program):
    """The valid part of a program, and what has to be done after it for the next one."""
    while True:
        slots = Slots()
        before = [op for op in program.before if slots.accept(op)]
        ops = [op for op in program.ops if slots.accept(op)]
        if not slots.held.stuck():
            break
        stuck = slots.held.stuck()[0]
        program.ops = [op for op in program.ops if op is not stuck]
    program.before, program.ops = before, ops
    add_waits(program, slots)
    program.after = (
        [Op(0, device, "dropstream", (stream,)) for device, stream in sorted(slots.streams)]
        + [Op(0, device, "free", (block,)) for block, device in sorted(slots.blocks)]
        + [Op(0, 0, "hostfree", (block,)) for block in sorted(slots.host_blocks)]
        + [Op(0, event // EVENTS, "makeevent", (event,)) for event in sorted(slots.gone_events)])
    for graph in sorted(slots.graphs):
        if graph not in slots.execs:
            program.after.append(Op(0, slots.graphs[graph].device, "instantiate", (graph,)))
        program.after.append(Op(0, slots.graphs[graph].device, "dropgraph", (graph,)))
    return program


# Graphs

KIND = {"k": "kernel", "p": "kernel", "i": "copy", "o": "copy", "d": "copy", "s": "set",
        "h": "host_function"}
STEP_NUMBERS = {"k": 3, "p": 4, "i": 3, "o": 3, "d": 2, "s": 2, "h": 4, "r": 2, "w": 2}

# kind: kernel, copy, set, host_function or None for a node that leaves no activity; deps: indices
# of nodes; posts: the object that it posts to, or -1; inner: the graph inside of the node, if any,
# and how often that runs: None for a child graph.
Node = collections.namedtuple("Node", "kind deps posts inner", defaults=(-1, None))

# A node in a launch: number: that of its node in the executable graph, from 0; deps: indices of
# runs.
Run = collections.namedtuple("Run", "kind deps posts number passes")

CHILD, LOOP = -1, -2  # in place of microseconds; a graph follows, and of a loop how often it runs


def steps_of(numbers):
    """The steps of a capture: (letter, numbers)."""
    at = 0
    while at < len(numbers):
        letter = numbers[at]
        end = at + 1 + STEP_NUMBERS[letter]
        yield letter, numbers[at + 1:end]
        at = end


def captured_nodes(numbers):
    """What a stream capture makes of its steps: a node depends on what its stream's last node is
    and on what its stream waited for since."""
    tails, events, nodes = collections.defaultdict(set), {}, []
    for letter, step in steps_of(numbers[2:]):
        if letter == "r":
            events[step[0]] = set(tails[step[1]])
        elif letter == "w":
            tails[step[1]] |= events[step[0]]
        else:
            nodes.append(Node(KIND[letter], tuple(sorted(tails[step[0]])),
                              step[3] if letter == "h" else -1))
            tails[step[0]] = {len(nodes) - 1}
    return nodes


def built_nodes(numbers):
    """Nodes as `build` has them: microseconds (0: empty) or a graph inside, number of
    dependencies, these."""
    nodes, at = [], 1
    while at < len(numbers):
        us, inner = numbers[at], None
        if us < 0:
            inner = numbers[at + 1], numbers[at + 2] if us == LOOP else None
        at += 1 if us >= 0 else 2 if us == CHILD else 3
        end = at + 1 + numbers[at]
        nodes.append(Node("kernel" if us > 0 else None, tuple(numbers[at + 1:end]), -1, inner))
        at = end
    return nodes


def made_nodes(op):
    """The nodes of a graph, in the order in which they were made."""
    return (captured_nodes if op.name == "capture" else built_nodes)(op.numbers)


def last_nodes(nodes):
    """Those that no other one depends on."""
    return [at for at in range(len(nodes)) if not any(at in node.deps for node in nodes)]


class Unrolled:
    """What a launch of a graph runs: graphs inside of nodes at their place, loops pass by pass. In
    the executable graph the nodes inside stand before the node."""

    def __init__(self, graphs, op):
        self.graphs, self.runs = graphs, []
        self.place(op, (), 0, None)

    def place(self, op, roots, number, passes):
        """Runs a graph whose first nodes await these. Answers the runs of its last ones, and the
        next number."""
        nodes, ends = made_nodes(op), []
        for node in nodes:
            deps = tuple(each for dep in node.deps for each in ends[dep]) or tuple(roots)
            if node.inner:
                deps, number = self.inside(node, deps, number, passes)
            self.runs.append(Run(node.kind, deps, node.posts, number, passes))
            ends.append((len(self.runs) - 1,))
            number += 1
        return tuple(each for at in last_nodes(nodes) for each in ends[at]), number

    def inside(self, node, deps, number, passes):
        """The same of the graph inside of a node. A body holds one node, of a child graph."""
        graph, times = node.inner
        if times is None:
            return self.place(self.graphs[graph], deps, number, passes)
        after, count = deps, len(self.runs)
        for _ in range(times):
            ends, following = self.place(self.graphs[graph], after, number, times)
            self.runs.append(Run(None, ends, -1, following, times))
            after = (len(self.runs) - 1,)
        if not times:
            _, following = self.place(self.graphs[graph], deps, number, times)
            del self.runs[count:]
        return after, following + 1


def graph_runs(graphs, op):
    """What a launch of a graph runs."""
    return Unrolled(graphs, op).runs


def is_loop(node):
    """Whether the node runs a body."""
    return node.inner is not None and node.inner[1] is not None


def has_loop(graphs, op):
    """Whether a graph has a loop, at any depth."""
    return any(is_loop(node) or node.inner and has_loop(graphs, graphs[node.inner[0]])
               for node in made_nodes(op))


WITHOUT_CALLS = ("work", "hold", "post", "await", "join", "sleep")


def api_calls(op):
    """How many driver calls an operation makes, but for queries, which may be repeated."""
    if op.name in WITHOUT_CALLS:
        return 0
    if op.name == "capture":
        return 2 + sum(1 for _ in steps_of(op.numbers[2:]))
    if op.name == "build":
        nodes = built_nodes(op.numbers)
        return 1 + len(nodes) + 2 * sum(1 for node in nodes if is_loop(node))
    return 2 if op.name in ("module", "dropgraph") else 1
