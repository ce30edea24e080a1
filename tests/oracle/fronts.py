"""What later work in a stream has to wait for (docs/dependency-analysis.md, section 2), worked out
anew for each moment at which somebody asks.
"""
from order import distinct

class Fronts:
    """What later work in a stream has to wait for, at any moment of the API order."""

    def __init__(self, truth, broken):
        self.truth, self.broken = truth, broken
        self.known, self.running = {}, {}

    def last_launch(self, stream, when):
        """The stream's last launch before a moment."""
        for launch in reversed(stream.launches):
            if launch.correlation < when:
                return launch
        return None

    def launched(self, stream, when):
        """D3: what was launched in a stream and is awaited by what comes next: the last launch, and
        what was launched before it but ended after it."""
        before = sum(launch.correlation < when for launch in stream.launches)
        known = self.running.setdefault(stream, [[]])
        while len(known) <= before:
            last = stream.launches[len(known) - 1].activities
            ended = max(a.end for a in last)
            known.append(last + [a for a in known[-1]
                                 if a.end > ended])
        return known[before]

    def awaited(self, stream, when):
        """D4: what the stream was told to wait for since its last launch."""
        if "D4" in self.broken:
            return []
        last = self.last_launch(stream, when)
        since = last.correlation if last else 0
        activities = []
        for correlation, event in stream.waits:
            if since < correlation < when:
                activities += self.event(event, correlation)
        for correlation, address, step in stream.values:
            if since < correlation < when:
                activities += self.value(address, step, correlation)
        return distinct(activities)

    def value(self, address, step, when):
        """D4: what the write stands for that lets a wait through: the first of that step or a later
        one, also if it is called after the wait."""
        if "D4-value" in self.broken:
            return []
        for write in self.truth.writes[address]:
            if write.step >= step:
                if "D4-value-later" in self.broken and write.correlation > when:
                    return []
                if "D4-value-last" in self.broken:
                    write = self.truth.writes[address][-1]
                return self.front(write.stream, write.correlation)
        return []

    def same_graph(self, launch):
        """D4: an executable graph is not launched beside itself."""
        before = launch.before if "D4" not in self.broken else None
        return before.activities if before and before.stream is not launch.stream else []

    def recorded(self, default, when):
        """D4: an event recorded in the legacy default stream waits for the blocking streams as work
        there does, and what comes later on blocking streams waits for it."""
        if "record-default" in self.broken:
            return []
        last = self.last_launch(default, when)
        since = last.correlation if last else 0
        activities = []
        for correlation in default.records:
            if since < correlation < when:
                activities += self.others(default, correlation)
        return activities

    def own(self, stream, when):
        """A stream's front but for the default stream's rules."""
        if (stream, when) not in self.known:
            ends = self.launched(stream, when)
            recorded = self.recorded(stream, when) if stream.kind == "default" else []
            self.known[stream, when] = distinct(ends + self.awaited(stream, when) + recorded)
        return self.known[stream, when]

    def others(self, stream, when):
        """D5: what a stream waits for by the rules of the legacy default stream."""
        activities = []
        if "D5" in self.broken or stream.kind == "nonblocking":
            return activities
        for other in self.truth.of_device[stream.device]:
            if stream.kind == "default" and other.kind == "blocking" \
                    or stream.kind == "blocking" and other.kind == "default" \
                    or "D5-nonblocking" in self.broken and other is not stream:
                activities += self.own(other, when)
        return distinct(activities)

    def front(self, stream, when):
        """The front of a stream."""
        return distinct(self.own(stream, when) + self.others(stream, when))

    def context(self, device, when):
        """The fronts of all streams of a context, or of all contexts."""
        activities = []
        for each, streams in self.truth.of_device.items():
            if device in (None, each):
                for stream in streams:
                    activities += self.own(stream, when)
        return distinct(activities)

    def event(self, event, when):
        """What an event stands for."""
        for each in reversed(self.truth.events[event]):
            if each.correlation < when:
                if "D4-record" in self.broken and each.stream:
                    return self.front(each.stream, when)
                if "D4-clear" in self.broken and not each.stream:
                    continue
                return self.front(each.stream, each.correlation) if each.stream else []
        return []
