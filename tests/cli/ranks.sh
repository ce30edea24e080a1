#!/bin/bash
# miniprof ranks: traces without NCCL, and bad input. What it finds: tests/unit/reports/test_ranks.c
# and tests/e2e/ranks_report.sh.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
mkdir job
another plain.mpt job/0.mpt 1

run ranks job
code 0
grep -q '^======== No operation of NCCL, .* was recorded: miniprof report ' .stdout
verdict "no NCCL: said" $?

run ranks --csv --trace job
code 0
grep -q '^begin_ns,communicator,' .stdout
verdict "no NCCL: the header row" $?

run ranks --json job
code 0
json 'd["instances"] == 0 and d["functions"] == [] and sum(d["unmatched"].values()) == 0'

run ranks
code 2
stderr <<'END'
miniprof ranks: which trace? 'miniprof ranks TRACE.mpt'
END

run ranks --table nope --csv job
code 2

run ranks nothing.mpt
code 3
stderr_like <<'END'
miniprof ranks: *'nothing.mpt'*
END

# Eight hosts of eight ranks each; who is late to which operation, tests/tools/make_job.c says.
mkdir many
"$BUILD/tests/tools/make_job" many 64 70
run ranks --csv --trace many
code 0
python3 - .stdout <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
sys.exit(len(rows) != 70 or any(
    (int(row["last_rank"]), row["cause"], row["activity"], row["algorithm"], row["protocol"])
    != (i * 7 % 64, "host", "step", "", "")
    or abs(int(row["behind_ns"]) - 200000) > 64 for i, row in enumerate(rows)))
END
verdict "64 ranks: each late one, and why" $?
run ranks --csv --table causes many
code 0
python3 - .stdout <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
sys.exit(sum(int(row["instances"]) for row in rows) != 70
         or {(row["cause"], row["activity"]) for row in rows} != {("host", "step")})
END
verdict "64 ranks: the sums" $?

echo no trace >job/bad.mpt
run ranks job
code 1
stderr_like <<'END'
miniprof ranks: *bad.mpt*
END
finish
