/* Values in memory that streams write and wait for (D4): which write let a wait through.
 *
 * A wait may be called before the write that ends it, so the order of calls does not tell. What
 * tells is the order of execution. A trace does not have the moments, but the earliest possible
 * ones: a write or a wait happens when the front of its stream has ended, but not before its call.
 *
 *     stream A   | slow 10-50 |  write 1                  happens at 50, stands for `slow`
 *     stream B   wait >= 1  (from 5 on)  | fast 52-60 |   was let through by that write
 *
 * Fronts and moments depend on the waits ahead in the stream, and these on writes. So everything is
 * linked again, with the waits as they were matched, until nothing changes. Fronts of the same
 * parts are then the same reference, which is how a change is seen.
 *
 * A wait that is not matched yet is taken to be over when the launch after it begins, if that
 * launch was queued. Otherwise each round would settle one more of the turns that streams take.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_ROUNDS 64   /* each settles one more wait of a chain against the order of calls */
#define MAX_STEPS  4096 /* writes that are looked at before a wait and after it */

/* ---- While calls are linked ---- */

static void set(struct deps_builder *builder, struct deps_value *value, uint32_t stands,
                uint64_t moment)
{
    builder->values_changed |= value->stands != stands || value->moment != moment;
    value->stands = stands;
    value->moment = moment;
}

/* What comes next in the stream waits for what the write stands for. By 1 ns, so that what the
 * write caused comes after it. */
static enum mp_status await_write(struct deps_builder *builder, struct deps_streams *streams,
                                  uint32_t lane, const struct deps_value *write)
{
    struct deps_stream *stream = &streams->items[lane];

    stream->value_moment = mp_max(stream->value_moment, write->moment + 1);
    if (write->stands == DEPS_NONE)
        return MP_OK;
    MP_TRY(deps_join(builder->deps, &stream->wait, write->stands));
    MP_TRY(deps_join(builder->deps, &stream->own, write->stands));
    return deps_streams_changed(streams, lane);
}

static enum mp_status await_value(struct deps_builder *builder, struct deps_streams *streams,
                                  uint32_t lane, uint32_t index)
{
    struct deps_stream *stream = &streams->items[lane];
    struct deps_value *wait = &builder->values[index];

    wait->next = UINT64_MAX;
    wait->ahead = stream->values;
    stream->values = index;
    if (wait->write != DEPS_NONE)
        return await_write(builder, streams, lane, &builder->values[wait->write]);
    stream->value_moment = mp_max(stream->value_moment, wait->over);
    return MP_OK;
}

enum mp_status deps_values_call(struct deps_builder *builder, struct deps_streams *streams,
                                const struct deps_sync *sync)
{
    uint32_t index = (uint32_t)sync->event;
    struct deps_value *value = &builder->values[index];
    uint32_t front;

    if (sync->stream == DEPS_NONE)
        return MP_OK;
    struct deps_stream *stream = &streams->items[sync->stream];
    MP_TRY(deps_gathered_front(streams, sync->stream, &front));
    uint64_t moment = mp_max(sync->begin, stream->value_moment);
    if (front != DEPS_NONE)
        moment = mp_max(moment, builder->deps->activities[deps_best(builder->deps, front)].end);
    set(builder, value, front, moment);
    stream->value_moment = moment;
    return value->operation == MP_value_operation_write
               ? MP_OK
               : await_value(builder, streams, sync->stream, index);
}

void deps_values_launch(struct deps_builder *builder, struct deps_stream *stream,
                        const struct deps_launch *launch)
{
    const struct deps *deps = builder->deps;
    uint64_t begin = UINT64_MAX;
    bool queued = false;

    if (stream->values == DEPS_NONE)
        return;
    for (size_t i = 0; i < launch->count; i++)
        if (deps->activities[launch->items[i]].begin < begin)
            begin = deps->activities[launch->items[i]].begin;
    if (launch->call != DEPS_NONE) {
        uint32_t last = deps->activities[launch->call].last_of_call;
        queued = deps->activities[last].end + DEPS_TOLERANCE_NS < begin;
    }
    builder->values[stream->values].over = queued ? begin : 0;
    for (; stream->values != DEPS_NONE; stream->values = builder->values[stream->values].ahead)
        builder->values[stream->values].next = begin;
}

/* ---- Which write it was ---- */

/* Writes by address, and those of one address in the order in which they happen. */
static bool happens_before(const void *context, uint32_t a, uint32_t b)
{
    const struct deps_value *x = &((const struct deps_value *)context)[a];
    const struct deps_value *y = &((const struct deps_value *)context)[b];

    if (x->address != y->address)
        return x->address < y->address;
    if (x->moment != y->moment)
        return x->moment < y->moment;
    return x->correlation != y->correlation ? x->correlation < y->correlation : a < b;
}

static uint64_t narrow(uint64_t value, bool wide)
{
    return wide ? value : (uint32_t)value;
}

/* As cuda.h defines it of CUstreamWaitValue_flags. */
static bool satisfies(const struct deps_value *wait, const struct deps_value *write)
{
    uint64_t value = narrow(write->value, wait->wide);
    uint64_t difference = value - wait->value;

    switch (wait->operation) {
    case MP_value_operation_wait_geq:
        return wait->wide ? difference <= INT64_MAX : (uint32_t)difference <= INT32_MAX;
    case MP_value_operation_wait_eq:
        return value == wait->value;
    case MP_value_operation_wait_and:
        return (value & wait->value) != 0;
    case MP_value_operation_wait_nor:
        return narrow(~(value | wait->value), wait->wide) != 0;
    default:
        return false;
    }
}

/* The sorted writes. */
struct deps_writes {
    const struct deps_value *values;
    const uint32_t *items;
    size_t count;
};

static const struct deps_value *at(const struct deps_writes *writes, size_t place)
{
    return &writes->values[writes->items[place]];
}

/* A stream does not wait for what it writes later. */
static bool is_behind(const struct deps_value *write, const struct deps_value *wait)
{
    if (write->lane != wait->lane)
        return false;
    return write->correlation != wait->correlation ? write->correlation > wait->correlation
                                                   : write > wait;
}

/* The write that let a wait through; DEPS_NONE: none of the trace. If the value was there when the
 * wait began, it is the write from which on it was. */
static uint32_t find_write(const struct deps_writes *writes, const struct deps_value *wait)
{
    size_t first = MP_SEARCH(0, writes->count, i, at(writes, i)->address < wait->address);
    size_t next =
        MP_SEARCH(first, writes->count, i,
                  at(writes, i)->address == wait->address && at(writes, i)->moment <= wait->moment);
    uint64_t until =
        wait->next < UINT64_MAX - DEPS_TOLERANCE_NS ? wait->next + DEPS_TOLERANCE_NS : UINT64_MAX;
    uint32_t found = DEPS_NONE;

    for (size_t k = next; k > first && next - k < MAX_STEPS; k--) {
        if (is_behind(at(writes, k - 1), wait))
            continue;
        if (!satisfies(wait, at(writes, k - 1)))
            break;
        found = writes->items[k - 1];
    }
    for (size_t k = next; found == DEPS_NONE && k < writes->count && k - next < MAX_STEPS; k++) {
        const struct deps_value *write = at(writes, k);

        if (write->address != wait->address || write->moment > until)
            break;
        if (!is_behind(write, wait) && satisfies(wait, write))
            found = writes->items[k];
    }
    return found;
}

static void find_writes(struct deps_builder *builder, const struct deps_writes *writes)
{
    for (size_t i = 0; i < builder->value_count; i++) {
        struct deps_value *value = &builder->values[i];

        if (value->operation == MP_value_operation_write || value->lane == DEPS_NONE)
            continue;
        uint32_t write = find_write(writes, value);
        builder->values_changed |= write != value->write;
        value->write = write;
    }
}

static enum mp_status match(struct deps_builder *builder)
{
    uint32_t *items = malloc((2 * builder->value_count + 1) * sizeof *items);
    struct deps_writes writes = {builder->values, items, 0};

    if (!items)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < builder->value_count; i++)
        if (builder->values[i].operation == MP_value_operation_write &&
            builder->values[i].lane != DEPS_NONE)
            items[writes.count++] = i;
    mp_sort(items, writes.count, items + builder->value_count, happens_before, builder->values);
    find_writes(builder, &writes);
    free(items);
    return MP_OK;
}

/* ---- Rounds ---- */

static uint64_t count_unknown(const struct deps_builder *builder)
{
    uint64_t count = 0;

    for (size_t i = 0; i < builder->value_count; i++)
        count += builder->values[i].operation != MP_value_operation_write &&
                 builder->values[i].write == DEPS_NONE;
    return count;
}

static enum mp_status link_rounds(struct deps_builder *builder, deps_link_calls *link,
                                  const struct deps_activity *unlinked)
{
    struct deps *deps = builder->deps;
    const struct deps_counts counts = deps->counts;

    for (int round = 0; round < MAX_ROUNDS; round++) {
        memcpy(deps->activities, unlinked, deps->count * sizeof *unlinked);
        deps->counts = counts;
        builder->values_changed = false;
        MP_TRY(link(builder));
        if (!round)
            continue; /* no wait knows the launch after it */
        MP_TRY(match(builder));
        if (!builder->values_changed)
            break;
    }
    deps->counts.unknown_values = count_unknown(builder);
    return MP_OK;
}

enum mp_status deps_values_link(struct deps_builder *builder, deps_link_calls *link)
{
    struct deps *deps = builder->deps;
    struct deps_activity *unlinked = malloc((deps->count + (size_t)1) * sizeof *unlinked);
    enum mp_status status = MP_ERR_MEMORY;

    if (unlinked) {
        memcpy(unlinked, deps->activities, deps->count * sizeof *unlinked);
        if (deps->fronts)
            deps->fronts->shared = true;
        status = link_rounds(builder, link, unlinked);
    }
    if (deps->fronts) {
        deps->fronts->shared = false;
        mp_map_free(&deps->fronts->known);
    }
    free(unlinked);
    return status;
}
