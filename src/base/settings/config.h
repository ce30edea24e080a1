/* The recorder's settings, from the table in config.def. The injected library reads them as
 * environment variables MINIPROF_NAME. `miniprof run` takes them as flags --flag and passes them on
 * as variables.
 */
#ifndef MP_BASE_SETTINGS_CONFIG_H
#define MP_BASE_SETTINGS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/log.h"
#include "base/status.h"

#define MP_SETTINGS_MAX      48
#define MP_CONFIG_TEXT_BYTES 4096 /* of a text setting with its NUL: PATH_MAX of Linux */

/* One enum for each list of choices in config.def. */
#define SETTING_CHOICE(name, field, flag, choices, preset, help)
#define SETTING_NUMBER(name, field, flag, min, max, unit, preset, help)
#define SETTING_TEXT(name, field, flag, metavariable, preset, help)
#define SETTING_PATTERN(name, field, flag, metavariable, preset, help)
#define SETTING_LIST(name, field, flag, choices, item, preset, help)
#define SETTING_CHOICE_TEXT(name, field, flag, choices, check, preset, help)
#define SETTING_FORM(name, field, flag, metavariable, check, takes, preset, help)
#include "base/settings/config.def"

#define MP_CHOICE_ENUM(value, word) value,
enum mp_capture { MP_CHOICES_CAPTURE(MP_CHOICE_ENUM) };
enum mp_capture_end { MP_CHOICES_CAPTURE_END(MP_CHOICE_ENUM) };
enum mp_config_api { MP_CHOICES_API(MP_CHOICE_ENUM) MP_API_LIST };
enum mp_attach { MP_CHOICES_ATTACH(MP_CHOICE_ENUM) };
enum mp_cuda_graph { MP_CHOICES_CUDA_GRAPH(MP_CHOICE_ENUM) };
enum mp_config_log { MP_CHOICES_LOG(MP_CHOICE_ENUM) };
enum mp_nccl { MP_CHOICES_NCCL(MP_CHOICE_ENUM) };
enum mp_replay { MP_CHOICES_REPLAY(MP_CHOICE_ENUM) };
enum mp_operators { MP_CHOICES_OPERATORS(MP_CHOICE_ENUM) };
enum mp_query { MP_CHOICES_QUERY(MP_CHOICE_ENUM) };
enum mp_stacks { MP_CHOICES_STACKS(MP_CHOICE_ENUM) };
enum mp_switch { MP_CHOICES_SWITCH(MP_CHOICE_ENUM) };
#undef MP_CHOICE_ENUM

struct mp_config_list {
    uint32_t choice;                 /* a choice, or one past the last: see `list` */
    char list[MP_CONFIG_TEXT_BYTES]; /* comma-separated, no spaces; empty for a choice */
};

struct mp_config_choice {
    uint32_t choice;
    char text[MP_CONFIG_TEXT_BYTES]; /* what followed the colon; empty for a plain word */
};

/* The values of all settings, one field each, named as in config.def. Choices and switches hold
 * their enum's value. About 40 KiB without pointers: put it in static or heap memory, not on an
 * application's stack. */
struct mp_config {
#define SETTING_CHOICE(name, field, flag, choices, preset, help)        uint32_t field;
#define SETTING_NUMBER(name, field, flag, min, max, unit, preset, help) uint32_t field;
#define SETTING_TEXT(name, field, flag, metavariable, preset, help)                                \
    char field[MP_CONFIG_TEXT_BYTES];
#define SETTING_PATTERN(name, field, flag, metavariable, preset, help)                             \
    char field[MP_CONFIG_TEXT_BYTES];
#define SETTING_LIST(name, field, flag, choices, item, preset, help) struct mp_config_list field;
#define SETTING_CHOICE_TEXT(name, field, flag, choices, check, preset, help)                       \
    struct mp_config_choice field;
#define SETTING_FORM(name, field, flag, metavariable, check, takes, preset, help)                  \
    char field[MP_CONFIG_TEXT_BYTES];
#include "base/settings/config.def"
};

enum mp_setting_kind {
    MP_SETTING_CHOICE,
    MP_SETTING_NUMBER,
    MP_SETTING_TEXT,
    MP_SETTING_PATTERN,
    MP_SETTING_LIST,
    MP_SETTING_CHOICE_TEXT,
    MP_SETTING_FORM
};

/* One row of the table. */
struct mp_setting {
    const char *name; /* of the environment variable: "MINIPROF_BUFFER_MB" */
    const char *flag; /* of `miniprof run`, without the dashes: "buffer-mb" */
    enum mp_setting_kind kind;
    const char *metavariable; /* "FILE", "MB"; "" when the choices say it */
    const char *preset;       /* the default, as a user would write it */
    const char *help;         /* one line without a full stop at the end */
    const char *const *words; /* choices, `word_count` of them; NULL without */
    uint32_t word_count;
    uint32_t min, max;               /* of a number */
    size_t offset;                   /* of the field in struct mp_config */
    bool (*check)(const char *text); /* of a form, and of the text after a choice's colon */
    const char *takes;               /* of a form: what it takes, in words */
};

extern const struct mp_setting mp_settings[];
extern const size_t mp_setting_count; /* at most MP_SETTINGS_MAX */

/* Sets everything to its default. */
void mp_config_init(struct mp_config *config);

/* The setting with this variable name ("MINIPROF_LOG") or this flag ("log"); NULL when there is
 * none. */
const struct mp_setting *mp_setting_by_name(const char *name);
const struct mp_setting *mp_setting_by_flag(const char *flag);

/* Gives a setting the value that `text` writes. If the setting does not take this value, the
 * function returns MP_ERR_ARGUMENT, the field stays as it was, and the message reads
 *
 *     MINIPROF_ATTACH='some' is not valid: takes init, graph or range
 *
 * An empty text is a value like any other (only text settings take it). */
enum mp_status mp_config_set(struct mp_config *config, const struct mp_setting *setting,
                             const char *text, struct mp_error *error);

/* Reports one mistake in the environment. */
typedef void mp_config_report(void *context, const struct mp_error *error);

/* Starts from the defaults and applies every variable of the environment that is set and not empty.
 * An invalid value is reported and the default kept; `report` may be NULL. Uses secure_getenv, so a
 * set-user-id program takes the defaults. Returns the number of invalid values. */
unsigned mp_config_from_environment(struct mp_config *config, mp_config_report *report,
                                    void *context);

/* By this variable a recorded process tells its own process id to the processes that it starts, for
 * MINIPROF_CHILDREN=off. It is internal, so it is no setting. */
#define MP_CONFIG_PARENT "MINIPROF_PARENT"

/* Reports each variable of the environment that begins with MINIPROF_ but is no setting: such a
 * typing error would otherwise be ignored silently. Reports none in a set-user-id program. Returns
 * how many it reported. */
unsigned mp_config_report_unknown(mp_config_report *report, void *context);

/* What a setting takes, in words: "off or on", "a number from 8 to 4096 (MB)". Returns `buffer`,
 * cut to `size`. */
const char *mp_setting_takes(const struct mp_setting *setting, char *buffer, size_t size);

/* The value of a setting in `config`, as a user would write it. The trace's header keeps this text.
 * Returns `buffer`, cut to `size`; MP_CONFIG_TEXT_BYTES is enough. */
const char *mp_config_value(const struct mp_config *config, const struct mp_setting *setting,
                            char *buffer, size_t size);

/* The threshold for mp_log_set_level. */
enum mp_log_level mp_config_log_level(const struct mp_config *config);

/* Whether config->api is a list that names this function. A name in the list matches all versions
 * of the function: "cuMemAlloc" matches "cuMemAlloc_v2" too. */
bool mp_config_api_lists(const struct mp_config *config, const char *function);

/* Whether the capture mode records from the start. */
bool mp_config_begins_at_once(const struct mp_config *config);

/* Whether recording starts later than CUDA does: it waits for a range, a step or a time. */
bool mp_config_waits(const struct mp_config *config);

/* ---- Time limits ----
 *
 * The time limits from the table in time_limits.def, and the one number that tests divide them by.
 * With MINIPROF_TEST_TIME_DIVISOR=10 a test waits 9 ms for a write instead of 90. It is for tests
 * only, so it is no setting: users do not find it in docs/environment.md or --help.
 */

#define MP_TIME_DIVISOR     "MINIPROF_TEST_TIME_DIVISOR"
#define MP_TIME_DIVISOR_MAX 1000

enum mp_time_limit {
#define TIME_LIMIT(name, ns, why) MP_TIME_##name,
#include "base/settings/time_limits.def"
    MP_TIME_LIMITS
};

/* Takes the divisor from the environment: a number from 1 to MP_TIME_DIVISOR_MAX. Without the
 * variable, or in a set-user-id program, it is 1. With any other value it is 1 too, and the answer
 * is MP_ERR_ARGUMENT. Called once, before there are threads that wait; until then it is 1. */
enum mp_status mp_time_limits_read(struct mp_error *error);

/* The limit, divided; at least 1. All: any thread, also in signal handlers. */
uint64_t mp_time_limit_ns(enum mp_time_limit limit);
int mp_time_limit_ms(enum mp_time_limit limit);
struct timespec mp_time_limit_timespec(enum mp_time_limit limit);

/* The same in seconds, for messages. */
double mp_time_limit_seconds(enum mp_time_limit limit);

/* ---- Versions of CUPTI ----
 *
 * Which versions of CUPTI the recorder knows; `miniprof --version` prints the range.
 */

/* CUPTI_API_VERSION, and the CUDA release that it came with. */
#define MP_CUPTI_MIN      18 /* the oldest that is supported */
#define MP_CUPTI_MIN_CUDA "11.8"
#define MP_CUPTI_NEWEST   130401 /* the newest whose faults record/cupti/quirks.def knows */

#define MP_CUPTI_NEWEST_CUDA "13.4 Update 1"

#endif
