"""Values in memory that streams write and wait for: the operations `valuewait` and `valuewrite`,
and which of them a program may have.

Their numbers are STREAM ADDRESS STEP BATCH BITS CONDITION VALUE; BATCH: the call is a batch of one.
Each address is written by one stream, step by step, so that whoever waits for a step is let through
by the first write of that step or a later one. What its values are, and how one waits for them,
follows from its number:

    0        counts up across the greatest number, waits until it is there (cyclically)
    1        one value only, waits until they are equal
    2        gets one bit more with each step, waits for a bit
    3        loses one bit with each step, waits until it lacks one
    4 to 7   the same with 64 bits
"""
import collections

ADDRESSES = 8  # of a program
PROGRAMS = 128  # whose addresses differ
CAN_WAIT = (4, 5)  # streams that may wait for what is not written yet
MAX_STEP = 30
WRITE = -1  # the condition of a write
GEQ, EQ, AND, NOR = range(4)
# What can be put into a stream that waits for what is not written yet.
QUEUED = ("kernel", "pdl", "set", "valuewait", "valuewrite")
NAMES = ("valuewait", "valuewrite")


def width(address):
    """In bits."""
    return 64 if address % ADDRESSES >= 4 else 32


def first_value(address):
    """What an address holds before it is written."""
    ones = (1 << width(address)) - 1
    return (ones - 1, 0, 0, ones)[address % 4]


def value_of(address, step):
    """What is written."""
    ones = (1 << width(address)) - 1
    return ((first_value(address) + step) & ones, 7, (1 << step) - 1, ones ^ ((1 << step) - 1)
            )[address % 4]


def awaited_value(address, step):
    """What is waited for."""
    ones = (1 << width(address)) - 1
    return (value_of(address, step), 7, 1 << step - 1, ones ^ (1 << step - 1))[address % 4]


def numbers_of(name, stream, address, step, batch):
    """The numbers of an operation. lines.c reads signed numbers."""
    wait = name == "valuewait"
    value = awaited_value(address, step) if wait else value_of(address, step)
    return (stream, address, step, int(batch), width(address), address % 4 if wait else WRITE,
            value - (1 << 64) if value >> 63 else value)


class Held:
    """Which streams wait for a write that is still to come, while the lines are walked."""

    def __init__(self):
        self.steps = collections.Counter()  # by address: the last one that was written
        self.called = collections.Counter()  # the same of calls
        self.owners = {}
        self.queues = collections.defaultdict(list)  # by stream: operations

    @staticmethod
    def streams_of(op):
        """The streams of which an operation needs to know when they are done; None: all of its
        device."""
        if op.name in QUEUED:
            return [op.numbers[0]]
        if op.name in ("contextsync", "capture", "build"):
            return None
        if op.name in ("record", "wait", "graph"):
            return [op.numbers[1]]
        if op.name in ("hostfunc", "callback", "copyin", "copyout", "copywithin", "copypeer",
                       "streamsync", "streamsyncwait", "streamquery", "dropstream"):
            return [op.numbers[0]]
        return []

    def accept(self, op):
        """Whether nothing is held that the operation needs; it then takes effect."""
        streams = self.streams_of(op)
        held = {key for key, queue in self.queues.items() if queue}
        if streams is None:
            return not any(device == op.device for device, _ in held)
        if op.name in NAMES:
            return self.accept_value(op)
        if any((op.device, stream) in held for stream in streams):
            if op.name not in QUEUED:
                return False
            self.queues[op.device, streams[0]].append(op)
        return True

    def accept_value(self, op):
        """An address has one writing stream, and its steps come in order."""
        stream, address, step = op.numbers[:3]
        key = (op.device, stream)
        if op.name == "valuewrite":
            owner = (*key, op.thread if stream == 1 else None)
            if self.owners.get(address, owner) != owner or \
                    step < self.called[address] + (address % 4 != 1):
                return False
            self.owners[address] = owner
            self.called[address] = step
        if not self.queues[key] and self.passes(op):
            self.settle()
            return True
        if stream not in CAN_WAIT:
            return False
        self.queues[key].append(op)
        return True

    def passes(self, op):
        """Whether an operation does not hold its stream; it then takes effect."""
        if op.name == "valuewrite":
            self.steps[op.numbers[1]] = op.numbers[2]
        return op.name != "valuewait" or self.steps[op.numbers[1]] >= op.numbers[2]

    def settle(self):
        """What goes on."""
        again = True
        while again:
            again = False
            for queue in self.queues.values():
                while queue and self.passes(queue[0]):
                    queue.pop(0)
                    again = True

    def stuck(self):
        """Waits that nobody ends."""
        return [queue[0] for queue in self.queues.values() if queue]
