/* Loads the NVTX paths around the places where nodes of graphs were captured. The tables may come
 * before or after the rows of `node`, so they are joined when the pass is over.
 */
#include "profile/nvtx/captured.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "profile/definitions.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

/* A node by the values that identify it in all tables. */
struct key {
    uint64_t graph;
    uint64_t graph_node;
};

struct pass {
    struct captured *captured;
    struct definitions definitions; /* strings and nodes */
    struct mp_intern keys;          /* of captured nodes: position in items + 1 */
};

/* ---- Rows ---- */

/* A text of our own; `*text` is NULL for string 0. */
static enum mp_status keep_text(struct pass *pass, uint64_t string, const char *lost,
                                const char **text)
{
    const char *found = definitions_text(&pass->definitions, string);

    *text = NULL;
    if (!string)
        return MP_OK;
    if (!found)
        pass->captured->undefined++;
    found = found ? found : lost;
    *text = mp_arena_copy(&pass->captured->text, found, strlen(found));
    return *text ? MP_OK : MP_ERR_MEMORY;
}

/* A parent comes before its path. If the parent was lost, the path becomes an outermost one. */
static enum mp_status take_path(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_path_columns paths = mp_path_columns(batch->columns);
    struct captured *captured = pass->captured;
    uint64_t id = paths.id[row];
    uint64_t parent = paths.parent[row];
    struct captured_path path = {.depth = 1, .defined = true};

    if (!id || id > UINT32_MAX)
        return MP_OK;
    enum mp_status status = dense_reach(&captured->paths, id);
    if (status == MP_ERR_LIMIT)
        return MP_OK;
    MP_TRY(status);
    MP_TRY(keep_text(pass, paths.domain[row], "[unnamed domain]", &path.domain));
    MP_TRY(keep_text(pass, paths.name[row], "[unnamed range]", &path.name));
    if (!path.name)
        path.name = "<unnamed>";
    const struct captured_path *around =
        parent < id ? captured_path(captured, (uint32_t)parent) : NULL;
    if (around) {
        path.parent = (uint32_t)parent;
        path.depth = around->depth + 1;
    }
    *(struct captured_path *)dense_at(&captured->paths, id) = path;
    return MP_OK;
}

static enum mp_status take_captured(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_captured_columns captureds = mp_captured_columns(batch->columns);
    struct captured *captured = pass->captured;
    struct key key = {captureds.graph[row], captureds.graph_node[row]};
    uint64_t path = captureds.path[row];

    if (path > UINT32_MAX || !captured_path(captured, (uint32_t)path))
        return MP_OK;
    MP_TRY(MP_RESERVE(captured->items, captured->count, captured->capacity));
    uint32_t id = mp_intern_add(&pass->keys, &key, sizeof key);
    if (!id)
        return MP_ERR_MEMORY;
    /* If a node comes twice, the last row counts. */
    captured->items[id - 1] = (struct captured_node){(uint32_t)path, captureds.thread[row]};
    captured->count = pass->keys.count;
    return MP_OK;
}

/* ---- The pass ---- */

static const struct reading_table tables[] = {
    {MP_TABLE_path, MP_MASK(path, id, parent, domain, name), .take_row = take_path},
    {MP_TABLE_captured, MP_MASK(captured, graph, graph_node, path, thread),
     .take_row = take_captured},
};

/* Joins the ids of rows of `node` with what was captured; either may come first in the file. */
static enum mp_status link_nodes(struct pass *pass)
{
    const struct dense *defined = &pass->definitions.nodes;
    struct dense *nodes = &pass->captured->nodes;

    for (size_t i = 0; i < defined->count; i++) {
        const struct definition_node *node = dense_at(defined, i);
        struct key key = {node->graph, node->graph_node};
        uint32_t id = node->defined ? mp_intern_find(&pass->keys, &key, sizeof key) : 0;

        if (!id)
            continue;
        MP_TRY(dense_reach(nodes, i));
        *(uint32_t *)dense_at(nodes, i) = id;
    }
    return MP_OK;
}

static enum mp_status load(struct pass *pass, struct mp_trace *trace, struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the captured ranges",
        .context = pass,
        READING_TABLES(tables),
        .definitions = &pass->definitions,
        .kept = DEFINITIONS_TEXTS_AND_NODES,
    };

    MP_TRY(reading_run(&reading, error));
    enum mp_status status = link_nodes(pass);
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}

enum mp_status captured_load(struct captured *captured, struct mp_trace *trace,
                             struct mp_error *error)
{
    struct pass pass = {.captured = captured};
    bool found;

    *captured = (struct captured){.count = 0};
    dense_init(&captured->paths, sizeof(struct captured_path), definitions_limit(trace));
    dense_init(&captured->nodes, sizeof(uint32_t), definitions_limit(trace));
    MP_TRY(reading_has_rows(trace, MP_TABLE_captured, &found, error));
    if (!found)
        return MP_OK;
    definitions_init(&pass.definitions, trace);
    enum mp_status status = load(&pass, trace, error);
    definitions_free(&pass.definitions);
    mp_intern_free(&pass.keys);
    return status;
}

void captured_free(struct captured *captured)
{
    dense_free(&captured->paths);
    dense_free(&captured->nodes);
    free(captured->items);
    mp_arena_free(&captured->text);
    *captured = (struct captured){.count = 0};
}

const struct captured_node *captured_find(const struct captured *captured, uint64_t node)
{
    const uint32_t *position = node ? dense_at(&captured->nodes, node) : NULL;

    return position && *position ? &captured->items[*position - 1] : NULL;
}

const struct captured_path *captured_path(const struct captured *captured, uint32_t path)
{
    const struct captured_path *found = path ? dense_at(&captured->paths, path) : NULL;

    return found && found->defined ? found : NULL;
}
