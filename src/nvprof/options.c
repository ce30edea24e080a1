/* Reads nvprof's command line by the table options.def. getopt_long is not used: it accepts
 * abbreviations and cannot say which word was wrong, and nvprof does the opposite of both.
 */
#include "nvprof/options.h"

#include <inttypes.h>
#include <string.h>

#include "base/metrics/metrics.h"
#include "base/settings/forms.h"
#include "base/text/strings.h"
#include "nvprof/nvprof.h"

#include "base/poison.h"

#define FIELD(name) offsetof(struct nvprof_values, name)
const struct nvprof_option nvprof_options[] = {
#include "nvprof/options.def"
};
#undef FIELD

const size_t nvprof_option_count = sizeof nvprof_options / sizeof *nvprof_options;
_Static_assert(sizeof nvprof_options / sizeof *nvprof_options <= NVPROF_OPTIONS_MAX,
               "struct nvprof_values has a place for each");

void nvprof_values_init(struct nvprof_values *values)
{
    *values = (struct nvprof_values){.track_allocations = 1};
}

bool nvprof_wants_reports(const struct nvprof_values *values)
{
    return values->summary || values->gpu_summary || values->api_summary ||
           values->per_gpu_summary || values->gpu_trace || values->api_trace ||
           values->dependency_trace || values->openacc_constructs || values->openacc_summary ||
           values->openacc_trace || values->openmp_summary;
}

/* ---- Lists of words ---- */

bool nvprof_next_word(const char **cursor, const char **word, size_t *bytes)
{
    if (!*cursor)
        return false;
    *word = *cursor;
    *bytes = strcspn(*cursor, "|");
    *cursor = (*cursor)[*bytes] ? *cursor + *bytes + 1 : NULL;
    return true;
}

int nvprof_word_position(const char *words, const char *text, size_t bytes)
{
    const char *word;
    size_t length;

    for (int position = 0; nvprof_next_word(&words, &word, &length); position++) {
        if (length == bytes && !memcmp(word, text, bytes))
            return position;
    }
    return -1;
}

static int item_position(const char *items, const char *text, size_t bytes)
{
    const char *item;
    size_t length;

    for (int position = 0; mp_text_next_item(&items, &item, &length); position++) {
        if (length == bytes && !memcmp(item, text, bytes))
            return position;
    }
    return -1;
}

const char *nvprof_note(const struct nvprof_option *option, const char *value)
{
    if (!option->note ||
        (option->plain && nvprof_word_position(option->plain, value, strlen(value)) >= 0))
        return NULL;
    return option->note;
}

/* ---- Values ---- */

static enum mp_status wrong_value(const struct nvprof_option *option, const char *value,
                                  struct mp_error *error)
{
    if (option->kind == NVPROF_NUMBER)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "--%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
                            option->name, option->min, option->max, value);
    return mp_error_set(error, MP_ERR_ARGUMENT, "--%s takes %s%s, not '%s'", option->name,
                        option->kind == NVPROF_LIST ? "some of " : "", option->takes, value);
}

static enum mp_status set_choice(const struct nvprof_option *option, const char *value, int *field,
                                 struct mp_error *error)
{
    int position = nvprof_word_position(option->takes, value, strlen(value));

    if (position < 0)
        return wrong_value(option, value, error);
    *field = position;
    return MP_OK;
}

static enum mp_status set_list(const struct nvprof_option *option, const char *value,
                               unsigned *field, struct mp_error *error)
{
    const char *cursor = value;
    const char *item;
    size_t bytes;

    *field = 0;
    while (mp_text_next_item(&cursor, &item, &bytes)) {
        int position = item_position(option->takes, item, bytes);

        if (position < 0)
            return wrong_value(option, value, error);
        *field |= 1u << position;
    }
    return *field ? MP_OK : wrong_value(option, value, error);
}

static enum mp_status add_file(const struct nvprof_option *option, const char *value,
                               struct option_texts *texts, struct mp_error *error)
{
    if (!*value)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s: the name is empty", option->name);
    if (texts->count == OPTION_TEXTS_MAX)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s: %d files at most", option->name,
                            OPTION_TEXTS_MAX);
    texts->items[texts->count++] = value;
    return MP_OK;
}

static bool same_scope(const char *a, const char *b)
{
    return mp_text_equal(a ? a : "", b ? b : "");
}

static enum mp_status check_names(const struct nvprof_option *option, const char *list,
                                  struct mp_error *error)
{
    struct metric_names names;
    struct metric_entry entry;
    char name[METRIC_NAME_BYTES];

    metric_names_begin(&names, list);
    while (metric_names_next(&names, name)) {
        const char *near = metric_suggest(name);

        if (metric_look_up(name, &entry))
            continue;
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s: there is no '%s'%s%s%s", option->name,
                            name, near ? "; there is '" : "", near ? near : "", near ? "'" : "");
    }
    return MP_OK;
}

/* Adds names with the scope that is in force. */
static enum mp_status add_metrics(const struct nvprof_option *option, const char *value,
                                  struct nvprof_values *values, struct mp_error *error)
{
    struct nvprof_metrics *metrics = &values->metrics;
    size_t used = strlen(metrics->names);
    const char *names = value;

    if (!*value)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s takes %s", option->name, option->takes);
    if (option->kind == NVPROF_EVENTS && mp_text_equal(value, "all"))
        names = "events";
    MP_TRY(check_names(option, names, error));
    if (used + strlen(names) + 2 > sizeof metrics->names)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s: the names are longer than %d bytes",
                            option->name, NVPROF_METRICS_MAX);
    if (used && (!same_scope(metrics->kernels, values->kernels) ||
                 !same_scope(metrics->devices, values->devices)))
        metrics->several_scopes = true;
    if (used)
        metrics->names[used++] = ',';
    mp_text_copy(metrics->names + used, sizeof metrics->names - used, names);
    metrics->kernels = values->kernels;
    metrics->devices = values->devices;
    return MP_OK;
}

static enum mp_status check_text(const struct nvprof_option *option, const char *value,
                                 struct mp_error *error)
{
    struct device_list devices;
    struct kernel_filter filter = {0};

    if (option->kind == NVPROF_DEVICES)
        return device_list_parse(value, &devices, error);
    if (option->kind == NVPROF_KERNELS) {
        MP_TRY(kernel_filter_parse(&filter, value, error));
        kernel_filter_free(&filter);
        return MP_OK;
    }
    if (option->kind == NVPROF_TEXT)
        return MP_OK;
    if (option->kind == NVPROF_LOG && (mp_text_equal(value, "%1") || mp_text_equal(value, "%2")))
        return MP_OK;
    return nvprof_pattern_check(value, option->kind == NVPROF_NAMING, error);
}

static enum mp_status set_text(const struct nvprof_option *option, const char *value,
                               const char **field, struct mp_error *error)
{
    struct mp_error cause;

    if (!*value)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s takes %s", option->name, option->takes);
    if (check_text(option, value, &cause) != MP_OK)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s: %s", option->name, cause.text);
    *field = value;
    return MP_OK;
}

static enum mp_status set_value(const struct nvprof_option *option, const char *value,
                                struct nvprof_values *values, struct mp_error *error)
{
    void *field = (char *)values + option->offset;

    switch (option->kind) {
    case NVPROF_FLAG:
        *(bool *)field = true;
        return MP_OK;
    case NVPROF_CHOICE:
        return set_choice(option, value, field, error);
    case NVPROF_LIST:
        return set_list(option, value, field, error);
    case NVPROF_NUMBER:
        if (!mp_text_to_u64(value, option->min, option->max, field))
            return wrong_value(option, value, error);
        return MP_OK;
    case NVPROF_FILES:
        return add_file(option, value, field, error);
    case NVPROF_METRICS:
    case NVPROF_EVENTS:
        return add_metrics(option, value, values, error);
    case NVPROF_TEXT:
    case NVPROF_PATTERN:
    case NVPROF_LOG:
    case NVPROF_NAMING:
    case NVPROF_DEVICES:
    case NVPROF_KERNELS:
        return set_text(option, value, option->offset ? field : &values->ignored_text, error);
    }
    return MP_OK;
}

static enum mp_status options_take(const struct nvprof_option *option, const char *value,
                                   struct nvprof_values *values, struct mp_error *error)
{
    MP_TRY(set_value(option, value, values, error));
    const char *note = nvprof_note(option, value);
    if (option->state == NVPROF_REFUSED && note)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s%s%s is not done here: %s", option->name,
                            *value ? " " : "", value, note);
    values->given[option - nvprof_options] = value;
    return MP_OK;
}

/* ---- Words of the command line ---- */

/* Where the parser is. */
struct words {
    char **argv;
    int argc;
    int at; /* the next word */
};

static const struct nvprof_option *find_name(const char *name, size_t bytes)
{
    for (size_t i = 0; i < nvprof_option_count; i++) {
        if (strlen(nvprof_options[i].name) == bytes && !memcmp(nvprof_options[i].name, name, bytes))
            return &nvprof_options[i];
    }
    return NULL;
}

static const struct nvprof_option *find_letter(char letter)
{
    for (size_t i = 0; i < nvprof_option_count; i++) {
        if (nvprof_options[i].letter && nvprof_options[i].letter == letter)
            return &nvprof_options[i];
    }
    return NULL;
}

static enum mp_status unknown(const char *word, struct mp_error *error)
{
    return mp_error_set(error, MP_ERR_UNSUPPORTED, "%s", word);
}

/* `attached` is the value in the same word; NULL if there is none. */
static enum mp_status take_with_value(const struct nvprof_option *option, const char *attached,
                                      struct words *words, struct nvprof_values *values,
                                      struct mp_error *error)
{
    if (!attached && words->at == words->argc)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s needs a value: %s", option->name,
                            option->takes);
    return options_take(option, attached ? attached : words->argv[words->at++], values, error);
}

static enum mp_status take_name(const char *word, struct words *words, struct nvprof_values *values,
                                struct mp_error *error)
{
    size_t bytes = strcspn(word + 2, "=");
    const struct nvprof_option *option = find_name(word + 2, bytes);
    const char *attached = word[2 + bytes] ? word + 2 + bytes + 1 : NULL;

    if (!option)
        return unknown(word, error);
    if (option->takes)
        return take_with_value(option, attached, words, values, error);
    if (attached)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--%s takes no value", option->name);
    return options_take(option, "", values, error);
}

static enum mp_status take_letters(const char *word, struct words *words,
                                   struct nvprof_values *values, struct mp_error *error)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct nvprof_option *option = find_letter(*letter);

        if (!option)
            return unknown(word, error);
        if (option->takes)
            return take_with_value(option, letter[1] ? letter + 1 : NULL, words, values, error);
        MP_TRY(options_take(option, "", values, error));
    }
    return MP_OK;
}

enum mp_status nvprof_parse(int argc, char **argv, struct nvprof_values *values, int *first,
                            struct mp_error *error)
{
    struct words words = {.argv = argv, .argc = argc, .at = 1};

    while (words.at < argc && argv[words.at][0] == '-' && argv[words.at][1]) {
        const char *word = argv[words.at++];

        if (mp_text_equal(word, "--"))
            break;
        if (word[1] == '-')
            MP_TRY(take_name(word, &words, values, error));
        else
            MP_TRY(take_letters(word, &words, values, error));
    }
    *first = words.at;
    return MP_OK;
}
