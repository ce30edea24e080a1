/* Which layer takes how much time: device work by the NVTX ranges that launched it.
 *
 * A layer is a path of NVTX ranges, each with its domain, from the outermost to the innermost. Work
 * is a kernel, a copy, a set, or a graph as a whole. It belongs to the layer of the ranges that
 * were open when it was launched: in the thread of the launching call, at the moment when the call
 * began. The call is found by the correlation id. If several calls have one correlation id (a
 * driver call inside a runtime call), the first one counts. Ranges of all domains nest by time;
 * open.h has the rule, and says when ranges of nvtxRangeStart count for calls of other threads.
 *
 *     self    of work whose innermost range this is
 *     total   of that and of all layers inside
 *
 * Every piece of work is in the self of one layer, or of the layer without a range. So the selves
 * add up to all device time, and so do the totals of the outermost layers.
 *
 * Through CUDA graphs: a node that was captured (or added) in a path of ranges belongs to that
 * path, placed under the ranges that launched the graph. If the captured path contains the
 * innermost of these ranges (same domain and name), only its part inside that range is placed
 * there:
 *
 *     launched in iteration     captured in                      layer
 *                               model > conv1                    iteration > model > conv1
 *                               warmup > iteration > conv1       iteration > conv1
 *
 * A node without a captured path belongs to the range that launched the graph. The time of the
 * launching call always belongs to the range that launched.
 *
 * An instance is one opening of a range, in one path; of a captured layer it is one launch of the
 * graph. `calls` counts the instances that launched work, themselves or in a layer inside. The mean
 * and the percentiles (nearest rank) are over these instances, of the device time of all their
 * work.
 *
 * A gap lies on one stream: from the end of an instance's last activity to the begin of the next
 * activity that is not the instance's. It is 0 if the two overlap. It counts each time the stream
 * passes from the instance to other work.
 *
 * With `iteration`, only work that was launched inside a range of that name counts, also for all
 * percentages. With `found`, only work that belongs to these iterations does. With `range`, only
 * work that was launched in that capture range counts.
 *
 * A trace without NVTX ranges, or without API calls and captured paths, has no layers. Its kernels
 * are reported by position in the sequence that they repeat (positions.h).
 *
 * Memory: 24 bytes a call, 16 bytes an instance and 8 while it is added up, 28 bytes for each node
 * of a graph launch that follows work of another layer, and about 600 bytes for each layer with its
 * names. So a million different range names need too much memory (see merge_numbers).
 */
#ifndef MP_REPORTS_LAYERS_LAYERS_H
#define MP_REPORTS_LAYERS_LAYERS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/status.h"
#include "profile/common/statistics.h"
#include "profile/profile.h"
#include "reports/layers/inside.h"
#include "reports/layers/positions.h"
#include "reports/layers/tree.h"

/* A piece of work. */
struct layer_activity {
    uint64_t start; /* ns */
    uint64_t duration;
    uint64_t correlation;
    uint64_t stream; /* in the trace */
    uint32_t node;   /* of the tree: its layer */
};

/* Receives each piece of work that counts, in order of time; anything but MP_OK ends the reading.
 */
typedef enum mp_status layers_each(void *context, const struct layer_tree *tree,
                                   const struct layer_activity *activity);

struct layers_options {
    uint64_t range; /* id of a capture range; 0: everything */
    enum names_style style;
    const char *domain;    /* ranges of this one alone, "" the default one; NULL: of all */
    const char *iteration; /* work inside ranges of this name alone; NULL: all */
    const struct layers_iterations *found; /* work of these alone, and `iteration` is what they are
                                              called, not a name of ranges; NULL: all */
    bool merge_numbers; /* names that differ only in the numbers at their end are one */
    bool all;           /* layers without device work too */
    bool by_position;   /* kernels by their position, even if there are ranges */
    layers_each
        *each;     /* NULL: not wanted; if it is set, a trace without layers gets no positions */
    void *context; /* of `each` */
};

enum layer_kind { LAYER_KERNEL, LAYER_COPY, LAYER_SET, LAYER_GRAPH, LAYER_KINDS };

struct layer_work {
    uint64_t device;              /* ns */
    uint64_t counts[LAYER_KINDS]; /* graphs: those recorded as a whole */
    uint64_t launches;            /* calls that launched it */
    uint64_t launch_time;         /* ns on the host, of the launching calls */
    uint64_t gaps;
    uint64_t gap_time; /* ns */
};

/* One name of work in a layer: a kernel, `[CUDA memcpy HtoD]`, `[CUDA memset]`. */
struct layer_kernel {
    const char *name;       /* full, in the style that was asked for */
    const char *short_name; /* without parameters, template arguments and scopes */
    uint64_t calls;         /* work in layers inside counts too */
    uint64_t total;         /* ns */
    uint64_t self_calls;
    uint64_t self; /* ns */
};

/* What TensorRT's JSON object in the text of a range says; NULL where it says nothing. */
struct layer_said {
    const char *type;
    const char *precision;
    const char *tactic;
    const char *dimensions;
    const char *input_dimensions;
};

struct layer {
    uint32_t node;      /* of the tree: the node that layers_each receives */
    uint32_t parent;    /* an earlier one of `layers`; LAYER_NONE: it is an outermost one */
    uint32_t depth;     /* from 1 */
    const char *domain; /* NULL: the default one */
    const char *name;   /* NULL: of work without a range */
    const struct layer_said *said; /* by TensorRT; NULL: nothing */
    uint64_t instances;
    uint64_t calls;
    struct statistics device; /* of a call; all 0 without calls */
    const struct layer_work *self;
    const struct layer_work *total;     /* its gaps are those of `self` */
    const struct layer_kernel *kernels; /* by total, then by name */
    size_t kernel_count;
    enum trt_mark mark; /* by name or type; TRT_COPY also if all its work is copies and sets */
};

/* Layers of a kind. Work counts for the innermost layer around it that is of a kind. */
struct layer_group {
    const char *name;
    uint64_t layers;
    uint64_t calls;
    uint64_t total; /* ns */
    double percent;
};

struct layer_groups {
    struct layer_group *items; /* by total, then by name; owned */
    size_t count;
};

struct layers_result {
    struct layer *layers; /* each before those inside it; those by total, then as they appeared */
    size_t count;
    uint32_t *by_total; /* their indexes; owned */
    struct layer_groups types;
    struct layer_groups precisions; /* "unknown" where a layer with a type has none */
    struct layer_groups marks; /* by name, by type, or because all their work is copies and sets */
    uint64_t device;           /* ns of all work */
    uint64_t activities;
    uint64_t unlaunched; /* of these: without a launching call in the trace */
    uint64_t iterations; /* outermost instances of the range that was asked for, with work; or
                            those that were found */
    uint64_t unfinished; /* ranges without an end */
    uint64_t kept;       /* see LAYER_MAX_OTHERS */
    bool has_ranges;     /* the trace has NVTX ranges, or captured paths */
    bool no_calls;       /* the trace has no API calls */
    bool by_position;    /* then `positions`, and no layers */
    struct layer_positions positions;
    struct layer_kernel *kernels; /* of all layers; owned */
    struct layer_said *said;      /* the same */
    struct layer_work *selves;    /* the same */
    struct layer_work *totals;    /* the same */
    struct mp_intern names;
    struct profile *profile; /* of the trace; the caller's */
    struct quality quality;  /* the profile's, whose arrays it shares, and rows left out */
};

/* Reads the trace in passes over ranges and calls, and over the work, in order of time. The result
 * uses the profile as long as it lives. MP_ERR_ARGUMENT: no such capture range, no range of the
 * iterations' name, or no such domain; the message lists some. MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT (2^30 instances); the result is then empty. On success layers_free gives it back. */
enum mp_status layers_build(struct profile *profile, const struct layers_options *options,
                            struct layers_result *result, struct mp_error *error);

void layers_free(struct layers_result *result);

/* layers_put_name appends a layer's name: `conv1`, with its domain unless that is the default one
 * (`conv1@library`), or `<no range>`. layers_put_path appends its path: `iteration >
 * conv1@library`. */
void layers_put_name(struct mp_buffer *text, const struct layer *layer);
void layers_put_path(struct mp_buffer *text, const struct layers_result *result, uint32_t index);

/* In percent of all device time; 0 if there is none. */
double layers_percent(const struct layers_result *result, uint64_t device);

#endif
