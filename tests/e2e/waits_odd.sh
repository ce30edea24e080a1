#!/bin/bash
# Programs that wait in odd ways are unharmed: signals, cancellation, children, late libraries,
# mutexes of all kinds, allocators, sanitizers, setuid, static programs, JVM, Python. Takes 40 s
. "$SOURCE/tests/e2e/lib.sh" || exit 1
. "$SOURCE/tests/e2e/waits_lib.sh" || exit 1

export WAITER=$build/tests/e2e/waiter.so
odd=$programs/waits_odd
cases=(before_main crowd handler jump jump_and_end cancel children replaced library kinds errno)

# as_without NAME BARE: both outputs but for process ids, and the exit code, are those of BARE.
as_without() {
    same "$1: exit code" 0 "$status"
    check "$1: output" cmp "$2.out" "$1.out"
    same "$1: errors" "$(sed 's/[0-9]*$//' "$2.err")" \
        "$(sed '/^miniprof:/d; s/[0-9]*$//' "$1.err")"
}

# thread_of NAME PATTERN: threads of the rows of `wait` that match.
thread_of() {
    rows "$1" wait | grep -E -- "$2" | cut -d, -f1 | sort -u
}

bare odd.bare -- "$odd" "${cases[@]}"
same "without miniprof" 0 "$status"
waits odd -- "$odd" "${cases[@]}"
as_without odd odd.bare
complete odd odd
for name in "${cases[@]}"; do
    waits "$name" -- "$odd" "$name"
    bare "$name.bare" -- "$odd" "$name"
    as_without "$name" "$name.bare"
done

# ---- what was recorded -----------------------------------------------------------------------
same "a forked child: no rows" 0 \
    "$(rows children wait | grep -c "^thread $(sed -n 's/^child //p' children.err),")"
same "a pipe that a vfork child has closed: its writer is known" 1 \
    "$(rows children wait | awk -F, '$2 == "read" && $5 > 1e7 && $6' | wc -l)"
same "a pipe whose number became another file's: long reads, their writer unknown" "2 0" \
    "$(rows replaced wait | awk -F, '$2 == "read" && $5 > 1e7 { n++; known += $6 != "" }
        END { print n + 0, known + 0 }')"
same "a late library: a wait, with a waker" 1 \
    "$(rows library wait | awk -F, '$2 == "condition" && $5 > 1e7 && $6' | wc -l)"
# With SA_RESTART the handler's sem_post ends the wait that it interrupted.
main=$(thread_of handler poll)
same "sem_post in a handler: the thread woke itself" "$main" \
    "$(rows handler wait | awk -F, '$2 == "semaphore" && $6 { print $6 }')"
# Thread i waits for semaphore i, which thread i - 1 posts; glibc's sem_t has 32 bytes.
rows crowd wait | python3 -c '
import csv, sys
waits = {}
for thread, kind, thing, *_, waker, _ in csv.reader(sys.stdin):
    if kind == "semaphore":
        waits[int(thing, 16)] = thread, waker
pairs = [(waits[at - 32][0], waker) for at, (_, waker) in waits.items() if at - 32 in waits]
print(len(pairs) > 900, sum(waker not in ("", before) for before, waker in pairs),
      sum(waker == "" for _, waker in pairs) < 20)' >crowd.found
same "1,000 threads: each was woken by the one before it" "True 0 True" "$(cat crowd.found)"
same "1,000 threads: nothing dropped" 0 "$(counter crowd dropped_waits)"

# ---- allocators ------------------------------------------------------------------------------
for order in first last; do
    list=$programs/locked_malloc.so
    [ $order = last ] && list=$preload:$list
    waits "malloc.$order" LD_PRELOAD="$list" -- "$odd" "${cases[@]}"
    as_without "malloc.$order" odd.bare
done

# ---- sanitizers ------------------------------------------------------------------------------
sources=$SOURCE/tests/e2e/programs
for san in thread undefined address; do
    if ! ${CC:-cc} -D_GNU_SOURCE -fsanitize=$san -g -O1 "$sources/waits_odd.c" \
        -I"${CUDA_HOME:-/usr/local/cuda}/include" "$build/simgpu/libcuda.so.1" -lpthread -ldl \
        -o "odd.$san" 2>/dev/null; then
        echo "not tried: the compiler has no -fsanitize=$san, or no CUDA headers were found"
        continue
    fi
    # A library that is loaded where ThreadSanitizer's runtime maps its shadow ends a program.
    chosen=(crowd library errno)
    bare "$san.bare" -- "./odd.$san" "${chosen[@]}"
    [ "$status" -eq 0 ] || { echo "not tried: -fsanitize=$san does not run here"; continue; }
    waits "$san" -- "./odd.$san" "${chosen[@]}"
    as_without "$san" "$san.bare"
    if [ $san = address ]; then
        same "address: not preloaded, no rows" 0 "$(count $san wait)"
    else
        check "$san: rows" [ "$(count $san wait)" -gt 1000 ]
    fi
done

# ---- programs that are not preloaded ---------------------------------------------------------
echo '#include <unistd.h>
int main(void) { usleep(3000); return (int)write(1, "static\n", 7) - 7; }' >static.c
if ${CC:-cc} -static static.c -o static 2>/dev/null; then
    "$miniprof" run --no-summary ./static >static.out 2>static.err
    same "a static program" "0 static" "$? $(cat static.out static.err | grep -v ^miniprof)"
else
    echo "not tried: no static libc"
fi
# Which libc it is for, its loader says. This one is glibc's by another name.
echo '#include <stdio.h>
#include <stdlib.h>
int main(void) { return puts(getenv("LD_PRELOAD") ? "preloaded" : "not preloaded") < 0; }' >tell.c
loader=$(${CC:-cc} tell.c -o usual && readelf -lW usual |
    sed -n 's/.*program interpreter: \(.*\)]/\1/p')
for name in ld-linux-other.so.2 ld-musl-other.so.1; do
    ln -s "$loader" $name
    ${CC:-cc} tell.c -Wl,--dynamic-linker="$work/$name" -o tell.$name
done
waits usual -- ./usual
same "a program for glibc" "0 preloaded" "$status $(cat usual.out)"
waits other -- ./tell.ld-linux-other.so.2
same "a program for another glibc" "0 preloaded" "$status $(cat other.out)"
waits musl -- ./tell.ld-musl-other.so.1
same "a program for another libc" "0 not preloaded" "$status $(cat musl.out)"
if [ "$(id -u)" -eq 0 ]; then
    chmod 755 "$work"
    ${CC:-cc} static.c -o raised && chmod 4755 raised
    other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    if bare raised.bare -- "${other[@]}" "$work/raised" && [ "$status" -eq 0 ]; then
        waits raised -- "${other[@]}" "$work/raised"
        unharmed "setuid" raised raised.bare 0
    fi
else
    echo "not tried: a setuid program of another user needs root"
fi

# ---- other runtimes, asked for waits by ask_waits.so -----------------------------------------
# asked NAME COMMAND...: without, and with a library that asks from before main on.
asked() {
    local name=$1
    shift
    bare "$name.bare" -- "$@"
    bare "$name" LD_PRELOAD="$preload:$programs/ask_waits.so" ASKED="$work/$name.asked" -- "$@"
    unharmed "$name" "$name" "$name.bare" 0
    check "$name: waits were told, with wakers" \
        awk '{ waits += $1; wakers += $2 } END { exit !(waits && wakers) }' "$name.asked"
}

asked python python3 -c '
import threading, queue, asyncio, subprocess, time
tasks, results = queue.Queue(), queue.Queue()
def work():
    while (task := tasks.get()) is not None:
        time.sleep(0.001)
        results.put(task * task)
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for task in range(100): tasks.put(task)
for thread in threads: tasks.put(None)
for thread in threads: thread.join()
print(sum(results.get() for _ in range(100)))
async def main():
    loop = asyncio.get_running_loop()
    print(await asyncio.gather(*(loop.run_in_executor(None, lambda n=n: n * n) for n in range(20))))
asyncio.run(main())
print(subprocess.run(["sh", "-c", "sleep 0.01; exit 4"]).returncode)'

cat >Waits.java <<'END'
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

public class Waits {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(16);
        CyclicBarrier barrier = new CyclicBarrier(16);
        AtomicLong sum = new AtomicLong();
        Object lock = new Object();
        for (int i = 0; i < 16; i++) {
            final int n = i;
            pool.submit(() -> {
                for (int k = 0; k < 50; k++) {
                    barrier.await();
                    synchronized (lock) { sum.addAndGet(n); Thread.sleep(0, 1000); }
                }
                return null;
            });
        }
        pool.shutdown();
        pool.awaitTermination(60, TimeUnit.SECONDS);
        System.gc();
        System.out.println(sum.get());
        System.exit(0);
    }
}
END
if javac Waits.java 2>/dev/null && java -cp . Waits >/dev/null 2>&1; then
    asked java java -cp . Waits
else
    echo "not tried: no JDK"
fi

finish
