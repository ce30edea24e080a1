/*
 * clock.c: the virtual clock.
 *
 * Nothing in simgpu takes real time. Each host thread has a virtual time of its own, which moves
 * when the thread calls the driver (by the cost in api.def), waits for the device (to the end of
 * the awaited work) or reads the clock (by 20 ns). A program with one thread therefore sees the
 * same times in every run.
 *
 *   main    |--call--|--call--|....... pthread_join .......|--call--
 *   worker            |--call--|--wait--|--call--|
 *
 * With several threads: a new thread starts where the first thread stands (which usually waits in
 * pthread_join, so that this too repeats), and the first thread catches up with threads that have
 * ended, because it usually learns of their end by joining them. The *horizon* is the furthest
 * point any thread has reached that calls the driver; a flush treats work up to it as done.
 *
 * Processes share this axis: each begins at its epoch. SIMGPU_CLOCK_OFFSET_NS and
 * SIMGPU_CLOCK_DRIFT_PPB make a process one of another host, whose clock reads
 *
 *     epoch + offset + (t - epoch) * (1 + drift / 10^9)    at the moment t of the shared axis
 *
 * SIMGPU_REAL_TIME=1 replaces all this by CLOCK_REALTIME: calls cost what they cost, and waits
 * sleep until the scheduled end.
 */
#include "simgpu.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* 2023-11-14T22:13:20Z, a multiple of 32 ns so that the device grid stays visible. */
static const uint64_t clock_epoch = UINT64_C(1700000000000000000);
static const uint64_t clock_read_cost = 20;

struct thread_clock {
    uint64_t now;
    uint64_t call_start; /* of the driver call that the thread is in */
    bool started;
    bool first;       /* the thread that touched the clock first */
    bool uses_driver; /* its end is worth waiting for */
    bool in_call;     /* its API record is still to come, so its time is not the horizon's yet */
};

static _Thread_local struct thread_clock thread_clock;
static _Atomic bool clock_taken;
static _Atomic uint64_t first_now;
static _Atomic uint64_t ended_max;
static _Atomic uint64_t horizon;
static pthread_once_t clock_once = PTHREAD_ONCE_INIT;
static pthread_key_t clock_key;
static int64_t clock_offset; /* SIMGPU_CLOCK_OFFSET_NS */
static int64_t clock_drift;  /* SIMGPU_CLOCK_DRIFT_PPB */
static bool real_time;
static bool return_costs; /* SIMGPU_RETURN_COSTS */

static void raise_to(_Atomic uint64_t *target, uint64_t value)
{
    uint64_t seen = atomic_load(target);

    while (seen < value && !atomic_compare_exchange_weak(target, &seen, value))
        ;
}

static void on_thread_end(void *clock)
{
    const struct thread_clock *ended = clock;

    if (ended->uses_driver && !ended->first)
        raise_to(&ended_max, ended->now);
}

static void clock_setup(void)
{
    real_time = env_number("SIMGPU_REAL_TIME", 0) != 0;
    return_costs = env_number("SIMGPU_RETURN_COSTS", 0) != 0;
    clock_offset = env_number("SIMGPU_CLOCK_OFFSET_NS", 0);
    clock_drift = env_number("SIMGPU_CLOCK_DRIFT_PPB", 0);
    pthread_key_create(&clock_key, on_thread_end);
}

static uint64_t read_real(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t local_epoch(void)
{
    return clock_epoch + (uint64_t)clock_offset;
}

static const int64_t billion = 1000000000;

uint64_t simgpu_common_ns(uint64_t local)
{
    __extension__ __int128 since = (int64_t)(local - clock_epoch);

    pthread_once(&clock_once, clock_setup);
    since = (since - clock_offset) * billion / (billion + clock_drift);
    return clock_epoch + (uint64_t)(int64_t)since;
}

uint64_t simgpu_local_ns(uint64_t common)
{
    __extension__ __int128 since = (int64_t)(common - clock_epoch);

    pthread_once(&clock_once, clock_setup);
    since = since * (billion + clock_drift) / billion + clock_offset;
    return clock_epoch + (uint64_t)(int64_t)since;
}

static struct thread_clock *get_clock(void)
{
    struct thread_clock *clock = &thread_clock;

    if (!clock->started) {
        pthread_once(&clock_once, clock_setup);
        clock->started = true;
        clock->first = !atomic_exchange(&clock_taken, true);
        clock->now = clock->first ? local_epoch() : atomic_load(&first_now);
        if (clock->now < local_epoch())
            clock->now = local_epoch();
    }
    if (clock->first) {
        uint64_t ended = atomic_load(&ended_max);

        if (clock->now < ended)
            clock->now = ended;
    }
    return clock;
}

static void publish(const struct thread_clock *clock)
{
    if (clock->first)
        atomic_store(&first_now, clock->now);
    if (clock->uses_driver && !clock->in_call)
        raise_to(&horizon, clock->now);
}

void sg_clockInCall(bool in_call)
{
    struct thread_clock *clock = get_clock();

    if (!clock->uses_driver) {
        clock->uses_driver = true;
        pthread_setspecific(clock_key, clock);
    }
    clock->in_call = in_call;
    if (in_call)
        clock->call_start = clock->now;
    publish(clock);
}

uint64_t sg_now(void)
{
    struct thread_clock *clock = get_clock();

    return real_time ? read_real() : clock->now;
}

void sg_advance(uint64_t ns)
{
    struct thread_clock *clock = get_clock();

    clock->now = real_time ? read_real() : clock->now + ns;
    publish(clock);
}

static void sleep_until(uint64_t when)
{
    uint64_t now;

    while ((now = read_real()) < when) {
        uint64_t left = when - now;
        struct timespec pause = {(time_t)(left / 1000000000), (long)(left % 1000000000)};

        nanosleep(&pause, NULL);
    }
}

static void move_to(struct thread_clock *clock, uint64_t when)
{
    if (real_time)
        sleep_until(when);
    if (clock->now < when)
        clock->now = when;
    publish(clock);
}

void sg_waitUntil(uint64_t when)
{
    struct thread_clock *clock = get_clock();

    if (when > clock->now)
        when += sg_recordingCost(SG_COST_FINISH);
    /* What the call has cost so far comes after the awaited end, as if it were the way back. */
    if (return_costs && clock->in_call && when > clock->call_start)
        when += clock->now - clock->call_start;
    move_to(clock, when);
}

void sg_skip(uint64_t when)
{
    if (!real_time)
        sg_waitUntil(when);
}

/* What happens there is not over as long as others have not come so far. */
void sg_clockPlace(uint64_t when)
{
    struct thread_clock *clock = get_clock();

    clock->uses_driver = clock->in_call = true;
    clock->now = when;
    if (real_time)
        sleep_until(when);
}

uint64_t sg_clockSwap(uint64_t when)
{
    struct thread_clock *clock = get_clock();
    uint64_t before = clock->now;

    clock->now = when;
    return before;
}

void sg_joinHorizon(void)
{
    if (!real_time)
        move_to(get_clock(), atomic_load(&horizon));
}

/* A thread without driver calls (a tool's writer, say) has no time of its own to speak of: it sees
 * the others' so as not to stay behind for ever. */
uint64_t simgpu_clock_ns(void)
{
    struct thread_clock *clock = get_clock();
    uint64_t seen = atomic_load(&horizon);

    if (!clock->uses_driver && clock->now < seen)
        clock->now = seen;
    sg_advance(clock_read_cost);
    return sg_now();
}

uint64_t simgpu_horizon_ns(void)
{
    const struct thread_clock *clock = get_clock();
    uint64_t seen = atomic_load(&horizon);

    if (real_time)
        return read_real();
    return clock->uses_driver && clock->now > seen ? clock->now : seen;
}

void simgpu_wait_until_ns(uint64_t when)
{
    move_to(get_clock(), when);
}

/* splitmix64's finaliser: a counter in, well mixed bits out, no state to share. */
uint64_t sg_hash(uint64_t counter)
{
    static _Atomic long seed = -1;
    long chosen = atomic_load(&seed);
    uint64_t x;

    if (chosen < 0) {
        chosen = env_number("SIMGPU_SEED", 1);
        if (chosen < 0)
            chosen = -chosen;
        atomic_store(&seed, chosen);
    }
    x = counter + (uint64_t)chosen * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
