/* Which callbacks of CUPTI are on: of the calls whose parameters or moments matter.
 *
 * Always on: cuProfilerStart and Stop, stream captures, contexts coming and going, the end of
 * cuInit; with MINIPROF_METRICS launches too. While something is recorded: the dozen driver calls
 * that make or await dependencies (api_set.c lists them), each of which becomes a row of `sync`.
 * They see calls made through the runtime too, and cost 150 ns where they happen and nothing
 * elsewhere; CUPTI's own kind SYNCHRONIZATION would cost 165 ns at every call of the process.
 *
 * The callbacks run on the application's threads, inside their CUDA calls (process/callbacks.h).
 */
#ifndef MP_RECORD_CUPTI_SUBSCRIBER_H
#define MP_RECORD_CUPTI_SUBSCRIBER_H

#include <stdbool.h>

#include "base/status.h"

/* CUPTI_CB_DOMAIN_STATE and CUPTI_CBID_STATE_FATAL_ERROR: not in all headers. */
#define SUBSCRIBER_STATE       6
#define SUBSCRIBER_FATAL_ERROR 1

struct recorder;

/* Becomes CUPTI's subscriber, whose callbacks go to jobs.on_callback. MP_ERR_UNSUPPORTED when
 * another client is, with its name if CUPTI says it. */
enum mp_status subscriber_open(struct recorder *recorder, struct mp_error *error);

/* The callbacks that are always on. */
void subscriber_watch_base(struct recorder *recorder);

/* Nothing more is recorded: launches and graphs are left alone. */
void subscriber_watch_ends(struct recorder *recorder);

/* Those behind rows of `sync`, and, where CUPTI's API records do not serve, of `call`. */
void subscriber_watch_syncs(struct recorder *recorder, bool on);
void subscriber_watch_calls(struct recorder *recorder, bool on);

#endif
