/* How long iterations or windows are in a replay. */
#include "analyze/undisturbed/build.h"

#include <string.h>

#include "base/poison.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void find_ends(const struct undisturbed_input *input, const struct deps_replayer *replayer,
                      uint64_t *ends)
{
    const struct iterations *found = &input->study->iterations;
    const struct deps *deps = input->deps;

    memset(ends, 0, found->count * sizeof *ends);
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint32_t of = found->of[i];

        if (of != DEPS_NONE && found->way != ITERATIONS_REQUESTS)
            ends[of] = later(ends[of], deps_replayer_end(replayer, i));
    }
}

struct deps_window undisturbed_window(const struct deps_replayer *replayer,
                                      const struct iteration *one)
{
    struct deps_window window = {.id = 1,
                                 .begin = one->begin,
                                 .end = one->host_end,
                                 .host_end = one->host_end,
                                 .from = one->from,
                                 .until = one->until,
                                 .thread = one->thread};

    deps_replayer_window(replayer, &window);
    return window;
}

static uint64_t usual_latency(const struct undisturbed_input *input,
                              const struct deps_replayer *replayer, uint64_t *values)
{
    const struct iterations *found = &input->study->iterations;

    find_ends(input, replayer, values);
    for (size_t i = 0; i < found->count; i++) {
        struct deps_window window = undisturbed_window(replayer, &found->items[i]);

        values[i] = later(values[i], window.host_end) - window.begin;
    }
    return statistics_of(values, found->count).p50;
}

uint64_t undisturbed_length(const struct undisturbed_input *input,
                            const struct deps_replayer *replayer, uint64_t *values)
{
    uint64_t length = 0;

    if (input->study)
        return usual_latency(input, replayer, values);
    for (size_t i = 0; i < input->windows->count; i++) {
        struct deps_window window = input->windows->items[i];

        deps_replayer_window(replayer, &window);
        length += window.end - window.begin;
    }
    return length;
}
