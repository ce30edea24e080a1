/* What the tests of iterations share: those of the scene of deps_fixture.h, found and measured. */
#ifndef MP_TESTS_ITERATIONS_FIXTURE_H
#define MP_TESTS_ITERATIONS_FIXTURE_H

#include "reports/iterations/iterations.h"
#include "unit/deps/deps_fixture.h"

#define US 1000u

extern struct iterations found;
extern struct iteration_measures *measures; /* by iteration */
extern struct iterations_summary summary;

/* iterations_find in the scene; an error has a text. */
enum mp_status find_by(enum iterations_way way, const char *name, uint64_t range);

/* Finds and measures; what must hold of any iteration is checked. forget() is due. */
void analyse(enum iterations_way way, const char *name, uint64_t range);
void forget(void);

/* The same after scene_load, and before scene_end. */
void load(enum iterations_way way, const char *name, uint64_t range);
void done(void);

/* Fails unless an iteration begins and ends so, us. */
void expect_window(size_t index, uint64_t begin, uint64_t host_end, uint64_t end);

/* Fails unless a measure is so, us; or a count. */
void expect(size_t index, enum iteration_quantity quantity, uint64_t us);
void expect_count(size_t index, enum iteration_quantity quantity, uint64_t count);

/* ---- What programs do, in us; each call gets a correlation id of its own ---- */

/* A scene with no call so far. */
void begin_program(void);
uint64_t next_correlation(void);

/* A call of 2 us in a thread, and the kernel, the copy, or the graph of two kernels that it
 * launches. */
void launch(uint64_t thread, uint64_t stream, const char *name, uint64_t at, uint64_t begin,
            uint64_t end);
void copy(uint64_t thread, uint64_t stream, enum mp_copy_kind kind, uint64_t at, uint64_t begin,
          uint64_t end);
void launch_graph(uint64_t thread, uint64_t stream, uint64_t graph, uint64_t at, uint64_t begin,
                  uint64_t end);
void wait_for(uint64_t thread, uint64_t at, uint64_t end);

/* An NVTX range. */
void mark(uint64_t thread, const char *domain, const char *name, uint64_t begin, uint64_t end);

#endif
