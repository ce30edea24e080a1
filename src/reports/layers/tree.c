/* The tree of layers. Equal labels under one parent are one node, and numbers in labels can be
 * folded, so that `block.0` and `block.1` become one row where that is asked for.
 */
#include "reports/layers/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"

#include "base/poison.h"

/* ---- Labels ---- */

/* Where the bracket opens that closes at the end of the name; `length` if there is none. */
static size_t open_bracket(const char *name, size_t length)
{
    size_t depth = 0;

    for (size_t at = length; length && name[length - 1] == ']' && at-- > 0;) {
        depth += name[at] == ']';
        depth -= name[at] == '[';
        if (!depth)
            return at;
    }
    return length;
}

size_t layer_fold_numbers(const char *name, char *folded, size_t size)
{
    size_t length = strlen(name);
    size_t bracket = open_bracket(name, length);
    size_t kept = bracket;

    while (kept && isdigit((unsigned char)name[kept - 1]))
        kept--;
    if (kept > INT32_MAX)
        kept = INT32_MAX;
    int written = snprintf(folded, size, "%.*s%s%s", (int)kept, name, kept < bracket ? "*" : "",
                           bracket < length ? "[*]" : "");
    return written < 0 ? 0 : (size_t)written < size ? (size_t)written : size - 1;
}

static enum mp_status intern(struct layer_tree *tree, const char *text, uint32_t *id)
{
    *id = 0;
    if (!text)
        return MP_OK;
    *id = mp_intern_add(tree->names, text, strlen(text));
    return *id ? MP_OK : MP_ERR_MEMORY;
}

/* "" is what TensorRT does not say. */
static enum mp_status intern_said(struct layer_tree *tree, const char *text, uint32_t *id)
{
    return intern(tree, *text ? text : NULL, id);
}

/* The label shows the layer's own name instead of the object. */
static enum mp_status add_info(struct layer_tree *tree, const struct trt_layer *layer,
                               struct layer_label *label)
{
    struct layer_info info;

    MP_TRY(mp_reserve((void **)&tree->infos, tree->info_count, &tree->info_capacity, sizeof info));
    MP_TRY(intern_said(tree, layer->type, &info.type));
    MP_TRY(intern_said(tree, layer->precision, &info.precision));
    MP_TRY(intern_said(tree, layer->tactic, &info.tactic));
    MP_TRY(intern_said(tree, layer->dimensions, &info.dimensions));
    MP_TRY(intern_said(tree, layer->input_dimensions, &info.input_dimensions));
    MP_TRY(intern(tree, *layer->name ? layer->name : layer->type, &label->name));
    tree->infos[tree->info_count++] = info;
    label->info = (uint32_t)tree->info_count;
    label->mark = (uint16_t)trt_layer_mark(layer->name, layer->type);
    return MP_OK;
}

static enum mp_status add_label(struct layer_tree *tree, uint32_t domain, uint32_t text,
                                uint32_t *id)
{
    const char *name = mp_intern_get(tree->names, text, NULL);
    struct layer_label label = {
        .domain = domain,
        .name = text,
        .mark = (uint16_t)trt_layer_mark(name, NULL),
        .iteration = tree->iteration && !strcmp(name, tree->iteration),
    };
    struct trt_layer layer;

    MP_TRY(
        mp_reserve((void **)&tree->labels, tree->label_count, &tree->label_capacity, sizeof label));
    if (trt_layer_read(name, &layer))
        MP_TRY(add_info(tree, &layer, &label));
    *id = (uint32_t)tree->label_count;
    MP_TRY(mp_map_put(&tree->label_index, (uint64_t)domain << 32 | text, *id));
    tree->labels[tree->label_count++] = label;
    return MP_OK;
}

enum mp_status layer_tree_label(struct layer_tree *tree, const char *domain, const char *name,
                                uint32_t *label)
{
    uint32_t domain_id, text;

    MP_TRY(intern(tree, domain, &domain_id));
    if (tree->merge_numbers) {
        size_t size = strlen(name) + sizeof "*[*]";
        char *folded = malloc(size);

        if (!folded)
            return MP_ERR_MEMORY;
        size_t length = layer_fold_numbers(name, folded, size);
        text = mp_intern_add(tree->names, folded, length);
        free(folded);
        if (!text)
            return MP_ERR_MEMORY;
    } else {
        MP_TRY(intern(tree, name, &text));
    }
    *label = mp_map_get(&tree->label_index, (uint64_t)domain_id << 32 | text);
    return *label == MP_MAP_ABSENT ? add_label(tree, domain_id, text, label) : MP_OK;
}

/* ---- Nodes and instances ---- */

static enum mp_status add_node(struct layer_tree *tree, const struct layer_node *node, uint32_t *id)
{
    if (tree->node_count >= LAYER_MAX)
        return MP_ERR_LIMIT;
    MP_TRY(mp_reserve((void **)&tree->nodes, tree->node_count, &tree->node_capacity, sizeof *node));
    *id = (uint32_t)tree->node_count;
    tree->nodes[tree->node_count++] = *node;
    return MP_OK;
}

enum mp_status layer_tree_child(struct layer_tree *tree, uint32_t parent, uint32_t label,
                                uint32_t *node)
{
    const struct layer_node *around = &tree->nodes[parent];
    struct layer_node inner = {
        .parent = parent,
        .label = label,
        .depth = around->depth + 1u,
        .inside = around->inside || tree->labels[label].iteration,
    };
    uint64_t key = (uint64_t)parent << 32 | label;

    *node = parent;
    if (around->depth == LAYER_MAX_DEPTH)
        return MP_OK;
    *node = mp_map_get(&tree->node_index, key);
    if (*node != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(add_node(tree, &inner, node));
    return mp_map_put(&tree->node_index, key, *node);
}

enum mp_status layer_tree_instance(struct layer_tree *tree, uint32_t parent, uint32_t node,
                                   bool begun, uint32_t *instance)
{
    if (tree->instance_count >= LAYER_MAX)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(tree->instances, tree->instance_count, tree->instance_capacity));
    *instance = (uint32_t)tree->instance_count;
    tree->instances[tree->instance_count++] =
        (struct layer_instance){.parent = parent, .node = node, .begun = begun};
    return MP_OK;
}

enum mp_status layer_tree_enter(struct layer_tree *tree, uint32_t parent, uint32_t label,
                                bool begun, uint32_t *instance)
{
    uint32_t node;

    MP_TRY(layer_tree_child(tree, tree->instances[parent].node, label, &node));
    return layer_tree_instance(tree, parent, node, begun, instance);
}

enum mp_status layer_tree_init(struct layer_tree *tree)
{
    const struct layer_node none = {.label = LAYER_NONE};
    uint32_t zero;

    MP_TRY(add_node(tree, &none, &zero));
    return layer_tree_instance(tree, 0, 0, false, &zero);
}

void layer_tree_free(struct layer_tree *tree)
{
    free(tree->labels);
    free(tree->infos);
    free(tree->nodes);
    free(tree->instances);
    mp_map_free(&tree->label_index);
    mp_map_free(&tree->node_index);
    *tree = (struct layer_tree){.names = NULL};
}
