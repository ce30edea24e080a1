/* The first line and the lines below the table: which dependencies are not known or doubtful, and
 * why. They say how far the path can be trusted.
 */

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

#define MAX_DOUBTFUL 2.0 /* percent */

double deps_doubtful(const struct deps_counts *counts)
{
    uint64_t doubtful = counts->overlapping + counts->contradicted + counts->clamped;

    return counts->dependencies ? 100.0 * (double)doubtful / (double)counts->dependencies : 0;
}

void print_deps_doubts(const struct report_out *out, const struct deps_report *report)
{
    const struct deps_counts *counts = &report->deps->counts;

    if (deps_doubtful(counts) <= MAX_DOUBTFUL)
        return;
    print_prefix(out, report->trace);
    fprintf(out->file,
            "Warning: %.1f%% of %s dependencies are doubtful: %s"
            " overlap, %s are contradicted, %s were clamped (see below).\n",
            deps_doubtful(counts), mp_count(counts->dependencies).text,
            mp_count(counts->overlapping).text, mp_count(counts->contradicted).text,
            mp_count(counts->clamped).text);
}

/* "1 dependency was", "3 dependencies were". */
static void note_count(const struct report_out *out, const struct deps_report *report,
                       uint64_t count, const char *one, const char *more)
{
    if (count)
        print_note(out, report->trace, "%s %s", mp_count(count).text, count == 1 ? one : more);
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
               "activity began before the one ahead of it in its stream had ended: its own time is "
               "what it ran alone.",
               "activities began before the one ahead of them in their stream had ended: their own "
               "time is what they ran alone.");
    note_count(out, report, counts->undecided,
               "activity may have waited for its launch or for its stream: too few examples to "
               "tell.",
               "activities may have waited for their launch or for their stream: too few examples "
               "to tell.");
    note_count(out, report, counts->unknown_events,
               "wait for an event whose record is not in the trace was left out.",
               "waits for events whose records are not in the trace were left out.");
    note_count(out, report, counts->unknown_wakers,
               "wait names a thread that the trace does not know: the wait has a time of its own.",
               "waits name threads that the trace does not know: they have a time of their own.");
    note_count(out, report, counts->wrong_wakers,
               "wait names a waker that cannot have ended it: the wait has a time of its own.",
               "waits name a waker that cannot have ended them: they have a time of their own.");
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
        print_note(out, report->trace,
                   "No API calls in the trace: when work was launched is not known.");
    if (deps->no_syncs)
        print_note(out, report->trace,
                   "No synchronisation in the trace: what waits is inferred from times.");
    note_counts(out, report);
    print_note(out, report->trace,
               "Not modelled: contention on the GPU, polling on host memory%s; "
               "miniprof-deps(1).",
               deps->wait_count ? ""
                                : ", threads that wait for each other (miniprof run records "
                                  "their waits)");
}
