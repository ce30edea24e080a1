/* How the clocks of hosts lie to that of the first one, as collectives bound it: lines of text, or
 * objects in JSON. `ranks` prints it, and `info` of several traces.
 */
#include "reports/ranks/print.h"

#include <math.h>

#include "base/text/foreign.h"
#include "base/text/units.h"

#include "base/poison.h"

#define MAX_LINES 16 /* clocks of which text says each */

/* To a thousandth: less is rounding. */
static double drift_ppm(const struct ranks_clock *clock)
{
    return rint(clock->drift * 1e9) / 1e3;
}

static void print_clock(const struct report_out *out, const struct ranks_clock *clock,
                        const char *whose)
{
    char offset[MP_FORMATTED_BYTES], bound[MP_FORMATTED_BYTES];

    fputs("======== Note: the clock of ", out->file);
    foreign_put_text(out->file, whose);
    if (!clock->known) {
        fputs(": no collective bounds its offset; it is aligned by the time of day.\n", out->file);
        return;
    }
    if (!clock->possible) {
        fprintf(out->file,
                ": no straight line obeys the bounds of %s collectives; times across "
                "hosts are doubtful.\n",
                mp_count(clock->instances).text);
        return;
    }
    fprintf(out->file, " is %s %s",
            mp_format_time_within(offset, sizeof offset, (uint64_t)llrint(fabs(clock->offset)),
                                  clock->bound),
            clock->offset > 0 ? "behind" : "ahead");
    if (drift_ppm(clock) != 0)
        fprintf(out->file, ", drifts by %.3f ppm", -drift_ppm(clock));
    fprintf(out->file, ", and right within %s, by %s collectives.\n",
            mp_format_time(bound, sizeof bound, (uint64_t)llrint(clock->bound)),
            mp_count(clock->instances).text);
}

/* The first process that has the clock. */
static const struct trace_process *process_of(const struct trace_set *set, size_t clock)
{
    size_t i = 0;

    while (i + 1 < set->count && set->processes[i].clock_number != clock)
        i++;
    return &set->processes[i];
}

void print_clock_offsets(const struct report_out *out, const struct trace_set *set,
                         const struct ranks *ranks)
{
    double worst = 0;
    char bound[MP_FORMATTED_BYTES];

    for (size_t i = 1; i < ranks->clock_count && i <= MAX_LINES; i++)
        print_clock(out, &ranks->clocks[i], process_of(set, i)->label);
    if (ranks->clock_count <= MAX_LINES + 1)
        return;
    for (size_t i = 1; i < ranks->clock_count; i++)
        worst = ranks->clocks[i].bound > worst ? ranks->clocks[i].bound : worst;
    fprintf(out->file,
            "======== Note: %s more clocks: see --json; of all that are known the worst is right "
            "within %s.\n",
            mp_count(ranks->clock_count - 1 - MAX_LINES).text,
            mp_format_time(bound, sizeof bound, (uint64_t)llrint(worst)));
}

void json_clock_offsets(struct json_writer *json, const struct trace_set *set,
                        const struct ranks *ranks)
{
    for (size_t i = 1; i < ranks->clock_count; i++) {
        const struct ranks_clock *clock = &ranks->clocks[i];

        JSON_OBJECT(json, FACT("process", process_of(set, i)->label),
                    FACT("instances", clock->instances), FLAG("possible", clock->possible),
                    FACT_IF("offset_ns", clock->known, clock->offset),
                    FACT_IF("drift_ppm", clock->known, drift_ppm(clock)),
                    FACT_IF("bound_ns", clock->possible, clock->bound));
    }
}
