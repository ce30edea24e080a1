/* Iterations that take much longer than the others, and what takes the additional time. */
#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

/* Lines of iterations; the rest are names. */
#define ITERATIONS_SHOWN 2

/* If the first iterations are outliers, they are warm-up and no tail. */
static size_t count_warm_up(const struct advise *advise)
{
    size_t count = 0;

    while (count < advise->iterations->count && !advise->regular[count])
        count++;
    return count;
}

static void path_of(const struct advise *advise, uint32_t number, struct deps_result *result)
{
    const struct iteration *iteration = &advise->iterations->items[number];
    const struct deps_window window = {.id = (uint64_t)number + 1,
                                       .begin = iteration->begin,
                                       .end = iteration->end,
                                       .host_end = iteration->host_end,
                                       .thread = iteration->thread};

    deps_path(advise->deps, &window, result, NULL);
}

/* Says which iteration the last line is about. */
static void says_of(struct advise_finding *finding, uint32_t iteration)
{
    finding->lines[finding->line_count - 1].iteration = (size_t)iteration + 1;
}

/* The names that have the most additional time on the path of an outlier, compared with the median
 * iteration. */
static enum mp_status list_names(const struct advise *advise, uint32_t outlier,
                                 struct deps_result *usual, struct deps_result *slow,
                                 struct advise_finding *finding)
{
    MP_TRY(deps_result_init(advise->deps, usual));
    MP_TRY(deps_result_init(advise->deps, slow));
    path_of(advise, advise->summary->median, usual);
    path_of(advise, outlier, slow);
    while (finding->line_count < ADVISE_LINES) {
        uint64_t max = 0;
        uint32_t which = 0;

        for (uint32_t name = 1; name < slow->row_count; name++) {
            uint64_t time = slow->rows[name].critical;
            uint64_t before = usual->rows[name].critical;

            if (time > before && time - before > max) {
                max = time - before;
                which = name;
            }
        }
        if (!which)
            break;
        advise_line(finding, mp_intern_get(&advise->deps->names, which, NULL),
                    "iteration %u: %s more on its critical path", outlier + 1,
                    advise_time((double)max).text);
        says_of(finding, outlier);
        slow->rows[which].critical = 0;
    }
    return MP_OK;
}

struct tail {
    uint64_t count;
    uint64_t excess; /* ns above P50 */
    uint32_t longest;
};

static struct tail tail_add_up(const struct advise *advise, struct advise_finding *finding)
{
    const struct iterations_summary *summary = advise->summary;
    uint64_t usual = summary->statistics[ITERATION_LATENCY].p50;
    size_t warm_up = count_warm_up(advise);
    struct tail tail = {.longest = DEPS_NONE};

    for (size_t i = 0; i < summary->outlier_count; i++) {
        const struct iteration_outlier *outlier = &summary->outliers[i];
        uint64_t latency = advise->measures[outlier->iteration].values[ITERATION_LATENCY];

        if (outlier->iteration < warm_up)
            continue;
        if (!tail.count++)
            tail.longest = outlier->iteration;
        tail.excess += latency - usual;
        if (tail.count > ITERATIONS_SHOWN)
            continue;
        advise_line(finding, NULL, "iteration %u: %s, %s more of: %s", outlier->iteration + 1,
                    advise_time((double)latency).text, advise_time((double)outlier->by).text,
                    outlier->by ? iteration_quantity_name(outlier->grew) : "nothing known");
        says_of(finding, outlier->iteration);
    }
    return tail;
}

enum mp_status advise_tail(struct advise *advise, struct advise_finding *finding)
{
    const struct statistics *latency = &advise->summary->statistics[ITERATION_LATENCY];
    struct tail tail = tail_add_up(advise, finding);
    struct deps_result usual = {.rows = NULL};
    struct deps_result slow = {.rows = NULL};
    enum mp_status status;

    if (!tail.count)
        return MP_OK;
    finding->method = ADVISE_BY_TIMES;
    finding->gain = tail.excess / advise->iterations->count;
    finding->assumes = "the outliers take as long as the median iteration; mean of all iterations";
    advise_evidence(finding,
                    "%s of %s iterations %s, together %s longer than the median one; "
                    "P99 is %s, P50 %s",
                    mp_count(tail.count).text, mp_count(advise->iterations->count).text,
                    tail.count == 1 ? "is an outlier" : "are outliers",
                    advise_time((double)tail.excess).text, advise_time((double)latency->p99).text,
                    advise_time((double)latency->p50).text);
    advise_number(finding, "outliers", (double)tail.count);
    advise_number(finding, "excess_ns", (double)tail.excess);
    advise_number(finding, "p50_ns", (double)latency->p50);
    advise_number(finding, "p99_ns", (double)latency->p99);
    status = list_names(advise, tail.longest, &usual, &slow, finding);
    deps_result_free(&usual);
    deps_result_free(&slow);
    return status;
}
