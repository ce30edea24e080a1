/* Takes a stack where a call begins, and finds its number. */
#include "record/stacks/stacks.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/data/hash.h"
#include "base/log.h"
#include "base/process.h"
#include "record/core/clock.h"
#include "record/core/core.h"
#include "record/nvtx/nvtx.h"
#include "record/stacks/native.h"
#include "record/stacks/python_walk.h"

#include "base/poison.h"

/* ---- The memory of the table of stacks by number ---- */

static bool slots_open(struct stack_slots *slots)
{
    void *words = mmap(NULL, SLOTS * sizeof(*slots->words), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    slots->words = words == MAP_FAILED ? NULL : words;
    return slots->words != NULL;
}

/* ---- Stacks ---- */

#define MEMO_SETS  1024u /* a power of two */
#define MEMO_WAYS  4u
#define HASH_LANES 4u

/* A stack that the thread has had. Two stacks with one hash would be taken for one: of a million
 * stacks, one time in 30 million. */
struct stack_memo {
    uint64_t hash;
    uint32_t stack; /* 0: none */
};

/* What a thread keeps for it; mapped, and touched as it is used. */
struct stack_thread {
    struct walk walk;
    uint32_t calls;       /* for `every` */
    uint32_t correlation; /* of the last call that was looked at */
    uint32_t hand;
    bool busy;
    uint64_t unloads; /* of modules, when the memos began */
    struct stack_memo memos[MEMO_SETS][MEMO_WAYS];
    uint64_t native[NATIVE_DEPTH + 1];
    uint64_t both[STACK_DEPTH];
    struct native_search search;
    /* Of the thread's own stack; both 0 for main's, which grows. */
    uintptr_t lowest, highest;
};

static void find_ends(struct stack_thread *thread)
{
    pthread_attr_t attributes;
    void *lowest;
    size_t bytes;

    if (mp_thread_id() == mp_process_id() || pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) {
        thread->lowest = (uintptr_t)lowest;
        thread->highest = thread->lowest + bytes;
    }
    pthread_attr_destroy(&attributes);
}

static struct stack_thread *thread_of(struct stacks *stacks, struct call_log *log)
{
    struct stack_thread *thread = log->stacks;

    if (__builtin_expect(thread != NULL, 1))
        return thread;
    thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (thread == MAP_FAILED)
        return NULL;
    thread->walk.pages.pid = stacks->pid;
    if (stacks->native.walk)
        find_ends(thread);
    log->stacks_bytes = sizeof(*thread);
    log->stacks = thread;
    return thread;
}

/* Each place is stirred in, in order. Lanes take turns, since a multiplication takes longer than
 * all else and need not wait for that of another lane. */
static uint64_t hash_places(const uint64_t *places, uint32_t count)
{
    uint64_t lanes[HASH_LANES] = {count};
    uint64_t hash = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t *lane = &lanes[i % HASH_LANES];

        *lane = (*lane ^ places[i]) * UINT64_C(0x9E3779B185EBCA87);
        *lane ^= *lane >> 32;
    }
    for (unsigned i = 0; i < HASH_LANES; i++)
        hash = mp_mix64(hash ^ lanes[i]);
    return hash;
}

/* The number of the stack that was walked. */
static uint32_t number_of(struct stacks *stacks, struct stack_thread *thread, uint64_t *places,
                          uint32_t count)
{
    uint64_t hash = hash_places(places, count);
    struct stack_memo *set = thread->memos[hash % MEMO_SETS];
    uint32_t hidden = 0;

    for (unsigned way = 0; way < MEMO_WAYS; way++)
        if (set[way].hash == hash && set[way].stack)
            return set[way].stack;
    if (stacks->native.walk)
        hidden = native_place(&thread->search, &stacks->store, places, count);
    if (hidden == count)
        return 0;
    uint32_t stack = store_stack(&stacks->store, places + hidden, count - hidden);
    if (stack)
        set[thread->hand++ % MEMO_WAYS] = (struct stack_memo){hash, stack};
    return stack;
}

/* How many frames of Python there are. */
static uint32_t take_python(struct stacks *stacks, struct stack_thread *thread)
{
    uintptr_t state = stacks->wants_python && python_is_ready(&stacks->python, stacks->pid)
                          ? python_thread_state(&stacks->python)
                          : 0;

    if (!state)
        return 0;
    uint32_t count = walk_python(&thread->walk, &stacks->python, &stacks->store, state);
    if (__builtin_expect(thread->walk.broken, 0)) {
        atomic_fetch_add_explicit(&stacks->broken, 1, memory_order_relaxed);
        return 0;
    }
    return count;
}

/* Addresses mean something else after a module was unloaded. What stands on this stack is loaded,
 * so it has been since the memos began if none was unloaded since. */
static void forget_unloaded(struct stack_thread *thread, uint64_t unloads)
{
    if (thread->unloads != unloads)
        memset(thread->memos, 0, sizeof(thread->memos));
    thread->unloads = unloads;
}

/* Whether a walk has room on this stack. Nothing is known of a stack that the program has made,
 * such as that of a coroutine. */
static bool has_room(const struct stack_thread *thread)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    return here < thread->lowest || here >= thread->highest ||
           here - thread->lowest >= NATIVE_STACK_BYTES;
}

static uint32_t take_native(struct stacks *stacks, struct stack_thread *thread, uint32_t frames)
{
    uint64_t unloads = loaded_removals();
    struct native_stacks of = {
        .native = thread->native,
        .python = thread->walk.places,
        .native_count = native_walk(&stacks->native, unloads, thread->native),
        .python_count = frames,
    };

    if (frames)
        native_find_evaluators(&stacks->python.evaluator, &thread->walk, &of);
    uint32_t count = native_splice(&of, thread->both, sizeof thread->both / sizeof *thread->both);
    forget_unloaded(thread, unloads);
    return count ? number_of(stacks, thread, thread->both, count) : 0;
}

static uint32_t take(struct stacks *stacks, struct stack_thread *thread)
{
    uint32_t frames = take_python(stacks, thread);

    if (stacks->native.walk && has_room(thread))
        return take_native(stacks, thread, frames);
    if (stacks->native.walk)
        atomic_fetch_add_explicit(&stacks->broken, 1, memory_order_relaxed);
    return frames ? number_of(stacks, thread, thread->walk.places, frames) : 0;
}

uint32_t stacks_take(struct stacks *stacks, struct call_log *log)
{
    struct stack_thread *thread = thread_of(stacks, log);

    if (!thread || thread->busy)
        return 0;
    thread->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t stack = take(stacks, thread);
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = false;
    return stack;
}

static void take_call(struct stacks *stacks, struct call_log *log, uint32_t correlation)
{
    struct stack_thread *thread = thread_of(stacks, log);

    /* A driver call inside of a runtime call has the same id. */
    if (!thread || thread->correlation == correlation)
        return;
    thread->correlation = correlation;
    if (stacks->every > 1 && thread->calls++ % stacks->every)
        return;
    uint32_t stack = stacks_take(stacks, log);
    if (stack)
        slots_put(&stacks->calls, correlation, stack);
}

void stacks_call(struct stacks *stacks, struct core *core, const CUpti_CallbackData *data)
{
    struct call_log *log = call_log_mine(&core->logs);
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (!log || log->busy || !atomic_load_explicit(&core->enabled, memory_order_relaxed))
        return;
    if (!stacks->over) {
        if (enters)
            take_call(stacks, log, data->correlationId);
    } else if (enters) {
        *data->correlationData = mp_clock_now();
    } else if (*data->correlationData && mp_clock_now() - *data->correlationData >= stacks->over) {
        take_call(stacks, log, data->correlationId);
    }
}

void stacks_node(struct stacks *stacks, struct core *core, uint32_t number)
{
    struct call_log *log = call_log_mine(&core->logs);
    uint32_t stack = log && !log->busy ? stacks_take(stacks, log) : 0;

    if (stack)
        slots_put(&stacks->nodes, number, stack);
}

void stacks_open(struct stacks *stacks, struct core *core)
{
    if (core->config.stacks == MP_STACKS_OFF)
        return;
    stacks->pid = mp_process_id();
    stacks->every = core->config.stacks_every;
    stacks->over = (uint64_t)core->config.stacks_over * 1000u;
    stacks->wants_python = core->config.stacks != MP_STACKS_NATIVE;
    if (core->config.stacks != MP_STACKS_PYTHON)
        native_open(&stacks->native);
    if (core->config.stacks == MP_STACKS_BOTH)
        evaluator_open(&stacks->python.evaluator);
    store_open(&stacks->store);
    core->wanted.stacks = slots_open(&stacks->calls) && slots_open(&stacks->nodes);
    if (!core->wanted.stacks)
        mp_log_warn("no memory for MINIPROF_STACKS: no stacks are recorded");
    /* The numbers of graph nodes are NVTX events, also in a program without NVTX. */
    if (core->config.nvtx == MP_SWITCH_ON)
        mp_nvtx_prepare();
}
