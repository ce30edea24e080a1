"""`python -m miniprof ...` and the script `miniprof`: the command that the package brings along."""
import os
import sys

from ._errors import MiniprofError
from ._library import command


def main() -> None:
    """Becomes the command."""
    try:
        path = command()
    except MiniprofError as error:
        sys.exit(f"miniprof: {error}")
    os.execv(path, ["miniprof", *sys.argv[1:]])


if __name__ == "__main__":
    main()
