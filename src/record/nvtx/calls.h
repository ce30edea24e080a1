/* NVTX's functions as the handler answers them, for the tables of nvtx.c and payload.c. */
#ifndef MP_RECORD_NVTX_CALLS_H
#define MP_RECORD_NVTX_CALLS_H

#include "record/nvtx/buffer.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

/* The five events, for callers that have already filled in the call. A pop or an end takes its time
 * from the call. Each takes the thread from
 * nvtx_enter() and leaves it. Push and pop return the level, counted from 0, or
 * NVTX_NO_PUSH_POP_TRACKING where the level is unknown. Start returns the range's id. */
void nvtx_mark(struct nvtx_thread *thread, struct nvtx_call *call) NVTX_HIDDEN;
int nvtx_push(struct nvtx_thread *thread, struct nvtx_call *call) NVTX_HIDDEN;
int nvtx_pop(struct nvtx_thread *thread, struct nvtx_call *call) NVTX_HIDDEN;
nvtxRangeId_t nvtx_start(struct nvtx_thread *thread, struct nvtx_call *call) NVTX_HIDDEN;
void nvtx_end(struct nvtx_thread *thread, struct nvtx_call *call) NVTX_HIDDEN;

/* The message in a payload: of type NVTX_PAYLOAD_TYPE_EXT, or passed to a payload function. */
struct nvtx_text nvtx_payload_message(const struct nvtx_domain *domain, const void *payloads,
                                      size_t count) NVTX_HIDDEN;

/* Copies the payloads to `to`, of NVTX_BLOB_BYTES, as nvtx.h says. Answers the bytes that they
 * take, 0 for none. What finds no room, and what has no schema, is counted. */
uint32_t nvtx_payloads_copy(const struct nvtx_domain *domain, const void *payloads, size_t count,
                            unsigned char *to) NVTX_HIDDEN;

/* The handler's function for one entry of NVTX's tables, by NVTX's numbers; NULL if it has none. */
NvtxFunctionPointer nvtx_calls_find(uint32_t module, uint32_t id) NVTX_HIDDEN;

/* ---- The payload extension ----
 *
 * Older toolkits (CUDA 11.8) have no header of it; a build with them implements none of it.
 */

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>

#define NVTX_HAS_PAYLOADS 1

/* The extension's functions that register; they answer the id. */
uint64_t NVTX_API nvtx_schema_register(nvtxDomainHandle_t domain,
                                       const nvtxPayloadSchemaAttr_t *attr) NVTX_HIDDEN;
uint64_t NVTX_API nvtx_enum_register(nvtxDomainHandle_t domain,
                                     const nvtxPayloadEnumAttr_t *attr) NVTX_HIDDEN;
uint64_t NVTX_API nvtx_scope_register(nvtxDomainHandle_t domain,
                                      const nvtxScopeAttr_t *attr) NVTX_HIDDEN;

#else
#define NVTX_HAS_PAYLOADS 0
#endif

#endif
