/* Changes of what-if as a person writes them: NAME=0.5x, NAME=-10us, NAME=0. */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/deps/deps.h"
#include "analyze/replay/changes.h"
#include "base/data/reserve.h"
#include "base/text/strings.h"

#include "base/poison.h"

static const struct {
    const char *name;
    enum deps_part part;
} part_names[] = {
    {"launch", DEPS_LAUNCH_LATENCY},         {"host", DEPS_HOST_CODE}, {"gap", DEPS_STREAM_GAP},
    {"dependency", DEPS_DEPENDENCY_LATENCY}, {"return", DEPS_RETURN},
};

#define PART_NAMES (sizeof part_names / sizeof *part_names)

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

#define UNITS (sizeof units / sizeof *units)

#define GREATEST_FACTOR 1e6
#define GREATEST_NS     1e15 /* eleven days */

/* The number at the head of `text`, without exponents, hexadecimal or words; *rest is what follows.
 */
static bool read_number(const char *text, double *number, const char **rest)
{
    size_t digits = strspn(text, "0123456789.");
    char *end;

    if (!digits || !strcspn(text, "."))
        return false;
    *number = strtod(text, &end);
    *rest = end;
    return end == text + digits;
}

/* What stands behind the =. */
static bool read_value(const char *text, struct deps_change *change)
{
    char sign = *text == '-' || *text == '+' ? *text : '\0';
    const char *unit;
    double number;

    if (!read_number(text + (sign != '\0'), &number, &unit))
        return false;
    if (!strcmp(unit, "x")) {
        change->kind = DEPS_SCALE;
        change->factor = number;
        return !sign && number <= GREATEST_FACTOR;
    }
    change->kind = sign ? DEPS_ADD : DEPS_SET_TO;
    if (!*unit && number == 0)
        return !sign;
    for (size_t i = 0; i < UNITS; i++) {
        if (!strcmp(unit, units[i].name) && number * units[i].ns <= GREATEST_NS) {
            change->ns = (int64_t)llround(number * units[i].ns) * (sign == '-' ? -1 : 1);
            return true;
        }
    }
    return false;
}

enum mp_status deps_changes_add(struct deps_changes *changes, const char *text,
                                struct mp_error *error)
{
    const char *equals = strrchr(text, '=');
    struct deps_change change = {.pattern = NULL};
    size_t capacity = changes->capacity;
    enum mp_status status;

    if (!equals || equals == text || !read_value(equals + 1, &change))
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "cannot understand the change '%s': NAME=0.5x, NAME=-10us, NAME=+10us, "
                            "NAME=20us or NAME=0, units ns, us, ms, s",
                            text);
    status = mp_reserve((void **)&changes->items, changes->count, &capacity, sizeof change);
    changes->capacity = capacity;
    if (!status)
        change.pattern = strndup(text, (size_t)(equals - text));
    if (status || !change.pattern)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    changes->items[changes->count++] = change;
    return MP_OK;
}

void deps_changes_free(struct deps_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        free(changes->items[i].pattern);
    free(changes->items);
    *changes = (struct deps_changes){.items = NULL};
}

/* Whether the pattern means the activities of this name. `[CUDA memcpy HtoD]` is also
 * `memcpy HtoD`. */
static bool matches_name(const char *pattern, const char *name)
{
    static const char prefix[] = "[CUDA ";
    size_t length = strlen(name);
    char *plain;
    bool matches;

    if (!strcmp(pattern, name) || !fnmatch(pattern, name, 0))
        return true;
    if (!mp_text_starts_with(name, prefix) || name[length - 1] != ']')
        return false;
    plain = strndup(name + sizeof prefix - 1, length - sizeof prefix);
    matches = plain && !fnmatch(pattern, plain, 0);
    free(plain);
    return matches;
}

static bool matches_part(const char *pattern, enum deps_part *part)
{
    for (size_t i = 0; i < PART_NAMES; i++) {
        if (!strcmp(part_names[i].name, pattern)) {
            *part = part_names[i].part;
            return true;
        }
    }
    return false;
}

enum mp_status deps_resolve(const struct deps *deps, const struct deps_changes *changes,
                            struct deps_resolved *resolved)
{
    uint32_t names = deps->names.count + 1;

    *resolved = (struct deps_resolved){
        .by_name = calloc(names, sizeof(const struct deps_change *)),
    };
    if (!resolved->by_name)
        return MP_ERR_MEMORY;
    for (size_t i = 0; changes && i < changes->count; i++) {
        enum deps_part part;

        if (matches_part(changes->items[i].pattern, &part)) {
            resolved->by_part[part] = &changes->items[i];
            continue;
        }
        for (uint32_t name = 1; name < names; name++) {
            if (matches_name(changes->items[i].pattern, mp_intern_get(&deps->names, name, NULL)))
                resolved->by_name[name] = &changes->items[i];
        }
    }
    return MP_OK;
}

void deps_resolved_free(struct deps_resolved *resolved)
{
    free(resolved->by_name);
    *resolved = (struct deps_resolved){.by_name = NULL};
}

const struct deps_change *deps_changes_unmatched(const struct deps_changes *changes,
                                                 const struct deps *deps)
{
    for (size_t i = 0; i < changes->count; i++) {
        const char *pattern = changes->items[i].pattern;
        enum deps_part part;
        bool matched = matches_part(pattern, &part);

        for (uint32_t name = 1; name <= deps->names.count && !matched; name++)
            matched = matches_name(pattern, mp_intern_get(&deps->names, name, NULL));
        if (!matched)
            return &changes->items[i];
    }
    return NULL;
}

uint64_t deps_changed(const struct deps_change *change, uint64_t ns)
{
    double scaled;

    if (!change)
        return ns;
    switch (change->kind) {
    case DEPS_SCALE:
        scaled = (double)ns * change->factor + 0.5;
        return scaled < (double)INT64_MAX ? (uint64_t)scaled : INT64_MAX;
    case DEPS_ADD:
        return change->ns < 0 && (uint64_t)-change->ns > ns ? 0 : ns + (uint64_t)change->ns;
    case DEPS_SET_TO:
    default:
        return (uint64_t)change->ns;
    }
}
