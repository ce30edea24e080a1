/* Reads, checks and prints the recorder's settings. Every setting is a row of config.def, so the
 * environment, the flags of `miniprof run` and the documents cannot differ.
 */
#include "base/settings/config.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/io.h"
#include "base/settings/forms.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* The words of each list of choices, as arrays. */
#define CHOICE_WORD(value, word) word,
static const char *const words_CAPTURE[] = {MP_CHOICES_CAPTURE(CHOICE_WORD)};
static const char *const words_CAPTURE_END[] = {MP_CHOICES_CAPTURE_END(CHOICE_WORD)};
static const char *const words_API[] = {MP_CHOICES_API(CHOICE_WORD)};
static const char *const words_ATTACH[] = {MP_CHOICES_ATTACH(CHOICE_WORD)};
static const char *const words_CUDA_GRAPH[] = {MP_CHOICES_CUDA_GRAPH(CHOICE_WORD)};
static const char *const words_LOG[] = {MP_CHOICES_LOG(CHOICE_WORD)};
static const char *const words_NCCL[] = {MP_CHOICES_NCCL(CHOICE_WORD)};
static const char *const words_REPLAY[] = {MP_CHOICES_REPLAY(CHOICE_WORD)};
static const char *const words_OPERATORS[] = {MP_CHOICES_OPERATORS(CHOICE_WORD)};
static const char *const words_QUERY[] = {MP_CHOICES_QUERY(CHOICE_WORD)};
static const char *const words_STACKS[] = {MP_CHOICES_STACKS(CHOICE_WORD)};
static const char *const words_SWITCH[] = {MP_CHOICES_SWITCH(CHOICE_WORD)};
#undef CHOICE_WORD

#define ROW(NAME, field_, flag_, kind_, preset_, help_, ...)                                       \
    {.name = "MINIPROF_" #NAME,                                                                    \
     .flag = (flag_),                                                                              \
     .kind = (kind_),                                                                              \
     .preset = (preset_),                                                                          \
     .help = (help_),                                                                              \
     .offset = offsetof(struct mp_config, field_),                                                 \
     __VA_ARGS__},
#define WORDS(choices)                                                                             \
    .words = words_##choices, .word_count = sizeof(words_##choices) / sizeof(*words_##choices)

#define SETTING_CHOICE(name, field, flag, choices, preset, help)                                   \
    ROW(name, field, flag, MP_SETTING_CHOICE, preset, help, .metavariable = "", WORDS(choices))
#define SETTING_NUMBER(name, field, flag, from, to, unit, preset, help)                            \
    ROW(name, field, flag, MP_SETTING_NUMBER, preset, help, .metavariable = (unit), .min = (from), \
        .max = (to))
#define SETTING_TEXT(name, field, flag, metavariable_, preset, help)                               \
    ROW(name, field, flag, MP_SETTING_TEXT, preset, help, .metavariable = (metavariable_))
#define SETTING_PATTERN(name, field, flag, metavariable_, preset, help)                            \
    ROW(name, field, flag, MP_SETTING_PATTERN, preset, help, .metavariable = (metavariable_))
#define SETTING_LIST(name, field, flag, choices, item, preset, help)                               \
    ROW(name, field, flag, MP_SETTING_LIST, preset, help, .metavariable = (item), WORDS(choices))
#define SETTING_CHOICE_TEXT(name, field, flag, choices, check_, preset, help)                      \
    ROW(name, field, flag, MP_SETTING_CHOICE_TEXT, preset, help, .metavariable = "",               \
        WORDS(choices), .check = (check_))
#define SETTING_FORM(name, field, flag, metavariable_, check_, takes_, preset, help)               \
    ROW(name, field, flag, MP_SETTING_FORM, preset, help, .metavariable = (metavariable_),         \
        .check = (check_), .takes = (takes_))

const struct mp_setting mp_settings[] = {
#include "base/settings/config.def"
};
const size_t mp_setting_count = sizeof(mp_settings) / sizeof(*mp_settings);
_Static_assert(sizeof(mp_settings) / sizeof(*mp_settings) <= MP_SETTINGS_MAX, "room for all");

static void *field_of(struct mp_config *config, const struct mp_setting *setting)
{
    return (char *)config + setting->offset;
}

static const void *const_field_of(const struct mp_config *config, const struct mp_setting *setting)
{
    return (const char *)config + setting->offset;
}

/* The index of `text` among the setting's words, or their number when it is none of them. */
static uint32_t find_word(const struct mp_setting *setting, const char *text)
{
    uint32_t i;

    for (i = 0; i < setting->word_count; i++) {
        if (mp_text_equal(setting->words[i], text))
            break;
    }
    return i;
}

/* All CUDA functions start with "cu"; any other item of a list is a typing error. */
static bool is_function_name(const char *name, size_t bytes)
{
    if (bytes < 3 || strncmp(name, "cu", 2) != 0)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return false;
    }
    return true;
}

/* Copies a list of names without its spaces; false when an item is no name or the list is too long.
 */
static bool parse_list(const char *text, char *list, size_t size)
{
    const char *item;
    size_t bytes;
    size_t used = 0;

    while (mp_text_next_item(&text, &item, &bytes)) {
        if (!is_function_name(item, bytes) || bytes + 2 > size - used)
            return false;
        if (used)
            list[used++] = ',';
        memcpy(list + used, item, bytes);
        used += bytes;
        list[used] = '\0';
    }
    return true;
}

static bool set_list(struct mp_config_list *field, const struct mp_setting *setting,
                     const char *text)
{
    char list[MP_CONFIG_TEXT_BYTES] = "";
    uint32_t word = find_word(setting, text);

    if (word == setting->word_count && !parse_list(text, list, sizeof(list)))
        return false;
    field->choice = word;
    mp_text_copy(field->list, sizeof(field->list), list);
    return true;
}

static bool set_choice(uint32_t *field, const struct mp_setting *setting, const char *text)
{
    uint32_t word = find_word(setting, text);

    if (word == setting->word_count)
        return false;
    *field = word;
    return true;
}

/* The bytes up to a word's colon, with it; 0 for a plain word. */
static size_t prefix_bytes(const char *word)
{
    const char *colon = strchr(word, ':');

    return colon ? (size_t)(colon - word) + 1 : 0;
}

static bool set_choice_text(struct mp_config_choice *field, const struct mp_setting *setting,
                            const char *text)
{
    const char *rest = "";
    uint32_t i;

    for (i = 0; i < setting->word_count; i++) {
        size_t prefix = prefix_bytes(setting->words[i]);

        if (!prefix && mp_text_equal(setting->words[i], text))
            break;
        if (prefix && strncmp(setting->words[i], text, prefix) == 0) {
            rest = text + prefix;
            if (!*rest || strlen(rest) >= sizeof(field->text) || !setting->check(rest))
                return false;
            break;
        }
    }
    if (i == setting->word_count)
        return false;
    field->choice = i;
    mp_text_copy(field->text, sizeof(field->text), rest);
    return true;
}

static bool set_number(uint32_t *field, const struct mp_setting *setting, const char *text)
{
    uint64_t number;

    if (!mp_text_to_u64(text, setting->min, setting->max, &number))
        return false;
    *field = (uint32_t)number;
    return true;
}

static bool set_text(char *field, const char *text)
{
    return strlen(text) < MP_CONFIG_TEXT_BYTES && mp_text_copy(field, MP_CONFIG_TEXT_BYTES, text);
}

static bool set_field(void *field, const struct mp_setting *setting, const char *text)
{
    switch (setting->kind) {
    case MP_SETTING_CHOICE:
        return set_choice(field, setting, text);
    case MP_SETTING_NUMBER:
        return set_number(field, setting, text);
    case MP_SETTING_TEXT:
        return set_text(field, text);
    case MP_SETTING_PATTERN:
        return mp_pattern_check(text, NULL) == MP_OK && set_text(field, text);
    case MP_SETTING_LIST:
        return set_list(field, setting, text);
    case MP_SETTING_CHOICE_TEXT:
        return set_choice_text(field, setting, text);
    case MP_SETTING_FORM:
        return (!*text || setting->check(text)) && set_text(field, text);
    }
    return false;
}

enum mp_status mp_config_set(struct mp_config *config, const struct mp_setting *setting,
                             const char *text, struct mp_error *error)
{
    char takes[MP_ERROR_TEXT_BYTES];

    if (set_field(field_of(config, setting), setting, text))
        return MP_OK;
    return mp_error_set(error, MP_ERR_ARGUMENT, "%s='%.64s%s' is not valid: takes %s",
                        setting->name, text, strlen(text) > 64 ? "..." : "",
                        mp_setting_takes(setting, takes, sizeof(takes)));
}

void mp_config_init(struct mp_config *config)
{
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < mp_setting_count; i++)
        (void)set_field(field_of(config, &mp_settings[i]), &mp_settings[i], mp_settings[i].preset);
}

const struct mp_setting *mp_setting_by_name(const char *name)
{
    for (size_t i = 0; i < mp_setting_count; i++) {
        if (mp_text_equal(mp_settings[i].name, name))
            return &mp_settings[i];
    }
    return NULL;
}

const struct mp_setting *mp_setting_by_flag(const char *flag)
{
    for (size_t i = 0; i < mp_setting_count; i++) {
        if (mp_text_equal(mp_settings[i].flag, flag))
            return &mp_settings[i];
    }
    return NULL;
}

unsigned mp_config_from_environment(struct mp_config *config, mp_config_report *report,
                                    void *context)
{
    unsigned invalid = 0;

    mp_config_init(config);
    for (size_t i = 0; i < mp_setting_count; i++) {
        const char *text = secure_getenv(mp_settings[i].name);
        struct mp_error error;

        if (!text || !*text || mp_config_set(config, &mp_settings[i], text, &error) == MP_OK)
            continue;
        invalid++;
        if (report)
            report(context, &error);
    }
    return invalid;
}

/* Whether `variable`, "NAME=value", looks like a setting but is none. `name` receives its name. */
static bool is_unknown(const char *variable, char *name, size_t size)
{
    size_t length = strcspn(variable, "=");

    if (!mp_text_starts_with(variable, "MINIPROF_"))
        return false;
    snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), variable);
    return !mp_text_equal(name, MP_CONFIG_PARENT) && !mp_text_equal(name, MP_TIME_DIVISOR) &&
           !mp_setting_by_name(name);
}

unsigned mp_config_report_unknown(mp_config_report *report, void *context)
{
    unsigned unknown = 0;

    if (getauxval(AT_SECURE))
        return 0;
    for (char **variable = environ; variable && *variable; variable++) {
        char name[64]; /* longer than any setting's */
        struct mp_error error;

        if (!is_unknown(*variable, name, sizeof(name)))
            continue;
        unknown++;
        mp_error_set(&error, MP_ERR_ARGUMENT, "%s is no setting; `miniprof run --help` lists them",
                     name);
        report(context, &error);
    }
    return unknown;
}

static void append(char *buffer, size_t size, const char *text)
{
    size_t used = strlen(buffer);

    mp_text_copy(buffer + used, size - used, text);
}

/* "a, b or c", or "a, b, c" when something follows. */
static void append_words(const struct mp_setting *setting, char *buffer, size_t size)
{
    for (uint32_t i = 0; i < setting->word_count; i++) {
        if (i + 1 == setting->word_count && i && setting->kind != MP_SETTING_LIST)
            append(buffer, size, " or ");
        else if (i)
            append(buffer, size, ", ");
        append(buffer, size, setting->words[i]);
    }
}

const char *mp_setting_takes(const struct mp_setting *setting, char *buffer, size_t size)
{
    buffer[0] = '\0';
    switch (setting->kind) {
    case MP_SETTING_CHOICE:
    case MP_SETTING_CHOICE_TEXT:
        append_words(setting, buffer, size);
        break;
    case MP_SETTING_FORM:
        append(buffer, size, setting->takes);
        break;
    case MP_SETTING_NUMBER:
        snprintf(buffer, size, "a number from %u to %u%s%s%s", setting->min, setting->max,
                 *setting->metavariable ? " (" : "", setting->metavariable,
                 *setting->metavariable ? ")" : "");
        break;
    case MP_SETTING_TEXT:
        snprintf(buffer, size, "a text of less than %d bytes", MP_CONFIG_TEXT_BYTES);
        break;
    case MP_SETTING_PATTERN:
        append(buffer, size,
               "a file name, in which %p is the process id, %h the host, %r the rank, "
               "%q{NAME} an environment variable and %% a percent sign");
        break;
    case MP_SETTING_LIST:
        append_words(setting, buffer, size);
        append(buffer, size, " or a comma-separated list of ");
        append(buffer, size, setting->metavariable);
        break;
    }
    return buffer;
}

const char *mp_config_value(const struct mp_config *config, const struct mp_setting *setting,
                            char *buffer, size_t size)
{
    const void *field = const_field_of(config, setting);
    const struct mp_config_list *list = field;
    const struct mp_config_choice *choice = field;
    const uint32_t *number = field;

    switch (setting->kind) {
    case MP_SETTING_CHOICE:
        mp_text_copy(buffer, size, setting->words[*number]);
        break;
    case MP_SETTING_NUMBER:
        snprintf(buffer, size, "%u", *number);
        break;
    case MP_SETTING_TEXT:
    case MP_SETTING_PATTERN:
    case MP_SETTING_FORM:
        mp_text_copy(buffer, size, field);
        break;
    case MP_SETTING_CHOICE_TEXT:
        snprintf(buffer, size, "%.*s%s",
                 (int)(*choice->text ? prefix_bytes(setting->words[choice->choice])
                                     : strlen(setting->words[choice->choice])),
                 setting->words[choice->choice], choice->text);
        break;
    case MP_SETTING_LIST:
        mp_text_copy(buffer, size,
                     list->choice < setting->word_count ? setting->words[list->choice]
                                                        : list->list);
        break;
    }
    return buffer;
}

enum mp_log_level mp_config_log_level(const struct mp_config *config)
{
    static const enum mp_log_level levels[] = {
        [MP_CONFIG_LOG_DEBUG] = MP_LOG_DEBUG, [MP_CONFIG_LOG_INFO] = MP_LOG_INFO,
        [MP_CONFIG_LOG_WARN] = MP_LOG_WARN,   [MP_CONFIG_LOG_ERROR] = MP_LOG_ERROR,
        [MP_CONFIG_LOG_NONE] = MP_LOG_NONE,   [MP_CONFIG_LOG_QUIET] = MP_LOG_WARN,
    };

    return levels[config->log];
}

/* Whether `suffix`, of `bytes` bytes, is one that CUDA gives to a later version of a function (_v2,
 * _v7000) or to its variant for per-thread default streams (_ptsz, _ptds). */
static bool is_version_suffix(const char *suffix, size_t bytes)
{
    if (bytes == 5 && (strncmp(suffix, "_ptsz", 5) == 0 || strncmp(suffix, "_ptds", 5) == 0))
        return true;
    return bytes > 2 && suffix[1] == 'v' && strspn(suffix + 2, "0123456789") >= bytes - 2;
}

/* The length of a name without such suffixes, of which there may be two:
 * cudaMemcpyAsync_ptsz_v7000. */
static size_t plain_length(const char *name)
{
    size_t length = strlen(name);

    for (;;) {
        const char *suffix = memrchr(name, '_', length);

        if (!suffix || !is_version_suffix(suffix, length - (size_t)(suffix - name)))
            return length;
        length = (size_t)(suffix - name);
    }
}

bool mp_config_api_lists(const struct mp_config *config, const char *function)
{
    const char *cursor = config->api.list;
    size_t whole = strlen(function);
    size_t plain = plain_length(function);
    const char *item;
    size_t bytes;

    if (config->api.choice != MP_API_LIST)
        return false;
    while (mp_text_next_item(&cursor, &item, &bytes)) {
        if ((bytes == whole || bytes == plain) && strncmp(item, function, bytes) == 0)
            return true;
    }
    return false;
}

bool mp_config_begins_at_once(const struct mp_config *config)
{
    uint32_t mode = config->capture.choice;

    return mode == MP_CAPTURE_AUTO || mode == MP_CAPTURE_ALL || mode == MP_CAPTURE_PAUSE;
}

bool mp_config_waits(const struct mp_config *config)
{
    return !mp_config_begins_at_once(config) || *config->schedule || config->delay;
}

/* ---- Time limits ----
 *
 * The time limits and their divisor. The divisor is one number for the whole process, since signal
 * handlers and code without a recorder use limits too.
 */

static const uint64_t defaults[] = {
#define TIME_LIMIT(name, ns, why) [MP_TIME_##name] = (ns),
#include "base/settings/time_limits.def"
};

static _Atomic uint32_t divisor = 1;

enum mp_status mp_time_limits_read(struct mp_error *error)
{
    const char *text = secure_getenv(MP_TIME_DIVISOR);
    uint64_t number = 1;
    bool valid = !text || !*text || mp_text_to_u64(text, 1, MP_TIME_DIVISOR_MAX, &number);

    atomic_store_explicit(&divisor, valid ? (uint32_t)number : 1, memory_order_relaxed);
    if (valid)
        return MP_OK;
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        MP_TIME_DIVISOR "='%.64s' is not valid: takes a number from 1 to %d", text,
                        MP_TIME_DIVISOR_MAX);
}

uint64_t mp_time_limit_ns(enum mp_time_limit limit)
{
    uint64_t ns = defaults[limit] / atomic_load_explicit(&divisor, memory_order_relaxed);

    return ns ? ns : 1;
}

int mp_time_limit_ms(enum mp_time_limit limit)
{
    uint64_t ms = mp_time_limit_ns(limit) / 1000000;

    return ms ? (int)ms : 1;
}

struct timespec mp_time_limit_timespec(enum mp_time_limit limit)
{
    uint64_t ns = mp_time_limit_ns(limit);

    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

double mp_time_limit_seconds(enum mp_time_limit limit)
{
    return (double)mp_time_limit_ns(limit) / 1e9;
}
