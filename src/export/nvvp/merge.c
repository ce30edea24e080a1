/* Merges the rows of several tables of an .nvvp file by time. The row with the earliest time goes
 * next; a table without times is read in the file's order.
 */
#include "export/nvvp/merge.h"

#include "base/poison.h"

#define MAX_SOURCES 32

struct merge {
    struct nvvp_reader *reader;
    struct nvvp_source *live[MAX_SOURCES]; /* those that are not at their end */
    size_t count;
    enum mp_status (*read)(void *context, struct nvvp_source *);
    void *context;
};

static enum mp_status merge_advance(struct merge *merge, struct nvvp_source *source)
{
    enum mp_status status = nvvp_next_row(merge->reader, source->statement, &source->rows);

    source->at_end = status == MP_END;
    if (source->at_end)
        return MP_OK;
    return status == MP_OK ? merge->read(merge->context, source) : status;
}

static struct nvvp_source *earliest(struct merge *merge)
{
    struct nvvp_source *first = NULL;

    for (size_t i = 0; i < merge->count; i++) {
        while (i < merge->count && merge->live[i]->at_end)
            merge->live[i] = merge->live[--merge->count];
        if (i < merge->count && (!first || merge->live[i]->time < first->time))
            first = merge->live[i];
    }
    return first;
}

static enum mp_status merge_run(struct merge *merge,
                                enum mp_status (*take)(void *context, struct nvvp_source *))
{
    struct nvvp_source *source;

    for (size_t i = 0; i < merge->count; i++)
        MP_TRY(merge_advance(merge, merge->live[i]));
    while ((source = earliest(merge))) {
        MP_TRY(take(merge->context, source));
        MP_TRY(nvvp_check_writer(merge->reader));
        MP_TRY(merge_advance(merge, source));
    }
    return MP_OK;
}

enum mp_status nvvp_merge(struct nvvp_reader *reader, void *sources, size_t count, size_t bytes,
                          enum mp_status (*read)(void *context, struct nvvp_source *),
                          enum mp_status (*take)(void *context, struct nvvp_source *),
                          void *context)
{
    struct merge merge = {.reader = reader, .read = read, .context = context};
    enum mp_status status;

    for (size_t i = 0; i < count && i < MAX_SOURCES; i++)
        merge.live[merge.count++] = (struct nvvp_source *)(void *)((char *)sources + i * bytes);
    status = merge_run(&merge, take);
    for (size_t i = 0; i < count; i++) {
        struct nvvp_source *source = (struct nvvp_source *)(void *)((char *)sources + i * bytes);

        sqlite3_finalize(source->statement);
        source->statement = NULL;
    }
    return status;
}
