/* The layers of a trace and how often each was entered: paths of NVTX ranges, and their instances.
 *
 * A label is a range's domain and name. A node is a path: a label inside another path. An instance
 * is one opening of a range, inside an instance of the path around it:
 *
 *     iteration [ conv1 [ ]  relu [ ] ]   iteration [ conv1 [ ] ]
 *
 *     nodes       0 none   1 iteration (0)   2 conv1 (1)   3 relu (1)
 *     instances   0 none   1 of node 1 (0)   2 of 2 (1)    3 of 3 (1)   4 of 1 (0)   5 of 2 (4)
 *
 * Node 0 and instance 0 stand for no range; outermost ranges are inside them. In both lists parents
 * come before their children, so one pass from the end adds sums to the parents. Memory: 12 bytes
 * and 22 to 43 of a map a node, 16 bytes an instance, 16 bytes a label.
 */
#ifndef MP_REPORTS_LAYERS_TREE_H
#define MP_REPORTS_LAYERS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "reports/layers/trt_layer.h"

/* Greatest nesting of open ranges. A deeper range counts as the innermost one that was kept. */
#define LAYER_MAX_DEPTH 128
#define LAYER_NONE      UINT32_MAX
#define LAYER_MAX       (1u << 30) /* nodes, and instances */

/* TensorRT's object in a range's text; ids in names, 0: it does not say. */
struct layer_info {
    uint32_t type;
    uint32_t precision;
    uint32_t tactic;
    uint32_t dimensions;
    uint32_t input_dimensions;
};

struct layer_label {
    uint32_t domain; /* of names; 0: the default one */
    uint32_t name;   /* of names, as it is shown */
    uint32_t info;   /* of infos, plus 1; 0: none */
    uint16_t mark;   /* enum trt_mark, by name or type */
    bool iteration;  /* the name that was asked for */
};

struct layer_node {
    uint32_t parent;
    uint32_t label;
    uint32_t depth : 31; /* from 1 */
    uint32_t inside : 1; /* it, or a path around it, is an iteration */
};

struct layer_instance {
    uint64_t device; /* ns */
    uint32_t parent;
    uint32_t node : 30;
    uint32_t worked : 1; /* work that counts was launched in it */
    uint32_t begun : 1;  /* begun where instances count, not only met by a call */
};

struct layer_tree {
    struct mp_intern *names; /* not owned */
    bool merge_numbers;
    const char *iteration; /* NULL: none was asked for; not owned */
    struct layer_label *labels;
    size_t label_count, label_capacity;
    struct mp_map label_index; /* domain and text, ids in names -> label */
    struct layer_info *infos;
    size_t info_count, info_capacity;
    struct layer_node *nodes;
    size_t node_count, node_capacity;
    struct mp_map node_index; /* parent and label -> node */
    struct layer_instance *instances;
    size_t instance_count, instance_capacity;
};

/* Makes node 0 and instance 0. The caller has set the members that are not owned, and the options.
 * MP_ERR_MEMORY; layer_tree_free is due in any case. */
enum mp_status layer_tree_init(struct layer_tree *tree);

void layer_tree_free(struct layer_tree *tree);

/* The label of a range; `domain` NULL is the default one. MP_ERR_MEMORY. */
enum mp_status layer_tree_label(struct layer_tree *tree, const char *domain, const char *name,
                                uint32_t *label);

/* The path that has one more range; `parent` itself if that is too deep. MP_ERR_MEMORY,
 * MP_ERR_LIMIT.
 */
enum mp_status layer_tree_child(struct layer_tree *tree, uint32_t parent, uint32_t label,
                                uint32_t *node);

/* A new instance of the path with one more range, inside the instance `parent`, which must be less
 * than LAYER_MAX_DEPTH deep. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status layer_tree_enter(struct layer_tree *tree, uint32_t parent, uint32_t label,
                                bool begun, uint32_t *instance);

/* A new instance of a node. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status layer_tree_instance(struct layer_tree *tree, uint32_t parent, uint32_t node,
                                   bool begun, uint32_t *instance);

/* A name with the numbers at its end replaced: `layer 12` by `layer *`, `op[3, 4]` by `op[*]`,
 * `step7[a]` by `step*[*]`. Returns the length of what is written to `folded`, of `size` bytes; a
 * name that does not fit is cut. */
size_t layer_fold_numbers(const char *name, char *folded, size_t size);

#endif
