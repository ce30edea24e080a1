/*
 * cupti_internal.h: the inside of the software libcupti.so.13.
 *
 *   driver --api_enter/exit, resource--> cupti_callback.c --> the client's callback
 *   driver --activity--> cupti_activity.c (wanted? then into a heap by end time)
 *                           `--> cupti_buffer.c --> cupti_layout.c --> the client's buffers
 *
 * Lock order: the driver's big lock, then cupti_lock. The client is never called under either.
 */
#ifndef SIMGPU_CUPTI_INTERNAL_H
#define SIMGPU_CUPTI_INTERNAL_H

/* CUPTI's headers then export what they declare; all else is hidden (-fvisibility=hidden). */
#define CUPTI_LIB

#include "env.h"
#include "hooks.h"

#include <cupti.h>
#include <pthread.h>
#include <stddef.h>

#include "compat.h"

#define CT_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CT_MAX_CBID     1024
#define CT_MAX_RECORD   256

extern pthread_mutex_t ct_lock;

/* The CUPTI_API_VERSION that is played: SIMGPU_CUPTI_VERSION or that of the headers. */
uint32_t ct_version(void);

/* The name of a client of CUPTI's version 2, which then has CUPTI (SIMGPU_CUPTI_V2); or NULL. */
const char *ct_versionTwo(void);

/* Installs the hooks in the driver; the first subscription or activity call does it. */
void ct_attach(void);
void ct_detach(void);

/* ---- cupti_activity.c ---- */
void ct_onActivity(const struct simgpu_activity *activity);
bool ct_isApiTraced(uint32_t cbid);
void ct_emitApi(const struct simgpu_api_call *call);
void ct_activityReset(void);
/* Takes the earliest record that ends at or before `until`; false when there is none. */
bool ct_takeRecord(uint64_t until, struct simgpu_activity *record);
bool ct_hasLatencyTimestamps(void);
bool ct_hasEventTimestamps(void);

/* ---- cupti_buffer.c ---- */
bool ct_hasBuffers(void);
/* Moves complete records to the client's buffers; called when a driver call ends. */
void ct_deliver(void);
void ct_setZeroed(bool zeroed);

/* ---- cupti_layout.c ---- */
/* Bytes of a record of this kind in the played version; 0 for kinds that are never emitted. */
size_t ct_recordSize(uint32_t kind);
void ct_encode(uint8_t record[CT_MAX_RECORD], const struct simgpu_activity *activity);

/* ---- cupti_faults.c ---- */
/* Each is told of what its fault hangs on. */
void ct_faultNoBuffer(void);
void ct_faultSwitch(CUpti_ActivityKind kind, bool on);
void ct_faultResource(uint32_t cbid);
void ct_faultCall(uint32_t cbid);
void ct_faultClock(void);
/* A call of CUPTI that takes as many ms as the variable says. Without ct_lock. */
void ct_faultSlow(const char *variable);
/* A kernel's record, before it is written. */
void ct_faultTimes(struct simgpu_activity *kernel);
/* Whether CUPTI loses the record, and does not count it. */
bool ct_faultLost(const struct simgpu_activity *activity);
/* A record before it is given to the client. */
void ct_faultUnread(struct simgpu_activity *activity);
/* When the record of an activity is complete. */
uint64_t ct_faultDue(const struct simgpu_activity *activity);
/* Whether API records that are enabled by function now never come. */
bool ct_faultLateApi(void);

/* ---- cupti_callback.c ---- */
extern const struct simgpu_hooks ct_hooks;
void ct_callbackReset(void);

#endif
