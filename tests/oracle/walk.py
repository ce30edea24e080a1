"""Section 5: the critical path."""
import collections

from order import latest


class Walk:
    """The critical path of a window (section 5), from its end backwards."""

    def __init__(self, oracle, window, parts):
        self.oracle, self.window, self.begin = oracle, window, window.begin
        self.critical = collections.Counter()
        self.parts, self.recording = dict.fromkeys(parts, 0), 0
        self.steps, self.last = [], None  # last: on the thread on which the path begins
        own = [a for a in oracle.activities if a.window is window]
        self.end = max([window.mark] + [a.end for a in own])
        inside = self.calls_in()
        part = {tid: calls for tid, calls in inside.items() if oracle.takes_part(tid)}
        last = [calls[-1] for calls in (part or inside).values()]
        if last:
            tid = min(last, key=lambda c: (-min(c.end, window.mark), c.tid)).tid
            self.last = oracle.at(tid, window.mark)
        self.follow(self.start(own))
        oracle.critical.update(self.critical)

    def follow(self, at):
        """Step by step, each of which says what the next one is."""
        while at:
            at = at[0](*at[1:])

    def start(self, own):
        """Where the path begins."""
        if self.end > self.window.mark:
            return self.device, latest(own), self.end
        if self.last:
            return self.thread, self.last.tid, self.end
        if own:
            return self.device, latest(own), self.end
        return self.spend("unknown_ns", self.begin, self.end)

    def calls_in(self):
        """The calls that began in the window, by thread. Waits do not count."""
        return {tid: inside for tid, lane in self.oracle.lanes.items()
                if (inside := [c for c in lane if c.kind == "call"
                               and self.begin <= c.begin < self.window.mark])}

    def spend(self, part, begin, end):
        """Time of the path that is no activity's."""
        self.parts[part] += max(0, end - max(begin, self.begin))

    def recorded(self, cost, begin, until, end=None):
        """What recording costs in a piece of the path, at most the piece: the last of the times
        before its end. Returns where the rest of the piece ends."""
        start = max(begin, self.begin, (end or until) - cost)
        if not cost or start >= until:
            return until
        self.recording += until - start
        return start

    def own(self, x, begin, end):
        """Time of the path that is an activity's."""
        self.critical[x] += max(0, end - max(begin, self.begin))
        self.steps.append(x)

    def thread(self, tid, until):
        """On a thread before a moment."""
        if until <= self.begin:
            return None
        x, costs = self.oracle.at(tid, until), self.oracle.recording
        following = next((y for y in self.oracle.lanes[tid] if y.begin >= until), None)
        end = min(x.end, until) if x else self.begin
        self.spend("host_code_ns", end, self.recorded(costs.before(following), end, until,
                                                      following and following.begin))
        if not x or end <= self.begin:
            return None
        if x.rule in ("D6", "D8", "D11"):
            moment = min(x.awaited.end, end)
            self.steps.append(x)
            self.spend("return_ns", moment, self.recorded(costs.within(x), moment, end, x.end))
            return self.device, x.awaited, moment
        if x.rule == "D9":
            return self.woken(x, end)
        self.own(x, x.begin, self.recorded(costs.within(x), x.begin, end, x.end))
        return self.thread, tid, x.begin

    def woken(self, wait, end):
        """At the end of a wait whose waker is known."""
        moment = min(wait.woken, end)
        self.steps.append(wait)
        self.spend("return_ns", moment, end)
        if wait.awaited and wait.awaited.kind == "host_function":
            return self.device, wait.awaited, moment
        return self.thread, wait.waker, moment

    def device(self, a, until):
        """At a device activity, before a moment. It may begin later than that if a call waited for
        it across the end of the window."""
        if until <= self.begin:
            return None
        begin, bound, costs = min(a.begin, until), a.bound, self.oracle.recording
        if bound and bound.overlaps:
            moment = min(bound.moment, until)
            self.own(a, moment, until)
            return self.device, bound.awaited, moment
        self.own(a, begin, self.recorded(costs.own(a), begin, until))
        if begin <= self.begin:
            return None
        if not bound:
            return self.spend("unknown_ns", self.begin, begin)
        moment = min(bound.moment, begin)
        part = {"D2": "launch_latency_ns", "D3": "stream_gap_ns"}.get(bound.rule,
                                                                     "dependency_latency_ns")
        cost = costs.before(a) if bound.rule == "D2" else costs.within(a)
        self.spend(part, moment, self.recorded(cost, moment, begin))
        if bound.rule == "D2":
            return self.thread, bound.awaited.tid, moment
        return self.device, bound.awaited, moment


class OfThread(Walk):
    """The path of a thread, whose window ends with what began last on it in the range."""

    def __init__(self, oracle, window, parts, last):  # pylint: disable=super-init-not-called
        self.oracle, self.window, self.begin = oracle, window, window.begin
        self.end = min(last.end, window.mark)
        self.critical = collections.Counter()
        self.parts, self.recording = dict.fromkeys(parts, 0), 0
        self.steps, self.last = [], last
        self.follow(self.thread(last.tid, self.end))


def of_thread(oracle, tid, parts):
    """Those of all windows in which the thread did something."""
    for window in oracle.truth.windows:
        last = [x for x in oracle.lanes[tid] if window.begin <= x.begin < window.mark]
        if last:
            yield OfThread(oracle, window, parts, last[-1])
