"""What goes wrong, in one line that says what to do."""


class MiniprofError(Exception):
    """A trace that cannot be read, a command that failed, or a part of miniprof that is missing."""


class MiniprofWarning(UserWarning):
    """What is not as it should be, although there is a result: a damaged trace, no GPU."""
