/* Shared by layers.c, which decides what is read when, work.c, which reads the work, and rows.c,
 * which makes the rows.
 */
#ifndef MP_REPORTS_LAYERS_BUILD_H
#define MP_REPORTS_LAYERS_BUILD_H

#include "profile/common/source_names.h"
#include "profile/nvtx/captured.h"
#include "profile/ranges.h"
#include "reports/layers/layers.h"
#include "reports/layers/open.h"
#include "reports/nvtx/nvtx.h"

/* Work of a captured layer in one launch of its graph, until all is read. */
struct layer_piece {
    uint64_t device;   /* ns */
    uint32_t launch;   /* position of the launching call; numbers after the last call: of
                          `lost_launches` */
    uint32_t node;     /* of the tree */
    uint32_t instance; /* that launched */
    uint32_t zero;
};

/* The instance or piece to which the last activity of a stream belongs. */
struct layer_lane {
    uint64_t end;      /* ns; 0: there was none */
    uint32_t instance; /* that launched */
    uint32_t launch;   /* as in a piece, if `node` is not that of the instance */
    uint32_t node;
};

struct layers_pass {
    const struct layers_options *options;
    const struct capture_range *range; /* NULL: everything */
    struct layers_result *result;
    struct source_names names;
    struct layer_tree tree;
    struct layer_open open;
    struct captured captured;
    struct mp_damage damage;  /* chunks that the passes could not decode */
    struct nvtx_calls calls;  /* all; `node` is an instance */
    struct layer_work *works; /* by node: of its own */
    size_t work_count, work_capacity;
    struct nvtx_sums sums;       /* by node: names of its own work */
    struct dense lanes;          /* of struct layer_lane, by stream */
    struct mp_map places;        /* node of the launch and captured path -> node */
    struct mp_map lost_launches; /* correlation ids that no call has -> their number */
    struct layer_piece *pieces;
    size_t piece_count, piece_capacity;
};

/* Reads kernels, copies, sets and graphs, and adds them to the sums of nodes and to instances. */
enum mp_status layers_read_work(struct layers_pass *pass, struct mp_error *error);

/* From the sums to the rows of the result. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status layers_make_rows(struct layers_pass *pass);

/* The kinds of layers, once there are rows. MP_ERR_MEMORY. */
enum mp_status layers_make_groups(struct layers_result *result);

#endif
