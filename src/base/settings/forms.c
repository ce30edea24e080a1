/* Reads the values of settings that are written in a special form. Each is read as a whole: a text
 * with anything more is no value.
 */
#include "base/settings/forms.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text/names.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* ---- Times ----
 *
 * Reads times as settings give them, such as "30s" and "1.5ms". Numbers are read as integers with
 * nine decimals, because strtod depends on the program's locale.
 */

#define LONGEST_NS   (UINT64_C(1) << 62)
#define FRACTION_ONE UINT64_C(1000000000) /* nine decimals */
#define SECOND_NS    UINT64_C(1000000000)
#define MAX_FACTOR   1000u

/* A number with nine digits after the point, as an integer. */
struct fixed {
    uint64_t whole;
    uint64_t fraction; /* in 1e-9 */
};

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", SECOND_NS},
    {"min", 60 * SECOND_NS},
    {"h", 3600 * SECOND_NS},
};

/* Reads the number that `text` begins with. Returns what follows it, or NULL if there is no number.
 */
static const char *parse_number(const char *text, struct fixed *number)
{
    uint64_t one = FRACTION_ONE;

    *number = (struct fixed){.whole = 0};
    if (!isdigit((unsigned char)*text))
        return NULL;
    for (; isdigit((unsigned char)*text); text++) {
        if (number->whole > LONGEST_NS / 10)
            return NULL;
        number->whole = number->whole * 10 + (uint64_t)(*text - '0');
    }
    if (*text != '.')
        return text;
    if (!isdigit((unsigned char)*++text))
        return NULL;
    for (; isdigit((unsigned char)*text); text++) {
        one /= 10;
        if (!one)
            return NULL;
        number->fraction += (uint64_t)(*text - '0') * one;
    }
    return text;
}

bool mp_duration_parse(const char *text, uint64_t *ns)
{
    struct fixed number;
    const char *unit = parse_number(text, &number);

    for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++) {
        uint64_t each = units[i].ns;

        if (!mp_text_equal(unit, units[i].name))
            continue;
        if (number.whole > LONGEST_NS / each)
            return false;
        /* The fraction is computed in two parts, so that no product overflows: each / FRACTION_ONE
         * is whole or 0. */
        *ns = number.whole * each + (each >= FRACTION_ONE ? number.fraction * (each / FRACTION_ONE)
                                                          : number.fraction * each / FRACTION_ONE);
        return true;
    }
    return false;
}

bool mp_flight_check(const char *text)
{
    uint64_t ns;

    return mp_duration_parse(text, &ns) && ns >= SECOND_NS && ns <= 3600 * SECOND_NS;
}

/* "p" and two digits. */
static bool parse_percent(const char *text, struct mp_slow_step *slow, const char **rest)
{
    if (text[0] != 'p' || !isdigit((unsigned char)text[1]) || !isdigit((unsigned char)text[2]))
        return false;
    slow->percent = (unsigned)(text[1] - '0') * 10 + (unsigned)(text[2] - '0');
    *rest = text + 3;
    return slow->percent > 0;
}

bool mp_slow_step_parse(const char *text, struct mp_slow_step *slow)
{
    struct fixed number;
    const char *rest;

    *slow = (struct mp_slow_step){.factor = 1};
    if (!parse_percent(text, slow, &rest))
        return mp_duration_parse(text, &slow->limit_ns) && slow->limit_ns > 0;
    if (!*rest)
        return true;
    if (*rest != 'x')
        return false;
    rest = parse_number(rest + 1, &number);
    if (!rest || *rest || number.whole > MAX_FACTOR)
        return false;
    slow->factor = (double)number.whole + (double)number.fraction / 1e9;
    return slow->factor > 0 && slow->factor <= MAX_FACTOR;
}

bool mp_slow_step_check(const char *text)
{
    struct mp_slow_step slow;

    return mp_slow_step_parse(text, &slow);
}

/* ---- NVTX ranges ----
 *
 * Splits NAME@DOMAIN, and reads the N of repeat:N. The last @ divides, because names of NVTX
 * ranges may contain one.
 */

#define MAX_RANGES 4000000000u

size_t mp_range_name_split(const char *text, const char **domain)
{
    const char *at = strrchr(text, '@');

    *domain = at ? at + 1 : "";
    return at ? (size_t)(at - text) : strlen(text);
}

bool mp_range_name_check(const char *text)
{
    const char *domain;

    return mp_range_name_split(text, &domain) > 0;
}

uint32_t mp_repeat_number(const char *text)
{
    uint64_t number;

    return mp_text_to_u64(text, 1, MAX_RANGES, &number) ? (uint32_t)number : 0;
}

bool mp_repeat_check(const char *text)
{
    return mp_repeat_number(text) != 0;
}

/* ---- Sampled counters ----
 *
 * Reads a list of counters with a rate, "default@1kHz", as MINIPROF_SAMPLE takes it.
 */

/* "10kHz", "0.5kHz", "100Hz": a number with up to three digits after a point, in whole hertz. */
static bool parse_rate(const char *text, uint32_t *hertz)
{
    size_t bytes = strlen(text);
    uint64_t unit = 1, scale = 1000, whole, fraction = 0;
    char digits[16];

    if (bytes < 3 || bytes >= sizeof(digits) || strcmp(text + bytes - 2, "Hz") != 0)
        return false;
    bytes -= 2;
    if (text[bytes - 1] == 'k') {
        unit = 1000;
        bytes--;
    }
    memcpy(digits, text, bytes);
    digits[bytes] = '\0';
    char *point = strchr(digits, '.');
    if (point) {
        size_t behind = strlen(point + 1);

        *point = '\0';
        if (!behind || behind > 3 || !mp_text_to_u64(point + 1, 0, 999, &fraction))
            return false;
        while (behind--)
            scale /= 10;
    }
    if (!mp_text_to_u64(digits, 0, MP_SAMPLE_MAX_HZ, &whole))
        return false;
    whole = whole * unit + fraction * (point ? scale : 0) * unit / 1000;
    *hertz = (uint32_t)whole;
    return whole >= MP_SAMPLE_MIN_HZ && whole <= MP_SAMPLE_MAX_HZ;
}

bool mp_sample_parse(const char *text, struct mp_sample *sample)
{
    const char *at = strrchr(text, '@');
    size_t bytes = at ? (size_t)(at - text) : strlen(text);

    sample->hertz = MP_SAMPLE_PRESET_HZ;
    if (bytes == 0 || bytes >= sizeof(sample->names) || strspn(text, ", ") >= bytes)
        return false;
    memcpy(sample->names, text, bytes);
    sample->names[bytes] = '\0';
    return !at || parse_rate(at + 1, &sample->hertz);
}

bool mp_sample_check(const char *text)
{
    struct mp_sample sample;

    return mp_sample_parse(text, &sample);
}

/* ---- Schedules of steps ----
 *
 * Reads MINIPROF_SCHEDULE and says which phase a step is in. The phases and their order are those
 * of torch.profiler.schedule, so that its users need not learn new ones.
 */

#define MAX_STEPS 1000000000u /* three of them still fit in 32 bits */

static const struct part {
    const char *name;
    size_t offset;
} parts[] = {
    {"skip=", offsetof(struct mp_schedule, skip)},
    {"wait=", offsetof(struct mp_schedule, wait)},
    {"warmup=", offsetof(struct mp_schedule, warmup)},
    {"active=", offsetof(struct mp_schedule, active)},
    {"repeat=", offsetof(struct mp_schedule, repeat)},
};

#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

/* `seen`: a bit for each part that was there already. */
static bool parse_part(struct mp_schedule *schedule, unsigned *seen, const char *item)
{
    for (size_t i = 0; i < PART_COUNT; i++) {
        const struct part *part = &parts[i];
        uint64_t number;

        if (!mp_text_starts_with(item, part->name))
            continue;
        if ((*seen & 1u << i) || !mp_text_to_u64(item + strlen(part->name), 0, MAX_STEPS, &number))
            return false;
        *seen |= 1u << i;
        *(uint32_t *)(void *)((char *)schedule + part->offset) = (uint32_t)number;
        return true;
    }
    return false;
}

bool mp_schedule_parse(const char *text, struct mp_schedule *schedule)
{
    unsigned seen = 0;
    const char *item;
    size_t bytes;

    *schedule = (struct mp_schedule){.skip = 0};
    while (mp_text_next_item(&text, &item, &bytes)) {
        char copy[32];

        if (bytes >= sizeof(copy))
            return false;
        memcpy(copy, item, bytes);
        copy[bytes] = '\0';
        if (!parse_part(schedule, &seen, copy))
            return false;
    }
    return schedule->active > 0;
}

bool mp_schedule_check(const char *text)
{
    struct mp_schedule schedule;

    return mp_schedule_parse(text, &schedule);
}

enum mp_step_phase mp_schedule_phase(const struct mp_schedule *schedule, uint64_t step)
{
    uint64_t cycle = (uint64_t)schedule->wait + schedule->warmup + schedule->active;

    if (step < schedule->skip)
        return MP_STEP_IDLE;
    step -= schedule->skip;
    if (schedule->repeat && step / cycle >= schedule->repeat)
        return MP_STEP_OVER;
    uint64_t place = step % cycle;
    if (place < schedule->wait)
        return MP_STEP_IDLE;
    if (place < (uint64_t)schedule->wait + schedule->warmup)
        return MP_STEP_WARMUP;
    return place + 1 < cycle ? MP_STEP_ACTIVE : MP_STEP_LAST;
}

/* ---- Shares ---- */

uint32_t mp_share_percent(const char *text)
{
    size_t bytes = strlen(text);
    char digits[4];
    uint64_t percent;

    if (bytes && text[bytes - 1] == '%')
        bytes--;
    if (!bytes || bytes >= sizeof(digits))
        return 0;
    memcpy(digits, text, bytes);
    digits[bytes] = '\0';
    return mp_text_to_u64(digits, MP_SHARE_MIN, MP_SHARE_MAX, &percent) ? (uint32_t)percent : 0;
}

bool mp_share_check(const char *text)
{
    return mp_share_percent(text) != 0;
}

/* ---- Devices ----
 *
 * Reads nvprof's --devices. Each ordinal becomes a bit of a 64-bit word, so ordinals stay below 64.
 */

static enum mp_status add_device(struct device_list *list, const char *item, size_t bytes,
                                 struct mp_error *error)
{
    char text[8];
    uint64_t device;

    if (bytes < sizeof(text)) {
        mp_text_copy(text, bytes + 1, item);
        if (mp_text_to_u64(text, 0, DEVICE_LIST_MAX - 1, &device)) {
            list->chosen |= (uint64_t)1 << device;
            return MP_OK;
        }
    }
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "'%.*s' is no device: give 'all' or ordinals from 0 to %d, as in 0,2",
                        bytes < 40 ? (int)bytes : 40, item, DEVICE_LIST_MAX - 1);
}

enum mp_status device_list_parse(const char *text, struct device_list *list, struct mp_error *error)
{
    struct device_list chosen = {.chosen = 0};
    const char *item;
    size_t bytes;

    if (!text || !*text || mp_text_equal(text, "all")) {
        list->chosen = UINT64_MAX;
        return MP_OK;
    }
    while (mp_text_next_item(&text, &item, &bytes))
        MP_TRY(add_device(&chosen, item, bytes, error));
    *list = chosen;
    return MP_OK;
}

bool device_list_has(const struct device_list *list, uint64_t device)
{
    return device < DEVICE_LIST_MAX && (list->chosen >> device & 1);
}

/* ---- Kernels ----
 *
 * Decides which kernels are profiled, by nvprof's --kernels. Colons divide the text only where
 * they cannot belong to a C++ name or to a bracket of a regular expression.
 */

#define LONGEST_PART  1024 /* bytes of an expression */
#define LONGEST_NAME  512  /* of a plain name that is searched; longer ones are cut */
#define LONGEST_SHOWN 60   /* of an expression in a complaint */

static const char *const part_names[KERNEL_FILTER_PARTS] = {
    [KERNEL_FILTER_CONTEXT] = "context",
    [KERNEL_FILTER_STREAM] = "stream",
    [KERNEL_FILTER_NAME] = "name",
    [KERNEL_FILTER_INVOCATION] = "invocation",
};

/* ---- Parts of the text ---- */

struct section {
    const char *text;
    size_t bytes;
};

/* Colons that can divide: those outside [...]. Keeps the first two and the last one. */
static size_t find_colons(const char *text, const char *colons[3])
{
    size_t count = 0;
    bool bracket = false;

    for (; *text; text++) {
        if (*text == '[' || *text == ']')
            bracket = *text == '[';
        if (*text != ':' || bracket)
            continue;
        colons[count < 2 ? count : 2] = text;
        count++;
    }
    return count;
}

static bool has_letter(const char *from, const char *to)
{
    for (; from < to; from++) {
        if (isalpha((unsigned char)*from) || *from == '_')
            return true;
    }
    return false;
}

/* Whether every colon is next to another, as in C++. */
static bool has_only_double_colons(const char *text)
{
    for (; *text; text++) {
        size_t run = strspn(text, ":");

        if (run == 1)
            return false;
        text += run ? run - 1 : 0;
    }
    return true;
}

static enum mp_status split(const char *text, struct section sections[KERNEL_FILTER_PARTS],
                            struct mp_error *error)
{
    const char *colons[3] = {NULL, NULL, NULL};
    size_t count = find_colons(text, colons);

    if (count >= 3 && !has_letter(text, colons[1])) {
        sections[KERNEL_FILTER_CONTEXT] = (struct section){text, (size_t)(colons[0] - text)};
        sections[KERNEL_FILTER_STREAM] =
            (struct section){colons[0] + 1, (size_t)(colons[1] - colons[0] - 1)};
        sections[KERNEL_FILTER_NAME] =
            (struct section){colons[1] + 1, (size_t)(colons[2] - colons[1] - 1)};
        sections[KERNEL_FILTER_INVOCATION] = (struct section){colons[2] + 1, strlen(colons[2] + 1)};
        return MP_OK;
    }
    if (count && !has_only_double_colons(text))
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "the kernel filter '%.*s' is neither a name nor "
                            "context:stream:name:invocation",
                            LONGEST_SHOWN, text);
    sections[KERNEL_FILTER_NAME] = (struct section){text, strlen(text)};
    return MP_OK;
}

/* ---- Expressions ---- */

static enum mp_status compile(struct kernel_filter *filter, enum kernel_filter_part part,
                              const struct section *section, struct mp_error *error)
{
    bool number = part != KERNEL_FILTER_NAME;
    char text[LONGEST_PART + 1];
    char reason[128];

    if (!section->bytes)
        return MP_OK;
    if (section->bytes > LONGEST_PART)
        return mp_error_set(error, MP_ERR_ARGUMENT, "the %s of the kernel filter is over %d bytes",
                            part_names[part], LONGEST_PART);
    if (number && has_letter(section->text, section->text + section->bytes))
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "the %s '%.*s' of the kernel filter is no number and no expression for "
                            "one",
                            part_names[part], (int)section->bytes, section->text);
    snprintf(text, sizeof(text), "%.*s", (int)section->bytes, section->text);
    int code = regcomp(&filter->parts[part], text, REG_EXTENDED | (number ? 0 : REG_NOSUB));
    if (code == REG_ESPACE)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the kernel filter");
    if (code) {
        regerror(code, &filter->parts[part], reason, sizeof(reason));
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "the %s '%.*s' of the kernel filter is no regular expression: %s",
                            part_names[part],
                            section->bytes < LONGEST_SHOWN ? (int)section->bytes : LONGEST_SHOWN,
                            section->text, reason);
    }
    filter->given[part] = true;
    return MP_OK;
}

enum mp_status kernel_filter_parse(struct kernel_filter *filter, const char *text,
                                   struct mp_error *error)
{
    struct section sections[KERNEL_FILTER_PARTS] = {{NULL, 0}};

    memset(filter, 0, sizeof(*filter));
    if (!text || !*text)
        return MP_OK;
    enum mp_status status = split(text, sections, error);
    for (int part = 0; part < KERNEL_FILTER_PARTS && status == MP_OK; part++)
        status = compile(filter, (enum kernel_filter_part)part, &sections[part], error);
    if (status != MP_OK)
        kernel_filter_free(filter);
    return status;
}

void kernel_filter_free(struct kernel_filter *filter)
{
    for (int part = 0; part < KERNEL_FILTER_PARTS; part++) {
        if (filter->given[part])
            regfree(&filter->parts[part]);
        filter->given[part] = false;
    }
}

/* ---- Matching ---- */

/* Whether the expression matches the whole number. Of several matches POSIX takes the longest. */
static bool number_fits(const struct kernel_filter *filter, enum kernel_filter_part part,
                        uint64_t number)
{
    regmatch_t match;
    char text[24];

    if (!filter->given[part])
        return true;
    snprintf(text, sizeof(text), "%" PRIu64, number);
    return regexec(&filter->parts[part], text, 1, &match, 0) == 0 && match.rm_so == 0 &&
           (size_t)match.rm_eo == strlen(text);
}

static bool is_in(const struct kernel_filter *filter, const char *name)
{
    return regexec(&filter->parts[KERNEL_FILTER_NAME], name, 0, NULL, 0) == 0;
}

static bool name_fits(const struct kernel_filter *filter, const char *kernel)
{
    char plain[LONGEST_NAME];

    if (!filter->given[KERNEL_FILTER_NAME])
        return true;
    if (!kernel)
        return false;
    if (is_in(filter, kernel))
        return true;
    for (int scopes = 0; scopes < 2; scopes++) {
        kernel_plain_name(kernel, scopes, plain, sizeof(plain));
        if (is_in(filter, plain))
            return true;
    }
    return false;
}

bool kernel_filter_matches(const struct kernel_filter *filter, uint64_t context, uint64_t stream,
                           const char *kernel, uint64_t invocation)
{
    return number_fits(filter, KERNEL_FILTER_CONTEXT, context) &&
           number_fits(filter, KERNEL_FILTER_STREAM, stream) &&
           number_fits(filter, KERNEL_FILTER_INVOCATION, invocation) && name_fits(filter, kernel);
}
