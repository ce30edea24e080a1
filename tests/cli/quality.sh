#!/bin/bash
# Reports that rest on incomplete data say so in their first line, and by exit code 1.
. "$SOURCE/tests/tools/cli.sh" || exit 1

first_line() { # checks stdout's first line against a glob
    local line
    read -r line <.stdout
    # shellcheck disable=SC2053
    [[ $line == $1 ]] || echo "first line: $line"
    # shellcheck disable=SC2053
    [[ $line == $1 ]]
    verdict "first line" $?
}

trace dropped
run summary dropped.mpt
code 1
first_line '==4242== Warning: 12 records were dropped.'
run info dropped.mpt
code 1
first_line '==4242== Warning: 12 records were dropped.'
run summary --json dropped.mpt
code 1
json 'd["quality"]["dropped"] == 12 and d["quality"]["whole"] is False'
json 'd["quality"]["counters"] == {"dropped_by_cupti": 12}'
trace one-dropped
run summary one-dropped.mpt
first_line '==4242== Warning: 1 record was dropped.'

trace doubtful
run summary doubtful.mpt
code 1
first_line '==4242== Warning: 2 rows without a begin time are left out; 1 row that ends before it *'
run summary --json doubtful.mpt
json 'd["quality"]["unknown_times"] == 2 and d["quality"]["reversed_times"] == 1'
json 'd["groups"][0]["total_ns"] == 1349707'

trace undefined
run summary undefined.mpt
code 1
first_line '==4242== Warning: 1 row refers to a name that is not in the file.'

# A program that was killed: no index, the last chunk incomplete.
trace plain
head -c 2500 plain.mpt >cut.mpt
for command in summary info; do
    run $command cut.mpt
    code 1
    quiet
    first_line '==4242== Warning: the trace is damaged, its end is cut off*'
done
run check cut.mpt
code 1
stdout_like <<'END'
cut.mpt: the trace is damaged, its end is cut off*
END
run dump cut.mpt
code 1
stderr_like <<'END'
miniprof dump: 'cut.mpt': the trace is damaged, its end is cut off*
END
run info --json cut.mpt
code 1
json 'd["quality"]["damage"]["truncated"] and d["quality"]["damage"]["no_index"]'

finish
