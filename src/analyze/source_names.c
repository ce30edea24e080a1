#include "analyze/source_names.h"

#include <string.h>

#include "base/kernel_name.h"

#include "base/poison.h"

#define SHORT_BYTES 256 /* longer ones are cut */

void source_names_init(struct source_names *names, const struct mp_trace *trace)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        dense_init(&names->memos[i], sizeof(uint32_t), definitions_limit(trace));
}

static enum mp_status make_name(struct source_names *names, const struct source *source,
                                uint64_t id, uint32_t *name)
{
    char buffer[NAMES_BYTES];
    const char *text = source->name(names->definitions, names->style, id, buffer);

    if (!text) {
        text = source->unnamed;
        names->quality->undefined++;
    }
    *name = mp_intern_add(names->names, text, source_name_length(source, text));
    return *name ? MP_OK : MP_ERR_MEMORY;
}

enum mp_status source_names_find(struct source_names *names, enum source_index source, uint64_t id,
                                 uint32_t *name)
{
    struct dense *memos = &names->memos[source];
    const uint32_t *known = dense_at(memos, id);
    enum mp_status status;

    if (__builtin_expect(known && *known, 1)) {
        *name = *known;
        return MP_OK;
    }
    MP_TRY(make_name(names, &sources[source], id, name));
    status = dense_reach(memos, id);
    if (status == MP_OK)
        *(uint32_t *)dense_at(memos, id) = *name;
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

enum mp_status source_names_short(struct source_names *names, uint32_t *shorts)
{
    const struct dense *memo = &names->memos[SOURCE_KERNEL];
    char text[SHORT_BYTES];

    for (size_t id = 0; id < memo->count; id++) {
        uint32_t name = *(const uint32_t *)dense_at(memo, id);
        const char *kernel = definitions_kernel(names->definitions, id, NAMES_MANGLED);

        if (!name || !kernel)
            continue;
        kernel_plain_name(kernel, false, text, sizeof text);
        shorts[name] = mp_intern_add(names->names, text, strlen(text));
        if (!shorts[name])
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

void source_names_free(struct source_names *names)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        dense_free(&names->memos[i]);
}
