"""Is a what-if true? Programs run twice, the second time with the kernels' times changed; `miniprof
deps --what-if` of the first run must give the second run's windows to the nanosecond. (And some of
any kind run once: what it says must be what the page's equations say, solved by replay.py.)

That holds where the page's equations are all there is, so the software GPU and the programs are
kept to that:

- SIMGPU_NOISE=0, SIMGPU_GRID=1: else times are not what the programs say, and rounding is in sums.
- SIMGPU_RETURN_COSTS=1: else part of a call's own time passes while it waits, and how much of it
  depends on how long it waits.
- One thread, and all work awaited at the end: a wait that had nothing to wait for has no row, and
  work that runs into the next range is not in the equations.
- The thread waits for host functions only right behind their launch, so that it always has to. They
  are in one stream: else they share the driver's thread.
- Kernels that overlap begin together and take equally long, so that each runs alone for no time.
  They are launched behind a copy that holds them all up, and changed by factors only.
- Copies of a direction on one stream of a device: else they share an engine (section 8).
- Graphs hold kernels and empty nodes: of other nodes' classes the shortest step may not be shown.
- No values in memory: in simgpu a wait or a write takes 500 ns from its call on.
- No allocations: D8 is a guess from times. No queries: what they do depends on when they ask.
- No stream is destroyed: in simgpu later work on blocking streams then waits for what was in it.
- 500 ns of host work behind each record: in simgpu an event is not done before that.
- The first program of a batch shows each kind of step at its shortest, and makes all graphs. The
  shortest latency is a tenth percentile. Most steps of the other programs are as quick as those of
  the first one, so a tenth of all is no slower.
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
LEAD = 1000000  # so that a kernel begins with the one before it
MICROSECONDS = (2, 4, 4, 6, 10, 10, 16, 20, 30, 40, 60, 90)
RECORDED, BARE = "--what-if=recording=1x", "--what-if=recording=0"  # with and without its cost
EXACT = {"SIMGPU_NOISE": "0", "SIMGPU_GRID": "1", "SIMGPU_RETURN_COSTS": "1"}

# What --what-if is given, and what becomes of ns.
CHANGES = (
    ("0.5x", lambda ns: ns // 2),
    ("2x", lambda ns: ns * 2),
    ("20us", lambda ns: 20000),
    ("+10us", lambda ns: ns + 10000),
    ("-5us", lambda ns: max(0, ns - 5000)),
    ("0", lambda ns: 0),
)
# Patterns, and which of our kernels they stand for.
NAMES = ((("spin*",), (0,)), (("*_layer",), (1,)), (("spin", "other_l*r"), (0, 1)))


class Generator(generate.Generator):
    """Programs of one thread with the restrictions above."""

    LEFT_OUT = ("eventquery", "streamquery", "poll", "free", "alloc", "hostalloc", "hostfree",
                "module", "makestream", "dropstream", "dropevent", "makeevent", "capture", "build",
                "post", "await", "join", "handshake", "hold", "value")

    def __init__(self, seed, overlaps):
        super().__init__(seed)
        self.threads, self.overlaps = 1, overlaps
        self.weights = {name: weight for name, weight in self.weights.items()
                        if name not in self.LEFT_OUT}
        self.streams = self.random.sample(range(6), self.random.randint(1, 4))
        self.lanes = {kind: self.random.choice(self.streams)
                      for kind in ("in", "out", "device", "host")}
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

    def make_pdl(self):
        """A copy, and what is launched while it runs."""
        if not self.overlaps:
            return []
        first = self.op("kernel", self.lanes["in"], self.random.choice(MICROSECONDS),
                        int(self.random.random() < 0.5))
        return [first._replace(name="copyin", numbers=(self.lanes["in"], 524288, 1)), first] + \
            [first._replace(name="pdl", numbers=(*first.numbers, LEAD))] * self.random.randint(1, 4)

    def make_hostfunc(self):
        """On its stream."""
        ns, post, thing = self.function(False)
        return self.op("hostfunc", self.lanes["host"], ns, post, thing, device=self.devices[0])

    def make_hostwait(self):
        """A host function that posts late enough."""
        ns = self.random.choice((8000, 20000, 60000))
        op = self.op("hostfunc", self.lanes["host"], ns, self.random.choice((7000, ns)), 0,
                     device=self.devices[0])
        return [op, self.wait_for(0, 0)._replace(device=self.devices[0])]

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


def captured(r, graph, device, overlaps):
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
        if overlaps and r.random() < 0.3:
            numbers += ["p", *numbers[-3:], LEAD]
    for at, other in enumerate(streams[1:]):
        numbers += ["r", event + at, other, "w", event + at, streams[0]]
    if r.random() < 0.5:
        numbers += kernel(streams[0])
    return Op(0, device, "capture", tuple(numbers))


def built(r, graph, device, _):
    """A graph by hand; half of them end in one node."""
    nodes, leaves = [], set()
    for at in range(r.randint(1, 6)):
        deps = r.sample(range(at), min(at, r.choice((0, 1, 1, 2))))
        leaves = (leaves - set(deps)) | {at}
        nodes.append([0 if r.random() < 0.25 else r.choice(MICROSECONDS), len(deps), *deps])
    if r.random() < 0.5 or not any(node[0] for node in nodes):
        nodes.append([r.choice(MICROSECONDS), len(leaves), *sorted(leaves)])
    return Op(0, device, "build", (graph, *sum(nodes, [])))


def preamble(seed, overlaps):
    """Makes the graphs of a batch and shows each kind of step alone, as quick as it can be."""
    r = random.Random(seed)
    before, ops = [], []
    for graph in range(GRAPHS):
        before.append(r.choice((captured, built))(r, graph, graph % 3, overlaps))
        before.append(Op(0, graph % 3, "instantiate", (graph,)))
    alone = [("kernel", (4, 10, 0)), ("kernel", (4, 10, 1)), ("kernel", (4, 10, 0)),
             ("copyin", (4, 64, 1)), ("copyout", (4, 64, 1)), ("copywithin", (4, 64)),
             ("set", (4, 64)), ("setnow", (64,)), ("copyinnow", (64, 1)), ("copyoutnow", (64, 1)),
             ("copywithinnow", (64,)), ("hostfunc", (4, 3000, 0, -1))]
    for device in range(3):
        steps = alone + [("copypeer", (4, (device + 1) % 3, 64))]
        steps += [("graph", (graph, 4)) for graph in range(GRAPHS) if graph % 3 == device]
        for name, numbers in steps:
            ops += [Op(0, device, name, numbers), Op(0, device, "contextsync", ())]
        # One right behind the other, of each class.
        for name, numbers in (("kernel", (4, 90, 0)), ("set", (4, 64)), ("kernel", (4, 90, 0)),
                              ("copywithin", (4, 64)), ("kernel", (4, 90, 0)),
                              ("graph", (device, 4)), ("hostfunc", (4, 3000, 0, -1)),
                              ("contextsync", ())):
            ops.append(Op(0, device, name, numbers))
    return Program(seed, ops, before, carry=False)


def changed(one, kernels, change):
    """The program with other times for some kernels."""
    def of(op):
        numbers = list(op.numbers)
        if op.name in ("kernel", "pdl") and numbers[2] in kernels:
            numbers[1] = change(1000 * numbers[1]) // 1000
        elif op.name == "capture":
            numbers = numbers[:2] + [
                x for letter, step in program.steps_of(numbers[2:])
                for x in (letter, *((step[0], change(1000 * step[1]) // 1000, *step[2:])
                                    if letter in "kp" and step[2] in kernels else step))]
        elif op.name == "build" and 0 in kernels:
            at = 1
            while at < len(numbers):
                # 0 would be an empty node.
                numbers[at] = numbers[at] and max(1, change(1000 * numbers[at]) // 1000)
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


def overlap(seed):
    """Whether kernels of a batch may overlap: not if they are to take other times alone."""
    return choice(seed)[0][0].endswith(("x", "=0"))


def check(programs, seed, by_oracle=False):
    """(place, text) for each window that did not become what was said."""
    options, kernels, function = choice(seed)
    with tempfile.TemporaryDirectory(prefix="miniprof-oracle.") as name:
        folder = pathlib.Path(name)
        if by_oracle:
            said = by_replay(batch.expected(programs, folder, extra=EXACT), kernels, function)
        else:
            batch.record(programs, folder, EXACT)
            answer = batch.ask(folder, *options, RECORDED)
            said = [window["new_ns"] for window in answer["what_if"]["windows"]]
        _, trace = batch.record([changed(one, kernels, function) for one in programs], folder,
                                EXACT)
    came = windows(trace)
    if len(said) != len(came):
        return [(0, f"{len(said)} windows, must be {len(came)}")]
    return [(at, f"{' '.join(options)}: new_ns is {a}, was {b} when run so")
            for at, (a, b) in enumerate(zip(said, came)) if a != b]


def closed(seed):
    """Any program, with a kernel of each name, and all its work awaited."""
    one = generate.program_of(seed)
    devices = sorted({op.device for op in one.ops} | {0})
    one.ops += [Op(0, devices[0], "kernel", (4, 2, which)) for which in (0, 1)]
    one.ops += [Op(0, device, "contextsync", ()) for device in devices]
    one.join = True
    return one


def check_equations(seed):
    """Whether miniprof solves the page's equations, also where simgpu does not keep to them: one
    text, or none. In a trace of its own, because threads go from range to range by their own ways.
    """
    options, kernels, function = choice(seed)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="miniprof-oracle.") as name:
        folder = pathlib.Path(name)
        o = batch.expected([closed(seed)], folder)
        for bare, more in ((False, RECORDED), (True, BARE)):
            wanted = by_replay(o, kernels, function, bare)
            answer = batch.ask(folder, *options, more)
            got = [window["new_ns"] for window in answer["what_if"]["windows"]]
            if got != wanted:
                wrong.append(f"{' '.join(options)} {more}: new_ns is {got}, must be {wanted}")
    return wrong


def by_replay(o, kernels, function, bare=False):
    """The oracle's own prediction, to know that the restrictions suffice."""
    names = {"spin": 0, "other_layer": 1}

    def duration(a, own):
        if a.kind == "kernel" and names[a.name] in kernels:
            return function(own)
        return own

    return [replay.solve(o, walk, duration, bare) for walk in o.windows]


def programs_of(seeds):
    """A batch, the preamble first."""
    overlaps = overlap(seeds[0])
    return [preamble(seeds[0], overlaps)] + [Generator(seed, overlaps).program() for seed in seeds]


def check_batch(seeds, by_oracle=False):
    """Differences by place in the batch."""
    try:
        return check(programs_of(seeds), seeds[0], by_oracle)
    except (batch.Failed, KeyError) as error:
        return [(None, f"{type(error).__name__}: {error}")]


def report(seeds, found):
    """Prints a failed batch, shrunk."""
    first, *others = programs_of(seeds)

    def fails(programs):
        try:
            return bool(check([first] + programs, seeds[0]))
        except batch.Failed:
            return True

    at = found[0][0] or 0
    print(f"what-if, seed {seeds[max(0, at - 1)]}, in a batch of seeds {seeds[0]} to {seeds[-1]}:")
    for _, text in found[:12]:
        print("   ", text)
    if at:
        small = shrink.Shrinker(fails).shrink(others, at - 1)
        print("the smallest that fails, after the preamble of the batch:")
        print("".join("    " + line + "\n" for one in small for line in one.text().splitlines()))
        for _, text in check([first] + small, seeds[0])[:4]:
            print("   ", text)
    print(f"again: run.py --programs 0 --what-if {len(seeds)} --seed {seeds[0]}\n", flush=True)


def run_equations(first, count, jobs):
    """All programs by themselves; returns how many failed."""
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(check_equations, range(first, first + count)))
    failed = [(first + at, texts[0]) for at, texts in enumerate(found) if texts]
    for seed, text in failed[:4]:
        print(f"equations, seed {seed}: {text}")
        print(closed(seed).text())
    return len(failed)


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
