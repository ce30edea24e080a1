/*
 * selftest_client.h: a small CUPTI client that keeps every record it is given.
 */
#ifndef SIMGPU_SELFTEST_CLIENT_H
#define SIMGPU_SELFTEST_CLIENT_H

#include "selftest_records.h"

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_record {
    uint32_t kind;
    size_t size; /* as cuptiActivityGetNextRecord steps */
    _Alignas(8) uint8_t bytes[256];
};

struct client {
    struct client_record *records;
    size_t count, capacity;
    size_t buffer_size;
    bool refuse_buffers; /* hand out NULL, so that records are dropped */
    size_t buffers_out;  /* requested and not completed yet */
};

extern struct client client;

/* Registers the buffer callbacks and enables the kinds (ends with INVALID). */
void client_start(const CUpti_ActivityKind *kinds);
/* Flushes; the records are then in `client`. */
void client_flush(uint32_t flag);
/* The nth record (from 0) of a kind; ends the process when there is none. */
const void *client_find(CUpti_ActivityKind kind, size_t nth);
size_t client_count(CUpti_ActivityKind kind);
/* Bytes of the first record of a kind; 0 when there is none. */
size_t client_size(CUpti_ActivityKind kind);
/* Clears what differs from run to run: process and thread ids, addresses. */
void client_normalize(struct client_record *record);

#endif
