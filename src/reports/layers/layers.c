/* The passes: captured paths; ranges and calls in order of time, so that each call
 * finds the ranges that are open (open.h); the work (work.c). */
#include "reports/layers/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "profile/merge.h"
#include "profile/reading.h"
#include "reports/layers/build.h"
#include "trace/schema.h"

#include "base/poison.h"

#define NAMES_SHOWN      5
#define NAME_BYTES_SHOWN 40

/* ---- A domain that no range has ---- */

struct domain_list {
    const char *names[NAMES_SHOWN]; /* different ones; "" is the default one */
    size_t count;
    const char *wanted;
    bool found;
};

static void list_domain(struct domain_list *list, const char *domain)
{
    const char *name = domain ? domain : "";

    list->found |= !strcmp(name, list->wanted);
    if (list->count == NAMES_SHOWN || !foreign_is_harmless(name))
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (!strcmp(list->names[i], name))
            return;
    }
    list->names[list->count++] = name;
}

static void list_domains(const struct layers_pass *pass, struct domain_list *list)
{
    for (size_t i = 0; i < pass->open.domain_count; i++)
        list_domain(list, layer_open_domain(&pass->open, i));
    for (size_t i = 0; i < pass->captured.paths.count; i++) {
        const struct captured_path *path = dense_at(&pass->captured.paths, i);

        if (path && path->defined)
            list_domain(list, path->domain);
    }
}

/* Called when all ranges have been read and the labels still exist. */
static enum mp_status check_domain(const struct layers_pass *pass, struct mp_error *error)
{
    struct domain_list list = {.wanted = pass->options->domain};
    char names[NAMES_SHOWN * (NAME_BYTES_SHOWN + 4) + 48];
    size_t used = 0;

    if (!list.wanted)
        return MP_OK;
    list_domains(pass, &list);
    if (list.found)
        return MP_OK;
    *names = '\0';
    for (size_t i = 0; i < list.count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s'%.*s'%s",
                                 i ? ", " : "; there are for example ", NAME_BYTES_SHOWN,
                                 list.names[i], *list.names[i] ? "" : " (the default one)");
    return mp_error_set(error, MP_ERR_ARGUMENT, "no NVTX range is of the domain '%s'%s",
                        list.wanted, names);
}

/* ---- Ranges and calls ---- */

enum { TABLE_NVTX, TABLE_CALL, TABLES };

static enum mp_status take_event(struct layers_pass *pass, const struct merge_row *row)
{
    const struct nvtx_event event = nvtx_event_at(row->columns, row->row, row->time);

    return layer_open_take(&pass->open, &event);
}

static enum mp_status layers_take_call(struct layers_pass *pass, const struct merge_row *row)
{
    const struct mp_call_columns calls = mp_call_columns(row->columns);
    struct nvtx_call call = {.correlation = calls.correlation[row->row],
                             .duration = calls.duration[row->row]};

    if (!call.correlation)
        return MP_OK;
    if (row->time > INT64_MAX || call.duration > INT64_MAX - row->time) {
        pass->result->quality.reversed_times++;
        return MP_OK;
    }
    MP_TRY(layer_open_find(&pass->open, calls.thread[row->row], &call.node));
    return nvtx_calls_add(&pass->calls, &call);
}

static enum mp_status open_merge(struct layers_pass *pass, struct merge **merge,
                                 struct mp_error *error)
{
    /* If an event and a call have the same time, the event comes first. */
    const struct merge_table tables[TABLES] = {
        [TABLE_NVTX] = {mp_table_by_id(MP_TABLE_nvtx), MP_COLUMN_nvtx_time, NVTX_EVENT_COLUMNS},
        [TABLE_CALL] = {mp_table_by_id(MP_TABLE_call), MP_COLUMN_call_start,
                        MP_MASK(call, thread, duration, correlation)},
    };

    return merge_open(pass->result->profile->trace, tables, TABLES, merge, error);
}

static enum mp_status read_ranges(struct layers_pass *pass, struct mp_error *error)
{
    struct layers_result *result = pass->result;
    struct merge *merge;
    struct merge_row row;
    enum mp_status status;

    MP_TRY(open_merge(pass, &merge, error));
    result->has_ranges = captured_has_any(&pass->captured) || merge_promised(merge, TABLE_NVTX);
    result->no_calls = !merge_promised(merge, TABLE_CALL);
    while ((status = merge_next(merge, &row)) == MP_OK) {
        status = row.table == TABLE_NVTX ? take_event(pass, &row) : layers_take_call(pass, &row);
        if (status)
            break;
    }
    result->quality.unknown_times += merge_unknown_times(merge);
    merge_add_damage(merge, &pass->damage);
    merge_close(merge);
    result->unfinished = pass->open.unfinished;
    result->kept = pass->open.kept;
    if (status == MP_END) {
        MP_TRY(check_domain(pass, error));
        layer_open_free(&pass->open); /* what it knows is in the calls now */
        status = nvtx_calls_sort(&pass->calls);
    }
    return mp_error_from(error, status, "cannot read the NVTX ranges");
}

/* ---- Which way, and what is missing ---- */

static bool must_go_by_position(const struct layers_pass *pass)
{
    const struct layers_result *result = pass->result;

    return pass->options->by_position || !result->has_ranges ||
           (result->no_calls && !captured_has_any(&pass->captured));
}

/* ---- Names that nothing has ---- */

/* The name that was probably meant; NULL: none is near. Labels of one name have one id. */
static const char *meant_name(const struct layers_pass *pass)
{
    const struct layer_tree *tree = &pass->tree;
    struct mp_meant meant = {.typed = pass->options->iteration};

    for (size_t i = 0; i < tree->label_count; i++) {
        const char *name = mp_intern_get(tree->names, tree->labels[i].name, NULL);

        if (foreign_is_harmless(name) && (!meant.name || strcmp(meant.name, name) != 0))
            mp_meant_offer(&meant, name);
    }
    return mp_meant_name(&meant);
}

/* Some names that there are. */
static void list_names(const struct layers_pass *pass, char *text, size_t size)
{
    const struct layer_tree *tree = &pass->tree;
    const char *meant = meant_name(pass);
    size_t used = 0;

    *text = '\0';
    if (meant) {
        snprintf(text, size, "; there is '%.*s'", NAME_BYTES_SHOWN, meant);
        return;
    }
    for (size_t i = 0, shown = 0; i < tree->label_count && shown < NAMES_SHOWN; i++) {
        const char *name = mp_intern_get(tree->names, tree->labels[i].name, NULL);

        if (!foreign_is_harmless(name) || used >= size)
            continue;
        used +=
            (size_t)snprintf(text + used, size - used, "%s'%.*s'",
                             shown++ ? ", " : "; there are for example ", NAME_BYTES_SHOWN, name);
    }
}

/* Checks for an iteration name that no range has. Captured paths count too; they become labels when
 * work is read. */
static enum mp_status check_iteration(const struct layers_pass *pass, struct mp_error *error)
{
    const char *name = pass->options->found ? NULL : pass->options->iteration;
    char names[NAMES_SHOWN * (NAME_BYTES_SHOWN + 4) + 32];

    if (!name)
        return MP_OK;
    if (pass->result->has_ranges && pass->result->by_position)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "no API calls in the trace: what was launched in '%s' is not known",
                            name);
    for (size_t i = 0; i < pass->tree.label_count; i++) {
        if (pass->tree.labels[i].iteration)
            return MP_OK;
    }
    list_names(pass, names, sizeof names);
    return mp_error_set(error, MP_ERR_ARGUMENT, "no NVTX range is called '%s'%s", name, names);
}

/* ---- The whole ---- */

static enum mp_status build_layers(struct layers_pass *pass, struct mp_error *error)
{
    MP_TRY(layers_read_work(pass, error));
    MP_TRY(check_iteration(pass, error));
    nvtx_calls_free(&pass->calls);
    mp_map_free(&pass->tree.node_index);
    mp_map_free(&pass->tree.label_index);
    mp_map_free(&pass->places);
    enum mp_status status = layers_make_rows(pass);
    if (!status)
        status = layers_make_groups(pass->result);
    return mp_error_from(error, status, "cannot add up the layers");
}

static enum mp_status run_passes(struct layers_pass *pass, struct mp_error *error)
{
    struct layers_result *result = pass->result;

    if (profile_has_rows(result->profile, MP_TABLE_captured))
        MP_TRY(captured_load(&pass->captured, result->profile->trace, error));
    result->quality.undefined += pass->captured.undefined;
    if (layer_tree_init(&pass->tree))
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    MP_TRY(read_ranges(pass, error));
    result->by_position = must_go_by_position(pass);
    result->iterations = pass->options->found ? pass->options->found->count : 0;
    if (!result->by_position)
        return build_layers(pass, error);
    MP_TRY(check_iteration(pass, error));
    if (pass->options->each)
        return MP_OK;
    return layer_positions_build(&result->positions, result->profile->trace, pass->range,
                                 pass->options->found, &pass->names, error);
}

static void pass_free(struct layers_pass *pass)
{
    source_names_free(&pass->names);
    layer_open_free(&pass->open);
    layer_tree_free(&pass->tree);
    captured_free(&pass->captured);
    nvtx_calls_free(&pass->calls);
    nvtx_sums_free(&pass->sums);
    dense_free(&pass->lanes);
    mp_map_free(&pass->places);
    mp_map_free(&pass->lost_launches);
    free(pass->works);
    free(pass->pieces);
}

/* The members that point to each other. */
static void wire(struct layers_pass *pass)
{
    struct layers_result *result = pass->result;

    pass->names = (struct source_names){.names = &result->names,
                                        .definitions = &result->profile->definitions,
                                        .quality = &result->quality,
                                        .style = pass->options->style};
    source_names_init(&pass->names, result->profile->trace);
    pass->tree =
        (struct layer_tree){.names = &result->names, .merge_numbers = pass->options->merge_numbers};
    pass->open = (struct layer_open){.tree = &pass->tree,
                                     .definitions = &result->profile->definitions,
                                     .quality = &result->quality,
                                     .range = pass->range,
                                     .domain = pass->options->domain};
    /* The list of names of work is empty at first; its owners come with the nodes. */
    (void)nvtx_sums_init(&pass->sums, 0);
}

/* The iterations' name as labels have it; `*folded` is the caller's to free. */
static enum mp_status set_iteration(struct layers_pass *pass, char **folded)
{
    const char *name = pass->options->found ? NULL : pass->options->iteration;

    *folded = NULL;
    pass->tree.iteration = name;
    if (!name || !pass->options->merge_numbers)
        return MP_OK;
    size_t size = strlen(name) + sizeof "*[*]";
    *folded = malloc(size);
    if (!*folded)
        return MP_ERR_MEMORY;
    layer_fold_numbers(name, *folded, size);
    pass->tree.iteration = *folded;
    return MP_OK;
}

enum mp_status layers_build(struct profile *profile, const struct layers_options *options,
                            struct layers_result *result, struct mp_error *error)
{
    struct layers_pass pass = {.options = options, .result = result};
    char *folded = NULL;

    *result = (struct layers_result){.profile = profile, .quality = profile->quality};
    result->quality.only = options->range;
    enum mp_status status = ranges_choose(&profile->ranges, options->range, &pass.range, error);
    wire(&pass);
    if (!status && set_iteration(&pass, &folded))
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    if (!status)
        status = run_passes(&pass, error);
    quality_join(&result->quality, &pass.damage);
    pass_free(&pass);
    free(folded);
    if (status)
        layers_free(result);
    return status;
}

void layers_put_name(struct mp_buffer *text, const struct layer *layer)
{
    mp_buffer_append_text(text, layer->name ? layer->name : "<no range>");
    if (layer->domain) {
        mp_buffer_append_byte(text, '@');
        mp_buffer_append_text(text, layer->domain);
    }
}

void layers_put_path(struct mp_buffer *text, const struct layers_result *result, uint32_t index)
{
    uint32_t path[LAYER_MAX_DEPTH];
    size_t depth = 0;

    for (uint32_t at = index; at != LAYER_NONE && depth < LAYER_MAX_DEPTH;
         at = result->layers[at].parent)
        path[depth++] = at;
    while (depth-- > 0) {
        layers_put_name(text, &result->layers[path[depth]]);
        if (depth)
            mp_buffer_append_text(text, " > ");
    }
}

double layers_percent(const struct layers_result *result, uint64_t device)
{
    return result->device ? 100.0 * (double)device / (double)result->device : 0;
}

void layers_free(struct layers_result *result)
{
    free(result->layers);
    free(result->by_total);
    free(result->kernels);
    free(result->said);
    free(result->selves);
    free(result->totals);
    free(result->types.items);
    free(result->precisions.items);
    free(result->marks.items);
    layer_positions_free(&result->positions);
    mp_intern_free(&result->names);
    *result = (struct layers_result){.count = 0};
}
