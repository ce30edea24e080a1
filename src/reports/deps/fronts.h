/* Fronts: what later work has to wait for (docs/dependency-analysis.md, section 2).
 *
 * A reference is an activity, or a front of several activities. For the critical path only the
 * activity that ends last matters, and joining two references keeps that one. Slack and replay need
 * the others too: then a join makes a front of the two references.
 *
 *     activity 17 ──┐
 *                   ├── front 0 ──┐
 *     activity 23 ──┘             ├── front 1      best(front 1): the last end of 17, 23, 31
 *     activity 31 ────────────────┘
 */
#ifndef MP_REPORTS_DEPS_FRONTS_H
#define MP_REPORTS_DEPS_FRONTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct deps;

#define DEPS_FRONT_BIT 0x80000000u

struct deps_front {
    uint32_t left; /* references */
    uint32_t right;
    uint32_t best; /* activity */
};

struct deps_fronts {
    struct deps_front *items;
    size_t count;
    size_t capacity;
};

/* Whether a reference stands for a front, not for an activity. */
static inline bool deps_is_front(uint32_t reference)
{
    return reference != UINT32_MAX && (reference & DEPS_FRONT_BIT);
}

static inline uint32_t deps_front_index(uint32_t reference)
{
    return reference & ~DEPS_FRONT_BIT;
}

/* The activity of a reference that ends last; DEPS_NONE of none. */
uint32_t deps_best(const struct deps *deps, uint32_t reference);

/* Makes *into a reference that stands for both references. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status deps_join(struct deps *deps, uint32_t *into, uint32_t other);

#endif
