/* What takes most of the time, and iterations that take much longer than the others: slow_layer,
 * reformat_layers, tail.
 */
#include <stdlib.h>

#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

/* What takes most of the time: one layer or, in a trace without layers, one kernel. Also layers
 * that compute nothing. */

/* With a smaller share of the GPU's time, or of the path, nothing stands out. */
#define MIN_SHARE (1.0 / 3)

/* A layer stands out if it takes this many times the median of the others. A share of a third is
 * not enough, because each of three equal layers has it. With this factor the layer is above the
 * median even at twice its speed, so the gain does not assume a layer faster than all others. */
#define MIN_TIMES_MEDIAN 3.0

/* With fewer layers the median is meaningless. */
#define MIN_LAYERS 3

/* The assumed time after a change, as a factor. */
#define FASTER 0.5

/* How many kernels of the layer, and how many layers, are named. */
#define KERNELS_NAMED 2
#define LAYERS_NAMED  3

/* ---- slow_layer: a layer ---- */

/* The layer that stands out, and what it is compared with. */
struct slow {
    uint32_t node;
    const struct layer *layer; /* its row */
    uint64_t median;           /* ns, of the other layers, in all iterations that count */
    size_t others;
    bool of_type; /* others are those of its type */
};

static bool is_candidate(const struct advise_layers *layers, size_t node)
{
    return layers->nodes[node].is_range && layers->nodes[node].kernels &&
           layers->nodes[node].row != LAYER_NONE;
}

static const char *type_of(const struct advise_layers *layers, size_t node)
{
    const struct layer_said *said = layers->result.layers[layers->nodes[node].row].said;

    return said ? said->type : NULL;
}

/* Lists the times of the other layers; if `type` is not NULL, only of layers of that type. Returns
 * their number. Types are interned. */
static size_t list_others(const struct advise_layers *layers, uint32_t slow, const char *type,
                          uint64_t *times)
{
    size_t count = 0;

    for (size_t node = 0; node < layers->count; node++) {
        if (node != slow && is_candidate(layers, node) && (!type || type_of(layers, node) == type))
            times[count++] = layers->nodes[node].time;
    }
    return count;
}

static enum mp_status slow_compare(const struct advise_layers *layers, struct slow *slow)
{
    const char *type = type_of(layers, slow->node);
    uint64_t *times = malloc(layers->count * sizeof *times);

    if (!times)
        return MP_ERR_MEMORY;
    slow->others = type ? list_others(layers, slow->node, type, times) : 0;
    slow->of_type = slow->others >= MIN_LAYERS - 1;
    if (!slow->of_type)
        slow->others = list_others(layers, slow->node, NULL, times);
    slow->median = statistics_of(times, slow->others).p50;
    free(times);
    return MP_OK;
}

/* Finds the layer whose kernels take most time; slow->layer is NULL if it does not stand out. */
static enum mp_status find_slow(const struct advise_layers *layers, struct slow *slow)
{
    const struct advise_layer *nodes = layers->nodes;

    *slow = (struct slow){.layer = NULL};
    for (size_t node = 0; node < layers->count; node++) {
        if (is_candidate(layers, node) &&
            (!slow->node || nodes[node].time > nodes[slow->node].time))
            slow->node = (uint32_t)node;
    }
    if (!slow->node || !nodes[slow->node].time ||
        (double)nodes[slow->node].time < MIN_SHARE * (double)layers->time)
        return MP_OK;
    MP_TRY(slow_compare(layers, slow));
    if (slow->others >= MIN_LAYERS - 1 &&
        (double)nodes[slow->node].time >= MIN_TIMES_MEDIAN * (double)slow->median)
        slow->layer = &layers->result.layers[nodes[slow->node].row];
    return MP_OK;
}

static bool is_of(const struct advise *advise, uint32_t index, uint32_t node)
{
    return advise_layer_of(advise, index) == node && advise_layer_kernel(advise, index) &&
           advise->iterations->of[index] != DEPS_NONE;
}

static bool has_requests(const struct advise *advise)
{
    return advise->iterations->way == ITERATIONS_REQUESTS;
}

/* The path from the begin of the first iteration to the end of the last one; of requests, which
 * run at the same time, the path of each. */
static void find_path(const struct advise *advise, struct deps_result *result, uint64_t *critical)
{
    struct deps_window window = {.begin = advise->summary->begin,
                                 .end = advise->summary->end,
                                 .host_end = advise->summary->end,
                                 .from = advise->summary->begin,
                                 .until = advise->summary->end,
                                 .thread = DEPS_NONE};
    size_t count = has_requests(advise) ? advise->iterations->count : 0;

    if (!count)
        deps_path(advise->deps, &window, result, critical);
    for (size_t i = 0; i < count; i++) {
        const struct iteration *request = &advise->iterations->items[i];

        window = (struct deps_window){.id = i + 1,
                                      .begin = request->begin,
                                      .end = request->end,
                                      .host_end = request->host_end,
                                      .from = request->begin,
                                      .until = request->end,
                                      .thread = request->thread};
        deps_path(advise->deps, &window, result, critical);
    }
}

/* The layer's kernels' share of the critical path, in percent. */
static enum mp_status share_of_path(const struct advise *advise, uint32_t node, double *percent)
{
    const struct deps *deps = advise->deps;
    uint64_t *critical = calloc((size_t)deps->count + 1, sizeof *critical);
    struct deps_result result = {.rows = NULL};
    enum mp_status status = critical ? deps_result_init(deps, &result) : MP_ERR_MEMORY;
    uint64_t sum = 0;

    if (!status) {
        find_path(advise, &result, critical);
        for (uint32_t i = deps->host_count; i < deps->count; i++)
            sum += is_of(advise, i, node) ? critical[i] : 0;
        *percent = result.window ? 100 * (double)sum / (double)result.window : 0;
    }
    deps_result_free(&result);
    free(critical);
    return status;
}

/* The gain with an edit of the layer's kernels. */
static enum mp_status replay_layer(struct advise *advise, uint32_t node, unsigned edit,
                                   uint64_t *gain)
{
    for (uint32_t i = advise->deps->host_count; i < advise->deps->count; i++) {
        if (is_of(advise, i, node))
            advise->edits[i] = (uint8_t)edit;
    }
    return advise_replay(advise, gain);
}

/* The layer's kernels that have most time. */
static enum mp_status name_kernels(const struct advise *advise, uint32_t node,
                                   struct advise_finding *finding)
{
    const struct deps *deps = advise->deps;
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, deps);

    for (uint32_t i = deps->host_count; i < deps->count && !status; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (is_of(advise, i, node) && advise_counts(advise, i))
            advise_tally_add(&tally, work->name, work->end - work->begin);
    }
    if (!status)
        advise_tally_max(advise, &tally, KERNELS_NAMED, finding);
    advise_tally_free(&tally);
    return status;
}

static void say_slow(struct advise *advise, const struct slow *slow, double critical,
                     uint64_t bound, struct advise_finding *finding)
{
    const struct advise_layer *node = &advise->layers.nodes[slow->node];
    double time = advise_mean(advise, node->time);
    double share = 100 * (double)node->time / (double)advise->layers.time;
    double median = advise_mean(advise, slow->median);

    advise_evidence(finding,
                    "kernels of this layer take %s of an iteration, %.1f %% of its GPU time and "
                    "%.1f %% of the critical path; the median of %s other layers%s takes %s; if "
                    "they took no time, an iteration would gain %s",
                    advise_time(time).text, share, critical, mp_count(slow->others).text,
                    slow->of_type ? " of its type" : "", advise_time(median).text,
                    advise_time((double)bound).text);
    advise_number(finding, "layer_ns", time);
    advise_number(finding, "step_percent", advise->step ? 100 * time / (double)advise->step : 0);
    advise_number(finding, "gpu_percent", share);
    advise_number(finding, "critical_percent", critical);
    advise_number(finding, "kernels", advise_mean(advise, node->kernels));
    advise_number(finding, "layer_calls", (double)slow->layer->calls);
    advise_number(finding, "call_p50_ns", (double)slow->layer->device.p50);
    advise_number(finding, "others", (double)slow->others);
    advise_number(finding, "median_ns", median);
    advise_number(finding, "bound_ns", (double)bound);
}

static enum mp_status name_layer(struct advise *advise, const struct slow *slow,
                                 struct advise_finding *finding)
{
    const struct layer *layer = slow->layer;
    const char *path;

    MP_TRY(advise_layer_path(advise, slow->node, &path));
    advise_path_line(finding, path, "P50 %s of %s calls",
                     advise_time((double)layer->device.p50).text, mp_count(layer->calls).text);
    return name_kernels(advise, slow->node, finding);
}

static enum mp_status judge_layer(struct advise *advise, const struct slow *slow,
                                  struct advise_finding *finding)
{
    double critical = 0;
    uint64_t bound = 0;

    MP_TRY(share_of_path(advise, slow->node, &critical));
    MP_TRY(replay_layer(advise, slow->node, DEPS_EDIT_NO_TIME, &bound));
    advise->factor = FASTER;
    MP_TRY(replay_layer(advise, slow->node, DEPS_EDIT_SCALED, &finding->gain));
    finding->title = "One layer dominates the GPU's time";
    finding->to_do = "Make this layer faster first: `miniprof layers` and `miniprof metrics` of "
                     "its kernels, lower precision, another algorithm or tactic.";
    finding->assumes = "the layer's kernels are twice as fast";
    say_slow(advise, slow, critical, bound, finding);
    return name_layer(advise, slow, finding);
}

/* ---- slow_layer: a kernel ---- */

/* Kernels of NCCL could not: how much of them is waiting for other ranks, one trace does not know.
 */
static bool could_be_faster(const struct advise *advise, const struct deps_activity *work)
{
    return work->kind == DEPS_KERNEL && !advise->kinds[work->name].communicates &&
           !advise_fills_memory(advise, work);
}

/* The name of kernels with most time on the critical path; 0: there is none. */
static uint32_t slowest(const struct advise *advise, const struct deps_result *result)
{
    const struct deps *deps = advise->deps;
    uint32_t max = 0;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint32_t name = deps->activities[i].name;

        if (result->rows[name].critical &&
            (!max || result->rows[name].critical > result->rows[max].critical) &&
            could_be_faster(advise, &deps->activities[i]))
            max = name;
    }
    return max;
}

static uint64_t edit_name(struct advise *advise, uint32_t name)
{
    const struct deps *deps = advise->deps;
    uint64_t count = 0;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (deps->activities[i].name != name || advise->iterations->of[i] == DEPS_NONE)
            continue;
        advise->edits[i] = DEPS_EDIT_SCALED;
        count += advise_counts(advise, i);
    }
    return count;
}

static enum mp_status judge_kernel(struct advise *advise, struct advise_finding *finding,
                                   struct deps_result *result)
{
    find_path(advise, result, NULL);
    uint32_t name = slowest(advise, result);
    double share = name ? (double)result->rows[name].critical / (double)result->window : 0;
    if (share < MIN_SHARE)
        return MP_OK;
    advise->factor = FASTER;
    uint64_t count = edit_name(advise, name);
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "the kernel is twice as fast";
    advise_evidence(finding, "%.1f %% of the critical path %s is this kernel, %s", 100 * share,
                    has_requests(advise) ? "of the requests"
                                         : "from the first iteration to the end of the last one",
                    advise_often(advise_mean(advise, count)).text);
    advise_line(
        finding, mp_intern_get(&advise->deps->names, name, NULL), "%s an iteration",
        advise_time((double)result->rows[name].critical / (double)advise->iterations->count).text);
    advise_number(finding, "share_percent", 100 * share);
    advise_number(finding, "critical_ns", (double)result->rows[name].critical);
    advise_number(finding, "calls", advise_mean(advise, count));
    return MP_OK;
}

enum mp_status advise_slow_layer(struct advise *advise, struct advise_finding *finding)
{
    struct deps_result result;
    struct slow slow;

    MP_TRY(find_slow(&advise->layers, &slow));
    if (slow.layer)
        return judge_layer(advise, &slow, finding);
    enum mp_status status = deps_result_init(advise->deps, &result);
    if (!status)
        status = judge_kernel(advise, finding, &result);
    deps_result_free(&result);
    return status;
}

/* ---- reformat_layers ---- */

/* Removes the time of the layers' work; returns how many activities that is in the iterations that
 * count. */
static uint64_t edit_moves(struct advise *advise)
{
    const struct deps *deps = advise->deps;
    uint64_t count = 0;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (advise->iterations->of[i] == DEPS_NONE || !advise_layer_moves(advise, i))
            continue;
        advise_edit_gone(advise, i);
        count += advise_counts(advise, i);
    }
    return count;
}

/* Of the reformat layers after `above`, the one with most time; LAYER_NONE: none. */
static uint32_t next_moving(const struct advise_layers *layers, uint32_t above)
{
    uint64_t limit = above == LAYER_NONE ? UINT64_MAX : layers->nodes[above].moved;
    uint32_t max = LAYER_NONE;

    for (uint32_t node = 0; node < layers->count; node++) {
        uint64_t moved = layers->nodes[node].moved;

        if (!moved || moved > limit || (above != LAYER_NONE && moved == limit && node <= above))
            continue;
        if (max == LAYER_NONE || moved > layers->nodes[max].moved)
            max = node;
    }
    return max;
}

static enum mp_status name_moving(struct advise *advise, struct advise_finding *finding)
{
    const struct advise_layers *layers = &advise->layers;
    uint32_t node = next_moving(layers, LAYER_NONE);
    const char *path;

    for (unsigned i = 0; i < LAYERS_NAMED && node != LAYER_NONE; i++) {
        MP_TRY(advise_layer_path(advise, node, &path));
        advise_path_line(finding, path, "%s",
                         advise_time(advise_mean(advise, layers->nodes[node].moved)).text);
        node = next_moving(layers, node);
    }
    return MP_OK;
}

enum mp_status advise_reformat_layers(struct advise *advise, struct advise_finding *finding)
{
    const struct advise_layers *layers = &advise->layers;
    uint64_t time = 0;
    size_t count = 0;

    for (size_t node = 0; node < layers->count; node++) {
        time += layers->nodes[node].moved;
        count += layers->nodes[node].moved != 0;
    }
    if (!count)
        return MP_OK;
    uint64_t activities = edit_moves(advise);
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "these layers are gone: their kernels and copies take no time, nor do the "
                       "calls that launch them outside graphs";
    advise_evidence(finding,
                    "layers that only reformat or copy, %s of them, take %s of an iteration, "
                    "%.1f %% of its GPU time; kernels and copies in them: %s",
                    mp_count(count).text, advise_time(advise_mean(advise, time)).text,
                    100 * (double)time / (double)layers->time,
                    mp_figure(advise_mean(advise, activities)).text);
    advise_number(finding, "layers", (double)count);
    advise_number(finding, "activities", advise_mean(advise, activities));
    advise_number(finding, "layers_ns", advise_mean(advise, time));
    advise_number(finding, "gpu_percent", 100 * (double)time / (double)layers->time);
    return name_moving(advise, finding);
}

/* Iterations that take much longer than the others, and what takes the additional time. */

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
    enum mp_status status = list_names(advise, tail.longest, &usual, &slow, finding);
    deps_result_free(&usual);
    deps_result_free(&slow);
    return status;
}
