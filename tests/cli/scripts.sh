#!/bin/bash
# Takes 5 s.
# CSV and JSON as a script reads them, of each command, a trace and a folder of two: one header row,
# as many fields in each row, numbers that are numbers, names with quotation marks and commas;
# documents in an array or on lines. docs/fields.md lists each field, and none that is not there.
. "$SOURCE/tests/tools/cli.sh" || exit 1

for kind in plain nvtx metrics counters layers flight losses slow-layer baseline stacks; do
    trace $kind
done
mkdir job
another nvtx.mpt job/%d.mpt 2
cp "$SOURCE"/tests/data/{inference,two_streams,managed,branches,memory,captured,simgpu,green}.mpt \
    "$SOURCE"/tests/data/zoo/stream_alloc.mpt .
mkdir ranks
cp "$SOURCE"/tests/data/{inference,two_streams}.mpt ranks
cp -r "$SOURCE/tests/data/set" set
cp -r "$SOURCE/tests/data/ranks" nccl

python3 "$SOURCE/tests/tools/fields.py" "$miniprof" "$SOURCE/docs/fields.md" >.verdicts
while read -r status what; do
    last="fields.py"
    verdict "$what" "$status"
done <.verdicts

# Rows say whose they are, if there are several.
run summary --csv job
code 0
cut -d, -f1 .stdout | sort -u >.stdout2 && mv .stdout2 .stdout
stdout <<'END'
"pid 4242"
"pid 4243"
process
END
run summary --csv plain.mpt plain.mpt
code 0
sed 1d .stdout | cut -d, -f1 | sort -u >.stdout2 && mv .stdout2 .stdout
stdout_like <<'END'
"*"
END

# What is missing in a trace is said on stderr; the table holds.
trace dropped
run summary --csv dropped.mpt
code 1
grep -q '^type,percent' .stdout
verdict "a header row" $?
stderr_like <<'END'
==4242== Warning: *12 records*
END
run summary --csv missing.mpt plain.mpt
code 3
head -n 1 .stdout | grep -q '^process,type'
verdict "the good trace" $?

# Documents of several traces.
run iters --json job
code 0
json '[x["process"] for x in d] == ["pid 4242", "pid 4243"] and d[0]["quality"]["whole"]'
cp .stdout array.json
run iters --jsonl job
code 0
holds "the same on lines" \
    '[json.loads(line) for line in open(".stdout")] == load("array.json")'
run iters --jsonl plain.mpt
code 0
[ "$(wc -l <.stdout)" -eq 1 ]
verdict "one line" $?
cp .stdout line.json
run iters --json plain.mpt
json 'd == load("line.json")'
run summary --json missing.mpt
code 3
stdout </dev/null
run summary --json missing.mpt missing.mpt
code 3
echo '[]' | stdout

# A reader that goes away early is no error of ours.
(run gpu-trace --json ranks; "$miniprof" gpu-trace --csv ranks 2>.stderr | head -n 2 >.stdout)
[ "$(wc -l <.stdout)" -eq 2 ] && [ ! -s .stderr ]
verdict "head" $?
run advise --csv /dev/null
code 3
"$miniprof" summary --csv plain.mpt >/dev/full 2>.stderr
[ $? -eq 3 ] && grep -q 'cannot write the output' .stderr
verdict "a full disk" $?
"$miniprof" summary --json ranks >/dev/full 2>.stderr
[ $? -eq 3 ] && grep -q 'cannot write the output' .stderr
verdict "a full disk, several" $?

finish
