#!/bin/bash
# What reports say of a trace that the flight recorder wrote, and of one that says odd things.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace flight
trace flight-crash
trace flight-odd
trace flight-late
trace plain

note='==4242== Note: the flight recorder wrote this trace, triggered by'
slow="$note a slow step (\"re?quest\" took 61.20ms, more than 52.95ms); it covers 2.000us, \
up to 1.500us after that."
for report in summary info gpu-trace api-trace nvtx deps; do
    run $report flight.mpt
    code 0
    { head -n 1 .stdout && head -n 1 .stderr; } | grep -qFx "$slow"
    verdict "the first line says what it is" $?
done

run summary flight-crash.mpt
code 1
[ "$(head -n 2 .stdout)" = "==4242== Warning: 1 record was dropped; busy time, idle causes and \
gains are not known.
$note SIGSEGV; it covers 1.000ms, up to 0ns after that." ]
verdict "below the warning" $?

run info flight-odd.mpt
code 0
head -n 1 .stdout | grep -qFx "$note a?b."
verdict "what makes no sense is left out" $?
run summary --json flight-odd.mpt
code 0
json 'd["flight"] == {"reason": "a\x1bb", "from_ns": 9, "until_ns": 8}'

run info flight-late.mpt
code 0
head -n 1 .stdout | grep -qFx "$note SIGUSR2; it covers 2.000us."
verdict "a trigger after the end: how long ago it was is left out" $?

slow='{"reason": "slow step", "trigger_ns": 1500, "from_ns": 1000, "until_ns": 3000, '
slow+='"step_start_ns": 300, "step_ns": 61204000, "step_limit_ns": 52953000}'
for report in summary info gpu-trace nvtx deps; do
    run $report --json flight.mpt
    code 0
    json "d['flight'] == $slow"
    run $report --json plain.mpt
    json '"flight" not in d'
done
finish
