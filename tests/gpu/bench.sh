#!/bin/bash
# All that is measured on a GPU, and what became of the aims: `make bench-gpu`.
#
#     ONLY="calls soak"   some of: calls cost memory sigkill soak sizes waits watch (by default, all
#                         but the last two)
#     BENCH_SECONDS=500   bounds all but the soak (SOAK_SECONDS=60), which comes on top
#     BENCH_RESULTS=FILE  the measured numbers (BUILD/gpu/results.txt); with ONLY those of other
#                         scripts stay as they are
#
# A script that skips or fails leaves its rows "not measured"; the exit code is 1 if one failed.
here=$(dirname "$0")
export BUILD=${BUILD:-$PWD/build} SOURCE=${SOURCE:-$PWD} BENCH_SECONDS=${BENCH_SECONDS:-500}
export BENCH_RESULTS=${BENCH_RESULTS:-$BUILD/gpu/results.txt} SOAK_ALONE=${SOAK_ALONE:-15}
declare -A script=([calls]=bench_calls [cost]=bench_cost [memory]=bench_memory [sigkill]=sigkill
    [soak]=soak [sizes]=bench_sizes [waits]=bench_waits [watch]=bench_watch)
# The groups of results that a script writes.
declare -A groups=([calls]="calls start" [cost]=torch [memory]=memory [sigkill]=sigkill
    [soak]=soak [sizes]=sizes [waits]=waits
    [watch]="watch_stacks watch_peers watch_1kHz watch_10kHz watch_100kHz watch_nsys10
        watch_nsys100")

wanted=${ONLY:-calls cost memory sigkill soak sizes}
mkdir -p "$(dirname "$BENCH_RESULTS")"
[ -n "${ONLY:-}" ] || : >"$BENCH_RESULTS"
touch "$BENCH_RESULTS"
failed=0
for name in $wanted; do
    if [ -z "${script[$name]:-}" ]; then
        echo "bench.sh: no '$name': one of calls cost memory sigkill soak sizes waits watch"
        exit 2
    fi
    for group in ${groups[$name]}; do
        sed -i "/^$group|/d" "$BENCH_RESULTS"
    done
    echo "== $name"
    begun=$SECONDS
    BENCH_GROUPS=${groups[$name]} bash "$here/${script[$name]}.sh" </dev/null
    status=$?
    echo "-- $name: $((SECONDS - begun)) s"
    case $status in
    0 | 77) continue ;;
    esac
    failed=1
    for group in ${groups[$name]}; do
        echo "$group|0|-|failed|${script[$name]}.sh failed|0" >>"$BENCH_RESULTS"
    done
done
echo "== aims"
python3 "$here/aims.py" "$BENCH_RESULTS" || failed=1
exit $failed
