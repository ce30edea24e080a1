/* Names of activities, each resolved once and kept by id. Short names for narrow columns are made
 * here as well: scopes, template arguments and parameters are taken off.
 */
#include "profile/common/source_names.h"

#include <stdio.h>
#include <string.h>

#include "base/text/names.h"
#include "base/text/strings.h"

#include "base/poison.h"

void source_names_init(struct source_names *names, const struct mp_trace *trace)
{
    for (size_t i = 0; i < ACTIVITY_SUMMARISED; i++)
        dense_init(&names->memos[i], sizeof(uint32_t), definitions_limit(trace));
}

static enum mp_status make_name(struct source_names *names, const struct activity_table *source,
                                uint64_t id, uint32_t *name)
{
    char buffer[NAMES_BYTES];
    const char *text = source->name(names->definitions, names->style, id, buffer);

    if (!text) {
        text = source->unnamed;
        names->quality->undefined++;
    }
    *name = mp_intern_add(names->names, text, activity_name_length(source, text));
    return *name ? MP_OK : MP_ERR_MEMORY;
}

enum mp_status source_names_find(struct source_names *names, enum activity_kind source, uint64_t id,
                                 uint32_t *name)
{
    struct dense *memos = &names->memos[source];
    const uint32_t *known = dense_at(memos, id);

    if (__builtin_expect(known && *known, 1)) {
        *name = *known;
        return MP_OK;
    }
    MP_TRY(make_name(names, &activity_tables[source], id, name));
    enum mp_status status = dense_reach(memos, id);
    if (status == MP_OK)
        *(uint32_t *)dense_at(memos, id) = *name;
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

/* Brackets in template arguments come in pairs. */
const char *source_last_part(const char *readable, size_t *length)
{
    static const char anonymous[] = "(anonymous namespace)";
    const char *part = readable;
    const char *behind = NULL; /* of its name, where template arguments begin */
    const char *at = readable;
    int depth = 0;

    for (; *at && (depth || *at != '('); at++) {
        if (!depth && (*at == ' ' || *at == ':')) {
            part = at + 1;
            behind = NULL;
            if (mp_text_starts_with(part, anonymous))
                at += sizeof anonymous - 1;
        }
        if (!depth && *at == '<' && !behind)
            behind = at;
        depth += *at == '<' || *at == '(';
        depth -= depth && (*at == '>' || *at == ')');
    }
    *length = (size_t)((behind ? behind : at) - part);
    return part;
}

/* Whether this is a template whose name alone says nothing, only its arguments do. */
static bool says_nothing(const char *name)
{
    static const char *const names[] = {"Kernel", "Kernel2", "kernel", "device_kernel"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name, names[i]))
            return true;
    }
    return false;
}

void source_short_name(const char *mangled, const char *readable, char *text, size_t size)
{
    size_t length;
    const char *part = source_last_part(readable, &length);

    kernel_plain_name(mangled, false, text, size);
    if (!strcmp(text, mangled) && length)
        snprintf(text, size, "%.*s", (int)(length < size ? length : size), part);
    if (!says_nothing(text) || part[length] != '<')
        return;
    size_t argument = strcspn(part + length + 1, "<>(,!");
    if (argument && argument < size)
        snprintf(text, size, "%.*s<%.*s>", (int)length, part, (int)argument, part + length + 1);
}

enum mp_status source_names_short(struct source_names *names, uint32_t *shorts)
{
    const struct dense *memo = &names->memos[ACTIVITY_KERNEL];
    char text[SHORT_BYTES];

    for (size_t id = 0; id < memo->count; id++) {
        uint32_t name = *(const uint32_t *)dense_at(memo, id);
        const char *mangled = definitions_kernel(names->definitions, id, NAMES_MANGLED);
        const char *readable = definitions_kernel(names->definitions, id, NAMES_READABLE);

        if (!name || !mangled || !readable)
            continue;
        source_short_name(mangled, readable, text, sizeof text);
        shorts[name] = mp_intern_add(names->names, text, strlen(text));
        if (!shorts[name])
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

void source_names_free(struct source_names *names)
{
    for (size_t i = 0; i < ACTIVITY_SUMMARISED; i++)
        dense_free(&names->memos[i]);
}
