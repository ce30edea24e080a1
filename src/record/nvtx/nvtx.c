/* The NVTX handler: its state, and how it gets into NVTX's tables. See nvtx.h for what it is for.
 *
 * Every thread that calls NVTX owns a chain of chunks and is the only one to write into it; the
 * writer thread is the only one to read. What they share is one number per chunk, how many bytes of
 * it may be read, and the links:
 *
 *     nvtx_thread         chunk              chunk               chunk
 *     +-----------+    +---------+   next  +---------+   next  +---------+
 *     | read_chunk|--->|.........|-------->|#########|-------->|#########|
 *     | chunk     |-+  |...######|         |#########|         |#####    |
 *     +-----------+ |  +---------+         +---------+         +---------+
 *                   |      ^ read_position                      ^    ^ committed, position
 *                   +-------------------------------------------+
 *                . read   # committed
 *
 *     writer: chunks read to their end --> stack of free chunks --> threads that filled theirs
 *
 * A thread writes a record beyond `committed` and then raises `committed` (release). The writer
 * reads `committed` (acquire) and knows that everything below is complete. So a push takes no lock,
 * allocates nothing and makes no system call. If the pool is empty, the push is dropped and
 * counted. The writer keeps some free chunks mapped in.
 *
 *     calls.c    NVTX's functions        state.c    the one state, messages, domains
 *     buffer.c   chunks, the threads'    payload.c  the payload extension
 *                and the writer's side   schemas.c  schemas, and copies of payloads
 *     time.c     what a thread reads     watch.c    ranges that capture ranges follow
 *                for a time, its time
 *
 * Invariants:
 *  - a pop in the buffers has its push there, unless the push came before recording was switched
 *    on: a push also reserves the room of its pop, and pushes nested in a lost push are lost too
 *    (nvtx_push);
 *  - no state is freed, so a late thread never meets a stale pointer;
 *  - a forked child takes no lock that a thread of its parent may have held, and has none of its
 *    parent's events: if the parent was being recorded, the child records nothing; if not, the
 *    child begins anew.
 */
#include "record/nvtx/nvtx.h"

#include "base/log.h"
#include "record/nvtx/calls.h"
#include "record/nvtx/time.h"
#include "record/nvtx/watch.h"

#include "base/poison.h"

#define NVTX_NEVER_BUILDING UINT32_MAX

static void state_create(void)
{
    struct nvtx_state *state = nvtx_state();

    (void)mp_clock_now(); /* made here because its first call may take long */
    /* An NVTX range that is itself a capture range must be in it for certain; a few ns of error
     * must not decide that. */
    if (!nvtx_watch_is_wanted() && nvtx_counter_is_usable())
        atomic_store(&state->counter, NVTX_COUNTER_MEASURED);
    state->usable =
        pthread_key_create(&state->ending, nvtx_thread_end) == 0 && nvtx_chunks_create(state);
    if (!state->usable)
        mp_log_warn("no memory for the events of NVTX: they are not recorded");
}

bool nvtx_state_ready(void)
{
    struct nvtx_state *state = nvtx_state();

    if (atomic_load_explicit(&state->inert, memory_order_relaxed))
        return false;
    pthread_once(&state->once, state_create);
    return state->usable;
}

bool mp_nvtx_prepare(void)
{
    if (!nvtx_state_ready())
        return false;
    atomic_store(&nvtx_state()->in_use, true);
    return true;
}

/* NVTX asks tools to report their version, and ignores it so far. */
static void version_tell(NvtxGetExportTableFunc_t get_table, unsigned version)
{
    const NvtxExportTableVersionInfo *info = get_table(NVTX_ETID_VERSIONINFO);

    if (info && info->struct_size >= sizeof(*info) && info->SetInjectionNvtxVersion)
        info->SetInjectionNvtxVersion(version + 1);
}

/* Writes each slot once. A thread that uses NVTX for the first time meanwhile waits in the slots
 * that are not written yet, but goes through those that are. */
static void install(uint32_t module, NvtxFunctionPointer **table, unsigned size)
{
    for (uint32_t id = 1; id < size; id++) {
        NvtxFunctionPointer function = nvtx_watch_find(module, id);

        if (!function)
            function = nvtx_calls_find(module, id);
        if (function && table[id])
            __atomic_store_n(table[id], function, __ATOMIC_RELEASE);
    }
}

int mp_nvtx_initialize(unsigned version, void *get_export_table)
{
    static const NvtxCallbackModule modules[] = {NVTX_CB_MODULE_CORE, NVTX_CB_MODULE_CORE2};
    NvtxGetExportTableFunc_t get_table = (NvtxGetExportTableFunc_t)get_export_table;

    if (!get_table || !nvtx_state_ready())
        return 0;
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) ||
        !callbacks->GetModuleFunctionTable)
        return 0;
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        NvtxFunctionTable table = NULL;
        unsigned size = 0;
        if (callbacks->GetModuleFunctionTable(modules[i], &table, &size) && table)
            install(modules[i], table, size);
    }
    atomic_store(&nvtx_state()->in_use, true);
    version_tell(get_table, version);
    return 1;
}

/* ---- On and off ---- */

/* Under `switching`: sets `recording` as wanted. While recording stays on, the number stays,
 * because levels are counted since it last changed. */
static void settle(struct nvtx_state *state)
{
    bool on = state->wanted || (state->building && state->building != NVTX_NEVER_BUILDING);
    uint32_t epoch = 0;

    if (on && atomic_load_explicit(&state->recording, memory_order_relaxed))
        return;
    while (on && !epoch) /* 0 means off, so it is skipped after 2^32 times */
        epoch = 1 + atomic_fetch_add_explicit(&state->epochs, 1, memory_order_relaxed);
    atomic_store_explicit(&state->recording, epoch, memory_order_relaxed);
}

static bool is_inert(const struct nvtx_state *state)
{
    return atomic_load_explicit(&state->inert, memory_order_relaxed);
}

void mp_nvtx_set_recording(bool on)
{
    struct nvtx_state *state = nvtx_state();

    if (is_inert(state))
        return;
    pthread_mutex_lock(&state->switching);
    state->wanted = on;
    settle(state);
    pthread_mutex_unlock(&state->switching);
}

void mp_nvtx_building(bool begins)
{
    struct nvtx_state *state = nvtx_state();

    if (is_inert(state))
        return;
    pthread_mutex_lock(&state->switching);
    if (state->building != NVTX_NEVER_BUILDING && (begins || state->building))
        state->building += begins ? 1 : UINT32_MAX;
    settle(state);
    pthread_mutex_unlock(&state->switching);
}

void mp_nvtx_stop_building(void)
{
    struct nvtx_state *state = nvtx_state();

    if (is_inert(state))
        return;
    pthread_mutex_lock(&state->switching);
    state->building = NVTX_NEVER_BUILDING;
    settle(state);
    pthread_mutex_unlock(&state->switching);
}

/* Threads that do not exist in the child may hold the locks. What the locks guard is consistent at
 * any moment: state.c says so of the permanent memory. */
static void child_unlock(struct nvtx_state *state)
{
    static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;

    if (pthread_mutex_trylock(&state->lock) != 0)
        state->permanent_left = 0;
    state->lock = open;
    state->switching = open;
}

void mp_nvtx_child_begins_anew(void)
{
    struct nvtx_state *state = nvtx_state();

    if (is_inert(state))
        return;
    if (!nvtx_thread_forget() || !nvtx_chunks_forget(state)) {
        mp_nvtx_child_after_fork();
        return;
    }
    child_unlock(state);
    nvtx_watch_child_after_fork();
    if (state->building != NVTX_NEVER_BUILDING)
        state->building = 0;
    settle(state);
}

void mp_nvtx_child_after_fork(void)
{
    struct nvtx_state *state = nvtx_state();

    atomic_store_explicit(&state->inert, true, memory_order_relaxed);
    atomic_store_explicit(&state->recording, 0, memory_order_relaxed);
}
