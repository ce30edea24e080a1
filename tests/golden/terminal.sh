#!/bin/bash
# Takes 40 s.
# What a person sees on terminals of 80 and 120 columns, against the texts in terminal/: no line of
# any command is wider than the terminal.
#
#   terminal.sh            compares
#   terminal.sh --update   rewrites the texts; look at the difference before you commit it
source=${SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
exec python3 "$source/tests/golden/terminal.py" "${BUILD:-$source/build}/miniprof" \
    "$source/tests/data" "$source/tests/golden/terminal" "$@"
