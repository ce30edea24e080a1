/* Changes of what-if as a person writes them: NAME=0.5x, NAME=-10us, NAME=0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "base/text/strings.h"
#include "reports/deps/deps.h"
#include "reports/replay/changes.h"

#include "base/poison.h"

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

static enum mp_status add_pattern(struct deps_changes *changes, struct deps_change change,
                                  const char *pattern, size_t length)
{
    size_t capacity = changes->capacity;
    enum mp_status status =
        mp_reserve((void **)&changes->items, changes->count, &capacity, sizeof change);

    changes->capacity = capacity;
    if (!status)
        change.pattern = strndup(pattern, length);
    if (status || !change.pattern)
        return MP_ERR_MEMORY;
    changes->items[changes->count++] = change;
    return MP_OK;
}

/* Where the first pattern of a list ends: at a comma outside of all brackets. */
static size_t first_pattern(const char *text, size_t length)
{
    int depth = 0;

    for (size_t i = 0; i < length; i++) {
        if (strchr("<([{", text[i]))
            depth++;
        else if (strchr(">)]}", text[i]))
            depth--;
        else if (text[i] == ',' && depth <= 0)
            return i;
    }
    return length;
}

enum mp_status deps_changes_add(struct deps_changes *changes, const char *text,
                                struct mp_error *error)
{
    const char *equals = strrchr(text, '=');
    struct deps_change change = {.pattern = NULL};
    enum mp_status status = MP_OK;

    if (!equals || equals == text || !read_value(equals + 1, &change))
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "cannot understand the change '%s': NAME=0.5x, NAME=-10us, NAME=+10us, "
                            "NAME=20us or NAME=0, units ns, us, ms, s",
                            text);
    while (text < equals && !status) {
        size_t length = first_pattern(text, (size_t)(equals - text));

        if (!length)
            return mp_error_set(error, MP_ERR_ARGUMENT,
                                "a name is missing before a comma in the change '%s'", text);
        status = add_pattern(changes, change, text, length);
        text += length + 1;
    }
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}

void deps_changes_free(struct deps_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        free(changes->items[i].pattern);
    free(changes->items);
    *changes = (struct deps_changes){.items = NULL};
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
