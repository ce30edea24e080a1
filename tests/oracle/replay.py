"""Section 6 forwards: when everything would begin and end with other durations.

Only for what what_if.py makes, programs that end with all their work awaited: their windows do not
reach into each other, so each is solved alone. It ends with the last call and what follows it, or
with what ends later.
"""
import slack
from truth import ON_HOST


class Replay:
    """The times of a window in a new run."""

    def __init__(self, o, walk, duration, bare):
        self.oracle, self.window, self.duration, self.bare = o, walk.window, duration, bare
        self.own = [x for x in o.everything() if x.window is walk.window]
        self.begin = {x: x.begin for x in self.own}
        self.end = {x: x.end for x in self.own}

    def ended(self, x):
        """When it ends, also of another window."""
        return self.end.get(x, x.end)

    def less(self, cost, x, ns):
        """A time without what recording costs there, if that is to be left out."""
        return ns - min(cost(x), ns) if self.bare and ns > 0 else ns

    def own_time(self, x):
        """How long a device activity runs alone."""
        costs = self.oracle.recording
        return self.duration(x, self.less(costs.own, x, self.oracle.own_time(x)))

    def before_end(self, x, moment):
        """What a moment before the end of an activity becomes: as long before it, in the proportion
        in which the activity's own time changes."""
        own = self.oracle.own_time(x)
        left = x.end - moment
        return self.ended(x) - (left * self.own_time(x) // own if own and left else left)

    def woken(self, wait):
        """When the waker comes to where it woke this one."""
        x = wait.awaited
        if not x or x not in self.begin:
            return wait.woken
        if x.kind == "host_function":
            return self.before_end(x, wait.woken)
        point, lag = slack.anchor(wait)
        if point == "end":
            return self.end[x] + lag
        return min(self.begin[x] + lag, self.end[x])

    def move_on_host(self, x):
        """A call or a wait."""
        if x.previous and x.previous.window is self.window:
            self.begin[x] = self.end[x.previous] + self.less(
                self.oracle.recording.before, x, x.begin - x.previous.end)
        moments = [self.begin[x]] + [self.ended(a) for a in x.front]
        if x.rule == "D9":
            moments.append(self.woken(x))
        self.end[x] = max(moments) + self.less(self.oracle.recording.within, x,
                                               slack.own_time(x))

    def move_on_device(self, x):
        """Everything else."""
        moments, costs = [], self.oracle.recording
        for each in x.dependencies:
            if each.overlaps:
                moments.append(self.before_end(each.awaited, each.moment))
            elif each.rule == "D2":
                moments.append(self.begin[each.awaited] +
                               self.less(costs.before, x, self.oracle.lag(x, each)))
            else:
                moments.append(self.ended(each.awaited) +
                               self.less(costs.within, x, self.oracle.lag(x, each)))
        self.begin[x] = max(moments, default=x.begin)
        self.end[x] = self.begin[x] + self.own_time(x)

    def run(self):
        """Again and again until nothing moves: there are no circles."""
        before = None
        while before != (self.begin, self.end):
            before = dict(self.begin), dict(self.end)
            for x in self.own:
                if x.kind in ON_HOST:
                    self.move_on_host(x)
                else:
                    self.move_on_device(x)


def solve(o, walk, duration, bare=False):
    """The window's length with `duration(activity, own time)` for their own times; `bare`: without
    what recording costs."""
    replay = Replay(o, walk, duration, bare)
    replay.run()
    last = walk.last
    ends = [replay.end[x] for x in replay.own if x.kind != "wait" and x.tid != (last and last.tid)
            and (x.kind != "call" or o.takes_part(x.tid))]
    if last:
        ends.append(replay.end[last] + walk.end - last.end)
    return max(ends, default=walk.end) - begin_of(replay, walk)


def begin_of(replay, walk):
    """Where the window begins: as long before the first call of the thread as then."""
    lane = replay.oracle.lanes[walk.last.tid] if walk.last else []
    first = next((x for x in lane if x.begin >= walk.begin), None)
    if not first:
        return walk.begin
    return first.begin - replay.less(replay.oracle.recording.before, first,
                                     first.begin - walk.begin)
