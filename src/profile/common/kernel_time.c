/* Sums in order of begin: each stream and each device knows up to when it is busy, and a kernel
 * adds what it has after that. Rows that are not in order wait in a list, which is sorted.
 */
#include "profile/common/kernel_time.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "trace/schema.h"

#include "base/poison.h"

/* Rows that wait; more than that only a forged file needs, and then nothing is known. */
#define MAX_WAITING (UINT32_C(1) << 22)

/* This many rows are worth a sort, or those that came since the last one are as many again. */
#define WORTH_A_SORT 4096

struct kernel_lane {
    uint64_t end;  /* the stream is busy up to here at least */
    uint32_t slot; /* of the device, plus 1; 0: not yet known */
};

struct kernel_waiting {
    uint64_t begin, duration, stream;
};

/* ---- Sums ---- */

static inline void add_to(uint64_t *sum, uint64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = UINT64_MAX;
}

/* Adds the part of a kernel that is after *reached, and moves *reached to its end. */
static inline void add_rest(uint64_t *sum, uint64_t *reached, uint64_t begin, uint64_t end)
{
    if (end <= *reached)
        return;
    add_to(sum, end - (begin > *reached ? begin : *reached));
    *reached = end;
}

static inline uint64_t end_of(uint64_t begin, uint64_t duration)
{
    uint64_t end;

    return __builtin_add_overflow(begin, duration, &end) ? UINT64_MAX : end;
}

/* Kernels of one stream in order of begin. This is the inner loop: the sums are local. */
static void sum_kernels(struct kernel_time_pass *pass, struct kernel_lane *lane,
                        const uint64_t *starts, const uint64_t *durations, uint32_t count)
{
    uint64_t *device_end = &pass->ends[lane->slot - 1];
    struct kernel_time sums = pass->sums;
    uint64_t on_stream = lane->end, on_device = *device_end;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t end = end_of(starts[i], durations[i]);

        add_to(&sums.total, end - starts[i]);
        add_rest(&sums.streams, &on_stream, starts[i], end);
        add_rest(&sums.busy, &on_device, starts[i], end);
    }
    pass->sums = sums;
    lane->end = on_stream;
    *device_end = on_device;
}

static enum mp_status new_lane(struct kernel_time_pass *pass, uint64_t stream,
                               struct kernel_lane **lane)
{
    enum mp_status status = dense_reach(&pass->lanes, stream);

    if (status == MP_ERR_LIMIT) {
        stream = 0;
        status = dense_reach(&pass->lanes, 0);
    }
    MP_TRY(status);
    *lane = dense_at(&pass->lanes, stream);
    const struct definition_stream *defined = dense_at(&pass->definitions->streams, stream);
    (*lane)->slot =
        summary_slot(&pass->slots, defined && defined->defined ? defined->device : UINT64_MAX) + 1;
    return MP_OK;
}

/* The lane of a stream; an id that the size of the file does not justify has lane 0. */
static inline enum mp_status find_lane(struct kernel_time_pass *pass, uint64_t stream,
                                       struct kernel_lane **lane)
{
    if (stream >= pass->lanes.count)
        return new_lane(pass, stream, lane);
    *lane = (struct kernel_lane *)pass->lanes.items + stream;
    return (*lane)->slot ? MP_OK : new_lane(pass, stream, lane);
}

/* ---- Rows out of order ---- */

static bool begins_before(const void *context, uint32_t a, uint32_t b)
{
    const struct kernel_waiting *waiting = context;

    return waiting[a].begin < waiting[b].begin;
}

/* The order of the rows that wait. */
static enum mp_status sort_waiting(struct kernel_time_pass *pass)
{
    if (pass->count > pass->order_capacity) {
        uint32_t *order = reallocarray(pass->order, pass->count, 2 * sizeof *order);
        if (!order)
            return MP_ERR_MEMORY;
        pass->order = order;
        pass->order_capacity = pass->count;
    }
    for (size_t i = 0; i < pass->count; i++)
        pass->order[i] = (uint32_t)i;
    mp_sort(pass->order, pass->count, pass->order + pass->count, begins_before, pass->waiting);
    return MP_OK;
}

/* Drops the rows that are summed up, those that begin before `until`. */
static void drop_summed(struct kernel_time_pass *pass, uint64_t until)
{
    size_t kept = 0;

    for (size_t i = 0; i < pass->count; i++) {
        if (pass->waiting[i].begin >= until)
            pass->waiting[kept++] = pass->waiting[i];
    }
    pass->count = kept;
}

/* Sums up the rows that wait and begin before `until`. */
static enum mp_status sum_waiting(struct kernel_time_pass *pass, uint64_t until)
{
    struct kernel_lane *lane;

    if (!pass->count)
        return MP_OK;
    MP_TRY(sort_waiting(pass));
    for (size_t i = 0; i < pass->count; i++) {
        const struct kernel_waiting *row = &pass->waiting[pass->order[i]];

        if (row->begin >= until)
            break;
        MP_TRY(find_lane(pass, row->stream, &lane));
        sum_kernels(pass, lane, &row->begin, &row->duration, 1);
    }
    drop_summed(pass, until);
    pass->due = 2 * pass->count + WORTH_A_SORT;
    return MP_OK;
}

static enum mp_status let_wait(struct kernel_time_pass *pass, uint64_t stream, uint64_t begin,
                               uint64_t duration)
{
    if (pass->count >= MAX_WAITING)
        pass->sums.known = false;
    if (!pass->sums.known)
        return MP_OK;
    if (pass->count == pass->capacity)
        MP_TRY(MP_RESERVE(pass->waiting, pass->count, pass->capacity));
    pass->waiting[pass->count++] = (struct kernel_waiting){begin, duration, stream};
    return MP_OK;
}

/* ---- Rows ---- */

static inline bool has_time(uint64_t start, uint64_t duration)
{
    return start && (int64_t)duration >= 0;
}

/* The rows of a batch. */
struct kernel_rows {
    const uint64_t *streams, *starts, *durations;
    const uint64_t *correlations; /* with a range only */
    uint32_t count;
};

/* Whether the rows can be summed up as they stand, before all others. */
static bool are_ordered(const struct kernel_rows *rows, uint64_t from, uint64_t until)
{
    uint64_t last = from ? from : 1;
    uint64_t wrong = 0; /* no branch in the loop */

    for (uint32_t row = 0; row < rows->count; row++) {
        wrong |= rows->starts[row] < last;
        wrong |= rows->durations[row] >> 63;
        last = rows->starts[row];
    }
    return !wrong && last < until;
}

/* Rows in order: those of one stream at a time. */
static enum mp_status sum_rows(struct kernel_time_pass *pass, const struct kernel_rows *rows)
{
    struct kernel_lane *lane;
    uint32_t next;

    for (uint32_t row = 0; row < rows->count; row = next) {
        for (next = row + 1; next < rows->count && rows->streams[next] == rows->streams[row];)
            next++;
        MP_TRY(find_lane(pass, rows->streams[row], &lane));
        sum_kernels(pass, lane, rows->starts + row, rows->durations + row, next - row);
    }
    return MP_OK;
}

static enum mp_status let_rows_wait(struct kernel_time_pass *pass, const struct kernel_rows *rows,
                                    const struct capture_range *range, uint64_t from)
{
    for (uint32_t row = 0; row < rows->count; row++) {
        uint64_t begin = rows->starts[row];

        if (!has_time(begin, rows->durations[row]) ||
            (range && !range_has_work(range, rows->correlations[row], begin)))
            continue;
        if (begin < from)
            pass->sums.known = false;
        MP_TRY(let_wait(pass, rows->streams[row], begin, rows->durations[row]));
    }
    return MP_OK;
}

uint32_t kernel_time_columns(const struct capture_range *range)
{
    return MP_MASK(kernel, stream, start, duration) | (range ? MP_MASK(kernel, correlation) : 0);
}

enum mp_status kernel_time_take(struct kernel_time_pass *pass, const struct mp_batch *batch,
                                const struct capture_range *range)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    const struct kernel_rows rows = {
        .streams = kernel.stream,
        .starts = kernel.start,
        .durations = kernel.duration,
        .correlations = kernel.correlation,
        .count = batch->rows,
    };
    uint64_t from = pass->summed;

    /* A damaged chunk is not delivered. The places are then late, which is safe. */
    pass->chunk++;
    pass->summed = pass->chunk < pass->chunk_count ? pass->reached[pass->chunk] : UINT64_MAX;
    if (!range && !pass->count && are_ordered(&rows, from, pass->summed))
        return sum_rows(pass, &rows);
    MP_TRY(let_rows_wait(pass, &rows, range, from));
    return pass->count >= pass->due ? sum_waiting(pass, pass->summed) : MP_OK;
}

enum mp_status kernel_time_next(struct kernel_time_pass *pass, uint64_t stream, uint64_t begin,
                                uint64_t duration)
{
    struct kernel_lane *lane;

    if (!has_time(begin, duration))
        return MP_OK;
    if (begin < pass->summed)
        pass->sums.known = false;
    pass->summed = begin;
    MP_TRY(find_lane(pass, stream, &lane));
    sum_kernels(pass, lane, &begin, &duration, 1);
    return MP_OK;
}

/* ---- The whole ---- */

void kernel_time_begin(struct kernel_time_pass *pass, const struct definitions *definitions,
                       size_t limit)
{
    *pass = (struct kernel_time_pass){
        .definitions = definitions, .sums = {.known = true}, .due = WORTH_A_SORT};
    dense_init(&pass->lanes, sizeof(struct kernel_lane), limit);
}

void kernel_time_free(struct kernel_time_pass *pass)
{
    dense_free(&pass->lanes);
    free(pass->reached);
    free(pass->waiting);
    free(pass->order);
}

static enum mp_status read_headers(struct kernel_time_pass *pass, struct mp_cursor *cursor)
{
    struct mp_chunk chunk;
    enum mp_status status;

    while ((status = mp_cursor_next_chunk(cursor, &chunk, false)) == MP_OK) {
        if (chunk.table_id != MP_TABLE_kernel)
            continue;
        MP_TRY(MP_RESERVE(pass->reached, pass->chunk_count, pass->chunk_capacity));
        /* 0: no row has a time */
        pass->reached[pass->chunk_count++] = chunk.first_time ? chunk.first_time : UINT64_MAX;
    }
    for (size_t i = pass->chunk_count; i-- > 1;) {
        if (pass->reached[i - 1] > pass->reached[i])
            pass->reached[i - 1] = pass->reached[i];
    }
    return status == MP_END ? MP_OK : status;
}

enum mp_status kernel_time_expect(struct kernel_time_pass *pass, struct mp_trace *trace,
                                  struct mp_error *error)
{
    struct mp_cursor *cursor;

    MP_TRY(mp_cursor_open(trace, &cursor, error));
    enum mp_status status = read_headers(pass, cursor);
    mp_cursor_close(cursor);
    return mp_error_from(error, status, "cannot read the chunks");
}

enum mp_status kernel_time_end(struct kernel_time_pass *pass)
{
    MP_TRY(sum_waiting(pass, UINT64_MAX));
    for (uint32_t slot = 0; slot < pass->slots.count; slot++)
        pass->sums.devices += pass->ends[slot] != 0;
    return MP_OK;
}

void kernel_time_merge(struct kernel_time *into, const struct kernel_time *from)
{
    add_to(&into->total, from->total);
    add_to(&into->streams, from->streams);
    add_to(&into->busy, from->busy);
    into->devices += from->devices;
    into->known &= from->known;
}
