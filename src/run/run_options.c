/* The options of `run`. A flag for each setting of the recorder is added from config.def, so a new
 * setting needs no line here.
 */
#include "run/run_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/metrics/metrics.h"
#include "base/text/strings.h"
#include "cli/command.h"

#include "base/poison.h"

#define OWN_COUNT (sizeof own_specs / sizeof *own_specs)

static const struct option_spec own_specs[] = {
    {.name = "library",
     .argument = "FILE",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct run_values, library),
     .help = "the libminiprof.so to inject (default: the one beside this command, or in ../lib)"},
    {.name = "no-summary",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct run_values, no_summary),
     .help = "record only"},
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct run_values, force),
     .help = "replace the trace file if it exists (default: nothing is run)"},
};

_Static_assert(MP_SETTINGS_MAX + OWN_COUNT <= OPTIONS_MAX, "room for all");

/* The option table for the parser, with the texts that --help prints. */
struct run_table {
    struct option_spec specs[OPTIONS_MAX];
    char arguments[OPTIONS_MAX][128];
    char helps[OPTIONS_MAX][512];
    size_t count;
};

/* `auto|range|all` for a choice, what config.def calls it otherwise. */
static void describe_argument(const struct mp_setting *setting, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < setting->word_count && used + 1 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "|" : "", setting->words[i]);
    if (setting->kind == MP_SETTING_LIST && used + 1 < size)
        snprintf(text + used, size - used, "|NAME,...");
    else if (!setting->word_count)
        mp_text_copy(text, size, *setting->metavariable ? setting->metavariable : "N");
}

static void add_setting(struct run_table *table, size_t index)
{
    const struct mp_setting *setting = &mp_settings[index];
    char *argument = table->arguments[table->count];
    char *help = table->helps[table->count];

    describe_argument(setting, argument, sizeof table->arguments[0]);
    if (*setting->preset)
        snprintf(help, sizeof table->helps[0], "%s (default %s)", setting->help, setting->preset);
    else
        mp_text_copy(help, sizeof table->helps[0], setting->help);
    table->specs[table->count++] = (struct option_spec){
        .name = setting->flag,
        .argument = argument,
        .help = help,
        .kind = OPTION_TEXT,
        .alone = mp_text_equal(setting->flag, "baseline") ? "25%" : NULL,
        .letter = mp_text_equal(setting->flag, "output") ? 'o' : 0,
        .offset = offsetof(struct run_values, settings) + index * sizeof(const char *),
    };
}

static void fill_table(struct run_table *table)
{
    memcpy(table->specs, own_specs, sizeof own_specs);
    table->count = OWN_COUNT;
    for (size_t i = 0; i < mp_setting_count; i++)
        add_setting(table, i);
}

/* Whether the recorder would accept the value; complains if not. */
static bool check_setting(struct mp_config *config, const struct mp_setting *setting,
                          const char *text)
{
    char takes[256];

    if (mp_config_set(config, setting, text, NULL) == MP_OK)
        return true;
    complain("run", "--%s takes %s, not '%s'", setting->flag,
             mp_setting_takes(setting, takes, sizeof takes), text);
    return false;
}

/* Names that neither nvprof nor CUPTI could have: before a program has run for hours. */
static bool check_metrics(const char *list)
{
    char name[METRIC_NAME_BYTES];
    struct metric_names names;
    struct metric_entry entry;
    bool fine = true;

    metric_names_begin(&names, list);
    while (metric_names_next(&names, name)) {
        const char *meant = metric_suggest(name);

        if (metric_look_up(name, &entry))
            continue;
        fine = false;
        if (meant)
            complain("run", "--metrics: there is no metric '%s'; did you mean '%s'?", name, meant);
        else
            complain("run",
                     "--metrics: there is no metric '%s'; 'miniprof metrics --query' lists "
                     "them",
                     name);
    }
    return fine;
}

static bool check_settings(const struct run_values *values)
{
    struct mp_config *config = malloc(sizeof *config);
    bool good = config != NULL;

    if (!config)
        complain("run", "out of memory");
    else
        mp_config_init(config);
    for (size_t i = 0; good && i < mp_setting_count; i++) {
        if (values->settings[i])
            good = check_setting(config, &mp_settings[i], values->settings[i]);
        if (good && values->settings[i] && mp_text_equal(mp_settings[i].flag, "metrics"))
            good = check_metrics(values->settings[i]);
    }
    free(config);
    return good;
}

enum options_result run_options_parse(int argc, char **argv, struct run_values *values, int *first)
{
    struct run_table *table = calloc(1, sizeof *table);
    enum options_result result;

    if (!table) {
        complain("run", "out of memory");
        return OPTIONS_WRONG;
    }
    fill_table(table);
    struct option_set set = {
        .command = "run",
        .synopsis = "[options] [--] PROGRAM [argument...]",
        .purpose = "Runs a program with the recorder injected, and prints the summary of its "
                   "trace on stderr when it has ended.",
        .notes = "Each option but the first three sets the variable of its name for the program: "
                 "--cuda-graph is MINIPROF_CUDA_GRAPH. Exit code or signal: the program's; 2 wrong "
                 "usage, 3 the trace file exists or libminiprof.so "
                 "is not found, 126 the program cannot "
                 "be run, 127 there is none.",
        .specs = table->specs,
        .count = table->count,
        .program_follows = true,
    };
    result = options_parse(&set, argc, argv, values, first);
    if (result == OPTIONS_OK && !check_settings(values))
        result = OPTIONS_WRONG;
    free(table);
    return result;
}

bool run_options_export(const struct run_values *values)
{
    for (size_t i = 0; i < mp_setting_count; i++) {
        if (values->settings[i] && setenv(mp_settings[i].name, values->settings[i], 1) != 0)
            return false;
    }
    return true;
}
