/*
 * kernels.c: what kernels do and how long they take.
 *
 * Known kernels are found by the pattern of their name and do in C what their PTX does in
 * samples/, so that a sample prints the same checksum here and on a GPU. All others do nothing.
 * The time of a kernel with a `us` parameter is that parameter plus up to 992 ns of noise in steps
 * of 32 ns (none with SIMGPU_NOISE=0); of any other it is a function of its grid. A kernel that
 * meets those of other processes ends when they let it.
 */
#include "simgpu.h"

#include <fnmatch.h>
#include <string.h>

struct arguments {
    const struct sg_launch *launch;
};

static uint64_t argument(struct arguments args, unsigned index)
{
    const struct CUfunc_st *function = args.launch->function;
    uint64_t value = 0;

    if (index < function->param_count && function->param_size[index] <= sizeof(value))
        memcpy(&value, args.launch->params + function->param_offset[index],
               function->param_size[index]);
    return value;
}

/* The elements of a device buffer; NULL unless all of them lie in one allocation. */
static void *buffer(struct arguments args, unsigned index, uint64_t count, size_t size)
{
    CUdeviceptr address = argument(args, index);

    return sg_isDeviceRange(address, count * size) ? sg_pointer(address) : NULL;
}

static uint64_t thread_count(const struct sg_launch *launch)
{
    uint64_t threads = 1;

    for (int i = 0; i < 3; i++)
        threads *= (uint64_t)launch->grid[i] * launch->block[i];
    return threads;
}

static uint64_t covered(struct arguments args, uint64_t n)
{
    uint64_t threads = thread_count(args.launch);

    return n < threads ? n : threads;
}

/* vecadd(a, b, c, n): c = a + b */
static void run_vecadd(struct arguments args)
{
    uint64_t n = covered(args, argument(args, 3));
    const float *a = buffer(args, 0, n, sizeof(float));
    const float *b = buffer(args, 1, n, sizeof(float));
    float *c = buffer(args, 2, n, sizeof(float));

    for (uint64_t i = 0; a && b && c && i < n; i++)
        c[i] = a[i] + b[i];
}

/* layer(in, out, n, salt, us): out = in * 1664525 + salt */
static void run_layer(struct arguments args)
{
    uint64_t n = covered(args, argument(args, 2));
    uint32_t salt = (uint32_t)argument(args, 3);
    const uint32_t *in = buffer(args, 0, n, sizeof(uint32_t));
    uint32_t *out = buffer(args, 1, n, sizeof(uint32_t));

    for (uint64_t i = 0; in && out && i < n; i++)
        out[i] = in[i] * UINT32_C(1664525) + salt;
}

/* join(a, b, out, n, salt, us): out = a + 3 * b + salt */
static void run_join(struct arguments args)
{
    uint64_t n = covered(args, argument(args, 3));
    uint32_t salt = (uint32_t)argument(args, 4);
    const uint32_t *a = buffer(args, 0, n, sizeof(uint32_t));
    const uint32_t *b = buffer(args, 1, n, sizeof(uint32_t));
    uint32_t *out = buffer(args, 2, n, sizeof(uint32_t));

    for (uint64_t i = 0; a && b && out && i < n; i++)
        out[i] = a[i] + 3 * b[i] + salt;
}

#define ENDLESS (-2) /* SG_ENDLESS */

static const struct known_kernel {
    const char *pattern;
    void (*run)(struct arguments args);
    int us_parameter; /* its index, -1 or ENDLESS */
} known_kernels[] = {
    {"vecadd", run_vecadd, -1}, {"spin", NULL, 0},       {"tactic_*", run_layer, 4},
    {"*_layer", run_layer, 4},  {"*_join", run_join, 5}, {"endless", NULL, ENDLESS},
};

static const struct known_kernel *find_kernel(const char *name)
{
    for (size_t i = 0; i < SG_COUNT(known_kernels); i++)
        if (fnmatch(known_kernels[i].pattern, name, 0) == 0)
            return &known_kernels[i];
    return NULL;
}

void sg_kernelRun(const struct sg_launch *launch)
{
    const struct known_kernel *known = find_kernel(launch->function->name);

    if (known && known->run)
        known->run((struct arguments){launch});
}

void simgpu_kernel_meets(CUfunction function, simgpu_meeting meet)
{
    pthread_mutex_lock(&sg_lock);
    function->meet = meet;
    pthread_mutex_unlock(&sg_lock);
}

static uint64_t meeting_time(const struct sg_launch *launch, uint64_t start)
{
    uint64_t end;

    start = sg_gridRound(start);
    pthread_mutex_unlock(&sg_lock);
    end = launch->function->meet(launch->params, start);
    pthread_mutex_lock(&sg_lock);
    return end > start ? end - start : 0;
}

uint64_t sg_kernelDuration(const struct sg_launch *launch, uint64_t counter, uint64_t start)
{
    const struct known_kernel *known = find_kernel(launch->function->name);
    uint64_t jitter = env_number("SIMGPU_NOISE", 1) ? (sg_hash(counter) & 31) * 32 : 0;

    if (launch->function->meet)
        return meeting_time(launch, start);
    if (known && known->us_parameter >= 0)
        return argument((struct arguments){launch}, (unsigned)known->us_parameter) * 1000 + jitter;
    if (known && known->us_parameter == ENDLESS)
        return SG_ENDLESS;
    /* About a wave of 128 x 2048 threads per microsecond, over a floor of 2 us. */
    return 2048 + thread_count(launch) / 262 + jitter;
}
