/* The options --iterations, which says what an iteration is, and --iteration, which takes one. */
#ifndef MP_REPORTS_COMMON_ITERATIONS_BY_H
#define MP_REPORTS_COMMON_ITERATIONS_BY_H

#include <stdbool.h>

#include "cli/options.h"
#include "profile/nvtx/ranges.h"
#include "reports/iterations/iterations.h"
#include "reports/layers/layers.h"

struct iterations_values {
    const char *how; /* NULL: not given; the same for the next */
    const char *one;
};

/* Rows of an option table; `at` is the offset of a struct iterations_values, `old` what
 * --iterations was called before. */
#define ITERATIONS_OPTION(at)                                                                      \
    {                                                                                              \
        .name = "iterations", .argument = "NAME|HOW", .kind = OPTION_TEXT,                         \
        .offset = (at) + offsetof(struct iterations_values, how),                                  \
        .help = "what an iteration is: NAME or nvtx:NAME, an NVTX range of that name; range, a "   \
                "capture range; graph, a launch of a CUDA graph; kernels, a sequence of kernels "  \
                "that repeats; syncs, a wait of a thread that repeats; requests, from the first "  \
                "work after a wait to the wait for it; auto (default), the best of them"           \
    }
#define ITERATIONS_ALIAS(at, old)                                                                  \
    OPTION_ALIAS(old, "NAME|HOW", (at) + offsetof(struct iterations_values, how))

#define ITERATION_OPTION(at, help_)                                                                \
    {                                                                                              \
        .name = "iteration", .argument = "N", .kind = OPTION_TEXT,                                 \
        .offset = (at) + offsetof(struct iterations_values, one), .help = (help_)                  \
    }

/* Puts a way, as --iterations takes it, into the options; false: it is none, so it is a name. */
bool iterations_by_parse(const char *how, struct iterations_options *options);

/* Puts the value of --iterations (NULL: not given) into the options. */
void iterations_by(const char *how, struct iterations_options *options);

/* The number of --iteration; 0: not given. If `names`, a text that is no number is the value of
 * --iterations, as it was before. Returns false after a complaint. */
bool iterations_one(const char *command, struct iterations_values *values, bool names,
                    uint64_t *number);

/* MP_ERR_ARGUMENT if `number` is past the last of `count` iterations. */
enum mp_status iterations_have(uint64_t number, size_t count, struct mp_error *error);

/* Finds the iterations of a trace, as ranges of their threads in order of begin; for commands that
 * have no event graph. With a `number` only that one. Fails as deps_load and iterations_find do.
 * nvtx_ranges_free. */
enum mp_status iterations_as_ranges(struct mp_trace *trace,
                                    const struct iterations_options *options, uint64_t number,
                                    struct nvtx_ranges *ranges, struct mp_error *error);

/* Finds the iterations of a trace, and the correlation ids of the work that belongs to them,
 * ascending; each once. `*correlations` is the caller's to free. Fails as deps_load and
 * iterations_find do. */
enum mp_status iterations_as_work(struct mp_trace *trace, const struct iterations_options *options,
                                  struct layers_iterations *work, uint64_t **correlations,
                                  struct mp_error *error);

#endif
