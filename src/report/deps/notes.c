/* The lines below the table: which dependencies are not known, and why. They say how far the path
 * can be trusted.
 */
#include <inttypes.h>

#include "report/deps/sections.h"

#include "base/poison.h"

/* "1 dependency was", "3 dependencies were". */
static void note_count(const struct report_out *out, const struct deps_report *report,
                       uint64_t count, const char *one, const char *more)
{
    if (count)
        print_deps_line(out, report, "%" PRIu64 " %s", count, count == 1 ? one : more);
}

static void note_counts(const struct report_out *out, const struct deps_report *report)
{
    const struct deps_counts *counts = &report->deps->counts;

    note_count(out, report, counts->clamped,
               "time of a dependency is off by up to 2 us and was clamped (two clocks).",
               "times of dependencies are off by up to 2 us and were clamped (two clocks).");
    note_count(out, report, counts->contradicted,
               "dependency is contradicted by the recorded times and was left out.",
               "dependencies are contradicted by the recorded times and were left out.");
    note_count(out, report, counts->overlapping,
               "activity began before the one ahead of it in its stream had ended.",
               "activities began before the one ahead of them in their stream had ended.");
    note_count(out, report, counts->unknown_events,
               "wait for an event whose record is not in the trace was left out.",
               "waits for events whose records are not in the trace were left out.");
    note_count(out, report, counts->unlaunched,
               "device activity has no launching call in the trace.",
               "device activities have no launching call in the trace.");
    note_count(out, report, counts->unknown_graphs,
               "graph launch has no edges in the trace: its nodes go by stream order.",
               "graph launches have no edges in the trace: their nodes go by stream order.");
}

void print_deps_notes(const struct report_out *out, const struct deps_report *report)
{
    const struct deps *deps = report->deps;

    if (deps->no_calls)
        print_deps_line(out, report,
                        "No API calls in the trace: when work was launched is not known.");
    if (deps->no_syncs)
        print_deps_line(out, report,
                        "No synchronisation in the trace: what waits is inferred from times.");
    note_counts(out, report);
    print_deps_line(out, report,
                    "Not modelled: contention on the GPU, polling on host memory, threads that "
                    "wait for each other; miniprof-deps(1).");
}
