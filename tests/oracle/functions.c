/* functions.c: what runs on the driver's thread, whose clock stands at the moment at which the
 * stream comes to the function (simgpu's host.c). */
#include "functions.h"

#include <stdlib.h>

#include "common.h"
#include "preload.h"
#include "waits.h"

/* simgpu's (hooks.h). */
uint64_t simgpu_clock_ns(void);
void simgpu_wait_until_ns(uint64_t when);

static struct host_work {
    uint64_t ns, post_ns;
    long object;
    struct mp_preload_host_function told;
    struct host_work *next;
} * works;

struct host_work *functions_new(uint64_t ns, uint64_t post_ns, long object)
{
    struct host_work *work = calloc(1, sizeof(*work));

    if (!work)
        fail("run_programs: out of memory");
    *work = (struct host_work){.ns = ns, .post_ns = post_ns, .object = object, .next = works};
    work->told.function = (uint64_t)(uintptr_t)functions_run;
    works = work;
    return work;
}

void functions_give(struct host_work *work)
{
    preload_gives(work ? &work->told : NULL);
}

void CUDA_CB functions_run(void *data)
{
    const struct host_work *work = data;
    uint64_t begin = simgpu_clock_ns();

    if (work->object >= 0) {
        simgpu_wait_until_ns(begin + work->post_ns);
        waits_post(work->object, 1);
    }
    simgpu_wait_until_ns(begin + work->ns);
    preload_ran(&work->told, begin, simgpu_clock_ns());
}

void CUDA_CB functions_run_callback(CUstream stream, CUresult result, void *work)
{
    (void)stream;
    (void)result;
    functions_run(work);
}
