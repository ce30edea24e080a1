/* The ring of waits: any number of threads put, one takes. */
#include <stddef.h>

#include "record/waits/waits.h"

#include "base/poison.h"

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
