/* The summary tier: the run, its iterations, what advise finds, and its layers. Times are as
 * recorded.
 */
#include "export/lake/build.h"

#include <stdlib.h>

#include "export/rows/rows.h"
#include "profile/identity.h"
#include "reports/advise/advise.h"
#include "reports/layers/layers.h"

#include "base/poison.h"

/* ---- Layers ---- */

/* NVTX ranges by path, with the work that they launched. */

static void fill_work(const struct layer *layer, struct tables_cell *cells)
{
    cells[LAKE_LAYER_depth] = TABLES_NUMBER(layer->depth);
    cells[LAKE_LAYER_instances] = TABLES_NUMBER(layer->instances);
    cells[LAKE_LAYER_calls] = TABLES_NUMBER(layer->calls);
    cells[LAKE_LAYER_total_ns] = TABLES_NUMBER(layer->total->device);
    cells[LAKE_LAYER_self_ns] = TABLES_NUMBER(layer->self->device);
    cells[LAKE_LAYER_kernels] = TABLES_NUMBER(layer->total->counts[LAYER_KERNEL]);
    cells[LAKE_LAYER_copies] = TABLES_NUMBER(layer->total->counts[LAYER_COPY]);
    cells[LAKE_LAYER_sets] = TABLES_NUMBER(layer->total->counts[LAYER_SET]);
    cells[LAKE_LAYER_graphs] = TABLES_NUMBER(layer->total->counts[LAYER_GRAPH]);
    cells[LAKE_LAYER_p50_ns] = TABLES_NUMBER(layer->device.p50);
    cells[LAKE_LAYER_p99_ns] = TABLES_NUMBER(layer->device.p99);
    cells[LAKE_LAYER_launch_ns] = TABLES_NUMBER(layer->total->launch_time);
}

static enum mp_status put_layer(struct lake *lake, const struct layers_result *layers,
                                uint32_t index, struct mp_buffer *path)
{
    const struct layer *layer = &layers->layers[index];
    struct tables_cell cells[LAKE_LAYER_COLUMNS] = {{.kind = 0}};

    mp_buffer_clear(path);
    layers_put_path(path, layers, index);
    if (path->status != MP_OK)
        return path->status;
    cells[LAKE_LAYER_run_id] = tables_words(lake->run);
    cells[LAKE_LAYER_layer] = TABLES_WORDS((const char *)path->data, path->size);
    cells[LAKE_LAYER_name] = tables_words(layer->name ? layer->name : "<no range>");
    cells[LAKE_LAYER_domain] = tables_words(layer->domain);
    fill_work(layer, cells);
    return tables_put(lake->tables, LAKE_LAYER, cells);
}

static enum mp_status put_layers(struct lake *lake, const struct layers_result *layers)
{
    struct mp_buffer path = {.data = NULL};
    enum mp_status status = MP_OK;

    for (uint32_t i = 0; i < layers->count && status == MP_OK; i++)
        status = put_layer(lake, layers, i, &path);
    mp_buffer_free(&path);
    return status;
}

/* A trace whose layers cannot be found has none. */
enum mp_status lake_put_layers(struct lake *lake, struct mp_error *error)
{
    const struct export_options *rows = export_rows_options(lake->process->rows);
    const struct layers_options options = {.range = rows->range, .style = rows->style};
    struct layers_result layers;
    struct profile profile;
    struct mp_error why;

    if (!rows->analyses)
        return MP_OK;
    MP_TRY(profile_load(&profile, lake->process->trace, DEFINITIONS_USUAL, error));
    enum mp_status status = layers_build(&profile, &options, &layers, &why);
    if (status == MP_ERR_IO || status == MP_ERR_MEMORY)
        mp_error_set(error, status, "%s", why.text);
    else if (status == MP_OK)
        status = put_layers(lake, &layers);
    else
        status = MP_OK;
    layers_free(&layers);
    profile_free(&profile);
    return status;
}

/* ---- The run ---- */

static void fill_number(const struct mp_trace *trace, const char *key, struct tables_cell *cell)
{
    uint64_t number;

    if (property_number(trace, key, INT32_MAX, &number) && number)
        *cell = TABLES_NUMBER(number);
}

static void fill_totals(const struct lake *lake, struct tables_cell *cells)
{
    static const struct {
        uint8_t kind, count, time;
    } totals[] = {
        {EXPORT_KERNEL, LAKE_RUN_kernels, LAKE_RUN_kernel_ns},
        {EXPORT_COPY, LAKE_RUN_copies, LAKE_RUN_copy_ns},
        {EXPORT_SET, LAKE_RUN_sets, LAKE_RUN_set_ns},
        {EXPORT_CALL, LAKE_RUN_calls, LAKE_RUN_call_ns},
    };

    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        cells[totals[i].count] = TABLES_NUMBER(lake->totals[totals[i].kind].count);
        cells[totals[i].time] = TABLES_NUMBER(lake->totals[totals[i].kind].time);
    }
}

static void fill_who(const struct lake *lake, struct tables_cell *cells)
{
    const struct trace_process *who = lake->process->who;
    const struct mp_trace *trace = lake->process->trace;

    cells[LAKE_RUN_run_id] = tables_words(lake->run);
    cells[LAKE_RUN_job] = tables_words(lake->job);
    cells[LAKE_RUN_date] = tables_words(lake->date);
    cells[LAKE_RUN_host] = tables_words(who->host ? who->host : "unknown");
    cells[LAKE_RUN_rank] = TABLES_NUMBER(lake->rank & INT32_MAX);
    if (who->pid != TRACE_SET_UNKNOWN)
        cells[LAKE_RUN_pid] = TABLES_NUMBER(who->pid);
    cells[LAKE_RUN_command] = tables_words(who->command);
    cells[LAKE_RUN_recorder] = tables_words(mp_trace_property(trace, "miniprof"));
    fill_number(trace, "driver_version", &cells[LAKE_RUN_driver]);
    fill_number(trace, "cupti_version", &cells[LAKE_RUN_cupti]);
    cells[LAKE_RUN_started_ns] = TABLES_NUMBER(who->first_time + who->offset);
    cells[LAKE_RUN_dur_ns] = TABLES_NUMBER(who->last_time - who->first_time);
    cells[LAKE_RUN_records] = TABLES_NUMBER(who->records);
    cells[LAKE_RUN_dropped] = TABLES_NUMBER(who->dropped);
    cells[LAKE_RUN_whole] = TABLES_NUMBER(trace_process_is_whole(who));
    cells[LAKE_RUN_gpus] = TABLES_NUMBER(who->device_count);
}

static enum mp_status put_run(struct lake *lake, const struct iterations_study *study)
{
    const struct trace_process *who = lake->process->who;
    struct tables_cell cells[LAKE_RUN_COLUMNS] = {{.kind = 0}};
    char uuid[EXPORT_UUID_BYTES];

    fill_who(lake, cells);
    if (who->device_count) {
        cells[LAKE_RUN_gpu_name] = tables_words(who->devices[0].name);
        cells[LAKE_RUN_gpu_uuid] =
            tables_words(export_uuid(who->devices[0].uuid_high, who->devices[0].uuid_low, uuid));
    }
    fill_totals(lake, cells);
    if (study) {
        cells[LAKE_RUN_iterations] = TABLES_NUMBER(study->iterations.count);
        cells[LAKE_RUN_iterations_by] = tables_words(iterations_way_key(study->iterations.way));
        cells[LAKE_RUN_iterations_name] = tables_words(study->iterations.name);
        cells[LAKE_RUN_coverage] =
            (struct tables_cell){.real = study->iterations.coverage, .kind = TABLES_CELL_REAL};
        cells[LAKE_RUN_step_p50_ns] =
            TABLES_NUMBER(study->summary.statistics[ITERATION_LATENCY].p50);
        cells[LAKE_RUN_step_p99_ns] =
            TABLES_NUMBER(study->summary.statistics[ITERATION_LATENCY].p99);
    }
    return tables_put(lake->tables, LAKE_RUN, cells);
}

/* ---- Iterations ---- */

/* Their quantities have the order of enum iteration_quantity. */
_Static_assert((int)LAKE_ITERATION_bytes_copied - LAKE_ITERATION_latency_ns ==
                   ITERATION_QUANTITIES - 1,
               "the columns");

/* Time on the critical path by what ran there; ITERATION's last four columns. */
static enum mp_status sum_critical(const struct export_analyses *analyses, uint64_t (**sums)[4])
{
    const struct deps *deps = &analyses->deps;

    *sums = calloc(analyses->iterations.count + 1, sizeof **sums);
    if (!*sums)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->count; i++) {
        uint32_t iteration = analyses->iterations.of[i];
        unsigned kind = deps->activities[i].kind;

        if (iteration == DEPS_NONE)
            continue;
        (*sums)[iteration][kind == DEPS_KERNEL || kind == DEPS_GRAPH ? 0
                           : kind == DEPS_COPY                       ? 1
                           : kind == DEPS_CALL                       ? 2
                                                                     : 3] += analyses->critical[i];
    }
    return MP_OK;
}

static enum mp_status put_iterations(struct lake *lake, const struct iterations_study *study)
{
    const struct export_analyses *analyses = export_rows_analyses(lake->process->rows);
    uint64_t offset = lake->process->who->offset;
    uint64_t(*critical)[4];
    enum mp_status status = sum_critical(analyses, &critical);

    for (size_t i = 0; i < study->iterations.count && status == MP_OK; i++) {
        const struct iteration *iteration = &study->iterations.items[i];
        struct tables_cell cells[LAKE_ITERATION_COLUMNS] = {{.kind = 0}};

        cells[LAKE_ITERATION_run_id] = tables_words(lake->run);
        cells[LAKE_ITERATION_iteration] = TABLES_NUMBER(i + 1);
        cells[LAKE_ITERATION_start_ns] = TABLES_NUMBER(iteration->begin + offset);
        cells[LAKE_ITERATION_dur_ns] = TABLES_NUMBER(iteration->end - iteration->begin);
        for (int at = 0; at < ITERATION_QUANTITIES; at++)
            if (at != ITERATION_IDLE_PEER) /* a trace alone does not know it */
                cells[LAKE_ITERATION_latency_ns + at] =
                    TABLES_NUMBER(study->measures[i].values[at]);
        for (int at = 0; at < 4; at++)
            cells[LAKE_ITERATION_critical_kernel_ns + at] = TABLES_NUMBER(critical[i][at]);
        status = tables_put(lake->tables, LAKE_ITERATION, cells);
    }
    free(critical);
    return status;
}

/* ---- Advice ---- */

static enum mp_status put_finding(struct lake *lake, const struct advise_finding *finding)
{
    struct tables_cell cells[LAKE_ADVICE_COLUMNS] = {{.kind = 0}};

    cells[LAKE_ADVICE_run_id] = tables_words(lake->run);
    cells[LAKE_ADVICE_rule] = tables_words(advise_rule_key(finding->rule));
    cells[LAKE_ADVICE_gain_ns] = TABLES_NUMBER(finding->gain);
    cells[LAKE_ADVICE_percent] =
        (struct tables_cell){.real = finding->percent, .kind = TABLES_CELL_REAL};
    cells[LAKE_ADVICE_certainty] =
        tables_words(finding->certainty == ADVISE_BOUND ? "bound" : "estimate");
    cells[LAKE_ADVICE_confidence] =
        (struct tables_cell){.real = finding->confidence, .kind = TABLES_CELL_REAL};
    cells[LAKE_ADVICE_title] = tables_words(finding->title);
    cells[LAKE_ADVICE_evidence] = tables_words(finding->evidence);
    cells[LAKE_ADVICE_to_do] = tables_words(finding->to_do);
    return tables_put(lake->tables, LAKE_ADVICE, cells);
}

static enum mp_status put_advice(struct lake *lake, const struct deps *deps,
                                 const struct iterations_study *study, struct mp_error *error)
{
    const struct advise_input input = {deps, study};
    struct advice advice;
    enum mp_status status = MP_OK;

    MP_TRY(advise_build(&input, &advice, error));
    for (size_t i = 0; i < advice.count && status == MP_OK; i++)
        status = put_finding(lake, &advice.findings[i]);
    advise_free(&advice);
    return status;
}

/* ---- All of it ---- */

enum mp_status lake_put_summary(struct lake *lake, struct mp_error *error)
{
    const struct export_analyses *analyses = export_rows_analyses(lake->process->rows);
    struct iterations_study study = {.measures = NULL};

    if (!analyses->known)
        return put_run(lake, NULL);
    study.iterations = analyses->iterations; /* borrowed */
    enum mp_status status = iterations_study_of(&analyses->deps, &study);
    if (status == MP_OK)
        status = put_run(lake, &study);
    if (status == MP_OK)
        status = put_iterations(lake, &study);
    if (status == MP_OK)
        status = put_advice(lake, &analyses->deps, &study, error);
    study.iterations = (struct iterations){.found = false};
    iterations_study_free(&study);
    return status;
}
