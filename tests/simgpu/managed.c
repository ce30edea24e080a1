/*
 * managed.c: memory that host and devices share, and its pages on their way.
 *
 * A deliberately simple model of what a driver with demand paging does. An allocation is on the
 * host at first and moves as a whole, in blocks of 2 MiB:
 *
 *     a kernel with a pointer into it as a parameter, on a device that does not hold it: for each
 *     block a page fault of the device and, inside of it, a transfer
 *
 *         |-- 10240 ns --|-- transfer --|  next block ...      the kernel takes so much longer
 *         |---------- page fault -------|
 *
 *     cuCtxSynchronize by the program: the host then uses all managed memory. For each
 * block a page fault of the host, a moment, and 4096 ns later a transfer, which the thread waits
 * for
 *
 * A transfer takes 1024 ns and 1 ns for 32 bytes, and shares its engine with nothing. Graph nodes
 * do the same; copies and sets move nothing.
 */
#include "simgpu.h"

#define BLOCK_BYTES ((size_t)2 << 20)

static const uint64_t device_fault_ns = 10240;
static const uint64_t host_fault_ns = 4096;
/* Where the instruction was that the host's fault is blamed on. */
static const uint64_t host_program_counter = 0x401000;

static uint64_t transfer_ns(size_t bytes)
{
    return sg_gridRound(1024 + bytes / 32);
}

static size_t block_bytes(const struct sg_allocation *memory, size_t offset)
{
    size_t rest = memory->bytes - offset;

    return rest < BLOCK_BYTES ? rest : BLOCK_BYTES;
}

/* The CPU has a number too, and it is not CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID (CUPTI 13.0, H200). */
static uint32_t place_id(const struct sg_device *device)
{
    return device ? (uint32_t)device->ordinal : 0;
}

static void emit(struct simgpu_unified unified, struct sg_span span)
{
    struct simgpu_activity activity = {
        .kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, .start = span.start, .end = span.end};

    activity.unified = unified;
    sg_emit(&activity);
}

static void emit_transfer(const struct sg_allocation *memory, size_t offset,
                          const struct sg_device *target, struct sg_span span)
{
    uint32_t counter = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD;

    if (!memory->holder)
        counter = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
    else if (!target)
        counter = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH;
    emit((struct simgpu_unified){.counter = counter,
                                 .value = block_bytes(memory, offset),
                                 .address = memory->address + offset,
                                 .source = place_id(memory->holder),
                                 .target = place_id(target),
                                 .flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE},
         span);
}

/* The managed memory that a launch's parameter points into; NULL for anything else. */
static struct sg_allocation *pointed_at(const struct sg_launch *launch, unsigned index)
{
    uint64_t value;

    if (launch->function->param_size[index] != sizeof(value))
        return NULL;
    memcpy(&value, launch->params + launch->function->param_offset[index], sizeof(value));
    return sg_findManaged((uintptr_t)value);
}

/* What has to come to the device for this parameter, and does not come for an earlier one. */
static struct sg_allocation *missing(const struct sg_op *op, unsigned index,
                                     const struct sg_device *device)
{
    struct sg_allocation *memory = pointed_at(&op->launch, index);

    for (unsigned i = 0; memory && i < index; i++)
        if (pointed_at(&op->launch, i) == memory)
            return NULL;
    return memory && memory->holder != device ? memory : NULL;
}

static unsigned parameter_count(const struct sg_op *op)
{
    return op->type == SG_OP_KERNEL ? op->launch.function->param_count : 0;
}

uint64_t sg_migrationTime(const struct sg_op *op, const struct sg_device *device)
{
    uint64_t time = 0;

    for (unsigned i = 0; i < parameter_count(op); i++) {
        const struct sg_allocation *memory = missing(op, i, device);

        for (size_t at = 0; memory && at < memory->bytes; at += BLOCK_BYTES)
            time += device_fault_ns + transfer_ns(block_bytes(memory, at));
    }
    return time;
}

static uint64_t fault_in(struct sg_allocation *memory, const struct sg_device *device,
                         uint64_t start)
{
    for (size_t at = 0; at < memory->bytes; at += BLOCK_BYTES) {
        struct sg_span transfer = {start + device_fault_ns, start + device_fault_ns};

        transfer.end += transfer_ns(block_bytes(memory, at));
        emit_transfer(memory, at, device, transfer);
        emit((struct simgpu_unified){.counter =
                                         CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
                                     .value = 1,
                                     .address = memory->address + at,
                                     .source = place_id(device),
                                     .flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE},
             (struct sg_span){start, transfer.end});
        start = transfer.end;
    }
    memory->holder = device;
    return start;
}

void sg_migrateIn(const struct sg_op *op, const struct sg_device *device, uint64_t start)
{
    for (unsigned i = 0; i < parameter_count(op); i++) {
        struct sg_allocation *memory = missing(op, i, device);

        if (memory)
            start = fault_in(memory, device, start);
    }
}

static void fault_back(struct sg_allocation *memory)
{
    for (size_t at = 0; at < memory->bytes; at += BLOCK_BYTES) {
        uint64_t start = sg_gridRound(sg_now());
        struct sg_span transfer = {start + host_fault_ns, start + host_fault_ns};

        transfer.end += transfer_ns(block_bytes(memory, at));
        emit(
            (struct simgpu_unified){
                .counter = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
                .value = host_program_counter,
                .address = memory->address + at,
                .flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ},
            (struct sg_span){start, start});
        emit_transfer(memory, at, NULL, transfer);
        sg_waitUntil(transfer.end);
    }
    memory->holder = NULL;
}

void sg_migrateBack(void)
{
    struct sg_allocation *memory = NULL;

    while ((memory = sg_nextManaged(memory ? memory->serial : 0)))
        if (memory->holder)
            fault_back(memory);
}
