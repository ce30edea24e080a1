/* green.c: makes a stream of a green context, as far as the headers know these. */
#include "green.h"

#include "common.h"

#define DO(call) ((*calls)++, CU_CHECK(call))

#if CUDA_VERSION >= 12050
void green_stream(CUstream *stream, CUdevice device, unsigned long *calls)
{
    CUdevResource all;
    CUdevResourceDesc desc;
    CUgreenCtx context;

    DO(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));
    DO(cuDevResourceGenerateDesc(&desc, &all, 1));
    DO(cuGreenCtxCreate(&context, desc, device, CU_GREEN_CTX_DEFAULT_STREAM));
    DO(cuGreenCtxStreamCreate(stream, context, CU_STREAM_NON_BLOCKING, 0));
}
#else
void green_stream(CUstream *stream, CUdevice device, unsigned long *calls)
{
    (void)device;
    DO(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
}
#endif
