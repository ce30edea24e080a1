/* stream_values.c: streams ordered by values in memory, without events.
 *
 *     stream_values CASE ITERATIONS
 *
 * In each iteration stream A runs `slow_layer` (400 us) and writes a value; stream B waits for the
 * value and runs `fast_layer` (50 us); the thread waits for B. What is special about a case:
 *
 *     early    the wait is called before the write, as 32 bits, at least the iteration's number
 *     late     after it, as 64 bits, until they are equal
 *     batch    a batch of B waits and writes 0, A waits for that in the next iteration
 *     ahead    the same, and the thread waits only once, in the end
 *     host     the thread writes the value, before the wait
 *     graph    the write was captured into a graph
 */
#include "common.h"

#include <cudaProfiler.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry slow_layer(.param .u64 p_in, .param .u64 p_out,"
    " .param .u32 p_n, .param .u32 p_salt, .param .u32 p_us)\n{\n    ret;\n}\n"
    ".visible .entry fast_layer(.param .u64 p_in, .param .u64 p_out,"
    " .param .u32 p_n, .param .u32 p_salt, .param .u32 p_us)\n{\n    ret;\n}\n";

static CUfunction slow_layer, fast_layer;
static CUstream a, b;
static CUdeviceptr flag;
static volatile unsigned *host_flag;
static CUgraphExec writer;

static void run(CUfunction kernel, CUstream stream, unsigned us)
{
    CUdeviceptr none = 0;
    unsigned zero = 0;
    void *params[] = {&none, &none, &zero, &zero, &us};

    CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

static void slow(void)
{
    run(slow_layer, a, 400);
}

static void fast(void)
{
    run(fast_layer, b, 50);
}

static void early(unsigned i)
{
    CU_CHECK(cuStreamWaitValue32(b, flag, i, CU_STREAM_WAIT_VALUE_GEQ));
    fast();
    slow();
    CU_CHECK(cuStreamWriteValue32(a, flag, i, CU_STREAM_WRITE_VALUE_DEFAULT));
}

static void late(unsigned i)
{
    slow();
    CU_CHECK(cuStreamWriteValue64(a, flag, i, CU_STREAM_WRITE_VALUE_DEFAULT));
    CU_CHECK(cuStreamWaitValue64(b, flag, i, CU_STREAM_WAIT_VALUE_EQ));
    fast();
}

static CUstreamBatchMemOpParams operation(CUstreamBatchMemOpType type, unsigned value)
{
    CUstreamBatchMemOpParams made = {.operation = type};

    made.waitValue.address = flag;
    made.waitValue.value = value;
    if (type == CU_STREAM_MEM_OP_WAIT_VALUE_32)
        made.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    return made;
}

static void batch(unsigned i)
{
    CUstreamBatchMemOpParams go = operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, 0);
    CUstreamBatchMemOpParams ready = operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, 1);
    CUstreamBatchMemOpParams take[] = {operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, 1),
                                       operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, 0)};

    (void)i;
    CU_CHECK(cuStreamBatchMemOp(b, 2, take, 0));
    fast();
    CU_CHECK(cuStreamBatchMemOp(a, 1, &go, 0));
    slow();
    CU_CHECK(cuStreamBatchMemOp(a, 1, &ready, 0));
}

static void host(unsigned i)
{
    slow();
    *host_flag = i;
    CU_CHECK(cuStreamWaitValue32(b, flag, i, CU_STREAM_WAIT_VALUE_EQ));
    fast();
}

static void graph(unsigned i)
{
    CUgraph made;

    if (i == 1) {
        CU_CHECK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
        slow();
        CU_CHECK(cuStreamWriteValue32(a, flag, 1, 0));
        CU_CHECK(cuStreamEndCapture(a, &made));
        CU_CHECK(cuGraphInstantiateWithFlags(&writer, made, 0));
    }
    CU_CHECK(cuGraphLaunch(writer, a));
    CU_CHECK(cuStreamWaitValue32(b, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    fast();
}

static const struct {
    const char *name;
    void (*iterate)(unsigned i);
    bool ahead;
} cases[] = {{"early", early, false}, {"late", late, false}, {"batch", batch, false},
             {"ahead", batch, true},  {"host", host, false}, {"graph", graph, false}};

static void set_up(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    void *memory;

    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&slow_layer, module, "slow_layer"));
    CU_CHECK(cuModuleGetFunction(&fast_layer, module, "fast_layer"));
    CU_CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuMemHostAlloc(&memory, 64, 0));
    memset(memory, 0, 64);
    host_flag = memory;
    CU_CHECK(cuMemHostGetDevicePointer(&flag, memory, 0));
    slow();
    fast();
    CU_CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    unsigned long iterations = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

    set_up();
    CU_CHECK(cuProfilerStart());
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
        for (unsigned i = 1; argc == 3 && !strcmp(argv[1], cases[c].name) && i <= iterations; i++) {
            cases[c].iterate(i);
            if (!cases[c].ahead)
                CU_CHECK(cuStreamSynchronize(b));
        }
    CU_CHECK(cuCtxSynchronize());
    CU_CHECK(cuProfilerStop());
    return 0;
}
