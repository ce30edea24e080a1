/* Counts what is in a trace file from the headers of its chunks. Only the small tables (ranges,
 * quality) and one column of `collective` are decoded, so it is quick for large files.
 */
#include "reports/summary/contents.h"

#include <stdlib.h>
#include <string.h>

#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

static void add_chunk(struct table_contents *contents, const struct mp_chunk *chunk)
{
    contents->rows += chunk->rows;
    contents->chunks++;
    contents->bytes += chunk->file_bytes;
    contents->raw_bytes += chunk->raw_bytes;
}

static void add_times(struct contents *contents, const struct mp_chunk *chunk)
{
    if (chunk->first_time && (!contents->first_time || chunk->first_time < contents->first_time))
        contents->first_time = chunk->first_time;
    if (chunk->last_time > contents->last_time)
        contents->last_time = chunk->last_time;
}

static void take_chunk(struct contents *contents, const struct mp_chunk *chunk)
{
    if (!chunk->table)
        return;
    size_t count;
    size_t index = (size_t)(chunk->table - mp_tables(&count));

    add_chunk(&contents->tables[index], chunk);
    add_chunk(&contents->total, chunk);
    if (chunk->table->kind == MP_TABLE_EVENT) {
        contents->records += chunk->rows;
        add_times(contents, chunk);
    }
}

static enum mp_status count_chunks(struct contents *contents, struct mp_trace *trace,
                                   struct mp_error *error)
{
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    enum mp_status status;

    MP_TRY(mp_cursor_open(trace, &cursor, error));
    while ((status = mp_cursor_next_chunk(cursor, &chunk, true)) == MP_OK)
        take_chunk(contents, &chunk);
    quality_finish(&contents->quality, trace, cursor, &contents->definitions);
    mp_cursor_close(cursor);
    if (status == MP_END)
        return quality_examine(&contents->quality, trace, error);
    return mp_error_set(error, status, "cannot read the trace: %s", mp_status_name(status));
}

static bool has_kernel_of_nccl(const struct mp_batch *batch)
{
    static const char *const parts[] = {"ncclDevKernel", "ncclKernel"};
    const size_t length = batch->rows && batch->text ? batch->text_end[batch->rows - 1] : 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (length && memmem(batch->text, length, parts[i], strlen(parts[i])))
            return true;
    return false;
}

static enum mp_status take_strings(void *context, const struct mp_batch *batch)
{
    struct nccl_sources *sources = &((struct contents *)context)->nccl_sources;

    sources->kernels = sources->kernels || has_kernel_of_nccl(batch);
    return MP_OK;
}

static enum mp_status take_collectives(void *context, const struct mp_batch *batch)
{
    const struct mp_collective_columns collective = mp_collective_columns(batch->columns);
    struct nccl_sources *sources = &((struct contents *)context)->nccl_sources;

    for (uint32_t row = 0; row < batch->rows; row++) {
        sources->by_plugin += collective.source[row] == MP_collective_source_plugin;
        sources->by_nvtx += collective.source[row] == MP_collective_source_nvtx;
        sources->by_name += collective.source[row] == MP_collective_source_name;
    }
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_string, MP_MASK(string, id, text), .take = take_strings},
    {MP_TABLE_collective, MP_MASK(collective, source), .take = take_collectives},
};

/* Capture ranges, quality counters and the texts of their names. */
static enum mp_status read_notes(struct contents *contents, struct mp_trace *trace,
                                 struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the trace",
        .context = contents,
        READING_TABLES(tables),
        .definitions = &contents->definitions,
        .kept = DEFINITIONS_TEXTS,
        .ranges = &contents->ranges,
        .quality = &contents->quality,
        .unfinished = true,
    };

    return reading_run(&reading, error);
}

enum mp_status contents_build(struct mp_trace *trace, struct contents *contents,
                              struct mp_error *error)
{
    enum mp_status status;

    *contents = (struct contents){.bytes = mp_trace_bytes(trace)};
    mp_tables(&contents->table_count);
    definitions_init(&contents->definitions, trace);
    quality_init(&contents->quality, trace);
    ranges_init(&contents->ranges, trace);
    contents->tables = calloc(contents->table_count, sizeof *contents->tables);
    if (!contents->tables)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    status = baseline_build(trace, &contents->baseline, error);
    if (!status)
        status = read_notes(contents, trace, error);
    if (!status)
        status = count_chunks(contents, trace, error);
    if (!status)
        status = running_build(trace, contents->quality.running_at_end, &contents->running, error);
    if (status)
        contents_free(contents);
    else
        contents->other_bytes = contents->bytes - contents->total.bytes;
    return status;
}

void contents_free(struct contents *contents)
{
    free(contents->tables);
    baseline_free(&contents->baseline);
    running_free(&contents->running);
    ranges_free(&contents->ranges);
    quality_free(&contents->quality);
    definitions_free(&contents->definitions);
    *contents = (struct contents){.tables = NULL};
}
