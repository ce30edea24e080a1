/* Texts by number, as nsys's tables refer to them. A text is looked up once for each process. */
#include <string.h>

#include "base/data/reserve.h"
#include "export/nsys/build.h"
#include "profile/common/source_names.h"

#include "base/poison.h"

enum mp_status nsys_string(struct nsys *nsys, const char *text, size_t bytes, uint32_t *id)
{
    uint32_t before = nsys->strings.count;

    *id = mp_intern_add(&nsys->strings, text, bytes);
    if (!*id)
        return MP_ERR_MEMORY;
    if (*id <= before)
        return MP_OK;
    return tables_put(nsys->tables, NSYS_STRINGS,
                      (struct tables_cell[]){TABLES_NUMBER(*id), TABLES_WORDS(text, bytes)});
}

static enum mp_status known(struct nsys *nsys, const struct export_text *text,
                            struct nsys_text **found)
{
    size_t before = nsys->text_capacity;

    while (text->id >= nsys->text_capacity)
        MP_TRY(mp_reserve((void **)&nsys->texts, nsys->text_capacity, &nsys->text_capacity,
                          sizeof *nsys->texts));
    if (nsys->text_capacity > before)
        memset(nsys->texts + before, 0, (nsys->text_capacity - before) * sizeof *nsys->texts);
    *found = &nsys->texts[text->id];
    return MP_OK;
}

enum mp_status nsys_text_id(struct nsys *nsys, const struct export_text *text, uint32_t *id)
{
    struct nsys_text *found;

    MP_TRY(known(nsys, text, &found));
    if (!found->id)
        MP_TRY(nsys_string(nsys, text->text, text->bytes, &found->id));
    *id = found->id;
    return MP_OK;
}

enum mp_status nsys_short_id(struct nsys *nsys, const struct export_text *text, uint32_t *id)
{
    struct nsys_text *found;
    const char *name = text->text;
    size_t bytes = 0;

    MP_TRY(known(nsys, text, &found));
    if (!found->short_id) {
        if (*name != '[') /* `[unnamed kernel]` */
            name = source_last_part(text->text, &bytes);
        MP_TRY(nsys_string(nsys, bytes ? name : text->text, bytes ? bytes : text->bytes,
                           &found->short_id));
    }
    *id = found->short_id;
    return MP_OK;
}
