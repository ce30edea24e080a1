/* The pass over the small tables of a trace, and the walk over the headers of all its chunks with
 * the same cursor.
 */
#include "profile/profile.h"

#include <string.h>

#include "profile/reading.h"

#include "base/poison.h"

/* ---- Chunks ---- */

static void add_chunk(struct profile_table *table, const struct mp_chunk *chunk)
{
    table->rows += chunk->rows;
    table->chunks++;
    table->bytes += chunk->file_bytes;
    table->raw_bytes += chunk->raw_bytes;
}

static void add_times(struct profile *profile, const struct mp_chunk *chunk)
{
    if (chunk->first_time && (!profile->first_time || chunk->first_time < profile->first_time))
        profile->first_time = chunk->first_time;
    if (chunk->last_time > profile->last_time)
        profile->last_time = chunk->last_time;
}

static void take_chunk(struct profile *profile, const struct mp_chunk *chunk)
{
    if (!chunk->table)
        return;
    size_t count;
    size_t index = (size_t)(chunk->table - mp_tables(&count));

    add_chunk(&profile->tables[index], chunk);
    add_chunk(&profile->total, chunk);
    if (chunk->table->kind == MP_TABLE_EVENT) {
        profile->records += chunk->rows;
        add_times(profile, chunk);
    }
}

static enum mp_status walk(void *context, struct mp_cursor *cursor)
{
    struct profile *profile = context;
    struct mp_chunk chunk;
    enum mp_status status;

    mp_cursor_rewind(cursor);
    while ((status = mp_cursor_next_chunk(cursor, &chunk, profile->quality.checked)) == MP_OK)
        take_chunk(profile, &chunk);
    return status;
}

/* ---- Rows ---- */

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
    struct nccl_sources *sources = &((struct profile *)context)->nccl_sources;

    sources->kernels = sources->kernels || has_kernel_of_nccl(batch);
    return MP_OK;
}

static enum mp_status take_collectives(void *context, const struct mp_batch *batch)
{
    const struct mp_collective_columns collective = mp_collective_columns(batch->columns);
    struct nccl_sources *sources = &((struct profile *)context)->nccl_sources;

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

enum mp_status profile_load(struct profile *profile, struct mp_trace *trace,
                            enum definitions_kept kept, struct mp_error *error)
{
    return profile_load_with(profile, trace, kept, &(struct profile_options){.with = NULL}, error);
}

enum mp_status profile_load_with(struct profile *profile, struct mp_trace *trace,
                                 enum definitions_kept kept, const struct profile_options *options,
                                 struct mp_error *error)
{
    struct quality pass = {.only = 0}; /* what the pass could not read; the walk only counts */
    const struct reading reading = {
        .trace = trace,
        .what = "the trace",
        .context = profile,
        READING_TABLES(tables),
        .definitions = &profile->definitions,
        .kept = kept,
        .shapes = kept == DEFINITIONS_ALL ? &profile->shapes : NULL,
        .ranges = &profile->ranges,
        .quality = &profile->quality,
        .joined = &pass,
        .then = walk,
        .with = options->with,
    };

    *profile = (struct profile){.trace = trace, .bytes = mp_trace_bytes(trace)};
    definitions_init(&profile->definitions, trace);
    shapes_init(&profile->shapes, trace);
    ranges_init(&profile->ranges, trace);
    quality_init(&profile->quality, trace);
    profile->quality.checked = options->check;
    enum mp_status status = reading_run(&reading, error);
    quality_join(&profile->quality, &pass.damage);
    if (status)
        profile_free(profile);
    else
        profile->other_bytes = profile->bytes - profile->total.bytes;
    return status;
}

void profile_free(struct profile *profile)
{
    quality_free(&profile->quality);
    ranges_free(&profile->ranges);
    shapes_free(&profile->shapes);
    definitions_free(&profile->definitions);
    *profile = (struct profile){.trace = NULL};
}

bool profile_has_rows(const struct profile *profile, unsigned table)
{
    size_t count;

    return profile->tables[mp_table_by_id(table) - mp_tables(&count)].rows;
}
