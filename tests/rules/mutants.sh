#!/bin/bash
# What tools/dev/mutants changes, and what it leaves alone.
. "$(dirname "$0")/lib.sh" || exit 1

mkdir -p "$work/tree/src/trace"
cat >"$work/tree/src/trace/sum.c" <<'END'
/* a < b */
bool is_sum(int a, int b)
{
    static const int table[] = {1 + 2};
    mp_log_info("%d", a + b);
    if (a < b)
        leave(table);
    free(table);
    return a == b;
}
END
listed() {
    for seed in 1 2 3 4 5 6 7 8 9; do
        "$dev/mutants" --root "$work/tree" --files 'src/trace/*' --seed $seed --list
    done
}
listed >"$work/mutants"
for change in '+ if (a >= b)' '+ if (a <= b)' '+ if (!(a < b))' '+ (void)0;' '+ return a != b;' \
    '+ return !(a == b);'; do
    verdict "$change" 0 "$change" cat "$work/mutants"
done
verdict "no tables, texts of a log, memory given back" 1 "" \
    grep -E '^ +- (static|mp_log|free|/)' "$work/mutants"

total
