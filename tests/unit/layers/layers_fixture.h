/* What the tests of layers share: scenes of deps_fixture.h, and what the analysis says of them as
 * short texts, which stand in a test as they were worked out by hand. */
#ifndef MP_TESTS_LAYERS_FIXTURE_H
#define MP_TESTS_LAYERS_FIXTURE_H

#include "reports/layers/layers.h"
#include "unit/deps/deps_fixture.h"

#define PUSH  MP_nvtx_kind_push
#define POP   MP_nvtx_kind_pop
#define START MP_nvtx_kind_start
#define END   MP_nvtx_kind_end

extern struct layers_result result;

/* Writes the scene, reads it back and makes `result`. */
void load_with(struct layers_options options);
void layers_load(void);

/* The same trace with other options; gives the result before back. */
void load_again(struct layers_options options);

/* Gives `result` and the scene back. */
void layers_done(void);

/* "it 30/10 x2, it>conv@d 20/20 x1": paths in the order of the tree, total and self device time in
 * us, calls; static. `-` is the layer without a range. */
const char *said(void);

/* The layer of a path that is written so. */
const struct layer *layer_called(const char *path);

/* In thread 1 and the default domain. */
void push(const char *name, uint64_t at);
void pop(uint64_t at);

#endif
