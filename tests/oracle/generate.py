"""Random programs: small, and biased towards what has rules of its own.

A program has a palette (a few streams, events, threads, devices) and a theme that makes some kinds
of operations common, so that work meets on the same streams. Everything follows from the seed.
"""
import random

from batch import plays
from program import (CHILD, EVENTS, FIRST_CAPTURED, LOOP, OBJECTS, POLLER, THREADS, Op, Program,
                     has_loop, repaired)
from values import ADDRESSES, CAN_WAIT, MAX_STEP, PROGRAMS, numbers_of

MICROSECONDS = (1, 2, 3, 5, 5, 8, 10, 13, 20, 30, 40, 60, 90, 150)
BYTES = (1, 64, 256, 4096, 4096, 30000, 65536, 200000)
PAUSES = (300, 1000, 2500, 7000)
LEADS = (200, 1000, 2000, 2000, 5000, 20000, 1000000)  # of overlapping kernels, ns
FUNCTIONS = (500, 3000, 8000, 20000, 60000)  # how long host functions run
WAKES = (100, 1000, 2500, 5000, 9000)  # from a post to the end of the wait
LIMITS = (1000, 5000, 20000)  # of waits that nobody ends
MUTEX = 2
WAIT_KINDS = (0, 1, 2, 4, 5, 6, 9, 10)  # wait_kind
# Without it the recorder does not know of which launch a host function in a graph is.
HOST_NODES = plays("cuptiGetGraphExecId")
LOOPS = plays("cuGraphConditionalHandleCreate", "cuda")
VALUES = plays("cuStreamWaitValue32_v2", "cuda")

# Weights of the operations by theme; `any` is added to each.
THEMES = {
    "any": {"kernel": 10, "copyin": 2, "copyout": 2, "copywithin": 1, "set": 2, "work": 4,
            "record": 3, "wait": 3, "eventsync": 1, "streamsync": 2, "contextsync": 1,
            "eventquery": 0.4, "streamquery": 0.4, "copyinnow": 0.6, "copyoutnow": 0.6,
            "copywithinnow": 0.4, "setnow": 0.4, "free": 1, "alloc": 1.2, "hostalloc": 0.2,
            "hostfree": 0.3, "module": 0.1, "graph": 1, "makestream": 0.5, "dropstream": 0.4,
            "dropevent": 0.5, "makeevent": 0.4, "capture": 0.3, "build": 0.3, "fork": 2.5,
            "hold": 0.5, "copypeer": 0.4, "pdl": 1.5, "hostfunc": 0.5, "handshake": 1,
            "hostwait": 0.5, "post": 0.2, "await": 0.3, "join": 0.3, "sleep": 0.2, "poll": 0.4,
            "value": 0.4},
    "events": {"record": 8, "wait": 10, "eventsync": 2, "eventquery": 2, "fork": 10, "kernel": 6},
    "graphs": {"graph": 14, "capture": 2, "build": 2, "wait": 3, "record": 3, "fork": 2},
    "default": {"kernel": 10, "copyinnow": 3, "copyoutnow": 3, "setnow": 2, "streamsync": 2},
    "waits": {"eventsync": 5, "streamsync": 6, "contextsync": 4, "eventquery": 3,
              "streamquery": 4, "free": 4, "alloc": 6, "copyoutnow": 2},
    "copies": {"copyin": 8, "copyout": 8, "copywithin": 4, "set": 6, "copypeer": 3, "copyinnow": 2},
    "host": {"work": 20, "kernel": 8},
    "overlaps": {"pdl": 30, "kernel": 6, "graph": 3, "capture": 1, "fork": 2},
    "functions": {"hostfunc": 8, "hostwait": 8, "await": 2, "graph": 2, "capture": 0.5},
    "threads": {"handshake": 20, "post": 2, "await": 3, "join": 4, "sleep": 2, "hostwait": 2,
                "streamsync": 4, "work": 6},
    "polls": {"poll": 12, "kernel": 8, "graph": 3, "handshake": 2, "streamsync": 3},
    "values": {"value": 40, "kernel": 6, "set": 2, "record": 2, "wait": 2, "streamsync": 1},
    "plain": {},
}
# Streams of which a theme picks its own.
DEFAULT_STREAMS = (0, 0, 2, 3, 4, 1)


class Generator:
    """Makes one program of a seed."""

    def __init__(self, seed, simple=False):
        self.random = random.Random(seed)
        self.seed, self.simple = seed, simple
        r = self.random
        self.theme = r.choice([name for name in THEMES if name != "any"])
        self.weights = dict(THEMES["any"])
        for name, weight in THEMES[self.theme].items():
            self.weights[name] = self.weights.get(name, 0) + weight
        alone = 0 if self.theme == "threads" else 5
        self.threads = r.choices((1, 2, 3), (alone, 3, 2))[0]
        self.devices = r.sample(range(3), r.choices((1, 2, 3), (14, 4, 2))[0])
        if self.theme == "default":
            self.streams = [0, *r.sample(DEFAULT_STREAMS[1:], r.randint(1, 3))]
        else:
            self.streams = r.sample((0, 1, 2, 3, 4, 5, 6, 7), r.randint(1, 4))
        self.events = [EVENTS * r.choice(self.devices) + r.randrange(FIRST_CAPTURED)
                       for _ in range(r.randint(1, 4))]
        self.graphs, self.ops = {}, []
        self.steps = [0] * ADDRESSES  # of values in memory
        self.writers = {}
        self.inner = {}  # made before the range; other graphs may hold them

    def program(self):
        """The program."""
        r = self.random
        before = []
        for graph in range(r.choice((0, 0, 1, 2)) + 2 * (self.theme == "graphs")):
            device = r.choice(self.devices)
            before.append(self.graph(graph, device))
            if "h" not in before[-1].numbers:
                self.inner[graph] = before[-1]
            if r.random() < 0.8:
                before.append(Op(0, device, "instantiate", (graph,)))
        length = r.choices((0, r.randint(1, 3), r.randint(3, 14), r.randint(10, 40)),
                           (1, 8, 60, 20))[0]
        while len(self.ops) < length:
            self.add()
        ops = self.ops[:45]
        if r.random() < 0.6:
            ops.append(self.op("contextsync"))
        # What other threads do after the range would be lost if their clocks ran ahead. Host
        # functions of graphs are told apart by when their graphs were launched.
        carry = r.random() < 0.8 or any("h" in op.numbers for op in before + ops)
        return repaired(Program(self.seed, ops, before, carry, not carry or r.random() < 0.5))

    def op(self, name, *numbers, device=None):
        """An operation of a random thread, on a random device if none is given."""
        r = self.random
        device = r.choice(self.devices) if device is None else device
        return Op(r.randrange(self.threads), device, name, numbers)

    def add(self):
        """One operation more, or a few."""
        name = self.random.choices(list(self.weights), list(self.weights.values()))[0]
        make = getattr(self, "make_" + name, None)
        made = make() if make else self.op(name)
        self.ops.extend(made if isinstance(made, list) else [made])

    def stream(self):
        """One of the palette."""
        return self.random.choice(self.streams)

    def event(self, device=None):
        """One of the palette, of a device if that is given and has one."""
        own = [e for e in self.events if device in (None, e // EVENTS)]
        return self.random.choice(own or [EVENTS * device])

    def make_kernel(self):
        """A burst now and then."""
        r = self.random
        numbers = self.stream(), r.choice(MICROSECONDS), int(r.random() < 0.3)
        op = self.op("kernel", *numbers)
        return [op] * r.choice((1, 1, 1, 1, 2, 4))

    def make_pdl(self):
        """Kernels that may begin before the one before them ends."""
        r = self.random
        stream = self.stream()
        first = self.op("kernel", stream, r.choice(MICROSECONDS), int(r.random() < 0.3))
        ops = [first] if r.random() < 0.7 else []
        for _ in range(r.choice((1, 1, 2, 3, 5))):
            if r.random() < 0.2:  # it is launched while the one before it runs
                ops.append(first._replace(name="work", numbers=(r.choice((3000, 10000, 40000)),)))
            ops.append(first._replace(name="pdl", numbers=(
                stream, r.choice(MICROSECONDS), int(r.random() < 0.3), r.choice(LEADS))))
        return ops

    def function(self, posts):
        """The numbers of a host function: how long, when it posts, to what."""
        r = self.random
        ns = r.choice(FUNCTIONS)
        return ns, r.choice((0, ns // 2, ns)), r.randrange(OBJECTS) if posts else -1

    def make_hostfunc(self):
        """A host function in a stream."""
        name = "callback" if self.random.random() < 0.3 else "hostfunc"
        return self.op(name, self.stream(), *self.function(self.random.random() < 0.3))

    def wait_for(self, thread, thing):
        """A thread waits for what is posted to an object."""
        r = self.random
        return Op(thread, r.choice(self.devices), "await",
                  (thing, r.choice(WAIT_KINDS), r.choice(WAKES), r.choice(LIMITS)))

    def launch_of(self, thread):
        """Work that a thread launches."""
        return self.op("kernel", self.stream(), self.random.choice(MICROSECONDS),
                       0)._replace(thread=thread)

    def make_hostwait(self):
        """A thread waits for a host function, which waits for what is in its stream."""
        r = self.random
        launch = self.op("kernel", self.stream(), r.choice(MICROSECONDS), 0)
        numbers = self.function(True)
        ops = [launch, launch._replace(name="hostfunc", numbers=(launch.numbers[0], *numbers))]
        thread = r.randrange(self.threads) if r.random() < 0.4 else launch.thread
        ops += [self.wait_for(thread, numbers[-1])]
        return ops + [self.launch_of(thread)] * r.choice((0, 1))

    def make_handshake(self):
        """A thread does something; others wait for that, and go on."""
        r = self.random
        first, *others = r.sample(range(THREADS), r.choice((2, 2, 3)))
        thing = r.randrange(OBJECTS)
        ops = [self.launch_of(first)] * r.choice((0, 1, 2))
        if r.random() < 0.7:
            ops.append(self.op("contextsync", device=ops[0].device if ops else None)
                       ._replace(thread=first))
        if r.random() < 0.7:
            ops.append(self.make_work()._replace(thread=first))
        ops.append(self.op("post", thing, len(others))._replace(thread=first))
        for other in others:
            ops += [self.make_work()._replace(thread=other)] * (r.random() < 0.2)
            ops.append(self.wait_for(other, thing))
            ops += [self.launch_of(other)] * (r.random() < 0.7)
        return ops

    def make_post(self):
        """Perhaps for nobody."""
        return self.op("post", self.random.randrange(OBJECTS), self.random.choice((1, 1, 2)))

    def make_await(self):
        """Perhaps for nothing."""
        return self.wait_for(self.random.randrange(self.threads), self.random.randrange(OBJECTS))

    def make_join(self):
        """A thread waits until another one has come as far as it is now."""
        r = self.random
        one, other = r.sample(range(THREADS), 2)
        return self.op("join", other, r.choice(WAKES))._replace(thread=one)

    def make_sleep(self):
        """Nobody wakes it."""
        return self.op("sleep", self.random.choice((2500, 10000, 40000)))

    def copy(self, name, *head):
        """Bytes, and pinned memory or not."""
        r = self.random
        return self.op(name, *head, r.choice(BYTES), int(r.random() < 0.6))

    def make_copyin(self):
        """To the device."""
        return self.copy("copyin", self.stream())

    def make_copyout(self):
        """From the device."""
        return self.copy("copyout", self.stream())

    def make_copyinnow(self):
        """Blocking."""
        return self.copy("copyinnow")

    def make_copyoutnow(self):
        """Blocking."""
        return self.copy("copyoutnow")

    def make_copywithin(self):
        """On the device."""
        return self.op("copywithin", self.stream(), self.random.choice(BYTES))

    def make_copywithinnow(self):
        """Without a stream, and the host does not wait."""
        return self.op("copywithinnow", self.random.choice(BYTES))

    def make_set(self):
        """Memory set."""
        return self.op("set", self.stream(), self.random.choice(BYTES))

    def make_setnow(self):
        """Without a stream."""
        return self.op("setnow", self.random.choice(BYTES))

    def make_copypeer(self):
        """From one device to another."""
        return self.op("copypeer", self.stream(), self.random.randrange(3),
                       self.random.choice(BYTES))

    def make_work(self):
        """The host computes."""
        return self.op("work", self.random.choice((50, 500, 3000, 10000, 40000)))

    def make_record(self):
        """On the event's device."""
        event = self.event()
        return self.op("record", event, self.stream(), device=event // EVENTS)

    def make_wait(self):
        """On any device."""
        return self.op("wait", self.event(), self.stream())

    def make_fork(self):
        """Records an event behind work and lets another stream wait for it, with work there too."""
        r = self.random
        event = self.event()
        device = event // EVENTS
        one, other = self.stream(), self.stream()
        work = self.op("kernel", one, r.choice(MICROSECONDS), 0, device=device)
        ops = [work, work._replace(name="record", numbers=(event, one)),
               self.op("wait", event, other, device=device if r.random() < 0.7 else None)]
        for at in range(len(ops)):
            if r.random() < 0.15:
                ops.insert(at, self.op("kernel", self.stream(), r.choice(MICROSECONDS), 0))
        if r.random() < 0.8:
            ops.append(ops[-1]._replace(name="kernel", numbers=(other, r.choice(MICROSECONDS), 1)))
        return ops

    def make_hold(self):
        """A stream waits for others, without a record."""
        r = self.random
        one, other = self.stream(), self.stream()
        hold = self.op("hold", other)
        ops = [hold._replace(name="kernel", numbers=(one, r.choice(MICROSECONDS[7:]), 0))
               for _ in range(r.choice((1, 1, 2, 4)))]
        ops += [hold, hold._replace(name=r.choice(("kernel", "kernel", "set", "streamsync")),
                                    numbers=(other, r.choice(MICROSECONDS), 0))]
        return [op._replace(numbers=op.numbers[:1]) if op.name == "streamsync" else
                op._replace(numbers=(other, 4096)) if op.name == "set" else op for op in ops]

    def value(self, name, device, stream, address, step):
        """A wait or a write of a step of one of the program's addresses."""
        numbers = numbers_of(name, stream, self.seed % PROGRAMS * ADDRESSES + address, step,
                             self.random.random() < 0.3)
        return self.op(name, *numbers, device=device)

    def burst(self, device, stream):
        """Some work of a stream, or none."""
        r = self.random
        return [self.op("kernel", stream, r.choice(MICROSECONDS), int(r.random() < 0.5),
                        device=device) for _ in range(r.choice((0, 1, 1, 2)))]

    def write(self, address):
        """The next step of an address, behind work."""
        r = self.random
        device, stream = self.writers.setdefault(
            address, (r.choice(self.devices), r.choice((*self.streams, *CAN_WAIT))))
        self.steps[address] = min(self.steps[address] + 1, 1 if address % 4 == 1 else MAX_STEP)
        return self.burst(device, stream) + \
            [self.value("valuewrite", device, stream, address, self.steps[address])]

    def make_value(self):
        """A stream waits for a write that another one makes before or after that call; perhaps it
        then writes too, before it does anything else."""
        r = self.random
        if not VALUES:
            return []
        address, other = r.sample(range(ADDRESSES), 2)
        writing = [op for _ in range(r.choice((1, 1, 1, 2, 3))) for op in self.write(address)]
        early = r.random() < 0.6
        device = r.choice(self.devices)
        stream = r.choice(CAN_WAIT if early or r.random() < 0.5 else self.streams)
        step = r.choice((self.steps[address], r.randint(1, self.steps[address])))
        waiting = [self.value("valuewait", device, stream, address, step)]
        if r.random() < 0.4 and self.writers.setdefault(other, (device, stream)) == \
                (device, stream):
            waiting += self.write(other)
        waiting += self.burst(device, stream)
        ops = waiting + writing if early else writing + waiting
        for at in range(len(ops)):
            if r.random() < 0.1:
                ops.insert(at, self.op("kernel", self.stream(), r.choice(MICROSECONDS), 0))
        return ops

    def make_eventsync(self):
        """Any event, on any device."""
        return self.op("eventsync", self.event())

    def make_poll(self):
        """What a thread does that only watches: asks, sleeps, and holds a lock now and then."""
        r = self.random
        polls = [r.choice((self.make_eventquery, self.make_streamquery))()
                 for _ in range(r.randint(1, 3))]
        ops = [op._replace(thread=POLLER) for op in polls]
        if r.random() < 0.4:
            ops.append(self.make_sleep()._replace(thread=POLLER))
        if r.random() < 0.3:
            thing = r.randrange(OBJECTS)
            wait = self.wait_for(r.randrange(self.threads), thing)
            ops += [self.op("post", thing, 1)._replace(thread=POLLER),
                    wait._replace(numbers=(thing, MUTEX, *wait.numbers[2:]))]
        return ops

    def make_eventquery(self):
        """Mostly in a loop."""
        return self.op("eventquery", self.event(), self.random.choice(PAUSES))

    def make_streamsync(self):
        """A stream of the palette."""
        name = "streamsyncwait" if self.random.random() < 0.15 else "streamsync"
        return self.op(name, self.stream())

    def make_streamquery(self):
        """Mostly in a loop."""
        return self.op("streamquery", self.stream(), self.random.choice(PAUSES))

    def make_makestream(self):
        """A stream of its own for a program."""
        return self.op("makestream", self.random.choice((6, 7)), self.random.choice((0, 1)))

    def make_dropstream(self):
        """Work may be left in it."""
        return self.op("dropstream", self.random.choice((6, 7)))

    def make_dropevent(self):
        """Mostly made anew at once: then the handle is the same."""
        event = self.event()
        drop = self.op("dropevent", event, device=event // EVENTS)
        make = self.op("makeevent", event, device=event // EVENTS)
        if self.random.random() < 0.2:
            return [drop]
        if self.random.random() < 0.4:
            return [drop, make]
        # What it stood for must be forgotten.
        ops = self.make_fork()
        waits = [at for at, op in enumerate(ops) if op.name == "wait"]
        event = ops[waits[0]].numbers[0]
        return ops[:waits[0]] + [
            self.op(name, event, device=event // EVENTS) for name in ("dropevent", "makeevent")
        ] + ops[waits[0]:]

    def make_makeevent(self):
        """In the place of one that was destroyed."""
        event = self.event()
        return self.op("makeevent", event, device=event // EVENTS)

    def make_alloc(self):
        """With work before it, which may end while it runs."""
        alloc = self.op("alloc", self.random.randrange(4), 4096)
        if self.random.random() < 0.5:
            launch = Op(alloc.thread, alloc.device, "kernel",
                        (self.stream(), self.random.choice((3, 5, 8, 10)), 0))
            return [launch, alloc]
        return alloc

    def make_free(self):
        """What there is."""
        return self.op("free", self.random.randrange(4))

    def make_hostalloc(self):
        """Pinned memory."""
        return self.op("hostalloc", self.random.randrange(4), 4096)

    def make_hostfree(self):
        """What there is."""
        return self.op("hostfree", self.random.randrange(4))

    def make_graph(self):
        """A launch of what there is."""
        device = self.random.choice(self.devices)
        graph = self.random.choice([g for g, d in self.graphs.items() if d == device] or [0])
        return self.op("graph", graph, self.stream(), device=device)

    def make_capture(self):
        """A graph inside the range, instantiated and launched at once."""
        graph = self.random.randrange(8)
        device = self.random.choice(self.devices)
        thread = self.random.randrange(self.threads)
        return [self.graph(graph, device)._replace(thread=thread),
                Op(thread, device, "instantiate", (graph,)),
                Op(thread, device, "graph", (graph, self.stream()))]

    make_build = make_capture

    def graph(self, graph, device):
        """A graph by capture or by hand."""
        self.graphs[graph] = device
        make = self.captured if self.random.random() < 0.6 else self.built
        return Op(0, device, *make(graph, device))

    def captured(self, graph, device):
        """One to three streams; branches that are joined at the end."""
        r = self.random
        streams = r.sample((2, 3, 4, 5), r.randint(1, 3))
        event = EVENTS * device + FIRST_CAPTURED
        numbers = [graph, streams[0]]
        if r.random() < 0.7:
            numbers += self.step(streams[0])
        for at, other in enumerate(streams[1:]):
            numbers += ["r", event + at, streams[0], "w", event + at, other]
        for _ in range(r.randint(1, 6)):
            numbers += self.step(r.choice(streams))
            if len(streams) > 1 and r.random() < 0.2:
                one, other = r.sample(streams, 2)
                numbers += ["r", event + 3, one, "w", event + 3, other]
        for at, other in enumerate(streams[1:]):
            numbers += ["r", event + at, other, "w", event + at, streams[0]]
        if r.random() < 0.6:
            numbers += self.step(streams[0])
        return "capture", tuple(numbers)

    def step(self, stream):
        """A node's worth of a capture."""
        r = self.random
        letter = r.choices("kpiodsh", (6, 5 if self.theme == "overlaps" else 2, 1, 1, 1, 2,
                                       int(HOST_NODES)))[0]
        if letter == "k":
            return ["k", stream, r.choice(MICROSECONDS), int(r.random() < 0.3)]
        if letter == "p":
            return ["p", stream, r.choice(MICROSECONDS), int(r.random() < 0.3), r.choice(LEADS)]
        if letter == "h":
            return ["h", stream, *self.function(r.random() < 0.5)]
        if letter in "io":
            return [letter, stream, r.choice(BYTES), int(r.random() < 0.8)]
        return [letter, stream, r.choice(BYTES)]

    def built(self, graph, device):
        """Nodes that depend on any earlier ones; some are empty, and some have a graph inside."""
        r = self.random
        numbers = [graph]
        inner = [each for each, op in self.inner.items() if op.device == device and each != graph]
        for at in range(r.randint(1, 7)):
            deps = sorted(r.sample(range(at), min(at, r.choices((0, 1, 2, 3), (2, 6, 3, 1))[0])))
            work = self.with_inner(r.choice(inner)) if at and inner and r.random() < 0.3 else \
                [0 if at and r.random() < 0.25 else r.choice(MICROSECONDS)]
            if work[0] == LOOP:  # after a kernel of the graph, which has a correlation id
                deps = sorted({0, *deps})
            numbers += [*work, len(deps), *deps]
        return "build", tuple(numbers)

    def with_inner(self, graph):
        """A child graph, or a loop over it."""
        r = self.random
        if not LOOPS or has_loop(self.inner, self.inner[graph]) or r.random() < 0.5:
            return [CHILD, graph]
        return [LOOP, graph, r.choice((0, 1, 2, 3))]


def program_of(seed):
    """The program of a seed."""
    return Generator(seed).program()
