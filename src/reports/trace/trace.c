/* Prints nvprof's GPU trace and API trace: of one trace, or of several processes merged by time. */
#include "reports/trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/common/quality.h"
#include "reports/trace/records.h"

#include "base/poison.h"

/* ---- One trace ----
 *
 * Units are chosen for a whole column, as nvprof does, so the rows are measured in a separate pass
 * before they are printed.
 */

/* A table that is being printed. */
struct printing {
    const struct report_out *out;
    struct trace_rows *rows;
    struct trace_table table;
    struct json_writer json;
};

/* Chooses the columns, and their units where they have some. */
static enum mp_status begin_table(struct printing *printing, struct mp_error *error)
{
    struct trace_survey survey;

    MP_TRY(trace_survey(printing->rows, trace_needs_units(printing->out), &survey, error));
    if (printing->out->format == REPORT_JSON)
        json_begin(&printing->json, printing->out->file, 2);
    trace_table_begin(&printing->table, printing->out, &printing->json, printing->rows->present,
                      &survey);
    return MP_OK;
}

static enum mp_status print_rows(struct printing *printing, struct mp_error *error)
{
    struct trace_row row;
    enum mp_status status;

    if (!report_has_titles(printing->out))
        report_header(&printing->table.table);
    while ((status = trace_rows_next(printing->rows, &row)) == MP_OK) {
        trace_table_put(&printing->table, &row);
        if (report_failed(printing->out))
            break; /* nobody reads on; the caller sees it */
    }
    report_end(&printing->table.table);
    if (status != MP_OK && status != MP_END)
        return mp_error_set(error, status, "cannot read the records: %s", mp_status_name(status));
    trace_rows_finish(printing->rows);
    return MP_OK;
}

/* ---- Text and CSV ---- */

static void print_instead(const struct report_out *out, const struct mp_trace *trace,
                          const char *line)
{
    print_csv_prefix(out, trace);
    fputs(line, out->file);
}

/* For each group that was asked for but is not among these kinds, says that it is empty. `trace`
 * NULL: in several processes. */
static void print_empty(const struct report_out *out, const struct mp_trace *trace,
                        const struct traces_options *options, uint32_t kinds)
{
    if (options->gpu && !(kinds & TRACE_GPU))
        print_instead(out, trace, "No kernels were profiled.\n");
    if (options->api && !(kinds & TRACE_API))
        print_instead(out, trace, "No API activities were profiled.\n");
}

/* Warns of damage and doubtful rows that were found while printing and are not in the head. */
static void print_later_warning(const struct printing *printing, const char *earlier)
{
    const struct trace_rows *rows = printing->rows;
    char text[QUALITY_TEXT_BYTES];

    if (strcmp(quality_describe(rows->quality, text, sizeof text), earlier) != 0)
        print_warning(printing->out, rows->trace, rows->quality);
}

static enum mp_status print_trace_rows(struct printing *printing, struct mp_error *error)
{
    const struct report_out *out = printing->out;
    const struct trace_rows *rows = printing->rows;
    char earlier[QUALITY_TEXT_BYTES] = "";

    if (rows->options->head) {
        print_head(out, rows->trace, rows->quality, rows->options->range,
                   ranges_count(&rows->ranges));
        quality_describe(rows->quality, earlier, sizeof earlier);
    } else if (rows->options->reported) {
        quality_describe(rows->options->reported, earlier, sizeof earlier);
    }
    if (report_has_titles(out))
        print_note(out, rows->trace, "Profiling result:");
    if (rows->present)
        print_empty(out, rows->trace, rows->options, rows->present);
    MP_TRY(print_rows(printing, error));
    if (!printing->table.count)
        print_empty(out, rows->trace, rows->options, 0);
    else if (out->format == REPORT_TEXT)
        trace_print_notes(&printing->table);
    print_later_warning(printing, earlier);
    return MP_OK;
}

/* ---- JSON ---- */

static enum mp_status print_document(struct printing *printing, struct mp_error *error)
{
    struct trace_rows *rows = printing->rows;
    struct json_writer *json = &printing->json;

    json_open_object(json);
    json_head(json, rows->trace, rows->quality, &rows->definitions, rows->options->range,
              ranges_count(&rows->ranges));
    json_key_array(json, "rows");
    MP_TRY(print_rows(printing, error));
    json_close_array(json);
    json_key(json, "quality_of_rows");
    json_quality(json, rows->quality, &rows->definitions);
    json_close_document(json);
    return MP_OK;
}

/* ---- Both ---- */

enum mp_status print_traces(const struct report_out *out, struct mp_trace *trace,
                            const struct traces_options *options, struct quality *quality,
                            struct mp_error *error)
{
    struct trace_rows rows;
    struct printing printing = {.out = out, .rows = &rows};
    enum mp_status status = trace_rows_open(&rows, trace, options, quality, error);

    if (status == MP_OK)
        status = begin_table(&printing, error);
    if (status == MP_OK)
        status = out->format == REPORT_JSON ? print_document(&printing, error)
                                            : print_trace_rows(&printing, error);
    trace_rows_free(&rows);
    return status;
}

/* ---- Several processes ----
 *
 * Merges the traces of several processes. The rows of each process are in order of time, and the
 * next row of each is read ahead. A heap has the process with the earliest next row on top:
 *
 *     rank 0  ... [ 30 ] 50 70          heap  30  0   <- printed, then 50 takes its place
 *     rank 1  ... [ 40 ] 45                   40  1
 *     rank 2  ... [ 60 ]                      60  2
 */

/* A process with its next row. */
struct source {
    const struct trace_process *process;
    struct mp_trace *trace;
    struct trace_rows rows;
    struct quality quality;
    struct trace_row row; /* its start is aligned */
    char *earlier;        /* what the head said about its quality; owned; NULL: nothing */
    bool opened;          /* `rows` and `quality` are to be freed */
};

struct merging {
    const struct report_out *out;
    const struct trace_set *set;
    const struct traces_options *options;
    struct source *sources;
    uint32_t *heap; /* of indexes of sources */
    size_t heap_count;
    struct trace_table table;
    struct json_writer json;
    uint32_t present;
};

/* ---- Files ---- */

static enum mp_status open_source(struct merging *merging, size_t index, struct mp_error *error)
{
    struct source *source = &merging->sources[index];
    struct mp_error cause;
    enum mp_status status;

    source->process = &merging->set->processes[index];
    MP_TRY(mp_trace_open(source->process->path, &source->trace, error));
    source->opened = true;
    status =
        trace_rows_open(&source->rows, source->trace, merging->options, &source->quality, &cause);
    if (status != MP_OK)
        return mp_error_set(error, status, "'%.120s': %.110s", source->process->path, cause.text);
    merging->present |= source->rows.present;
    return MP_OK;
}

static enum mp_status open_all(struct merging *merging, struct mp_error *error)
{
    size_t count = merging->set->count;

    merging->sources = calloc(count, sizeof *merging->sources);
    merging->heap = calloc(count, sizeof *merging->heap);
    if (!merging->sources || !merging->heap)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        MP_TRY(open_source(merging, i, error));
    return MP_OK;
}

static void close_all(struct merging *merging)
{
    for (size_t i = 0; merging->sources && i < merging->set->count; i++) {
        struct source *source = &merging->sources[i];

        if (source->opened) {
            trace_rows_free(&source->rows);
            quality_free(&source->quality);
        }
        free(source->earlier);
        mp_trace_close(source->trace);
    }
    free(merging->sources);
    free(merging->heap);
}

/* ---- The heap ---- */

static bool is_before(const struct merging *merging, uint32_t a, uint32_t b)
{
    uint64_t time_a = merging->sources[a].row.start;
    uint64_t time_b = merging->sources[b].row.start;

    return time_a != time_b ? time_a < time_b : a < b;
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;

    *a = *b;
    *b = kept;
}

static void sift_up(struct merging *merging, size_t at)
{
    uint32_t *heap = merging->heap;

    for (; at && is_before(merging, heap[at], heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

static void sift_down(struct merging *merging)
{
    uint32_t *heap = merging->heap;
    size_t at = 0;

    for (;;) {
        size_t min = at;

        for (size_t child = 2 * at + 1; child < 2 * at + 3 && child < merging->heap_count;
             child++) {
            if (is_before(merging, heap[child], heap[min]))
                min = child;
        }
        if (min == at)
            return;
        swap(&heap[at], &heap[min]);
        at = min;
    }
}

static enum mp_status next_row(struct source *source)
{
    enum mp_status status = trace_rows_next(&source->rows, &source->row);

    if (status == MP_OK) {
        source->row.start += source->process->offset;
        source->row.process = source->process->label;
    } else if (status == MP_END) {
        trace_rows_finish(&source->rows);
    }
    return status;
}

static enum mp_status fill_heap(struct merging *merging)
{
    for (size_t i = 0; i < merging->set->count; i++) {
        enum mp_status status = next_row(&merging->sources[i]);

        if (status == MP_END)
            continue;
        MP_TRY(status);
        merging->heap[merging->heap_count] = (uint32_t)i;
        sift_up(merging, merging->heap_count++);
    }
    return MP_OK;
}

/* The row on top was printed. */
static enum mp_status advance(struct merging *merging)
{
    enum mp_status status = next_row(&merging->sources[merging->heap[0]]);

    if (status == MP_END)
        merging->heap[0] = merging->heap[--merging->heap_count];
    else
        MP_TRY(status);
    sift_down(merging);
    return MP_OK;
}

/* ---- The table ---- */

static void join_surveys(struct trace_survey *all, const struct trace_survey *one, uint64_t offset)
{
    all->peers |= one->peers;
    all->static_shared = mp_max(all->static_shared, one->static_shared);
    all->dynamic_shared = mp_max(all->dynamic_shared, one->dynamic_shared);
    if (!one->any)
        return;
    if (!all->any || one->first_start + offset < all->first_start)
        all->first_start = one->first_start + offset;
    all->last_start = mp_max(all->last_start, one->last_start + offset);
    all->duration = mp_max(all->duration, one->duration);
    all->bytes = mp_max(all->bytes, one->bytes);
    if (one->throughput > all->throughput)
        all->throughput = one->throughput;
    all->any = true;
}

static enum mp_status survey_all(struct merging *merging, struct trace_survey *survey,
                                 struct mp_error *error)
{
    bool units = trace_needs_units(merging->out);

    *survey = (struct trace_survey){.any = false};
    for (size_t i = 0; i < merging->set->count; i++) {
        struct source *source = &merging->sources[i];
        struct trace_survey one;

        MP_TRY(trace_survey(&source->rows, units, &one, error));
        join_surveys(survey, &one, source->process->offset);
    }
    return MP_OK;
}

static uint32_t label_width(const struct trace_set *set)
{
    size_t width = strlen("Process");

    for (size_t i = 0; i < set->count; i++)
        width = mp_max(width, strlen(set->processes[i].label));
    return (uint32_t)(width < REPORT_WIDEST_TEXT ? width : REPORT_WIDEST_TEXT);
}

static enum mp_status begin_merged_table(struct merging *merging, struct mp_error *error)
{
    const struct report_out *out = merging->out;
    struct trace_survey survey;

    MP_TRY(survey_all(merging, &survey, error));
    if (out->format == REPORT_JSON)
        json_begin(&merging->json, out->file, 2);
    trace_table_begin(&merging->table, out, &merging->json, merging->present | TRACE_PROCESSES,
                      &survey);
    merging->table.table.fit[0].width = label_width(merging->set);
    return MP_OK;
}

static enum mp_status print_merged_rows(struct merging *merging, struct mp_error *error)
{
    enum mp_status status = fill_heap(merging);

    if (!report_has_titles(merging->out))
        report_header(&merging->table.table);
    while (status == MP_OK && merging->heap_count && !report_failed(merging->out)) {
        trace_table_put(&merging->table, &merging->sources[merging->heap[0]].row);
        status = advance(merging);
    }
    report_end(&merging->table.table);
    if (status == MP_OK)
        return MP_OK;
    return mp_error_set(error, status, "cannot read the records: %s", mp_status_name(status));
}

/* ---- Text and CSV ---- */

static enum mp_status print_head_of_all(struct merging *merging, struct mp_error *error)
{
    const struct report_out *out = merging->out;
    char text[QUALITY_TEXT_BYTES];

    for (size_t i = 0; i < merging->set->count; i++) {
        struct source *source = &merging->sources[i];

        print_process_quality(out, source->process, &source->quality);
        source->earlier = strdup(quality_describe(&source->quality, text, sizeof text));
        if (!source->earlier)
            return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    }
    print_set_head(out, merging->set);
    print_set_clocks(out, merging->set);
    if (!report_has_titles(out))
        return MP_OK;
    if (merging->options->range)
        fprintf(out->file, "======== Capture range %" PRIu64 " of each\n", merging->options->range);
    fputs("======== Profiling result:\n", out->file);
    return MP_OK;
}

static void print_later_warnings(const struct merging *merging)
{
    char text[QUALITY_TEXT_BYTES];

    for (size_t i = 0; i < merging->set->count; i++) {
        const struct source *source = &merging->sources[i];

        if (strcmp(quality_describe(&source->quality, text, sizeof text), source->earlier) != 0)
            print_process_warning(merging->out, source->process, text);
    }
}

static enum mp_status print_merged_table(struct merging *merging, struct mp_error *error)
{
    MP_TRY(print_head_of_all(merging, error));
    if (merging->present)
        print_empty(merging->out, NULL, merging->options, merging->present);
    MP_TRY(print_merged_rows(merging, error));
    if (!merging->table.count)
        print_empty(merging->out, NULL, merging->options, 0);
    else if (merging->out->format == REPORT_TEXT)
        trace_print_notes(&merging->table);
    print_later_warnings(merging);
    return MP_OK;
}

/* ---- JSON ---- */

static enum mp_status print_merged_document(struct merging *merging, struct mp_error *error)
{
    struct json_writer *json = &merging->json;
    char text[TRACE_SET_CLOCKS_BYTES];

    json_open_object(json);
    JSON_FACTS(json, FACT("clocks", trace_set_describe_clocks(merging->set, text, sizeof text)),
               FACT_IF("range", merging->options->range, merging->options->range));
    json_key_array(json, "rows");
    MP_TRY(print_merged_rows(merging, error));
    json_close_array(json);
    json_key_array(json, "processes");
    for (size_t i = 0; i < merging->set->count; i++) {
        const struct source *source = &merging->sources[i];

        json_open_object(json);
        json_process(json, source->process);
        json_key(json, "quality");
        json_quality(json, &source->quality, &source->rows.definitions);
        json_close_object(json);
    }
    json_close_array(json);
    json_close_document(json);
    return MP_OK;
}

/* ---- Both ---- */

static bool are_whole(const struct merging *merging)
{
    for (size_t i = 0; i < merging->set->count; i++) {
        if (!quality_is_whole(&merging->sources[i].quality))
            return false;
    }
    return true;
}

enum mp_status print_traces_merged(const struct report_out *out, const struct trace_set *set,
                                   const struct traces_options *options, bool *whole,
                                   struct mp_error *error)
{
    struct merging merging = {.out = out, .set = set, .options = options};
    enum mp_status status = open_all(&merging, error);

    if (status == MP_OK)
        status = begin_merged_table(&merging, error);
    if (status == MP_OK)
        status = out->format == REPORT_JSON ? print_merged_document(&merging, error)
                                            : print_merged_table(&merging, error);
    *whole = status == MP_OK && are_whole(&merging);
    close_all(&merging);
    return status;
}
