"""Section 6 backwards: how much later everything may end without moving the window's end."""
import math

from truth import ON_HOST


def of_window(oracle, walk):
    """Relaxes the latest times of all that belongs to a window until nothing changes."""
    window = walk.window
    everything = [x for x in oracle.everything() if x.window is window]
    for x in everything:
        x.slack = 0
    everything = [x for x in everything if not goes_on(walk, x)]
    least = Relaxation(walk.end, everything)
    for x in everything:
        if x.kind in ON_HOST:
            relate_on_host(least, x)
        else:
            relate_on_device(least, oracle, x)
    for x in everything:
        if x.kind in ON_HOST and x.end > walk.end:
            # It is cut there.
            least.latest[x, "end"] = x.end
    if walk.last and walk.last.end < window.mark:
        # What follows it on its thread, up to the end of the range, is part of the run.
        least.latest[walk.last, "end"] = walk.last.end + walk.end - window.mark
    least.run()
    for x in everything:
        x.slack = max(0, least.latest[x, "end"] - x.end)


def goes_on(walk, x):
    """A wait that ends after the window does not have to end by then, unless it is what the path
    begins with."""
    return x.kind == "wait" and x.end > walk.end and not (x is walk.last and x.rule == "D1")


def relate_on_device(least, oracle, a):
    """What a device activity waits for, and how long it takes."""
    least.relate(a, "begin", a, "end", oracle.own_time(a))
    for each in a.dependencies:
        if each.overlaps:
            least.relate(each.awaited, "end", a, "end", a.end - each.awaited.end)
            continue
        point = "begin" if each.rule == "D2" else "end"
        least.relate(each.awaited, point, a, "begin", oracle.lag(a, each) + oracle.late(each))


def relate_on_host(least, x):
    """The same of a call or a wait, which follows what came before it on its thread."""
    own = own_time(x)
    least.relate(x, "begin", x, "end", own)
    for a in x.front:
        least.relate(a, "end", x, "end", own + min(0, x.end - a.end))
    if x.rule == "D9" and x.awaited:
        point, lag = anchor(x)
        least.relate(x.awaited, point, x, "end", lag + own)
    if x.previous:
        least.relate(x.previous, "end", x, "begin", x.begin - x.previous.end)


def own_time(x):
    """What a call or a wait takes when nothing has to be awaited any more."""
    moments = [x.begin] + [min(a.end, x.end) for a in x.front]
    if x.rule == "D9":
        moments.append(x.woken)
    return x.end - max(moments)


def anchor(wait):
    """The moment at which a wait was woken, as (begin or end of what its waker was at, ns later).
    """
    if wait.awaited.kind == "host_function" or wait.awaited.end <= wait.woken:
        return "end", wait.woken - wait.awaited.end
    return "begin", wait.woken - wait.awaited.begin


class Relaxation:
    """Latest times of begins and ends: latest(first) <= latest(then) - lag for every relation."""

    def __init__(self, end, items):
        self.latest = {(x, "end"): end for x in items}
        self.latest.update({(x, "begin"): math.inf for x in items})
        self.relations = []

    def relate(self, first, point, then, then_point, lag):
        """`then` comes at least `lag` after `first`; what is of another window stands still."""
        if (first, point) in self.latest:
            self.relations.append(((first, point), (then, then_point), lag))

    def run(self):
        """Until nothing changes."""
        changed = True
        while changed:
            changed = False
            for first, then, lag in self.relations:
                bound = self.latest[then] - lag
                if bound < self.latest[first]:
                    self.latest[first], changed = bound, True
