"""Section 6 forwards: when everything would begin and end with other durations.

Only for what what_if.py makes, programs that end with all their work awaited: their windows do not
reach into each other, so each is solved alone, and it ends with the last call and what follows it.
"""


def solve(o, walk, duration):
    """The window's length with `duration(activity)` for the device activities' durations."""
    window = walk.window
    activities = [a for a in o.activities if a.window is window]
    calls = [c for c in o.truth.calls if c.window is window]
    begin = {x: x.begin for x in activities + calls}
    end = {x: x.end for x in activities + calls}

    def ended(x):
        return end.get(x, x.end)

    def move(x):
        if x.kind == "call":
            if x.previous and x.previous.window is window:
                begin[x] = end[x.previous] + x.begin - x.previous.end
            own = x.end - max([x.begin] + [min(a.end, x.end) for a in x.front])
            end[x] = max([begin[x]] + [ended(a) for a in x.front]) + own
            return
        moments = []
        for each in x.dependencies:
            moments.append(o.lag(x, each) + (begin[each.awaited] if each.rule == "D2" else
                                             ended(each.awaited)))
        begin[x] = max(moments, default=x.begin)
        end[x] = begin[x] + duration(x)

    # Again and again until nothing moves: there are no circles.
    before = None
    while before != (begin, end):
        before = dict(begin), dict(end)
        for x in activities + calls:
            move(x)
    return walk.end - walk.begin + (end[walk.last] - walk.last.end if walk.last else 0)
