"""Makes a failing list of programs small: deletes programs and operations while it still fails."""

MAX_TRIES = 400


class Shrinker:
    """`fails` says whether a list of programs fails."""

    def __init__(self, fails):
        self.fails, self.tries = fails, 0

    def try_out(self, programs):
        """Whether these fail too, as long as we may look."""
        if self.tries >= MAX_TRIES or not programs:
            return False
        self.tries += 1
        return self.fails(programs)

    def around(self, programs, at):
        """The failing program alone if it fails so, or with as few before it as do."""
        before = 0
        while before < at:
            some = programs[at - before:at + 1]
            if self.try_out(some):
                return some
            before = 2 * before + 1
        return programs[:at + 1]

    def without_programs(self, programs):
        """Deletes whole programs."""
        at = 0
        while at < len(programs):
            fewer = programs[:at] + programs[at + 1:]
            if self.try_out(fewer):
                programs = fewer
            else:
                at += 1
        return programs

    def without_operations(self, programs):
        """Deletes operations: eight at a time, then fewer."""
        for which in range(len(programs)):
            for size in (8, 4, 2, 1):
                at = 0
                while at < len(programs[which].before) + len(programs[which].ops):
                    less = programs[which].without(range(at, at + size))
                    fewer = programs[:which] + [less] + programs[which + 1:]
                    if self.try_out(fewer):
                        programs = fewer
                    else:
                        at += size
        return programs

    def shrink(self, programs, at):
        """The smallest that we find."""
        programs = self.without_programs(self.around(programs, at))
        return self.without_operations(programs)
