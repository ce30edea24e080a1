/* NVTX domains of libraries. What a library marks repeats inside of the program's iterations, so
 * its ranges do not compete with them.
 */
#include <stddef.h>
#include <strings.h>

#include "reports/iterations/build.h"

#include "base/poison.h"

static const struct {
    const char *domain;
    const char *source; /* where the name stands */
} libraries[] = {
    {"CCCL", "CUB, Thrust, libcu++: struct NVTXCCCLDomain in cuda/__nvtx/nvtx.h"},
    {"NCCL", "NCCL: struct nccl_domain in src/include/nvtx.h"},
    {"com.nvidia.nccl.proxy", "NCCL: initNvtx of its proxy thread"},
    {"TensorRT", "TensorRT's documentation, NVTX of layers and enqueue"},
    {"cuBLAS", "Nsight Systems, --trace=cublas"},
    {"cuBLASLt", "Nsight Systems, --trace=cublas"},
    {"cuDNN", "Nsight Systems, --trace=cudnn"},
    {"cuSPARSE", "Nsight Systems, --trace=cusparse"},
    {"cuSOLVER", "Nsight Systems, --trace=cusolver"},
    {"cuFFT", "the same family of CUDA libraries"},
    {"cuTENSOR", "the same family of CUDA libraries"},
    {"NVSHMEM", "Nsight Systems, NVSHMEM trace by NVTX"},
    {"DALI", "DALI: struct DomainTimeRange"},
    {"libcudf", "libcudf: struct libcudf_domain"},
    {"librmm", "RMM: struct librmm_domain"},
    {"raft", "RAFT: core/nvtx.hpp"},
    {"TSL", "XLA, which JAX and TensorFlow run: its profiler's ranges, tsl/profiler/lib"},
};

bool iterations_library_domain(const char *domain)
{
    for (size_t i = 0; domain && i < sizeof libraries / sizeof *libraries; i++) {
        if (!strcasecmp(domain, libraries[i].domain))
            return true;
    }
    return false;
}
