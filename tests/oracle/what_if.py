"""Is a what-if true? Programs run twice, the second time with the kernels' times changed; `miniprof
deps --what-if` of the first run must give the second run's windows to the nanosecond.

That holds where the page's equations are all there is, so the software GPU and the programs are
kept to that:

- SIMGPU_NOISE=0, SIMGPU_GRID=1: else times are not what the programs say, and rounding is in sums.
- SIMGPU_RETURN_COSTS=1: else part of a call's own time passes while it waits, and how much of it
  depends on how long it waits.
- One thread, and all work awaited at the end: threads that meet outside CUDA and work that runs
  into the next range are not in the equations.
- Copies of a direction on one stream of a device: else they share an engine (section 7).
- Graphs hold kernels and empty nodes: of other nodes' classes the shortest step may not be shown.
- No allocations: D8 is a guess from times. No queries: what they do depends on when they ask.
- No stream is destroyed: in simgpu later work on blocking streams then waits for what was in it.
- 500 ns of host work behind each record: in simgpu an event is not done before that.
- The first program of a batch shows each kind of step at its shortest, and makes all graphs.
"""
import collections
import concurrent.futures
import pathlib
import random
import tempfile

import batch
import generate
import program
import replay
import shrink
from program import EVENTS, FIRST_CAPTURED, Op, Program

BATCH = 50
GRAPHS = 8
MICROSECONDS = (2, 4, 4, 6, 10, 10, 16, 20, 30, 40, 60, 90)
EXACT = {"SIMGPU_NOISE": "0", "SIMGPU_GRID": "1", "SIMGPU_RETURN_COSTS": "1"}

# What --what-if is given, and what becomes of microseconds.
CHANGES = (
    ("0.5x", lambda us: us // 2),
    ("2x", lambda us: us * 2),
    ("20us", lambda us: 20),
    ("+10us", lambda us: us + 10),
    ("-5us", lambda us: max(0, us - 5)),
    ("0", lambda us: 0),
)
# Patterns, and which of our kernels they stand for.
NAMES = ((("spin*",), (0,)), (("*_layer",), (1,)), (("spin", "other_l*r"), (0, 1)))


class Generator(generate.Generator):
    """Programs of one thread with the restrictions above."""

    LEFT_OUT = ("eventquery", "streamquery", "free", "alloc", "hostalloc", "hostfree", "module",
                "makestream", "dropstream", "dropevent", "makeevent", "capture", "build")

    def __init__(self, seed):
        super().__init__(seed)
        self.threads = 1
        self.weights = {name: weight for name, weight in self.weights.items()
                        if name not in self.LEFT_OUT}
        self.streams = self.random.sample(range(6), self.random.randint(1, 4))
        self.lanes = {kind: self.random.choice(self.streams) for kind in ("in", "out", "device")}
        self.graphs = {graph: graph % 3 for graph in range(GRAPHS)}

    def program(self):
        """Nothing before or after; everything is awaited at the end."""
        for _ in range(self.random.randint(2, 25)):
            self.add()
        ops = [op for op in map(self.restricted, self.ops) if op]
        ops = [each for op in ops for each in
               ([op, op._replace(name="work", numbers=(500,))] if op.name == "record" else [op])]
        ops += [Op(0, device, "contextsync", ()) for device in self.devices]
        return Program(self.seed, ops, carry=False)

    def restricted(self, op):
        """The operation as it may be, or None."""
        kind = {"copyin": "in", "copyout": "out", "copywithin": "device", "copypeer": "device"}
        blocking = {"copyinnow": "in", "copyoutnow": "out", "copywithinnow": "device"}
        numbers = op.numbers
        if op.name in kind:
            return op._replace(numbers=(self.lanes[kind[op.name]], *numbers[1:]))
        if op.name in blocking and self.lanes[blocking[op.name]] != 0:
            return None
        if op.name == "kernel":
            even = min(MICROSECONDS, key=lambda us: abs(us - numbers[1]))
            return op._replace(numbers=(numbers[0], even, numbers[2]))
        if op.name == "graph" and self.graphs[numbers[0]] != op.device:
            return None
        return op


def captured(r, graph, device):
    """A graph by capture, with branches."""
    streams = r.sample((2, 3, 4, 5), r.randint(1, 3))
    event = EVENTS * device + FIRST_CAPTURED
    numbers = [graph, streams[0]]

    def kernel(stream):
        return ["k", stream, r.choice(MICROSECONDS), int(r.random() < 0.4)]

    if r.random() < 0.7:
        numbers += kernel(streams[0])
    for at, other in enumerate(streams[1:]):
        numbers += ["r", event + at, streams[0], "w", event + at, other]
    for _ in range(r.randint(1, 6)):
        numbers += kernel(r.choice(streams))
    for at, other in enumerate(streams[1:]):
        numbers += ["r", event + at, other, "w", event + at, streams[0]]
    if r.random() < 0.5:
        numbers += kernel(streams[0])
    return Op(0, device, "capture", tuple(numbers))


def built(r, graph, device):
    """A graph by hand; half of them end in one node."""
    nodes, leaves = [], set()
    for at in range(r.randint(1, 6)):
        deps = r.sample(range(at), min(at, r.choice((0, 1, 1, 2))))
        leaves = (leaves - set(deps)) | {at}
        nodes.append([0 if r.random() < 0.25 else r.choice(MICROSECONDS), len(deps), *deps])
    if r.random() < 0.5 or not any(node[0] for node in nodes):
        nodes.append([r.choice(MICROSECONDS), len(leaves), *sorted(leaves)])
    return Op(0, device, "build", (graph, *sum(nodes, [])))


def preamble(seed):
    """Makes the graphs of a batch and shows each kind of step alone, as quick as it can be."""
    r = random.Random(seed)
    before, ops = [], []
    for graph in range(GRAPHS):
        before.append(r.choice((captured, built))(r, graph, graph % 3))
        before.append(Op(0, graph % 3, "instantiate", (graph,)))
    alone = [("kernel", (4, 10, 0)), ("kernel", (4, 10, 1)), ("kernel", (4, 10, 0)),
             ("copyin", (4, 64, 1)), ("copyout", (4, 64, 1)), ("copywithin", (4, 64)),
             ("set", (4, 64)), ("setnow", (64,)), ("copyinnow", (64, 1)), ("copyoutnow", (64, 1)),
             ("copywithinnow", (64,))]
    for device in range(3):
        steps = alone + [("copypeer", (4, (device + 1) % 3, 64))]
        steps += [("graph", (graph, 4)) for graph in range(GRAPHS) if graph % 3 == device]
        for name, numbers in steps:
            ops += [Op(0, device, name, numbers), Op(0, device, "contextsync", ())]
        # One right behind the other, of each class.
        for name, numbers in (("kernel", (4, 90, 0)), ("set", (4, 64)), ("kernel", (4, 90, 0)),
                              ("copywithin", (4, 64)), ("kernel", (4, 90, 0)),
                              ("graph", (device, 4)), ("contextsync", ())):
            ops.append(Op(0, device, name, numbers))
    return Program(seed, ops, before, carry=False)


def changed(one, kernels, change):
    """The program with other times for some kernels."""
    def of(op):
        numbers = list(op.numbers)
        if op.name == "kernel" and numbers[2] in kernels:
            numbers[1] = change(numbers[1])
        elif op.name == "capture":
            numbers = numbers[:2] + [
                x for letter, step in program.steps_of(numbers[2:])
                for x in (letter, *((step[0], change(step[1]), step[2])
                                    if letter == "k" and step[2] in kernels else step))]
        elif op.name == "build" and 0 in kernels:
            at = 1
            while at < len(numbers):
                # 0 would be an empty node.
                numbers[at] = numbers[at] and max(1, change(numbers[at]))
                at += 2 + numbers[at + 1]
        return op._replace(numbers=tuple(numbers))

    return Program(one.seed, map(of, one.ops), map(of, one.before), one.carry, one.join)


def windows(trace):
    """The length of each capture range."""
    times = [row[2] for row in trace.rows["capture"]]
    return [end - begin for begin, end in zip(times[::2], times[1::2])]


def choice(seed):
    """What a batch changes: options of miniprof, kernels, function."""
    r = random.Random(f"what-if {seed}")
    (patterns, kernels), (change, function) = r.choice(NAMES), r.choice(CHANGES)
    if change in ("0", "-5us"):
        patterns, kernels = NAMES[1]  # graphs by hand cannot have kernels of no time
    return [f"--what-if={pattern}={change}" for pattern in patterns], kernels, function


def check(programs, seed, by_oracle=False):
    """(place, text) for each window that did not become what was said."""
    options, kernels, function = choice(seed)
    with tempfile.TemporaryDirectory(prefix="miniprof-oracle.") as name:
        folder = pathlib.Path(name)
        if by_oracle:
            said = by_replay(batch.expected(programs, folder, extra=EXACT), kernels, function)
        else:
            batch.record(programs, folder, EXACT)
            answer = batch.ask(folder, *options)
            said = [window["window_ns"] for window in answer["what_if"]["windows"]]
        _, trace = batch.record([changed(one, kernels, function) for one in programs], folder,
                                EXACT)
    came = windows(trace)
    if len(said) != len(came):
        return [(0, f"{len(said)} windows, must be {len(came)}")]
    return [(at, f"{' '.join(options)}: window_ns is {a}, was {b} when run so")
            for at, (a, b) in enumerate(zip(said, came)) if a != b]


def by_replay(o, kernels, function):
    """The oracle's own prediction, to know that the restrictions suffice."""
    names = {"spin": 0, "other_layer": 1}

    def duration(a):
        if a.kind == "kernel" and names[a.name] in kernels:
            return function(a.duration // 1000) * 1000
        return a.duration

    return [replay.solve(o, walk, duration) for walk in o.windows]


def programs_of(seeds):
    """A batch, the preamble first."""
    return [preamble(seeds[0])] + [Generator(seed).program() for seed in seeds]


def check_batch(seeds, by_oracle=False):
    """Differences by place in the batch."""
    try:
        return check(programs_of(seeds), seeds[0], by_oracle)
    except (batch.Failed, KeyError) as error:
        return [(None, f"{type(error).__name__}: {error}")]


def report(seeds, found):
    """Prints a failed batch, shrunk."""
    def fails(programs):
        try:
            return bool(check([preamble(seeds[0])] + programs, seeds[0]))
        except batch.Failed:
            return True

    at = found[0][0] or 0
    print(f"what-if, seed {seeds[max(0, at - 1)]}, in a batch of seeds {seeds[0]} to {seeds[-1]}:")
    for _, text in found[:12]:
        print("   ", text)
    if at:
        small = shrink.Shrinker(fails).shrink([Generator(s).program() for s in seeds], at - 1)
        print("the smallest that fails, after the preamble of the batch:")
        print("".join("    " + line + "\n" for one in small for line in one.text().splitlines()))
        for _, text in check([preamble(seeds[0])] + small, seeds[0])[:4]:
            print("   ", text)
    print(f"again: run.py --programs 0 --what-if {len(seeds)} --seed {seeds[0]}\n", flush=True)


def run_all(first, count, jobs):
    """All programs, in batches; returns how many failed."""
    batches = [list(range(at, min(at + BATCH, first + count)))
               for at in range(first, first + count, BATCH)]
    failed, reported = 0, False
    changes = collections.Counter(" ".join(choice(some[0])[0]) for some in batches)
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for some, found in zip(batches, pool.map(check_batch, batches)):
            failed += len({at for at, _ in found})
            if found and not reported:
                report(some, found)
                reported = True
    if count:
        print("what-if:", ", ".join(f"{text} {n}" for text, n in sorted(changes.items())))
    return failed
