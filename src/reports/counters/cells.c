/* What a result and a pass own: giving it back, and where the cell of a group and a counter is. */
#include <stdlib.h>

#include "base/text/strings.h"
#include "reports/counters/pass.h"

#include "base/poison.h"

struct counters_cell *counters_cell(const struct counters_result *result,
                                    const struct counters_group *group,
                                    const struct counters_counter *counter)
{
    return &result->cells[group->cells + counter->place];
}

const struct counters_cell *counters_find(const struct counters_result *result,
                                          const struct counters_group *group, const char *name)
{
    for (size_t i = 0; i < result->counter_count; i++) {
        const struct counters_counter *counter = &result->counters[i];

        if (counter->device == group->device && counter->name && counter->by != SAMPLED_BY_NOBODY &&
            mp_text_equal(counter->name, name))
            return counters_cell(result, group, counter);
    }
    return NULL;
}

void counters_pass_free(struct counters_pass *pass)
{
    for (size_t i = 0; i < pass->set_count; i++) {
        free(pass->sets[i].ends);
        free(pass->sets[i].lengths);
        free(pass->sets[i].values);
    }
    free(pass->sets);
    free(pass->pieces);
    free(pass->names);
    mp_map_free(&pass->places);
    mp_map_free(&pass->by_name);
}

void counters_result_free(struct counters_result *result)
{
    free(result->counters);
    free(result->groups);
    free(result->cells);
    quality_free(&result->quality);
    definitions_free(&result->definitions);
    mp_arena_free(&result->names);
    *result = (struct counters_result){.counters = NULL};
}
