/* The four functions that libminiprof.so exports. Beside them only the tables of NCCL's plugin are
 * visible (nccl/plugin.c, exports.map).
 *
 * All may be called any number of times, from any thread, in any order. They answer 1, "fine", even
 * when recording is not possible: the application must not notice. NVTX gets the answer 0 where it
 * is not recorded, which makes its calls as cheap as without a tool.
 */
#ifndef MP_RECORD_PROCESS_INJECT_H
#define MP_RECORD_PROCESS_INJECT_H

#include <cupti.h>

#define MP_EXPORT __attribute__((visibility("default")))

/* The driver calls this in cuInit: CUDA_INJECTION64_PATH. */
MP_EXPORT int InitializeInjection(void);

/* NVTX v2 and v3 call these at an instance's first NVTX call: NVTX_INJECTION64_PATH. */
MP_EXPORT int InitializeInjectionNvtx(void *get_export_table);
MP_EXPORT int InitializeInjectionNvtx2(void *get_export_table);
MP_EXPORT int InitializeInjectionNvtxExtension(void *module_info);

/* ---- Callbacks ----
 *
 * The function that CUPTI calls back.
 */

/* `userdata` is the recorder. Any thread of the application; does nothing unless RECORDING. */
void CUPTIAPI callbacks_take(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                             const void *data);

#endif
