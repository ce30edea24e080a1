/* What kernels, or layers with the layers in them, were like. */
#include <math.h>
#include <stdlib.h>

#include "base/text/strings.h"
#include "reports/counters/pass.h"
#include "reports/layers/layers.h"

#include "base/poison.h"

#define KNOWN_ENOUGH 0.9 /* share of the time */

/* ---- Sums ---- */

/* Groups, added up by their time. */
struct sums {
    double values[COUNTERS_TELLING];
    double errors[COUNTERS_TELLING]; /* squares */
    double times[COUNTERS_TELLING];  /* ns of those that are known */
};

static void add_group(struct sums *sums, const struct counters_result *result,
                      const struct counters_group *group)
{
    for (int i = 0; i < COUNTERS_TELLING; i++) {
        double mean = counters_mean_of(result, group, (enum counters_telling)i);
        double error = counters_error_of(result, group, (enum counters_telling)i);

        if (isnan(mean))
            continue;
        sums->values[i] += mean * (double)group->time;
        sums->errors[i] += error * (double)group->time * error * (double)group->time;
        sums->times[i] += (double)group->time;
    }
}

/* Adds the groups of a name on the device, or on any; returns their time. */
static double add_named(struct sums *sums, const struct counters_result *result, uint64_t device,
                        const char *name)
{
    double time = 0;

    for (size_t i = 0; i < result->group_count; i++) {
        const struct counters_group *group = &result->groups[i];

        if ((device != COUNTERS_ANY_DEVICE && group->device != device) || !group->name ||
            !mp_text_equal(group->name, name))
            continue;
        add_group(sums, result, group);
        time += (double)group->time;
    }
    return time;
}

static struct counters_brief brief_of(const struct sums *sums, const struct counters_result *result,
                                      double time, const char *name)
{
    struct counters_brief brief;

    for (int i = 0; i < COUNTERS_TELLING; i++) {
        bool known = time > 0 && sums->times[i] >= KNOWN_ENOUGH * time;

        brief.values[i] = known ? sums->values[i] / sums->times[i] : (double)NAN;
        brief.errors[i] = known ? sqrt(sums->errors[i]) / sums->times[i] : (double)NAN;
    }
    brief.class = counters_class_of(result, brief.values, name);
    return brief;
}

struct counters_brief counters_brief_of(const struct counters_result *result, uint64_t device,
                                        const char *name)
{
    struct sums sums = {.times = {0}};
    double time = add_named(&sums, result, device, name);

    return brief_of(&sums, result, time, name);
}

/* ---- Layers ---- */

static enum mp_status add_layers(struct sums *sums, const struct counters_result *result,
                                 const struct layers_result *layers)
{
    struct mp_buffer path = {0};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < layers->count && !status; i++) {
        mp_buffer_clear(&path);
        layers_put_path(&path, layers, (uint32_t)i);
        mp_buffer_append_byte(&path, '\0');
        status = path.status;
        if (!status && layers->layers[i].self->device)
            add_named(&sums[i], result, COUNTERS_ANY_DEVICE, (const char *)path.data);
    }
    mp_buffer_free(&path);
    return status;
}

/* Each layer stands before those inside it. */
static void add_to_parents(struct sums *sums, const struct layers_result *layers)
{
    for (size_t i = layers->count; i-- > 0;) {
        uint32_t parent = layers->layers[i].parent;

        for (int k = 0; k < COUNTERS_TELLING && parent != LAYER_NONE; k++) {
            sums[parent].values[k] += sums[i].values[k];
            sums[parent].errors[k] += sums[i].errors[k];
            sums[parent].times[k] += sums[i].times[k];
        }
    }
}

static struct counters_brief *brief_layers(const struct counters_result *result,
                                           const struct layers_result *layers)
{
    struct sums *sums = calloc(layers->count + 1, sizeof *sums);
    struct counters_brief *briefs = calloc(layers->count + 1, sizeof *briefs);
    enum mp_status status = sums && briefs ? add_layers(sums, result, layers) : MP_ERR_MEMORY;

    if (!status) {
        add_to_parents(sums, layers);
        for (size_t i = 0; i < layers->count; i++)
            briefs[i] = brief_of(&sums[i], result, (double)layers->layers[i].total->device, NULL);
    } else {
        free(briefs);
        briefs = NULL;
    }
    free(sums);
    return briefs;
}

enum mp_status counters_of_layers(struct mp_trace *trace, const struct layers_options *options,
                                  const struct layers_result *layers,
                                  struct counters_brief **briefs, struct mp_error *error)
{
    const struct counters_options by_layer = {
        .range = options->range, .by = COUNTERS_BY_LAYER, .style = options->style, .as = options};
    struct counters_result result;
    bool any;

    *briefs = NULL;
    if (layers->by_position)
        return MP_OK;
    MP_TRY(counters_build_any(trace, &by_layer, &result, &any, error));
    if (!any)
        return MP_OK;
    *briefs = brief_layers(&result, layers);
    counters_result_free(&result);
    return *briefs ? MP_OK : mp_error_set(error, MP_ERR_MEMORY, "out of memory");
}
