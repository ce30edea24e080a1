/* The GPUs of an export. An ordinal names a GPU in one process only, so processes that share one,
 * or that each call theirs 0, are told apart by UUID. A GPU gets its ordinal as number if no other
 * has it, else the next free one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "export/perfetto/build.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

static bool is_taken(const struct perfetto *perfetto, uint64_t number)
{
    for (size_t i = 0; i < perfetto->gpu_count; i++) {
        if (perfetto->gpus[i].number == number)
            return true;
    }
    return false;
}

/* The GPU's number; *is_new says whether it is the first time that it is seen. */
static enum mp_status number_gpu(struct perfetto *perfetto, uint64_t high, uint64_t low,
                                 uint64_t ordinal, uint64_t *number, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < perfetto->gpu_count && (high || low); i++) {
        *number = perfetto->gpus[i].number;
        if (perfetto->gpus[i].uuid_high == high && perfetto->gpus[i].uuid_low == low)
            return MP_OK;
    }
    MP_TRY(mp_reserve((void **)&perfetto->gpus, perfetto->gpu_count, &perfetto->gpu_capacity,
                      sizeof *perfetto->gpus));
    *number = ordinal <= INT32_MAX ? ordinal : 0;
    for (uint64_t next = 0; is_taken(perfetto, *number); next++)
        *number = next;
    perfetto->gpus[perfetto->gpu_count++] = (struct gpu){high, low, *number};
    *is_new = true;
    return MP_OK;
}

/* ---- GpuInfo ---- */

static void write_info(struct perfetto *perfetto, const struct trace_set_device *device,
                       const char *arch)
{
    struct packets *packets = &perfetto->packets;
    const char *name = device->name ? device->name : "GPU";
    size_t at = packet_begin_timeless(packets);
    size_t info = proto_begin(&packets->bytes, PACKET_GPU_INFO);
    size_t gpu = proto_begin(&packets->bytes, GPUS);
    uint8_t uuid[16];

    packets_text(packets, GPU_NAME, name, strlen(name));
    proto_text(&packets->bytes, GPU_VENDOR, "NVIDIA");
    packets_text(packets, GPU_MODEL, name, strlen(name));
    if (*arch)
        proto_text(&packets->bytes, GPU_ARCH, arch);
    for (unsigned i = 0; i < 8; i++) {
        uuid[i] = (uint8_t)(device->uuid_high >> (56 - 8 * i));
        uuid[8 + i] = (uint8_t)(device->uuid_low >> (56 - 8 * i));
    }
    if (device->uuid_high || device->uuid_low)
        proto_bytes(&packets->bytes, GPU_UUID, uuid, sizeof uuid);
    proto_end(&packets->bytes, gpu);
    proto_end(&packets->bytes, info);
    packet_end(packets, at);
}

/* ---- The table ---- */

static void select_devices(struct mp_cursor *cursor, void *context)
{
    (void)context;
    shapes_select(cursor);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_shape), 0);
}

static enum mp_status take_batch(void *context, const struct mp_batch *batch)
{
    return shapes_take(context, batch);
}

static enum mp_status add_device(struct perfetto *perfetto, const struct shapes *shapes,
                                 const struct trace_set_device *from)
{
    struct process *process = &perfetto->process;
    const struct device_limits *limits = shapes_device(shapes, from->ordinal);
    enum mp_status status = dense_reach(&process->devices, from->ordinal);
    struct device *device;
    bool is_new;

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    device = dense_at(&process->devices, from->ordinal);
    MP_TRY(number_gpu(perfetto, from->uuid_high, from->uuid_low, from->ordinal, &device->gpu,
                      &is_new));
    device->known = true;
    if (limits) {
        device->limits = *limits;
        if (limits->major)
            snprintf(device->arch, sizeof device->arch, "sm_%" PRIu32 "%" PRIu32, limits->major,
                     limits->minor);
    }
    if (is_new || perfetto->zipped)
        write_info(perfetto, from, device->arch);
    return MP_OK;
}

enum mp_status gpus_load(struct perfetto *perfetto, struct mp_error *error)
{
    const struct trace_process *who = perfetto->process.of->who;
    struct mp_trace *trace = perfetto->process.of->trace;
    struct shapes shapes;
    const struct reading reading = {.trace = trace,
                                    .what = "the devices",
                                    .context = &shapes,
                                    .select = select_devices,
                                    .take = take_batch};
    enum mp_status status;

    shapes_init(&shapes, trace);
    dense_init(&perfetto->process.devices, sizeof(struct device), definitions_limit(trace));
    status = reading_run(&reading, error);
    for (size_t i = 0; i < who->device_count && status == MP_OK; i++)
        status = add_device(perfetto, &shapes, &who->devices[i]);
    shapes_free(&shapes);
    return status;
}

const struct device *gpus_device(const struct process *process, uint64_t ordinal)
{
    static const struct device unknown;
    const struct device *device = dense_at(&process->devices, ordinal);

    return device ? device : &unknown;
}

uint64_t gpus_number(const struct process *process, uint64_t ordinal)
{
    const struct device *device = gpus_device(process, ordinal);

    return device->known ? device->gpu : ordinal <= INT32_MAX ? ordinal : 0;
}
