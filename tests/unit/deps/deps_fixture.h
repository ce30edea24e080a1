/* What the tests of the dependency analysis share: a trace put together row by row, and what the
 * analysis says of it as short texts, which stand in a test as they were worked out by hand.
 *
 * All times are microseconds. There is one scene at a time:
 *
 *     scene_begin();
 *     put_launch(STREAM, "a", 10, 20, 50, 1);        call 10-15, kernel 20-50, correlation id 1
 *     scene_load();
 *     assert_string_equal(bound("a"), "launch cudaLaunchKernel#1");
 *     scene_end(SOUND);
 */
#ifndef MP_TESTS_DEPS_FIXTURE_H
#define MP_TESTS_DEPS_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "reports/deps/deps.h"
#include "trace/schema.h"
#include "unit/trace_fixture.h"

struct scene {
    int fd;
    struct mp_writer *writer;
    struct mp_trace *trace;
    struct deps deps;            /* with fronts */
    struct deps_windows windows; /* all capture ranges */
};
extern struct scene scene;

void scene_begin(void);
void scene_begin_with(const char *header); /* lines KEY=VALUE */

/* Writes the file, reads it back and analyses it. */
void scene_load(void);

/* Writes the file, copies it to `fd` and gives the scene back. */
void scene_write(int fd);

/* Whether the equations must give back the recorded times. */
enum scene_soundness { SOUND, UNSOUND };

/* Checks what holds for every trace (scene_check) and gives the scene back. */
void scene_end(enum scene_soundness soundness);

/* In all windows: parts and rows sum to the window; slack and replay have an answer. In a sound
 * trace: a replay without changes gives the windows back; in the whole trace nothing on the path
 * has slack; and where there is one window, no activity lengthens it in a replay by taking its
 * slack longer, while a device activity of a trace with one thread does by 1 ns more. */
void scene_check(const struct deps_windows *windows, enum scene_soundness soundness);

/* ---- Rows ---- */

/* Of deps_rows_fixture.c: before the first row, and behind the last one. */
void rows_begin(void);
void rows_end(void);

#define DEFAULT_CONTEXT 1
#define NO_STREAM       UINT32_MAX

/* A stream of another context than the first; contexts are on devices of their own. */
#define ON(context, stream) ((context)*1000 + (stream))

void put_call(uint64_t thread, const char *name, uint64_t begin, uint64_t end,
              uint64_t correlation);
void put_kernel(uint64_t stream, const char *name, uint64_t begin, uint64_t end,
                uint64_t correlation);

/* The launch shape of all kernels of that name, before the first of them; and a GPU of compute
 * capability 9.0, on whose SMs 64 warps fit. Otherwise a kernel's threads and its GPU are unknown.
 */
uint64_t put_kernel_shape(const char *name, uint64_t blocks, uint64_t threads);
void put_gpu(uint64_t device, uint64_t multiprocessors);

/* A call of cudaLaunchKernel in thread 1 that takes 5 us, and its kernel. */
void put_launch(uint64_t stream, const char *name, uint64_t call, uint64_t begin, uint64_t end,
                uint64_t correlation);

enum copy_manner { BLOCKING_COPY, ASYNCHRONOUS, PAGEABLE };
void put_copy(uint64_t stream, enum mp_copy_kind kind, enum copy_manner manner, uint64_t begin,
              uint64_t end, uint64_t correlation);
void put_copy_of(uint64_t stream, enum mp_copy_kind kind, enum copy_manner manner, uint64_t bytes,
                 uint64_t begin, uint64_t end, uint64_t correlation);
void put_set(uint64_t stream, uint64_t begin, uint64_t end, uint64_t correlation);

/* A graph launch as a whole; and a kernel that is a node of one, by CUPTI's ids. */
void put_graph(uint64_t stream, uint64_t graph, uint64_t begin, uint64_t end, uint64_t correlation);
void put_node(uint64_t stream, const char *name, uint64_t graph, uint64_t node, uint64_t begin,
              uint64_t end, uint64_t correlation);
void put_edge(uint64_t graph, uint64_t from, uint64_t to);

/* A wait outside of CUDA that `waker` (0: nobody) ended at the moment `woken`; the same with a
 * waker that the trace does not define, by pthread_join. */
void put_host_wait(uint64_t thread, unsigned kind, uint64_t begin, uint64_t end, uint64_t waker,
                   uint64_t woken);
void put_unknown_waker(uint64_t thread, uint64_t begin, uint64_t end, uint64_t waker);

/* A host function of a stream that a thread ran. */
void put_host_function(uint64_t stream, const char *name, uint64_t thread, uint64_t begin,
                       uint64_t end, uint64_t correlation);

/* A stretch of a thread, of which so much was on a processor, and ready without one. */
void put_host_time(uint64_t thread, uint64_t begin, uint64_t end, uint64_t computing,
                   uint64_t ready);

/* A row of `sync`, alone; contexts are those of the stream. */
void put_sync(unsigned kind, uint64_t thread, uint64_t stream, uint64_t event, uint64_t begin,
              uint64_t end, uint64_t correlation);
void put_sync_in_context(unsigned kind, uint64_t context, uint64_t begin, uint64_t end,
                         uint64_t correlation);
void put_failed_sync(unsigned kind, uint64_t stream, uint64_t event, uint64_t begin, uint64_t end,
                     uint64_t correlation);

/* Rows of `sync` of thread 1 without a call; they take 1 us. */
void put_record(uint64_t stream, uint64_t event, uint64_t at, uint64_t correlation);
void put_wait(uint64_t stream, uint64_t event, uint64_t at, uint64_t correlation);

/* A value in memory that a stream writes or waits for; `bits` is 32 or 64. NO_STREAM: in a graph.
 */
void put_stream_value(uint64_t stream, unsigned operation, unsigned bits, uint64_t address,
                      uint64_t value, uint64_t at, uint64_t correlation);

/* A call of thread 1 with its row of `sync`. */
void put_stream_sync(uint64_t stream, uint64_t begin, uint64_t end, uint64_t correlation);
void put_event_sync(uint64_t event, uint64_t begin, uint64_t end, uint64_t correlation);
void put_context_sync(uint64_t begin, uint64_t end, uint64_t correlation);

void put_stream_flag(uint64_t stream, unsigned flag);
void put_null_stream(uint64_t context, uint64_t stream);

/* A green context of device 0, whose default stream is 14. */
void put_green(uint64_t context, uint64_t parent, uint64_t multiprocessors);
void put_range(uint64_t range, uint64_t begin, uint64_t end, uint64_t first, uint64_t behind);

/* NVTX events of any thread; domain NULL is the default one. */
void put_nvtx(unsigned kind, uint64_t thread, const char *domain, const char *name, uint64_t at,
              uint64_t range);
void put_nvtx_range(const char *name, uint64_t begin, uint64_t end); /* push and pop, thread 1 */

/* The NVTX ranges of this name as windows, as `deps --iterations NAME` has them. */
enum mp_status scene_iterations(const char *name, uint64_t range, struct deps_windows *windows,
                                struct mp_error *error);

/* A stack, by its id: a line of a function of main.py that `caller` (0: nobody) called. */
uint64_t put_stack(uint64_t caller, const char *function, uint64_t line);

/* The stack of all calls from now on; 0: none. That in which a node of a graph was made. */
void use_stack(uint64_t stack);
void put_maker(uint64_t graph, uint64_t node, uint64_t stack);

/* The id of a text in the table `string`. */
uint64_t put_string(const char *text);

/* ---- Answers: static texts, each valid until the next one but seven ---- */

uint32_t find(const char *name);          /* the first activity of that name */
uint32_t find_call(uint64_t correlation); /* the last piece of a call */
const char *bound(const char *name);      /* "event a", "launch cudaLaunchKernel#1", "unknown" */
const char *bound_call(uint64_t correlation);
const char *path(const struct deps_window *window);    /* "a 30, b 20 | host 5, launch 10" */
const char *waiting(const struct deps_window *window); /* of calls | of device work */
uint64_t slack_of(const struct deps_windows *windows, uint32_t activity); /* us */

/* Length of the first window of scene.windows, us, with changes as deps_changes_add takes them,
 * separated by ;. */
uint64_t length_with(const char *changes);

#endif
