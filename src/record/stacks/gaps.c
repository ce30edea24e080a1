/* Samples of threads that make no CUDA call for long: timers on their CPU clocks, the signal that
 * these send, and what its handler takes.
 */
#include "record/stacks/gaps.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "record/core/clock.h"
#include "record/core/core.h"
#include "record/core/thread.h"
#include "record/stacks/stacks.h"

#include "base/poison.h"

/* ---- A sample, as the handler takes it: from here on only what is async-signal-safe ---- */

/* Fills places and what is known of the GIL. */
static void walk_now(struct stacks *stacks, struct gap_thread *thread, struct gap_sample *sample)
{
    const struct python *python = &stacks->python;
    struct walk *walk = &thread->walk;

    if (atomic_load_explicit(&python->state, memory_order_acquire) != PYTHON_READY)
        return;
    uintptr_t state = python_thread_state_now(python);
    if (!state)
        return;
    if (python->holds_gil)
        sample->gil = python->holds_gil() ? GAP_GIL_HELD : GAP_GIL_FREE;
    uint32_t count = walk_python(walk, python, NULL, state);
    if (walk->broken)
        return;
    for (uint32_t i = 0; i < count; i++)
        sample->places[i] = walk->places[i];
    sample->count = count;
}

void gaps_take(struct stacks *stacks, struct gap_thread *thread, uint64_t computing)
{
    uint32_t head = atomic_load_explicit(&thread->head, memory_order_relaxed);
    struct gap_sample *sample = &thread->samples[head % GAP_SAMPLES];

    if (head - atomic_load_explicit(&thread->tail, memory_order_acquire) == GAP_SAMPLES) {
        atomic_fetch_add_explicit(&stacks->gaps.lost, 1, memory_order_relaxed);
        return;
    }
    sample->time = mp_clock_now();
    sample->computing = computing;
    sample->tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    sample->gil = GAP_GIL_UNKNOWN;
    sample->count = 0;
    walk_now(stacks, thread, sample);
    atomic_store_explicit(&thread->head, head + 1, memory_order_release);
}

/* ---- Timers and their signal ---- */

#define IDLE_TICKS  16u /* outside of ranges, after which a timer stops until the next call */
#define ALONE_TICKS 64u /* of a thread that calls no CUDA, after it has last been waited for */
#define NS          UINT64_C(1000000000)

/* What a thread has that is not sampled. */
static struct gap_thread nobody;

/* ---- Timers. The system calls themselves: glibc's functions are in librt before 2.34 ---- */

/* As pthread_getcpuclockid makes it, of any thread of the process (clock_getres(2), "Notes"). */
static clockid_t clock_of(uint32_t tid)
{
    return (clockid_t)(~tid << 3 | 6);
}

static bool timer_make(const struct gaps *gaps, struct gap_thread *thread)
{
    struct sigevent event;
    int timer;

    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = atomic_load(&gaps->signal);
    event.sigev_value.sival_ptr = thread;
    event._sigev_un._tid = (pid_t)atomic_load(&thread->tid);
    if (syscall(SYS_timer_create, clock_of((uint32_t)event._sigev_un._tid), &event, &timer) != 0)
        return false;
    atomic_store(&thread->timer, timer + 1);
    return true;
}

/* `period` 0 stops it. Async-signal-safe. */
static bool timer_run(struct gap_thread *thread, uint64_t period)
{
    struct timespec every = {(time_t)(period / NS), (long)(period % NS)};
    struct itimerspec spec = {.it_interval = every, .it_value = every};
    int timer = atomic_load(&thread->timer);

    atomic_store(&thread->armed, period != 0);
    return timer && syscall(SYS_timer_settime, timer - 1, 0, &spec, NULL) == 0;
}

static void timer_remove(struct gap_thread *thread)
{
    int timer = atomic_exchange(&thread->timer, 0);

    if (timer)
        syscall(SYS_timer_delete, timer - 1);
}

static uint64_t computed_now(const struct gap_thread *thread)
{
    return mp_system_clock_ns(clock_of(atomic_load(&thread->tid)));
}

/* Those that have been mapped, one after the other; NULL after the last. */
static struct gap_thread *thread_at(const struct gaps *gaps, unsigned i)
{
    return i < GAP_THREADS ? atomic_load(&gaps->threads[i]) : NULL;
}

/* ---- The signal ---- */

void gaps_tick(struct stacks *stacks, struct core *core, struct gap_thread *thread, uint64_t now)
{
    uint32_t calls = atomic_load_explicit(&thread->calls, memory_order_relaxed);
    uint64_t computing = now - thread->computed;
    bool enabled = core_is_recording(core) && !atomic_load(&stacks->gaps.off) &&
                   atomic_load_explicit(&core->enabled, memory_order_relaxed);
    bool in_gap = calls == thread->seen;

    thread->computed = now;
    thread->seen = calls;
    if (!enabled || core_is_paused(core)) {
        thread->seen = calls - 1; /* calls were not counted: this tick ends no gap */
        if (++thread->idle >= IDLE_TICKS)
            timer_run(thread, 0);
        return;
    }
    thread->idle = 0;
    if (atomic_load(&thread->watched) && atomic_fetch_add(&thread->alone, 1) >= ALONE_TICKS)
        timer_run(thread, 0);
    if (in_gap && !atomic_load_explicit(&thread->inside, memory_order_relaxed))
        gaps_take(stacks, thread, computing);
}

static struct gap_thread *thread_of_signal(struct gaps *gaps, const siginfo_t *info)
{
    struct gap_thread *thread;

    for (unsigned i = 0; info->si_code == SI_TIMER && (thread = thread_at(gaps, i)); i++)
        if (thread == info->si_value.sival_ptr)
            return thread;
    return NULL;
}

/* The signal is not ours: its action is the default one. */
static void pass_on(int number)
{
    signal_set_default(number);
    raise(number); /* delivered when this handler returns */
}

/* Of on_tick, which gets no argument of ours. Written before the first timer is made. */
static struct {
    struct stacks *stacks;
    struct core *core;
} ticks;

static void on_tick(int number, siginfo_t *info, void *context)
{
    struct gap_thread *thread = thread_of_signal(&ticks.stacks->gaps, info);
    int saved_errno = errno;

    (void)context;
    if (!thread)
        pass_on(number);
    else if (atomic_load(&thread->tid) == (uint32_t)mp_thread_id())
        gaps_tick(ticks.stacks, ticks.core, thread, computed_now(thread));
    errno = saved_errno;
}

/* Programs begin with the first or with the last real-time signal. So do we, after a few. */
static int choose_signal(void)
{
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int number = SIGRTMAX - 4; number >= SIGRTMIN; number--)
        if (signal_is_handled_by(number, SIG_DFL) && !sigismember(&blocked, number))
            return number;
    return 0;
}

static void turn_off(struct gaps *gaps, const char *why)
{
    if (!atomic_exchange(&gaps->off, true))
        mp_log_warn("MINIPROF_STACKS_GAPS: %s: no samples", why);
}

/* 0: another thread is at it, or there is none. */
static int take_signal(struct stacks *stacks, struct core *core)
{
    struct gaps *gaps = &stacks->gaps;
    struct sigaction action = {.sa_sigaction = on_tick,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    int number = 0;

    if (!atomic_compare_exchange_strong(&gaps->signal, &number, -1))
        return number > 0 ? number : 0;
    number = choose_signal();
    sigemptyset(&action.sa_mask);
    if (mp_clock_is_played(core->begin_time))
        turn_off(gaps, "the software GPU plays the time");
    else if (!number || sigaction(number, &action, NULL) != 0)
        turn_off(gaps, "the program has all real-time signals");
    else
        atomic_store(&gaps->signal, number);
    return atomic_load(&gaps->off) ? 0 : number;
}

/* ---- Threads ---- */

static struct gap_thread *map_thread(struct stacks *stacks, struct core *core)
{
    struct gap_thread *thread = mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (thread == MAP_FAILED)
        return NULL;
    thread->walk.max = GAP_DEPTH;
    thread->walk.pages.pid = core->pid;
    thread->walk.pages.copies = true;
    thread->walk.codes.arena = &stacks->gaps.arena;
    return thread;
}

/* Makes it the calling thread's. */
static bool claim(struct gap_thread *thread, uint32_t tid)
{
    uint32_t free_tid = 0;

    return atomic_compare_exchange_strong(&thread->tid, &free_tid, tid);
}

/* NULL: there are too many. */
static struct gap_thread *find_free(struct stacks *stacks, struct core *core, uint32_t tid)
{
    struct gaps *gaps = &stacks->gaps;

    for (unsigned i = 0; i < GAP_THREADS; i++) {
        struct gap_thread *thread = atomic_load(&gaps->threads[i]);
        struct gap_thread *none = NULL;

        if (!thread) {
            thread = map_thread(stacks, core);
            if (!thread)
                return NULL;
            if (!atomic_compare_exchange_strong(&gaps->threads[i], &none, thread)) {
                munmap(thread, sizeof *thread);
                thread = none;
            }
        }
        if (claim(thread, tid))
            return thread;
    }
    return NULL;
}

static void give_back(void *item)
{
    struct gap_thread *thread = item;

    timer_remove(thread);
    atomic_store(&thread->armed, false);
    atomic_store(&thread->watched, false);
    atomic_store(&thread->tid, 0);
}

/* The one that has this thread already. */
static struct gap_thread *find_claimed(struct gaps *gaps, uint32_t tid)
{
    struct gap_thread *thread;

    for (unsigned i = 0; (thread = thread_at(gaps, i)); i++)
        if (atomic_load(&thread->tid) == tid)
            return thread;
    return NULL;
}

static bool is_blocked(int number)
{
    sigset_t blocked;

    return pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0 || sigismember(&blocked, number);
}

/* What the calling thread has from now on. */
static struct gap_thread *begin_thread(struct stacks *stacks, struct core *core, uint32_t tid)
{
    struct gaps *gaps = &stacks->gaps;
    int number = take_signal(stacks, core);
    struct gap_thread *thread = pthread_getspecific(gaps->key);

    if (thread)
        return thread;
    if (!number)
        return atomic_load(&gaps->off) ? &nobody : NULL;
    thread = find_claimed(gaps, tid);
    if (thread)
        give_back(thread); /* it was watched until now, or is from a thread that had this id */
    /* A thread that has blocked the signal may await it. */
    thread = is_blocked(number) ? NULL : find_free(stacks, core, tid);
    if (!thread)
        return &nobody;
    atomic_store(&thread->inside, false);
    if (timer_make(gaps, thread) && pthread_setspecific(gaps->key, thread) == 0)
        return thread;
    give_back(thread);
    turn_off(gaps, "the kernel gives no timer");
    return &nobody;
}

static void arm(struct stacks *stacks, struct gap_thread *thread)
{
    python_is_ready(&stacks->python, stacks->pid); /* looks, if it has not */
    thread->seen = atomic_load(&thread->calls);
    thread->idle = 0;
    thread->computed = computed_now(thread);
    timer_run(thread, stacks->gaps.period);
}

void gaps_call(struct stacks *stacks, struct core *core, bool enters)
{
    struct call_log *log = call_log_mine(&core->logs);
    struct gap_thread *thread = log ? log->gaps : &nobody;

    if (thread == &nobody)
        return;
    /* The destructors of a thread may call CUDA when it has given back what it had. */
    if (__builtin_expect(
            !thread || atomic_load_explicit(&thread->tid, memory_order_relaxed) != log->tid, 0))
        log->gaps = thread = begin_thread(stacks, core, log->tid);
    if (!thread || thread == &nobody)
        return;
    atomic_store_explicit(&thread->calls,
                          atomic_load_explicit(&thread->calls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&thread->inside, enters, memory_order_relaxed);
    if (__builtin_expect(!atomic_load_explicit(&thread->armed, memory_order_relaxed), 0) &&
        !atomic_load(&stacks->gaps.off))
        arm(stacks, thread);
}

/* ---- Threads that others wait for ---- */

/* Whether the thread has blocked the signal, by what the kernel tells of it. A wait may be one in a
 * signal handler. */
static bool has_blocked(uint32_t tid, int number)
{
    char text[2048];

    if (thread_proc_read(tid, "status", text, sizeof text) < 0)
        return true;
    const char *mask = strstr(text, "\nSigBlk:");
    return !mask || strtoull(mask + strlen("\nSigBlk:"), NULL, 16) >> (number - 1) & 1;
}

static struct gap_thread *watch(struct stacks *stacks, struct core *core, uint32_t tid)
{
    struct gaps *gaps = &stacks->gaps;
    struct gap_thread *thread =
        has_blocked(tid, atomic_load(&gaps->signal)) ? NULL : find_free(stacks, core, tid);

    if (!thread)
        return NULL;
    atomic_store(&thread->inside, false);
    atomic_store(&thread->watched, true);
    if (timer_make(gaps, thread))
        return thread;
    give_back(thread);
    return NULL;
}

/* How long the thread has waited for this object until now. Who wants the GIL waits for some ms
 * first, without a waker, then asks for it, and waits again. */
static uint64_t waited_for(struct gap_thread *thread, const struct mp_preload_wait *wait)
{
    if (thread->object != wait->object)
        thread->since = wait->begin;
    thread->object = wait->waker ? 0 : wait->object;
    return wait->end - thread->since;
}

void gaps_waited(struct stacks *stacks, struct core *core, const struct mp_preload_wait *wait)
{
    struct gaps *gaps = &stacks->gaps;

    if (!gaps->period || atomic_load(&gaps->off) || atomic_load(&gaps->signal) <= 0)
        return;
    struct gap_thread *thread = pthread_getspecific(gaps->key);
    if (!thread || waited_for(thread, wait) < gaps->period || !wait->waker ||
        wait->waker == wait->thread)
        return;
    thread = find_claimed(gaps, wait->waker);
    if (!thread)
        thread = watch(stacks, core, wait->waker);
    if (!thread || !atomic_load(&thread->watched))
        return;
    atomic_store(&thread->alone, 0);
    if (!atomic_load(&thread->armed))
        arm(stacks, thread);
}

/* A thread that was watched does not say when it ends. */
static void forget_ended(struct gaps *gaps, pid_t pid)
{
    struct gap_thread *thread;

    for (unsigned i = 0; (thread = thread_at(gaps, i)); i++)
        if (atomic_load(&thread->watched) &&
            syscall(SYS_tgkill, pid, atomic_load(&thread->tid), 0) != 0)
            give_back(thread);
}

/* ---- For all threads ---- */

void gaps_open(struct stacks *stacks, struct core *core)
{
    struct gaps *gaps = &stacks->gaps;
    bool has_python =
        core->config.stacks == MP_STACKS_PYTHON || core->config.stacks == MP_STACKS_BOTH;

    if (!core->config.stacks_gaps)
        return;
    ticks.stacks = stacks;
    ticks.core = core;
    if (!has_python)
        turn_off(gaps, "it needs MINIPROF_STACKS=python or both");
    else if (pthread_key_create(&gaps->key, give_back) != 0 || !code_arena_open(&gaps->arena))
        turn_off(gaps, "no memory");
    else
        gaps->period = (uint64_t)core->config.stacks_gaps * 1000u;
}

static void drain(struct gap_thread *thread, gaps_use *use, void *context)
{
    uint32_t head = atomic_load_explicit(&thread->head, memory_order_acquire);
    uint32_t at = atomic_load_explicit(&thread->tail, memory_order_relaxed);

    for (; at != head; at++) {
        use(context, &thread->samples[at % GAP_SAMPLES]);
        atomic_store_explicit(&thread->tail, at + 1, memory_order_release);
    }
}

void gaps_drain(struct stacks *stacks, struct core *core, gaps_use *use, void *context)
{
    struct gaps *gaps = &stacks->gaps;
    int number = atomic_load(&gaps->signal);
    struct gap_thread *thread;

    if (!gaps->period || number <= 0)
        return;
    if (!atomic_load(&gaps->off) && !signal_is_taken_by(number, on_tick)) {
        turn_off(gaps, "the program has taken the signal");
        gaps_stop(stacks);
    }
    for (unsigned i = 0; (thread = thread_at(gaps, i)); i++)
        drain(thread, use, context);
    forget_ended(gaps, core->pid);
}

/* A signal that is on its way still finds the handler. */
void gaps_stop(struct stacks *stacks)
{
    struct gaps *gaps = &stacks->gaps;
    struct gap_thread *thread;

    atomic_store(&gaps->off, true);
    for (unsigned i = 0; (thread = thread_at(gaps, i)); i++)
        timer_remove(thread);
}

void gaps_reset(struct stacks *stacks)
{
    int number = atomic_load(&stacks->gaps.signal);

    if (number > 0 && signal_is_taken_by(number, on_tick))
        signal_set_default(number);
}
