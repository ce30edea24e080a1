/* Waits of host threads: asks the preloaded library for them, takes what it reports, and keeps it
 * in a ring without a lock until the writer takes it.
 */
#include "record/waits/waits.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#include "record/core/clock.h"
#include "record/core/core.h"
#include "record/nvtx/time.h"
#include "record/stacks/stacks.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- The ring: any number of threads put, one takes ---- */

static uint64_t free_turn(uint64_t position)
{
    return position / WAITS_SLOTS * 2;
}

static struct wait_slot *slot_at(struct waits *waits, uint64_t position)
{
    return &waits->slots[position % WAITS_SLOTS];
}

/* A position for this thread alone; NULL: the slot's last wait has not been taken. */
static struct wait_slot *claim(struct waits *waits, uint64_t *position)
{
    uint64_t at = atomic_load(&waits->put);

    for (;;) {
        struct wait_slot *slot = slot_at(waits, at);
        uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);

        if (turn < free_turn(at))
            return NULL;
        if (turn > free_turn(at)) {
            at = atomic_load(&waits->put); /* another thread has taken this position */
        } else if (atomic_compare_exchange_weak(&waits->put, &at, at + 1)) {
            *position = at;
            return slot;
        }
    }
}

bool waits_put(struct waits *waits, const struct mp_preload_wait *wait, bool *half)
{
    uint64_t position;
    struct wait_slot *slot = claim(waits, &position);

    if (!slot) {
        atomic_fetch_add(&waits->lost, 1);
        return false;
    }
    slot->wait = *wait;
    atomic_store_explicit(&slot->turn, free_turn(position) + 1, memory_order_release);
    *half = position - atomic_load(&waits->taken) == WAITS_SLOTS / 2;
    return true;
}

bool waits_take(struct waits *waits, struct mp_preload_wait *wait)
{
    uint64_t position = atomic_load_explicit(&waits->taken, memory_order_relaxed);
    struct wait_slot *slot = slot_at(waits, position);

    if (atomic_load_explicit(&slot->turn, memory_order_acquire) != free_turn(position) + 1)
        return false;
    *wait = slot->wait;
    atomic_store_explicit(&slot->turn, free_turn(position) + 2, memory_order_release);
    atomic_store(&waits->taken, position + 1);
    return true;
}

/* ---- The library ---- */

_Static_assert(
    (int)MP_WAIT_CONDITION == MP_wait_kind_condition && (int)MP_WAIT_MUTEX == MP_wait_kind_mutex &&
        (int)MP_WAIT_JOIN == MP_wait_kind_join && (int)MP_WAIT_BARRIER == MP_wait_kind_barrier &&
        (int)MP_WAIT_SEMAPHORE == MP_wait_kind_semaphore &&
        (int)MP_WAIT_POLL == MP_wait_kind_poll && (int)MP_WAIT_EPOLL == MP_wait_kind_epoll &&
        (int)MP_WAIT_SELECT == MP_wait_kind_select && (int)MP_WAIT_READ == MP_wait_kind_read &&
        (int)MP_WAIT_FUTEX == MP_wait_kind_futex && (int)MP_WAIT_SLEEP == MP_wait_kind_sleep &&
        (int)MP_WAIT_RWLOCK == MP_wait_kind_rwlock,
    "the preloaded library's kinds are the trace's");

/* Of take_wait, which gets no argument of ours. Written before the library may call it. */
static struct {
    struct waits *waits;
    struct stacks *stacks;
    struct core *core;
} taker;

/* In the thread that has waited. A child made by clone has no fork handler, but another id. */
static void take_wait(const struct mp_preload_wait *wait)
{
    bool half = false;

    if (!core_is_recording(taker.core) || !core_is_of_process(taker.core))
        return;
    gaps_waited(taker.stacks, taker.core, wait);
    waits_put(taker.waits, wait, &half);
    if (half)
        work_wake(&taker.core->work);
}

/* ---- The clock ---- */

/* Of the software GPU's virtual time: the library's functions see no wait that takes time. */
static uint64_t stand_still(void)
{
    return 0;
}

static void set_clock(const struct core *core, struct mp_preload *preload)
{
#if defined(__x86_64__)
    bool is_even = nvtx_counter_is_usable();
#else
    bool is_even = true; /* Arm's generic timer */
#endif
    bool is_monotonic = strcmp(mp_clock_name(), "monotonic") == 0;

    if (!is_monotonic)
        atomic_store(&preload->clock,
                     mp_clock_is_played(core->begin_time) ? stand_still : mp_clock_now);
    atomic_store(&preload->counter_is_even, is_monotonic && is_even);
}

/* ---- Code that is left alone ---- */

struct code {
    uintptr_t address; /* in it */
    uintptr_t begin, end;
};

static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct code *code = context;
    uintptr_t begin = UINTPTR_MAX, end = 0;

    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type != PT_LOAD)
            continue;
        begin = from < begin ? from : begin;
        end = from + segment->p_memsz > end ? from + segment->p_memsz : end;
    }
    if (code->address < begin || code->address >= end)
        return 0;
    code->begin = begin;
    code->end = end;
    return 1;
}

static void leave_alone(struct mp_preload_code *place, uintptr_t address)
{
    struct code code = {.address = address};

    if (!dl_iterate_phdr(look_at, &code))
        return;
    atomic_store(&place->begin, code.begin);
    atomic_store(&place->end, code.end);
}

/* ---- From when to when ---- */

void waits_ask(struct waits *waits, struct stacks *stacks, struct core *core,
               struct mp_preload *preload, uintptr_t cupti)
{
    if (!preload || core->config.waits == MP_SWITCH_OFF)
        return;
    leave_alone(&preload->left_alone[0], (uintptr_t)take_wait);
    leave_alone(&preload->left_alone[1], cupti);
    set_clock(core, preload);
    taker.waits = waits;
    taker.stacks = stacks;
    taker.core = core;
    atomic_store(&waits->preload, preload);
    atomic_store(&preload->waited, take_wait);
}

void waits_stop(struct waits *waits)
{
    struct mp_preload *preload = atomic_load(&waits->preload);

    if (preload)
        atomic_store(&preload->waited, NULL);
}
