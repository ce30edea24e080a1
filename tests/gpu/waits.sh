#!/bin/bash
# Waits of host threads on a GPU: PyTorch and JAX with `miniprof run` end as without, their waits
# have wakers, and what a step takes with and without the preloaded library. Needs torch or jax.
# ROUNDS: of the times, default 5.
. "$(dirname "$0")/lib.sh"

preload=$BUILD/libminiprof_preload.so
[ -e "$preload" ] || skip "no libminiprof_preload.so"
cd "$WORK" || exit 1

cat >torch_loop.py <<'END'
import statistics, threading, time, torch
data = torch.utils.data.DataLoader(range(4096), batch_size=64, num_workers=2)
model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8))).cuda()
def work(results, number):
    x = torch.ones(64, 512, device="cuda") * number
    for _ in range(50):
        x = model(x)
    results.append(float(x.sum().isfinite()))
times, results = [], []
for batch in data:
    begin = time.perf_counter()
    threads = [threading.Thread(target=work, args=(results, n)) for n in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
print("batches", len(times), "results", len(results))
with open("times", "w") as file: file.write(f"{statistics.median(times) * 1e6:.0f}")
END
cat >jax_loop.py <<'END'
import statistics, time, jax, jax.numpy as jnp
@jax.jit
def step(x):
    for _ in range(20):
        x = jnp.tanh(x @ x) * 0.01
    return x
x = step(jnp.ones((1024, 1024)))
times = []
for _ in range(200):
    begin = time.perf_counter()
    x = step(x)
    x.block_until_ready()
    times.append(time.perf_counter() - begin)
print("steps", len(times))
with open("times", "w") as file: file.write(f"{statistics.median(times) * 1e6:.0f}")
END

# waits FILE: rows of `wait`, and those with a waker.
waits() {
    "$BUILD/miniprof" dump --csv --table wait "$1" | sed '1d;s/"//g' |
        awk -F, '{ rows++; wakers += $6 != "" } END { print rows + 0, wakers + 0 }'
}

# one SIDE: a run of $loop; its median step is in times.SIDE.
one() {
    local code
    rm -f "$1.mpt"
    case $1 in
    bare) python3 "$loop" >"$1.out" 2>"$1.err" ;;
    *) "$BUILD/miniprof" run --no-summary --waits "$1" -o "$1.mpt" python3 "$loop" >"$1.out" \
        2>"$1.err" ;;
    esac
    code=$?
    [ $code -eq 0 ] || fail "$loop, $1: exit code $code: $(tail -n 3 "$1.err")"
    cmp -s bare.out "$1.out" || [ "$1" = bare ] || fail "$loop, $1: other output"
    { cat times && echo; } >>"times.$1"
}

for loop in torch_loop.py jax_loop.py; do
    module=${loop%_loop.py}
    python3 -c "import $module" 2>/dev/null || { echo "not tried: no $module"; continue; }
    rm -f times.*
    for ((i = 0; i < ${ROUNDS:-5}; i++)); do
        one bare && one off && one on
    done
    for side in bare off on; do
        sort -n "times.$side" | awk -v what="$loop, $side" '{ t[NR] = $1 }
            END { printf "   %s: %d us a step (%d-%d)\n", what, t[int((NR + 1) / 2)], t[1], t[NR] }'
    done
    "$BUILD/miniprof" check on.mpt >/dev/null || fail "$loop: $("$BUILD/miniprof" check on.mpt)"
    read -r rows wakers <<<"$(waits on.mpt)"
    [ "$rows" -gt 0 ] && [ "$wakers" -gt 0 ] || fail "$loop: $rows waits, $wakers with a waker"
    ok "$loop: exit code and output as without; $rows waits, $wakers with a waker"
done
