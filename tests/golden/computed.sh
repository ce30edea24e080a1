#!/bin/bash
# Takes 40 s; with CHECKS=short 16 s.
# Is it true what the command prints of the traces in tests/data? computed.py compares.
. "$(dirname "$0")/lib.sh"

python3 "$source/tests/golden/computed.py" "$miniprof" "$data" $pairs
