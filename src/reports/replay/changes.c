/* Changes of what-if as a person writes them (NAME=0.5x, NAME=-10us, NAME=0), and which activities
 * the name of a change means.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/names.h"
#include "base/text/strings.h"
#include "reports/deps/deps.h"
#include "reports/replay/solve.h"

#include "base/poison.h"

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

#define UNITS (sizeof units / sizeof *units)

#define MAX_FACTOR 1e6
#define MAX_NS     1e15 /* eleven days */

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

/* What follows the =. */
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
        return !sign && number <= MAX_FACTOR;
    }
    change->kind = sign ? DEPS_ADD : DEPS_SET_TO;
    if (!*unit && number == 0)
        return !sign;
    for (size_t i = 0; i < UNITS; i++) {
        if (!strcmp(unit, units[i].name) && number * units[i].ns <= MAX_NS) {
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

/* ---- What a name means ---- */

/* Of a change: what people type.
 *
 *     a name as it is printed, or a pattern with * and ?
 *     a kernel's plain name, with or without its scopes: gemm, ns::gemm
 *     memcpy HtoD for [CUDA memcpy HtoD]
 *     kernel, memcpy, memset, wait: all of a kind
 *     launch: calls that launch work, and the latency from them to it
 *     launch_latency, host, gap, dependency, return, recording: the parts of the path
 *     rank1: before any of these: of that rank only; in a job
 */
#define PLAIN_BYTES 1024

static const struct {
    const char *name;
    enum deps_part part;
} part_names[] = {
    {"launch_latency", DEPS_LAUNCH_LATENCY},
    {"host", DEPS_HOST_CODE},
    {"gap", DEPS_STREAM_GAP},
    {"dependency", DEPS_DEPENDENCY_LATENCY},
    {"return", DEPS_RETURN},
    {"recording", DEPS_RECORDING},
};

#define PART_NAMES (sizeof part_names / sizeof *part_names)

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

const char *deps_changes_word(size_t index)
{
    return index < PART_NAMES ? part_names[index].name : NULL;
}

static bool fits(const char *pattern, const char *name)
{
    return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

static bool matches_name(const char *pattern, const char *name)
{
    static const char prefix[] = "[CUDA ";
    char plain[PLAIN_BYTES];

    if (fits(pattern, name))
        return true;
    if (mp_text_starts_with(name, prefix)) {
        mp_text_copy(plain, sizeof plain, name + sizeof prefix - 1);
        plain[strlen(plain) - 1] = '\0'; /* the bracket */
        return fits(pattern, plain);
    }
    mp_plain_name(name, true, plain, sizeof plain);
    if (fits(pattern, plain))
        return true;
    mp_plain_name(name, false, plain, sizeof plain);
    return fits(pattern, plain);
}

/* ---- Ranks ---- */

/* What a change is for: of a job one rank, or all of them. */
struct target {
    const char *pattern; /* without its rank */
    bool one;            /* only `rank` */
    uint32_t rank;
};

static const char rank_prefix[] = "rank";

/* What follows "rank1:", or NULL. */
static const char *behind_rank(const char *text, uint32_t *rank)
{
    const char *number = text + sizeof rank_prefix - 1;

    if (!mp_text_starts_with(text, rank_prefix))
        return NULL;
    size_t digits = strspn(number, "0123456789");
    if (!digits || number[digits] != ':')
        return NULL;
    *rank = (uint32_t)strtoul(number, NULL, 10);
    return number + digits + 1;
}

static struct target target_of(const struct deps *deps, const struct deps_change *change)
{
    struct target target = {.pattern = change->pattern};
    const char *behind = deps->ranks ? behind_rank(change->pattern, &target.rank) : NULL;

    target.one = behind;
    if (behind)
        target.pattern = behind;
    return target;
}

/* Whether the target is for this name; *plain is the name without its rank. */
static bool is_name_of(const struct deps *deps, const struct target *target, uint32_t name,
                       const char **plain)
{
    uint32_t rank = 0;

    *plain = mp_intern_get(&deps->names, name, NULL);
    const char *behind = deps->ranks ? behind_rank(*plain, &rank) : NULL;
    if (behind)
        *plain = behind;
    return !target->one || (behind && rank == target->rank);
}

/* ---- All of a kind ---- */

static bool is_of_kind(const char *word, const struct deps_activity *activity)
{
    if (!strcmp(word, "kernel"))
        return activity->kind == DEPS_KERNEL || activity->kind == DEPS_TRANSFER;
    if (!strcmp(word, "memcpy"))
        return activity->kind == DEPS_COPY;
    if (!strcmp(word, "memset"))
        return activity->kind == DEPS_SET;
    return !strcmp(word, "wait") &&
           (activity->kind == DEPS_WAIT ||
            (activity->kind == DEPS_CALL && activity->flags & DEPS_SYNCHRONISES));
}

/* Notes the change for each name of which an activity is of the kind; whether there is any. */
static bool each_of_kind(const struct deps *deps, const struct target *target,
                         const struct deps_change *change, const struct deps_change **by_name)
{
    bool any = false;

    for (uint32_t i = 0; i < deps->count; i++) {
        const char *plain;

        if (!is_of_kind(target->pattern, &deps->activities[i]) ||
            !is_name_of(deps, target, deps->activities[i].name, &plain))
            continue;
        any = true;
        if (by_name)
            by_name[deps->activities[i].name] = change;
    }
    return any;
}

/* ---- A change ---- */

static size_t processes_of(const struct deps *deps)
{
    return deps->process_count ? deps->process_count : 1;
}

/* Notes the change of a part; whether any process is meant. */
static bool change_part(const struct deps *deps, const struct target *target, enum deps_part part,
                        const struct deps_change *change, const struct deps_change **by_part)
{
    bool any = false;

    for (size_t i = 0; i < processes_of(deps); i++) {
        if (target->one && deps->ranks[i] != target->rank)
            continue;
        any = true;
        if (by_part)
            by_part[i * DEPS_PARTS + part] = change;
    }
    return any;
}

/* Notes the change for each name of which a call launches work, and for the latency to that work;
 * whether there is any. */
static bool change_launches(const struct deps *deps, const struct target *target,
                            const struct deps_change *change, const struct deps_change **by_name,
                            const struct deps_change **by_part)
{
    bool any = false;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint32_t launch = deps->activities[i].launch;
        const char *plain;

        if (launch == DEPS_NONE || !is_name_of(deps, target, deps->activities[launch].name, &plain))
            continue;
        any = true;
        if (by_name)
            by_name[deps->activities[launch].name] = change;
    }
    return any && change_part(deps, target, DEPS_LAUNCH_LATENCY, change, by_part);
}

/* Notes what the change means; by_name and by_part may be NULL. Whether it means anything. A name
 * comes before a kind of the same name, so that a kernel may be called `kernel`. */
static bool match_change(const struct deps *deps, const struct deps_change *change,
                         const struct deps_change **by_name, const struct deps_change **by_part)
{
    struct target target = target_of(deps, change);
    enum deps_part part;
    bool any = false;

    if (matches_part(target.pattern, &part))
        return (part != DEPS_RECORDING || deps->recording.before) &&
               change_part(deps, &target, part, change, by_part);
    for (uint32_t name = 1; name <= deps->names.count; name++) {
        const char *plain;

        if (!is_name_of(deps, &target, name, &plain) || !matches_name(target.pattern, plain))
            continue;
        any = true;
        if (by_name)
            by_name[name] = change;
    }
    if (!any && !strcmp(target.pattern, "launch"))
        return change_launches(deps, &target, change, by_name, by_part);
    return any || each_of_kind(deps, &target, change, by_name);
}

enum mp_status deps_resolve(const struct deps *deps, const struct deps_changes *changes,
                            struct deps_resolved *resolved)
{
    *resolved = (struct deps_resolved){
        .by_name = calloc((size_t)deps->names.count + 1, sizeof(const struct deps_change *)),
        .by_part = calloc(processes_of(deps) * DEPS_PARTS, sizeof(const struct deps_change *)),
    };
    if (!resolved->by_name || !resolved->by_part) {
        deps_resolved_free(resolved);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; changes && i < changes->count; i++)
        match_change(deps, &changes->items[i], resolved->by_name, resolved->by_part);
    return MP_OK;
}

void deps_resolved_free(struct deps_resolved *resolved)
{
    free(resolved->by_name);
    free(resolved->by_part);
    *resolved = (struct deps_resolved){.by_name = NULL};
}

const struct deps_change *deps_changes_unmatched(const struct deps_changes *changes,
                                                 const struct deps *deps)
{
    for (size_t i = 0; i < changes->count; i++) {
        if (!match_change(deps, &changes->items[i], NULL, NULL))
            return &changes->items[i];
    }
    return NULL;
}
