/* What the layers of a run take in each of its iterations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff.h"
#include "analyze/layers.h"

#include "base/poison.h"

/* ---- Which work belongs to which iteration ---- */

static int compare_marks(const void *left, const void *right)
{
    const struct diff_mark *a = left;
    const struct diff_mark *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

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

/* A piece of work in its layer. */
struct piece {
    uint64_t ns;
    uint32_t iteration;
    uint32_t node;
};

struct pass {
    struct diff_side *side;
    const struct diff_marks *marks;
    size_t at;            /* in the marks */
    struct piece *pieces; /* owned; a piece has a mark, or is left out */
    size_t count;
    uint32_t *parents; /* by node; owned, as the next one */
    uint32_t *items;
    size_t nodes, capacity;
};

#define PATH_BYTES 4096 /* longer paths are cut at the front: their ends tell them apart */

/* `outer > inner`; work without a range has a name of its own. */
static const char *name_path(const struct layer_tree *tree, uint32_t node, char *text)
{
    size_t at = PATH_BYTES - 1;

    text[at] = '\0';
    if (!node)
        return DIFF_NO_LAYER;
    for (; node; node = tree->nodes[node].parent) {
        const struct layer_label *label = &tree->labels[tree->nodes[node].label];
        const char *domain = label->domain ? mp_intern_get(tree->names, label->domain, NULL) : "";
        const char *name = mp_intern_get(tree->names, label->name, NULL);
        char part[1024];
        int length = snprintf(part, sizeof part, "%.200s%s%.800s%s", domain, *domain ? ": " : "",
                              name, text[at] ? " > " : "");

        if (length < 0 || (size_t)length > at)
            break;
        at -= (size_t)length;
        memcpy(text + at, part, (size_t)length);
    }
    return text + at;
}

/* Nodes are numbered as they appear, parents first. */
static enum mp_status reach_nodes(struct pass *pass, const struct layer_tree *tree)
{
    char text[PATH_BYTES];

    while (pass->nodes < tree->node_count) {
        uint32_t node = (uint32_t)pass->nodes;

        if (pass->nodes == pass->capacity) {
            size_t capacity = 2 * pass->capacity + 64;
            uint32_t *parents = reallocarray(pass->parents, capacity, sizeof *parents);
            uint32_t *items = reallocarray(pass->items, capacity, sizeof *items);

            pass->parents = parents ? parents : pass->parents;
            pass->items = items ? items : pass->items;
            if (!parents || !items)
                return MP_ERR_MEMORY;
            pass->capacity = capacity;
        }
        pass->parents[node] = node ? tree->nodes[node].parent : 0;
        MP_TRY(diff_samples_item(&pass->side->layers, name_path(tree, node, text),
                                 &pass->items[node]));
        pass->nodes++;
    }
    return MP_OK;
}

static enum mp_status take_activity(void *context, const struct layer_tree *tree,
                                    const struct layer_activity *activity)
{
    struct pass *pass = context;
    const struct diff_mark *mark = find_mark(pass->marks, &pass->at, activity);

    if (!mark || pass->count == pass->marks->count)
        return MP_OK;
    MP_TRY(reach_nodes(pass, tree));
    pass->pieces[pass->count++] =
        (struct piece){activity->duration, mark->iteration, activity->node};
    return MP_OK;
}

/* ---- Sums by layer and iteration ---- */

static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left;
    const struct piece *b = right;

    return (a->iteration > b->iteration) - (a->iteration < b->iteration);
}

/* Work counts in its layer and in all around it. */
static enum mp_status add_up(struct pass *pass, struct diff_cells *cells)
{
    qsort(pass->pieces, pass->count, sizeof *pass->pieces, compare_pieces);
    for (size_t i = 0; i < pass->count; i++) {
        const struct piece *piece = &pass->pieces[i];
        uint32_t node = piece->node;

        if (i && pass->pieces[i - 1].iteration != piece->iteration)
            diff_cells_next(cells);
        do {
            MP_TRY(diff_cells_add(cells, pass->items[node], piece->ns, 1));
            node = pass->parents[node];
        } while (node);
    }
    return MP_OK;
}

static enum mp_status sum_up(struct pass *pass, bool median)
{
    struct diff_cells cells = {.count = 0};
    enum mp_status status = add_up(pass, &cells);

    if (!status)
        status = diff_samples_run(&pass->side->layers, cells.cells, cells.count,
                                  pass->marks->iterations, median);
    diff_cells_free(&cells);
    return status;
}

static enum mp_status read_layers(struct pass *pass, struct mp_trace *trace,
                                  const struct diff_options *options, struct mp_error *error)
{
    const struct layers_options wanted = {.range = options->iterations.range,
                                          .style = options->style,
                                          .each = take_activity,
                                          .context = pass};
    struct layers_result result;

    MP_TRY(layers_build(trace, &wanted, &result, error));
    layers_free(&result);
    return MP_OK;
}

enum mp_status diff_layers_take(struct diff_side *side, struct mp_trace *trace,
                                const struct diff_marks *marks, const struct diff_options *options,
                                bool median, struct mp_error *error)
{
    struct pass pass = {.side = side, .marks = marks};
    enum mp_status status = MP_ERR_MEMORY;

    pass.pieces = malloc((marks->count + 1) * sizeof *pass.pieces);
    if (pass.pieces)
        status = read_layers(&pass, trace, options, error);
    if (!status)
        status = sum_up(&pass, median);
    free(pass.pieces);
    free(pass.parents);
    free(pass.items);
    return status;
}
