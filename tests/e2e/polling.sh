#!/bin/bash
# Polling: the queries of a loop are one row of `sync`, from the first "not ready" to the success.
# With MINIPROF_API=all each query is a row of `call` too, which says when the loops began.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# queries NAME FUNCTION: begin, end, correlation, result of each call.
queries() {
    rows "$1" call | awk -F, -v name="$2" '$2 == name {
        print substr($3, 7) + 0, substr($3, 7) + $4, $5, $6 }'
}

# loops NAME FUNCTION: begin, end and last correlation of each unbroken loop, from the calls: rows
# of FUNCTION that follow each other, up to one that succeeds.
loops() {
    queries "$1" "$2" | awk '
        !begin { begin = $1 }
        $4 == 0 { print begin, $2, $3; begin = 0 }'
}

# spans NAME KIND: the same of the rows of sync.
spans() {
    rows "$1" sync | awk -F, -v kind="$2" '$2 == kind {
        print substr($6, 7) + 0, substr($6, 7) + $7, $8 }'
}

# about WHAT EXPECTED ACTUAL: the same but for 100 ns at either end: a callback is inside the call.
about() {
    same "$1" 1 "$(paste -d' ' <(echo "$2") <(echo "$3") | awk '
        function far(a, b) { return a - b > 100 || b - a > 100 }
        NF != 6 || far($1, $4) || far($2, $5) || $3 != $6 { bad = 1 }
        END { print !bad }')"
}

for mode in auto range; do
    options=(MINIPROF_CAPTURE=$mode MINIPROF_API=all)
    rm -f ./*.mpt
    # ---- one loop, and another behind it -------------------------------------------------------
    profile loop "${options[@]}" -- "$steps" init start stream=1 alpha=9 record=0 poll-event=0 \
        alpha=5 record=0 poll-event=0 query-event=0 sync stop
    complete "$mode" loop
    same "$mode: the loops took many queries" 1 "$(($(count loop call ',cuEventQuery,') > 10))"
    same "$mode: a row for each loop, and for the query that succeeds at once" 3 \
        "$(count loop sync ',event_query,')"
    about "$mode: it spans the loop" "$(loops loop cuEventQuery)" "$(spans loop event_query)"
    same "$mode: all succeeded" "0 3" "$(rows loop sync | awk -F, '
        $2 == "event_query" { n[$9]++ } END { for (r in n) print r, n[r] }')"
    profile stream "${options[@]}" -- "$steps" init start stream=1 alpha=9 poll-stream sync stop
    about "$mode: a loop on a stream" "$(loops stream cuStreamQuery)" \
        "$(spans stream stream_query)"
    same "$mode: it names its stream" 13 "$(rows stream sync |
        awk -F, '$2 == "stream_query" { print $4 }')"

    # ---- what ends a loop ----------------------------------------------------------------------
    # Two queries that find work, then something else: the row begins with the query behind it. If
    # that is a query of another event, it is the fourth of the calls, else the third.
    for between in query-event=1 query-stream record=2 wait=1 launch=0 instantiate=1 start; do
        profile "$between" "${options[@]}" -- "$steps" init make-graph=0 make-graph=1 \
            instantiate=0 start stream=1 alpha=20 record=0 record=1 record=2 \
            query-event=0 query-event=0 "$between" poll-event=0 sync stop
        number=3
        [ "$between" != query-event=1 ] || number=4
        about "$mode: two queries, $between, a loop: the row begins with query $number" \
            "$(queries "$between" cuEventQuery | awk -v number=$number '
                NR == number { begin = $1 } $4 == 0 { print begin, $2, $3 }')" \
            "$(spans "$between" event_query)"
    done
    profile kept "${options[@]}" -- "$steps" init start stream=1 alpha=9 record=0 query-event=0 \
        alpha=1 poll-event=0 sync stop
    about "$mode: a launch does not end a loop" "$(loops kept cuEventQuery)" \
        "$(spans kept event_query)"
    profile early "${options[@]}" -- "$steps" init stream=1 alpha=9 record=0 query-event=0 start \
        poll-event=0 sync stop
    about "$mode: a loop that is under way when the range begins, begins in it" \
        "$(loops early cuEventQuery)" "$(spans early event_query)"
done
finish
