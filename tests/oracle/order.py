"""Which of several activities counts (docs/dependency-analysis.md, section 2)."""


def rank(activity):
    """Order within a lane, and among activities that end at the same time."""
    return activity.correlation, activity.begin, activity.order


def latest(activities):
    """The one with the latest end; of equal ones that with the highest correlation id."""
    return max(activities, key=lambda a: (a.end, rank(a)), default=None)


def distinct(activities):
    """Without repetition, in order."""
    return list(dict.fromkeys(activities))
