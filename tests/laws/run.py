#!/usr/bin/env python3
# Takes 20 s.
"""All laws in one process, so that each command runs once. One alone: tests/laws/totals.py."""
import sys

import columns
import formats
import ranges
import same_everywhere
import spellings
import totals


def main():
    passed = failed = 0
    for law in (formats, spellings, totals, ranges, columns, same_everywhere):
        verdicts = law.main()
        print(f"{law.__name__}: {verdicts.passed} passed, {verdicts.failed} failed")
        passed += verdicts.passed
        failed += verdicts.failed
    print(f"{passed} passed, {failed} failed")
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
