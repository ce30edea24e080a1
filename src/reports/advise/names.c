/* The contents of a finding: means, texts, and the names with most time. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

/* ---- Means and texts ---- */

double advise_mean(const struct advise *advise, uint64_t sum)
{
    return (double)sum / (double)advise->judged;
}

double advise_quantity(const struct advise *advise, enum iteration_quantity quantity)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < advise->iterations->count; i++) {
        if (advise->regular[i])
            sum += advise->measures[i].values[quantity];
    }
    return advise_mean(advise, sum);
}

void advise_number(struct advise_finding *finding, const char *key, double value)
{
    if (finding->number_count < ADVISE_NUMBERS)
        finding->numbers[finding->number_count++] = (struct advise_number){key, value};
}

void advise_evidence(struct advise_finding *finding, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(finding->evidence, sizeof finding->evidence, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 3, 0))) static void put_line(struct advise_finding *finding,
                                                           struct advise_line line,
                                                           const char *format, va_list arguments)
{
    if (finding->line_count == ADVISE_LINES)
        return;
    vsnprintf(line.text, sizeof line.text, format, arguments);
    finding->lines[finding->line_count++] = line;
}

void advise_line(struct advise_finding *finding, const char *name, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put_line(finding, (struct advise_line){.name = name}, format, arguments);
    va_end(arguments);
}

void advise_path_line(struct advise_finding *finding, const char *path, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put_line(finding, (struct advise_line){.name = path, .is_path = true}, format, arguments);
    va_end(arguments);
}

struct mp_shown advise_time(double ns)
{
    struct mp_shown text;

    mp_format_time_mean(text.text, sizeof text.text, ns);
    return text;
}

struct mp_shown advise_percent(double part, double whole)
{
    struct mp_shown text;

    snprintf(text.text, sizeof text.text, "%.1f %%", whole > 0 ? 100 * part / whole : 0);
    return text;
}

/* ---- Names ---- */

enum mp_status advise_tally_init(struct advise_tally *tally, const struct deps *deps)
{
    tally->names = deps->names.count + 1;
    tally->time = calloc(tally->names, sizeof *tally->time);
    tally->count = calloc(tally->names, sizeof *tally->count);
    return tally->time && tally->count ? MP_OK : MP_ERR_MEMORY;
}

void advise_tally_free(struct advise_tally *tally)
{
    free(tally->time);
    free(tally->count);
    *tally = (struct advise_tally){.time = NULL};
}

void advise_tally_add(struct advise_tally *tally, uint32_t name, uint64_t ns)
{
    tally->time[name] += ns;
    tally->count[name]++;
}

/* The name with most time among those after `above` in the order of lines; 0: none. */
static uint32_t next_largest(const struct advise_tally *tally, uint32_t above)
{
    uint32_t max = 0;

    for (uint32_t name = 1; name < tally->names; name++) {
        uint64_t time = tally->time[name];
        uint64_t limit = tally->time[above];

        if (!tally->count[name] || (above && (time > limit || (time == limit && name <= above))))
            continue;
        if (!max || time > tally->time[max])
            max = name;
    }
    return max;
}

bool advise_is_one(double mean)
{
    return strcmp(mp_figure(mean).text, "1") == 0;
}

struct mp_shown advise_often(double count)
{
    struct mp_shown often = {"once"};

    if (!advise_is_one(count))
        snprintf(often.text, sizeof often.text, "%.17s per iteration", mp_figure(count).text);
    return often;
}

void advise_tally_lines(const struct advise *advise, const struct advise_tally *tally,
                        struct advise_finding *finding)
{
    advise_tally_max(advise, tally, ADVISE_LINES, finding);
}

void advise_tally_max(const struct advise *advise, const struct advise_tally *tally, size_t max,
                      struct advise_finding *finding)
{
    uint32_t name = 0;

    while (max-- && (name = next_largest(tally, name)))
        advise_line(finding, mp_intern_get(&advise->deps->names, name, NULL), "%s, %s",
                    advise_time(advise_mean(advise, tally->time[name])).text,
                    advise_often(advise_mean(advise, tally->count[name])).text);
}
