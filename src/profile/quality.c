/* Collects what was lost and what looks wrong, and says it in one line. The causes are added up
 * separately, because each one needs another remedy.
 */
#include "profile/quality.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/units.h"
#include "profile/identity.h"
#include "profile/ranges.h"
#include "trace/schema.h"

#include "base/poison.h"

void quality_init(struct quality *quality, const struct mp_trace *trace)
{
    *quality = (struct quality){.dropped = 0};
    dense_init(&quality->counters, sizeof(struct quality_counter), definitions_limit(trace));
}

void quality_free(struct quality *quality)
{
    dense_free(&quality->counters);
    free(quality->rows);
    free(quality->ranges);
    quality->rows = NULL;
    quality->ranges = NULL;
    quality->row_count = quality->row_capacity = quality->range_count = 0;
}

void quality_columns(uint32_t *masks)
{
    masks[MP_INDEX_quality] |= MP_MASK(quality, name, value);
    masks[MP_INDEX_loss] |= MP_MASK(loss, range, name, value);
}

static enum mp_status take_losses(struct quality *quality, const struct mp_batch *batch)
{
    const struct mp_loss_columns loss = mp_loss_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        MP_TRY(MP_RESERVE(quality->rows, quality->row_count, quality->row_capacity));
        quality->rows[quality->row_count++] =
            (struct loss_row){loss.range[row], loss.name[row], (int64_t)loss.value[row]};
    }
    return MP_OK;
}

enum mp_status quality_take(struct quality *quality, const struct mp_batch *batch)
{
    const struct mp_quality_columns qualitys = mp_quality_columns(batch->columns);

    if (batch->table->id == MP_TABLE_loss)
        return take_losses(quality, batch);
    if (batch->table->id != MP_TABLE_quality)
        return MP_OK;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t name = qualitys.name[row];
        enum mp_status status = dense_reach(&quality->counters, name);

        if (status == MP_ERR_LIMIT)
            continue;
        MP_TRY(status);
        *(struct quality_counter *)dense_at(&quality->counters, name) =
            (struct quality_counter){qualitys.value[row], true};
    }
    return MP_OK;
}

bool quality_next_counter(const struct quality *quality, const struct definitions *definitions,
                          size_t *position, const char **name, uint64_t *value)
{
    const struct quality_counter *counter;

    while ((counter = dense_at(&quality->counters, *position)) && !counter->present)
        (*position)++;
    if (!counter)
        return false;
    *name = definitions_text(definitions, *position);
    *value = counter->value;
    (*position)++;
    return true;
}

/* Whether what the counter counts as lost may have been work of the GPU. */
static bool may_be_work(const char *name)
{
    static const char *const names[] = {"dropped_overflow", "dropped_by_cupti", "dropped_at_least",
                                        "dropped_foreign_times", "unanswered_launches"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* docs/trace-format.md explains the counters. Lost records have one counter for each cause. */
static void read_counters(struct quality *quality, const struct definitions *definitions)
{
    const struct {
        const char *name;
        uint64_t *value;
    } known[] = {
        {"dropped_taken_over", &quality->taken_over},
        {"cupti_errors", &quality->cupti_errors},
        {"callbacks_taken", &quality->callbacks_taken},
        {"forced_exits", &quality->forced_exits},
        {"profiled_kernels", &quality->profiled},
        {"device_graphs", &quality->device_graphs},
        {"conditional_graphs", &quality->conditional_graphs},
        {"device_launches", &quality->device_launches},
        {"baseline_steps", &quality->baseline_steps},
        {RECORDING_SCALE, &quality->recording_scale},
        {"baseline_unrecorded", &quality->baseline_unrecorded},
        {"unanswered_launches", &quality->unanswered},
        {"zero_timestamps", &quality->zero_times},
        {"device_launchers", &quality->device_launchers},
        {"running_at_end", &quality->running_at_end},
        {"earlier_work_ns", &quality->earlier_work},
    };
    size_t position = 0;
    const char *name;
    uint64_t value;

    while (quality_next_counter(quality, definitions, &position, &name, &value)) {
        if (!name)
            continue;
        if (!strncmp(name, "dropped_", strlen("dropped_")))
            quality->dropped += value;
        if (may_be_work(name))
            quality->lost_work += value;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name))
                *known[i].value = value;
    }
}

/* ---- By capture range ---- */

MP_COMPARE(compare_rows, struct loss_row, MP_ORDER(a->range, b->range));

static void add_loss(struct range_loss *loss, const struct loss_row *row, const char *name)
{
    if (!name)
        return;
    if (may_be_work(name))
        loss->lost_work += row->value;
    if (!strncmp(name, "dropped_", strlen("dropped_")))
        loss->dropped += row->value;
    else if (!strcmp(name, "unanswered_launches"))
        loss->unanswered += row->value;
    else if (!strcmp(name, "earlier_work_ns"))
        loss->earlier += row->value;
}

/* Without memory the ranges stay unknown, and the totals are said for each of them. */
static void sum_ranges(struct quality *quality, const struct definitions *definitions)
{
    free(quality->ranges);
    quality->range_count = 0;
    quality->ranges =
        quality->row_count ? reallocarray(NULL, quality->row_count, sizeof *quality->ranges) : NULL;
    if (!quality->ranges)
        return;
    qsort(quality->rows, quality->row_count, sizeof *quality->rows, compare_rows);
    for (size_t i = 0; i < quality->row_count;) {
        struct range_loss loss = {.range = quality->rows[i].range};

        for (; i < quality->row_count && quality->rows[i].range == loss.range; i++)
            add_loss(&loss, &quality->rows[i],
                     definitions_text(definitions, quality->rows[i].name));
        if (loss.dropped > 0 || loss.unanswered > 0 || loss.earlier > 0)
            quality->ranges[quality->range_count++] = loss;
    }
}

static int compare_ranges(const void *key, const void *item)
{
    const uint64_t *range = key;
    const struct range_loss *loss = item;

    return MP_ORDER(*range, loss->range);
}

const struct range_loss *quality_range(const struct quality *quality, uint64_t range)
{
    return quality->range_count ? bsearch(&range, quality->ranges, quality->range_count,
                                          sizeof *quality->ranges, compare_ranges)
                                : NULL;
}

void quality_finish(struct quality *quality, const struct mp_trace *trace,
                    const struct mp_cursor *cursor, const struct definitions *definitions)
{
    struct mp_index index;

    quality->dropped = quality->lost_work = 0;
    read_counters(quality, definitions);
    sum_ranges(quality, definitions);
    mp_trace_index(trace, &index);
    if (index.present && index.dropped > quality->dropped)
        quality->dropped = index.dropped;
    mp_cursor_damage(cursor, &quality->damage);
}

void quality_join(struct quality *quality, const struct mp_damage *met)
{
    struct mp_damage *damage = &quality->damage;
    uint64_t before = quality->checked ? 0 : damage->chunks_damaged;
    uint64_t rows_before = quality->checked ? 0 : damage->rows_damaged;

    damage->bytes_skipped = mp_max(damage->bytes_skipped, met->bytes_skipped);
    damage->chunks_damaged = mp_max(damage->chunks_damaged, before + met->chunks_damaged);
    damage->rows_damaged = mp_max(damage->rows_damaged, rows_before + met->rows_damaged);
    damage->chunks_missing = mp_max(damage->chunks_missing, met->chunks_missing);
    damage->truncated |= met->truncated;
    if (!damage->first_offset || (met->first_offset && met->first_offset < damage->first_offset))
        damage->first_offset = met->first_offset;
}

/* ---- Kernels without times ----
 *
 * Counts kernels without times, and says what is not known because of them.
 */

/* A smaller share is as much as percentiles and sums move from run to run. */
#define MAX_PERCENT 2

static void take_kernels(struct untimed *untimed, const struct mp_batch *batch)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    const uint64_t *starts = kernel.start;
    const uint64_t *nodes = kernel.node;

    untimed->kernels += batch->rows;
    for (uint32_t row = 0; row < batch->rows; row++) {
        untimed->without += !starts[row];
        untimed->nodes += nodes[row] != 0;
        untimed->nodes_without += !starts[row] && nodes[row];
    }
}

/* Reads the kernels, once. */
static enum mp_status untimed_count(struct untimed *untimed, struct mp_trace *trace,
                                    struct mp_error *error)
{
    struct mp_cursor *cursor;
    struct mp_batch batch;
    enum mp_status status;

    if (untimed->counted)
        return MP_OK;
    *untimed = (struct untimed){.serial = property_is(trace, "MINIPROF_CONCURRENT_KERNELS", "off")};
    MP_TRY(mp_cursor_open(trace, &cursor, error));
    cursor_select_only(cursor, MP_TABLE_kernel, MP_MASK(kernel, start, node));
    while ((status = mp_cursor_next(cursor, &batch)) == MP_OK)
        take_kernels(untimed, &batch);
    mp_cursor_close(cursor);
    if (status != MP_END)
        return mp_error_set(error, status, "cannot read the kernels: %s", mp_status_name(status));
    untimed->counted = true;
    return MP_OK;
}

static bool untimed_share_is_too_much(uint64_t part, uint64_t whole)
{
    return part > whole / 100 * MAX_PERCENT + whole % 100 * MAX_PERCENT / 100;
}

/* Also if it is every kernel of CUDA graphs: busy time, idle causes, paths and gains would be
 * wrong.
 */
static bool untimed_is_too_many(const struct untimed *untimed)
{
    return untimed_share_is_too_much(untimed->without, untimed->kernels) ||
           (untimed->nodes && untimed->nodes_without == untimed->nodes);
}

/* Where they are, as far as that is the same for all of them. */
static const char *where(const struct untimed *untimed)
{
    if (untimed->nodes_without < untimed->without)
        return untimed->serial ? " (--concurrent-kernels off)" : "";
    return untimed->serial ? " (nodes of CUDA graphs, --concurrent-kernels off)"
                           : " (nodes of CUDA graphs)";
}

/* `12 of 15 kernels have no times (...); ...`, or an empty text where they are not too many. */
static const char *untimed_describe(const struct untimed *untimed, char *text, size_t size)
{
    *text = '\0';
    if (!untimed_is_too_many(untimed))
        return text;
    snprintf(text, size, "%s of %s kernel%s %s no times%s%s", mp_count(untimed->without).text,
             mp_count(untimed->kernels).text, untimed->kernels == 1 ? "" : "s",
             untimed->without == 1 ? "has" : "have", where(untimed),
             untimed->serial ? "; record without --concurrent-kernels off" : "");
    return text;
}

/* ---- What is missing ---- */

/* A range without an end keeps a huge length. */
static enum mp_status measure_ranges(struct quality *quality, struct mp_trace *trace,
                                     struct mp_error *error)
{
    struct capture_ranges ranges;

    ranges_init(&ranges, trace);
    enum mp_status status = ranges_load(&ranges, trace, error);
    for (size_t i = 0; i < quality->range_count; i++) {
        const struct capture_range *range = ranges_find(&ranges, quality->ranges[i].range);

        if (range)
            quality->ranges[i].length = range->end_time - range->begin_time;
    }
    ranges_free(&ranges);
    return status;
}

/* Keeps `earlier` only if the work ran for more than 2 % of the range. */
static void judge_earlier(struct quality *quality)
{
    size_t kept = 0;

    for (size_t i = 0; i < quality->range_count; i++) {
        struct range_loss loss = quality->ranges[i];

        if (loss.earlier > 0 && (uint64_t)loss.earlier > loss.length)
            loss.earlier = (int64_t)loss.length; /* seen just after the end */
        if (loss.earlier > 0 && !untimed_share_is_too_much((uint64_t)loss.earlier, loss.length))
            loss.earlier = 0;
        if (loss.dropped > 0 || loss.unanswered > 0 || loss.earlier > 0)
            quality->ranges[kept++] = loss;
    }
    quality->range_count = kept;
}

/* The first range of those that are reported in which work from before ran for too long; or NULL.
 */
static const struct range_loss *earlier_range(const struct quality *quality)
{
    for (size_t i = 0; i < quality->range_count; i++)
        if ((!quality->only || quality->ranges[i].range == quality->only) &&
            quality->ranges[i].earlier > 0 && quality->ranges[i].length)
            return &quality->ranges[i];
    return NULL;
}

enum mp_status quality_examine(struct quality *quality, struct mp_trace *trace,
                               struct mp_error *error)
{
    if (quality->zero_times || quality->lost_work)
        MP_TRY(untimed_count(&quality->untimed, trace, error));
    if (quality->earlier_work) {
        MP_TRY(measure_ranges(quality, trace, error));
        judge_earlier(quality);
    }
    return MP_OK;
}

/* Of the range that is reported, as far as the trace tells. */
static bool has_lost_work(const struct quality *quality)
{
    const struct range_loss *loss = quality_range(quality, quality->only);
    int64_t lost = quality->only && quality->ranges ? (loss ? loss->lost_work : 0)
                                                    : (int64_t)quality->lost_work;

    return lost > 0 &&
           untimed_share_is_too_much((uint64_t)lost, quality->untimed.kernels + (uint64_t)lost);
}

const struct quality_gap *quality_gap(const struct quality *quality)
{
    static const struct quality_gap untimed = {"no_kernel_times", "too many kernels have no times"};
    static const struct quality_gap lost = {"lost_work", "too many records were lost"};
    static const struct quality_gap taken = {"other_client",
                                             "another CUPTI client took part of the records"};
    static const struct quality_gap device = {
        "device_launches", "kernels launch kernels, of which CUPTI gives no records"};
    static const struct quality_gap running = {"running_at_end",
                                               "work still ran when the program ended"};
    static const struct quality_gap earlier = {"earlier_work",
                                               "work that was launched before the range ran in it"};

    if (quality->running_at_end)
        return &running;
    if (untimed_is_too_many(&quality->untimed))
        return &untimed;
    if (has_lost_work(quality))
        return &lost;
    if (quality->taken_over)
        return &taken;
    if (quality->device_launchers)
        return &device;
    return earlier_range(quality) ? &earlier : NULL;
}

bool quality_is_whole(const struct quality *quality)
{
    char text[QUALITY_TEXT_BYTES];

    return *quality_describe(quality, text, sizeof text) == '\0';
}

struct line {
    char *text;
    size_t size;
    size_t used;
};

static void add_text(struct line *line, const char *text)
{
    int length = snprintf(line->text + line->used, line->size - line->used, "%s%s",
                          line->used ? "; " : "", text);

    line->used += length > 0 ? (size_t)length : 0;
    if (line->used >= line->size)
        line->used = line->size - 1;
}

static void add_count(struct line *line, uint64_t count, const char *one, const char *many)
{
    char text[128];

    if (!count)
        return;
    snprintf(text, sizeof text, "%s %s", mp_count(count).text, count == 1 ? one : many);
    add_text(line, text);
}

/* An older trace does not tell which ranges lack something: then all may. */
static void describe_losses(struct line *line, const struct quality *quality)
{
    add_count(line, quality->dropped, "record was dropped", "records were dropped");
    add_count(line, quality->unanswered, "launched kernel has no record",
              "launched kernels have no record");
}

static void describe_ranges(struct line *line, const struct quality *quality)
{
    char text[96];
    uint64_t first = 0;
    size_t count = 0;

    for (size_t i = quality->range_count; i-- > 0;)
        if (quality->ranges[i].dropped > 0 || quality->ranges[i].unanswered > 0) {
            first = quality->ranges[i].range;
            count++;
        }
    if (quality->only || !count)
        return;
    if (count == 1)
        snprintf(text, sizeof text, "capture range %" PRIu64 " is not whole", first);
    else
        snprintf(text, sizeof text, "%s capture ranges are not whole, the first is %" PRIu64,
                 mp_count(count).text, first);
    add_text(line, text);
}

static void describe_range(struct line *line, const struct range_loss *loss)
{
    if (loss && loss->dropped > 0)
        add_count(line, (uint64_t)loss->dropped,
                  "record was dropped, perhaps of this capture range",
                  "records were dropped, some or all of this capture range");
    if (loss && loss->unanswered > 0)
        add_count(line, (uint64_t)loss->unanswered,
                  "kernel launched in this capture range has no record",
                  "kernels launched in this capture range have no record");
}

/* Rows that are left out, but for kernels that the line has named. */
static uint64_t other_unknown_times(const struct quality *quality)
{
    uint64_t named = untimed_is_too_many(&quality->untimed) ? quality->untimed.without : 0;

    return quality->unknown_times > named ? quality->unknown_times - named : 0;
}

/* Work that no record tells of, and what it hides. */
static void describe_gaps(struct line *line, const struct quality *quality)
{
    const struct range_loss *earlier = earlier_range(quality);
    char text[192];

    add_count(line, quality->device_launchers,
              "module has kernels that launch kernels, of which CUPTI gives no records",
              "modules have kernels that launch kernels, of which CUPTI gives no records");
    add_count(line, quality->running_at_end,
              "kernel or copy still ran or waited when the program ended",
              "kernels or copies still ran or waited when the program ended");
    if (earlier) {
        snprintf(text, sizeof text,
                 "work launched before capture range %" PRIu64 " ran for %.0f %% of it (wait for "
                 "the GPU before cudaProfilerStart)",
                 earlier->range, 100 * (double)earlier->earlier / (double)earlier->length);
        add_text(line, text);
    }
    if (quality_gap(quality))
        add_text(line, "busy time, idle causes and gains are not known");
}

const char *quality_describe(const struct quality *quality, char *text, size_t size)
{
    struct line line = {.text = text, .size = size};
    char untimed[256], damage[256];

    *text = '\0';
    if (*untimed_describe(&quality->untimed, untimed, sizeof untimed))
        add_text(&line, untimed);
    if (mp_damage_describe(&quality->damage, damage, sizeof damage))
        add_text(&line, damage);
    if (quality->only && quality->ranges)
        describe_range(&line, quality_range(quality, quality->only));
    else
        describe_losses(&line, quality);
    add_count(&line, quality->taken_over, "call whose records another CUPTI client got, at least",
              "calls whose records another CUPTI client got, at least");
    add_count(&line, quality->cupti_errors, "error of CUPTI", "errors of CUPTI");
    if (quality->forced_exits)
        add_text(&line, "the program ended before all of its records were written");
    add_count(&line, other_unknown_times(quality), "row without a begin time is left out",
              "rows without a begin time are left out");
    add_count(&line, quality->reversed_times, "row that ends before it begins is left out",
              "rows that end before they begin are left out");
    add_count(&line, quality->undefined, "row refers to a name that is not in the file",
              "rows refer to names that are not in the file");
    describe_ranges(&line, quality);
    describe_gaps(&line, quality);
    return text;
}
