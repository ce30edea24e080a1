/* Turns nvprof's options into the recorder's settings, as environment variables of the program. An
 * option that nvprof applies to reports only is not passed on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvprof/nvprof.h"

#include "base/poison.h"

static bool set(const char *setting, const char *value, bool overwrite)
{
    char name[64];

    snprintf(name, sizeof name, "MINIPROF_%s", setting);
    return setenv(name, value, overwrite) == 0;
}

/* The setting's word for an option's word: that in the same position. */
static void translate(const struct nvprof_option *option, const char *value, char *text,
                      size_t size)
{
    int position = nvprof_word_position(option->takes, value, strlen(value));
    const char *cursor = option->settings;
    const char *word = value;
    size_t bytes = strlen(value);

    for (int i = 0; cursor && i <= position; i++)
        nvprof_next_word(&cursor, &word, &bytes);
    snprintf(text, size, "%.*s", (int)bytes, word);
}

/* A given option overrides the environment; the environment overrides nvprof's defaults. */
static bool set_option(const struct nvprof_option *option, const char *given)
{
    char word[32];

    if (!option->setting || (!given && !option->preset))
        return true;
    translate(option, given ? given : option->preset, word, sizeof word);
    return set(option->setting, word, given != NULL);
}

static bool set_metrics(const struct nvprof_metrics *metrics)
{
    if (!*metrics->names)
        return true;
    return set("METRICS", metrics->names, true) &&
           set("KERNELS", metrics->kernels ? metrics->kernels : "", true) &&
           set("DEVICES", metrics->devices ? metrics->devices : "", true);
}

static bool set_trace(unsigned trace)
{
    if (!trace)
        return true;
    if (!(trace & NVPROF_TRACE_API) && !set("API", "none", true))
        return false;
    return trace & NVPROF_TRACE_GPU || set("GPU", "off", true);
}

bool nvprof_set_environment(const struct nvprof_values *values, const char *output)
{
    bool good = true;

    for (size_t i = 0; good && i < nvprof_option_count; i++)
        good = set_option(&nvprof_options[i], values->given[i]);
    return good && set("OUTPUT", output, true) &&
           set("CHILDREN", values->child_processes ? "on" : "off", values->child_processes) &&
           set("ARGV", "on", false) &&
           set("LOG", values->quiet ? "none" : "quiet", values->quiet) &&
           set_metrics(&values->metrics) && set_trace(values->trace);
}
