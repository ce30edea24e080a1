/* The time of the layers of a run in each of its iterations. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "base/data/storage.h"
#include "reports/diff/diff.h"
#include "reports/layers/layers.h"

#include "base/poison.h"

/* ---- Which work belongs to which iteration ---- */

MP_COMPARE(compare_marks, struct diff_mark,
           MP_ORDER(a->begin, b->begin) ?: MP_ORDER(a->correlation, b->correlation));

enum mp_status diff_marks_make(const struct diff_reading *reading, struct diff_marks *marks)
{
    const struct deps *deps = reading->deps;
    const uint32_t *of = reading->iterations->of;

    *marks = (struct diff_marks){.iterations = reading->iterations->count};
    marks->items = malloc(((size_t)deps->count - deps->host_count + 1) * sizeof *marks->items);
    if (!marks->items)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        if (of[i] != DEPS_NONE)
            marks->items[marks->count++] = (struct diff_mark){
                deps->activities[i].begin, (uint32_t)deps->activities[i].correlation, of[i]};
    qsort(marks->items, marks->count, sizeof *marks->items, compare_marks);
    return MP_OK;
}

/* Work comes in order of time, so the next mark is not far. */
static const struct diff_mark *find_mark(const struct diff_marks *marks, size_t *at,
                                         const struct layer_activity *activity)
{
    while (*at < marks->count && marks->items[*at].begin < activity->start)
        ++*at;
    for (size_t i = *at; i < marks->count && marks->items[i].begin == activity->start; i++)
        if (marks->items[i].correlation == (uint32_t)activity->correlation)
            return &marks->items[i];
    return NULL;
}

/* ---- Work, as it is read ---- */

/* Work in its layer. */
struct placed_work {
    uint64_t ns;
    uint32_t iteration;
    uint32_t node;
};

/* A path of ranges. */
struct path_node {
    uint64_t hash; /* of all its names */
    uint32_t parent;
    uint32_t item; /* of the side's layers */
};

struct pass {
    struct diff_side *side;
    const struct diff_marks *marks;
    size_t at;                /* in the marks */
    struct placed_work *work; /* owned; all of it has a mark */
    size_t count;
    struct path_node *layers; /* by node; owned */
    size_t layer_count, layer_capacity;
};

/* ---- Names of paths ---- */

#define PATH_BYTES 4096
#define CUT_BYTES  32 /* room for what stands before a path that was cut */

/* A path is written from its end, because the end tells paths apart if they are cut. */
struct path {
    char text[PATH_BYTES];
    size_t at;
    bool cut;
};

static void put_before(struct path *path, const char *text)
{
    size_t length = strlen(text);
    size_t room = path->at - CUT_BYTES;

    if (path->cut)
        return;
    if (length > room) {
        path->cut = true;
        for (text += length - room; (*text & 0xc0) == 0x80;)
            text++; /* no part of a character */
        length = strlen(text);
    }
    path->at -= length;
    memcpy(path->text + path->at, text, length);
}

/* A hash of the whole path replaces the part that was cut, so that two paths do not become one. */
static void put_cut(struct path *path, uint64_t hash)
{
    char text[CUT_BYTES];
    int length = snprintf(text, sizeof text, "... #%016" PRIx64 " ... ", hash);

    path->at -= (size_t)length;
    memcpy(path->text + path->at, text, (size_t)length);
}

static const char *domain_of(const struct layer_tree *tree, const struct layer_label *label)
{
    return label->domain ? mp_intern_get(tree->names, label->domain, NULL) : "";
}

/* `outer > inner`; work without a range has a name of its own. */
static const char *name_path(const struct layer_tree *tree, uint32_t node, uint64_t hash,
                             struct path *path)
{
    if (!node)
        return DIFF_NO_LAYER;
    *path = (struct path){.at = PATH_BYTES - 1};
    for (; node && !path->cut; node = tree->nodes[node].parent) {
        const struct layer_label *label = &tree->labels[tree->nodes[node].label];
        const char *domain = domain_of(tree, label);

        if (path->text[path->at])
            put_before(path, " > ");
        put_before(path, mp_intern_get(tree->names, label->name, NULL));
        if (*domain)
            put_before(path, ": ");
        put_before(path, domain);
    }
    if (path->cut)
        put_cut(path, hash);
    return path->text + path->at;
}

static uint64_t hash_path(const struct layer_tree *tree, uint32_t node, uint64_t parent)
{
    const struct layer_label *label = &tree->labels[tree->nodes[node].label];
    const char *domain = domain_of(tree, label);
    const char *name = mp_intern_get(tree->names, label->name, NULL);

    return mp_hash64(name, strlen(name), mp_hash64(domain, strlen(domain), parent));
}

/* Nodes are numbered as they appear, parents first. */
static enum mp_status reach_nodes(struct pass *pass, const struct layer_tree *tree)
{
    struct path path;

    while (pass->layer_count < tree->node_count) {
        uint32_t node = (uint32_t)pass->layer_count;
        struct path_node layer = {.hash = 0};

        MP_TRY(MP_RESERVE(pass->layers, pass->layer_count, pass->layer_capacity));
        if (node) {
            layer.parent = tree->nodes[node].parent;
            layer.hash = hash_path(tree, node, pass->layers[layer.parent].hash);
        }
        MP_TRY(diff_samples_item(&pass->side->layers, name_path(tree, node, layer.hash, &path),
                                 &layer.item));
        pass->layers[pass->layer_count++] = layer;
    }
    return MP_OK;
}

/* ---- Reading ---- */

static enum mp_status take_activity(void *context, const struct layer_tree *tree,
                                    const struct layer_activity *activity)
{
    struct pass *pass = context;
    const struct diff_mark *mark = find_mark(pass->marks, &pass->at, activity);

    if (!mark || pass->count == pass->marks->count)
        return MP_OK;
    MP_TRY(reach_nodes(pass, tree));
    pass->work[pass->count++] =
        (struct placed_work){activity->duration, mark->iteration, activity->node};
    return MP_OK;
}

/* ---- Sums by layer and iteration ---- */

MP_COMPARE(compare_work, struct placed_work, MP_ORDER(a->iteration, b->iteration));

/* Work counts in its layer and in all around it. */
static enum mp_status diff_layers_add_up(struct pass *pass, struct diff_cells *cells)
{
    qsort(pass->work, pass->count, sizeof *pass->work, compare_work);
    for (size_t i = 0; i < pass->count; i++) {
        const struct placed_work *work = &pass->work[i];
        uint32_t node = work->node;

        if (i && pass->work[i - 1].iteration != work->iteration)
            diff_cells_next(cells);
        do {
            MP_TRY(diff_cells_add(cells, pass->layers[node].item, work->ns, 1));
            node = pass->layers[node].parent;
        } while (node);
    }
    return MP_OK;
}

static enum mp_status sum_up(struct pass *pass, bool median)
{
    struct diff_cells cells = {.count = 0};
    enum mp_status status = diff_layers_add_up(pass, &cells);

    if (!status)
        status = diff_samples_run(&pass->side->layers, cells.cells, cells.count,
                                  pass->marks->iterations, median);
    diff_cells_free(&cells);
    return status;
}

static enum mp_status read_layers(struct pass *pass, struct mp_trace *trace,
                                  const struct diff_options *options, struct mp_error *error)
{
    struct profile profile;
    const struct layers_options wanted = {.range = options->iterations.range,
                                          .style = options->style,
                                          .each = take_activity,
                                          .context = pass};
    struct layers_result result;

    MP_TRY(profile_load(&profile, trace, DEFINITIONS_USUAL, error));
    enum mp_status status = layers_build(&profile, &wanted, &result, error);
    layers_free(&result);
    profile_free(&profile);
    return status;
}

enum mp_status diff_layers_take(struct diff_side *side, struct mp_trace *trace,
                                const struct diff_marks *marks, const struct diff_options *options,
                                bool median, struct mp_error *error)
{
    struct pass pass = {.side = side, .marks = marks};
    enum mp_status status = MP_ERR_MEMORY;

    pass.work = malloc((marks->count + 1) * sizeof *pass.work);
    if (pass.work)
        status = read_layers(&pass, trace, options, error);
    if (!status)
        status = sum_up(&pass, median);
    free(pass.work);
    free(pass.layers);
    return status;
}
