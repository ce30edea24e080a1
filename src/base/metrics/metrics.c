/* The formulas of metrics, and nvprof's metrics and events as a table. */
#include "base/metrics/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

/* ---- Expressions ----
 *
 * Parses and computes the formula of a metric. The parser keeps a metric as one quotient of two
 * sums, because only this form can be summed over kernels before it is divided.
 */

#define DEEPEST        8  /* nested parentheses */
#define LONGEST_SHOWN  60 /* bytes of a text in a complaint */
#define LONGEST_NUMBER 24
#define MAX_LITERAL    1e15

/* What a part of an expression is: a number, a sum of inputs, or a quotient of two. */
enum shape { SHAPE_NUMBER, SHAPE_SUM, SHAPE_QUOTIENT };

struct part {
    enum shape shape;
    double number;
    struct metric_sum above;
    struct metric_sum below; /* SHAPE_QUOTIENT */
};

struct parser {
    const char *text;
    const char *at;
    struct metric_expression *expression;
    struct mp_error *error;
    unsigned depth;
};

static enum mp_status fail(const struct parser *parser, const char *what)
{
    return mp_error_set(parser->error, MP_ERR_ARGUMENT,
                        "%s at character %zu of the expression '%.*s'", what,
                        (size_t)(parser->at - parser->text) + 1, LONGEST_SHOWN, parser->text);
}

static void skip_spaces(struct parser *parser)
{
    while (*parser->at == ' ' || *parser->at == '\t')
        parser->at++;
}

/* Whether the next character is `wanted`; if so, passes it. */
static bool expression_take(struct parser *parser, char wanted)
{
    skip_spaces(parser);
    if (*parser->at != wanted)
        return false;
    parser->at++;
    return true;
}

/* ---- Names and numbers ---- */

static bool is_of_name(char character)
{
    return isalnum((unsigned char)character) || character == '_' || character == '.';
}

/* The index of a name among the inputs; adds the name if it is new. */
static enum mp_status find_input(struct parser *parser, size_t bytes, size_t *index)
{
    struct metric_expression *expression = parser->expression;
    size_t i;

    if (bytes >= METRIC_NAME_BYTES)
        return mp_error_set(parser->error, MP_ERR_LIMIT, "a metric's name has over %d characters",
                            METRIC_NAME_BYTES - 1);
    for (i = 0; i < expression->input_count; i++) {
        if (!strncmp(expression->names[i], parser->at, bytes) && !expression->names[i][bytes])
            break;
    }
    if (i == METRIC_MAX_INPUTS)
        return mp_error_set(parser->error, MP_ERR_LIMIT, "an expression is made of over %d metrics",
                            METRIC_MAX_INPUTS);
    if (i == expression->input_count) {
        memcpy(expression->names[i], parser->at, bytes);
        expression->names[i][bytes] = '\0';
        expression->input_count++;
    }
    *index = i;
    return MP_OK;
}

static enum mp_status parse_name(struct parser *parser, struct part *part)
{
    size_t bytes = 0;
    size_t index = 0;

    while (is_of_name(parser->at[bytes]))
        bytes++;
    MP_TRY(find_input(parser, bytes, &index));
    parser->at += bytes;
    *part = (struct part){.shape = SHAPE_SUM};
    part->above.coefficients[index] = 1;
    return MP_OK;
}

/* Digits with at most one point. strtod would read `1e5`, `0x` and `inf` too, and a comma in some
 * locales. */
static enum mp_status parse_number(struct parser *parser, struct part *part)
{
    double value = 0;
    double place = 0;
    size_t bytes = 0;

    for (; isdigit((unsigned char)parser->at[bytes]) || parser->at[bytes] == '.'; bytes++) {
        if (parser->at[bytes] == '.') {
            if (place != 0)
                return fail(parser, "a second point in the number");
            place = 1;
            continue;
        }
        value = value * 10 + (parser->at[bytes] - '0');
        place *= 10;
    }
    if (bytes > LONGEST_NUMBER || value > MAX_LITERAL || is_of_name(parser->at[bytes]))
        return fail(parser, "not a number");
    parser->at += bytes;
    *part = (struct part){.shape = SHAPE_NUMBER, .number = place > 1 ? value / place : value};
    return MP_OK;
}

/* ---- Arithmetic on parts ---- */

static void scale(struct part *part, double factor)
{
    for (size_t i = 0; i < METRIC_MAX_INPUTS; i++)
        part->above.coefficients[i] *= factor;
}

static enum mp_status multiply(const struct parser *parser, struct part *left,
                               const struct part *right)
{
    double factor;

    if (left->shape == SHAPE_NUMBER && right->shape == SHAPE_NUMBER) {
        left->number *= right->number;
        return MP_OK;
    }
    if (left->shape == SHAPE_NUMBER) {
        factor = left->number;
        *left = *right;
        scale(left, factor);
        return MP_OK;
    }
    if (right->shape != SHAPE_NUMBER)
        return fail(parser, "one side of a product has to be a number, before what stands");
    scale(left, right->number);
    return MP_OK;
}

static enum mp_status divide(const struct parser *parser, struct part *left,
                             const struct part *right)
{
    if (right->shape == SHAPE_NUMBER) {
        if (right->number == 0)
            return fail(parser, "a division by 0 before what stands");
        if (left->shape == SHAPE_NUMBER)
            left->number /= right->number;
        else
            scale(left, 1 / right->number);
        return MP_OK;
    }
    if (left->shape != SHAPE_SUM || right->shape != SHAPE_SUM)
        return fail(parser, "only a sum can be divided by a sum, before what stands");
    left->shape = SHAPE_QUOTIENT;
    left->below = right->above;
    return MP_OK;
}

static enum mp_status expression_add(const struct parser *parser, struct part *left,
                                     const struct part *right, double sign)
{
    if (left->shape != SHAPE_SUM || right->shape != SHAPE_SUM)
        return fail(parser, "only metrics times numbers can be added, before what stands");
    for (size_t i = 0; i < METRIC_MAX_INPUTS; i++)
        left->above.coefficients[i] += sign * right->above.coefficients[i];
    return MP_OK;
}

/* ---- The grammar ---- */

static enum mp_status parse_sum(struct parser *parser, struct part *part);

static enum mp_status parse_primary(struct parser *parser, struct part *part)
{
    skip_spaces(parser);
    if (expression_take(parser, '(')) {
        if (++parser->depth > DEEPEST)
            return fail(parser, "too many parentheses");
        MP_TRY(parse_sum(parser, part));
        parser->depth--;
        return expression_take(parser, ')') ? MP_OK : fail(parser, "a ')' is missing");
    }
    if (isdigit((unsigned char)*parser->at))
        return parse_number(parser, part);
    if (isalpha((unsigned char)*parser->at))
        return parse_name(parser, part);
    return fail(parser, "a metric's name or a number is missing");
}

static enum mp_status parse_term(struct parser *parser, struct part *part)
{
    struct part next = {.shape = SHAPE_NUMBER};

    MP_TRY(parse_primary(parser, part));
    for (;;) {
        if (expression_take(parser, '*')) {
            MP_TRY(parse_primary(parser, &next));
            MP_TRY(multiply(parser, part, &next));
        } else if (expression_take(parser, '/')) {
            MP_TRY(parse_primary(parser, &next));
            MP_TRY(divide(parser, part, &next));
        } else {
            return MP_OK;
        }
    }
}

static enum mp_status parse_sum(struct parser *parser, struct part *part)
{
    struct part next = {.shape = SHAPE_NUMBER};

    MP_TRY(parse_term(parser, part));
    for (;;) {
        if (expression_take(parser, '+')) {
            MP_TRY(parse_term(parser, &next));
            MP_TRY(expression_add(parser, part, &next, 1));
        } else if (expression_take(parser, '-')) {
            MP_TRY(parse_term(parser, &next));
            MP_TRY(expression_add(parser, part, &next, -1));
        } else {
            return MP_OK;
        }
    }
}

enum mp_status metric_expression_parse(const char *text, struct metric_expression *expression,
                                       struct mp_error *error)
{
    struct parser parser = {.text = text, .at = text, .expression = expression, .error = error};
    struct part whole = {.shape = SHAPE_NUMBER};

    expression->input_count = 0;
    MP_TRY(parse_sum(&parser, &whole));
    skip_spaces(&parser);
    if (*parser.at)
        return fail(&parser, "an operator is missing");
    if (whole.shape == SHAPE_NUMBER)
        return fail(&parser, "there is no metric");
    expression->above = whole.above;
    expression->below = whole.below;
    expression->divided = whole.shape == SHAPE_QUOTIENT;
    return MP_OK;
}

/* ---- Values ---- */

size_t metric_expression_inputs(const struct metric_expression *expression, const char **names)
{
    for (size_t i = 0; names && i < expression->input_count; i++)
        names[i] = expression->names[i];
    return expression->input_count;
}

static double sum_of(const struct metric_expression *expression, const struct metric_sum *sum,
                     const double *inputs)
{
    double value = 0;

    for (size_t i = 0; i < expression->input_count; i++)
        value += sum->coefficients[i] * inputs[i];
    return value;
}

double metric_expression_value(const struct metric_expression *expression, const double *inputs)
{
    double value = sum_of(expression, &expression->above, inputs);

    if (expression->divided)
        value /= sum_of(expression, &expression->below, inputs);
    return isfinite(value) ? value : (double)NAN;
}

/* ---- The table ----
 *
 * A name that is none of nvprof's counts as one of CUPTI's own.
 */

/* The initialisers rely on this: an entry names each candidate as a separate struct. */
#define EXACT(expression)                                                                          \
    {                                                                                              \
        expression, NULL                                                                           \
    }
#define INSTEAD(expression, note)                                                                  \
    {                                                                                              \
        expression, note                                                                           \
    }
#define NOTHING                                                                                    \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }
#define ENTRY(kind_, name_, unit_, description, ...)                                               \
    {                                                                                              \
        .name = #name_, .kind = METRIC_KIND_##kind_, .unit = METRIC_UNIT_##unit_, .candidates = {  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define METRIC(...) ENTRY(METRIC, __VA_ARGS__),
#define EVENT(...)
static const struct metric_entry metrics[] = {
#include "base/metrics/metrics.def"
};

#define METRIC(...)
#define EVENT(...) ENTRY(EVENT, __VA_ARGS__),
static const struct metric_entry events[] = {
#include "base/metrics/metrics.def"
};

/* Their descriptions, in the same order; linked only where metric_description is called. */
#define METRIC(name, unit, description, ...) description,
#define EVENT(...)
static const char *const metric_words[] = {
#include "base/metrics/metrics.def"
};

#define METRIC(...)
#define EVENT(name, unit, description, ...) description,
static const char *const event_words[] = {
#include "base/metrics/metrics.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* ---- Entries ---- */

const struct metric_entry *metric_entries(enum metric_kind kind, size_t *count)
{
    switch (kind) {
    case METRIC_KIND_METRIC:
        *count = COUNT_OF(metrics);
        return metrics;
    case METRIC_KIND_EVENT:
        *count = COUNT_OF(events);
        return events;
    case METRIC_KIND_RAW:
        break;
    }
    *count = 0;
    return NULL;
}

static int compare_name(const void *key, const void *item)
{
    return strcmp(key, ((const struct metric_entry *)item)->name);
}

const struct metric_entry *metric_find_of(enum metric_kind kind, const char *name)
{
    size_t count;
    const struct metric_entry *entries = metric_entries(kind, &count);

    return entries ? bsearch(name, entries, count, sizeof(*entries), compare_name) : NULL;
}

const struct metric_entry *metric_find(const char *name)
{
    const struct metric_entry *found = metric_find_of(METRIC_KIND_METRIC, name);

    return found ? found : metric_find_of(METRIC_KIND_EVENT, name);
}

const char *metric_description(enum metric_kind kind, const char *name)
{
    size_t count;
    const struct metric_entry *entries = metric_entries(kind, &count);
    const struct metric_entry *found = metric_find_of(kind, name);

    if (!found)
        return name;
    return (kind == METRIC_KIND_METRIC ? metric_words : event_words)[found - entries];
}

/* ---- CUPTI's own names ---- */

bool metric_is_raw(const char *name)
{
    const char *mark = strstr(name, "__");

    /* The name is also parsed as an expression, which has to be one name:
     * TPC.TriageCompute.sm__cycles_active.avg is one. */
    return mark && mark > name && mark[2] && strlen(name) < METRIC_NAME_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
               strlen(name) &&
           strspn(name, "0123456789_.") == 0;
}

enum metric_unit metric_raw_unit(const char *name)
{
    /* `unit__bytes_read.sum` counts bytes, `unit__average_bytes_per_sector.ratio` does not. */
    const char *counter = strstr(name, "__");
    bool bytes = counter && (strstr(counter, "__bytes") || strstr(counter, "_bytes"));

    if (mp_text_ends_with(name, ".pct") || strstr(name, ".pct_of_peak"))
        return METRIC_UNIT_PERCENT;
    if (mp_text_ends_with(name, ".ratio") || strstr(name, ".per_cycle") ||
        mp_text_ends_with(name, ".max_rate"))
        return METRIC_UNIT_RATIO;
    if (mp_text_ends_with(name, ".per_second"))
        return bytes ? METRIC_UNIT_BYTES_PER_SECOND : METRIC_UNIT_PER_SECOND;
    if (counter && strstr(counter, "__time_duration"))
        return METRIC_UNIT_NANOSECONDS;
    return bytes ? METRIC_UNIT_BYTES : METRIC_UNIT_COUNT;
}

bool metric_look_up(const char *name, struct metric_entry *entry)
{
    const struct metric_entry *found = metric_find(name);

    if (found) {
        *entry = *found;
        return true;
    }
    if (!metric_is_raw(name))
        return false;
    *entry = (struct metric_entry){
        .name = name,
        .kind = METRIC_KIND_RAW,
        .unit = metric_raw_unit(name),
        .candidates = {{name, NULL}},
    };
    return true;
}

/* ---- The nearest name ---- */

const char *metric_suggest(const char *name)
{
    struct mp_meant meant = {.typed = name};

    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        mp_meant_offer(&meant, metrics[i].name);
    for (size_t i = 0; i < COUNT_OF(events); i++)
        mp_meant_offer(&meant, events[i].name);
    return *name ? mp_meant_name(&meant) : NULL;
}

/* ---- Lists ---- */

void metric_names_begin(struct metric_names *names, const char *list)
{
    *names = (struct metric_names){.list = list, .cursor = list};
}

static bool item_is(const char *item, size_t bytes, const char *word)
{
    return strlen(word) == bytes && !memcmp(item, word, bytes);
}

/* The kind of entries that an item of a list stands for; METRIC_KIND_RAW when it is a name. */
static enum metric_kind group_of(const char *item, size_t bytes)
{
    if (item_is(item, bytes, "all"))
        return METRIC_KIND_METRIC;
    return item_is(item, bytes, "events") ? METRIC_KIND_EVENT : METRIC_KIND_RAW;
}

static void copy_name(char name[METRIC_NAME_BYTES], const char *item, size_t bytes)
{
    if (bytes >= METRIC_NAME_BYTES)
        bytes = METRIC_NAME_BYTES - 1;
    memcpy(name, item, bytes);
    name[bytes] = '\0';
}

/* Whether the list had `name` before the item that begins at `end`. */
static bool came_before(const struct metric_names *names, const char *end, const char *name)
{
    const char *cursor = names->list;
    const char *item;
    char other[METRIC_NAME_BYTES];
    size_t bytes;

    while (mp_text_next_item(&cursor, &item, &bytes) && item < end) {
        enum metric_kind kind = group_of(item, bytes);

        if (metric_find_of(kind, name))
            return true;
        copy_name(other, item, bytes);
        if (kind == METRIC_KIND_RAW && !strcmp(other, name))
            return true;
    }
    return false;
}

/* The next entry of the group that the walk is in. */
static bool next_of_group(struct metric_names *names, char name[METRIC_NAME_BYTES])
{
    size_t count;
    const struct metric_entry *entries = metric_entries(names->kind, &count);

    while (names->group && names->position < count) {
        const struct metric_entry *entry = &entries[names->position++];

        if (came_before(names, names->group, entry->name))
            continue;
        mp_text_copy(name, METRIC_NAME_BYTES, entry->name);
        return true;
    }
    names->group = NULL;
    return false;
}

bool metric_names_next(struct metric_names *names, char name[METRIC_NAME_BYTES])
{
    const char *item;
    size_t bytes;

    if (next_of_group(names, name))
        return true;
    while (mp_text_next_item(&names->cursor, &item, &bytes)) {
        enum metric_kind kind = group_of(item, bytes);

        if (kind != METRIC_KIND_RAW) {
            names->kind = kind;
            names->group = item;
            names->position = 0;
            if (next_of_group(names, name))
                return true;
            continue;
        }
        copy_name(name, item, bytes);
        if (bytes && !came_before(names, item, name))
            return true;
    }
    return false;
}
