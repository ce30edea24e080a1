/* The GPUs of an export, and their work as render stages: a queue for each stream, a stage for each
 * kind of work, numbers for contexts and kernels. What a kernel's launches on a stream have in
 * common is encoded once.
 */
#include "export/perfetto/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "profile/definitions.h"
#include "reports/kernels/kernels.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- GPUs ---- */

/* An ordinal names a GPU in one process only, so processes that share one, or that each call theirs
 * 0, are distinguished by UUID. A GPU gets its ordinal as number if no other has it, else the next
 * free one. */

static bool is_taken(const struct perfetto *perfetto, uint64_t number)
{
    for (size_t i = 0; i < perfetto->gpu_count; i++) {
        if (perfetto->gpus[i].number == number)
            return true;
    }
    return false;
}

/* Finds the GPU's number; *is_new if it is seen for the first time. */
static enum mp_status number_gpu(struct perfetto *perfetto, uint64_t high, uint64_t low,
                                 uint64_t ordinal, uint64_t *number, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < perfetto->gpu_count && (high || low); i++) {
        *number = perfetto->gpus[i].number;
        if (perfetto->gpus[i].uuid_high == high && perfetto->gpus[i].uuid_low == low)
            return MP_OK;
    }
    MP_TRY(MP_RESERVE(perfetto->gpus, perfetto->gpu_count, perfetto->gpu_capacity));
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

/* ---- Devices ---- */

static enum mp_status add_device(struct perfetto *perfetto, const struct trace_set_device *from)
{
    struct process *process = &perfetto->process;
    const struct device_limits *limits = export_rows_limits(process->of->rows, from->ordinal);
    enum mp_status status = dense_reach(&process->devices, from->ordinal);
    bool is_new;

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    struct device *device = dense_at(&process->devices, from->ordinal);
    MP_TRY(number_gpu(perfetto, from->uuid_high, from->uuid_low, from->ordinal, &device->gpu,
                      &is_new));
    device->known = true;
    if (limits && limits->major)
        snprintf(device->arch, sizeof device->arch, "sm_%" PRIu32 "%" PRIu32, limits->major,
                 limits->minor);
    if (is_new || perfetto->zipped)
        write_info(perfetto, from, device->arch);
    return MP_OK;
}

enum mp_status gpus_load(struct perfetto *perfetto)
{
    const struct trace_process *who = perfetto->process.of->who;

    dense_init(&perfetto->process.devices, sizeof(struct device),
               definitions_limit(perfetto->process.of->trace));
    for (size_t i = 0; i < who->device_count; i++)
        MP_TRY(add_device(perfetto, &who->devices[i]));
    return MP_OK;
}

/* What is known of a device; all zero but `gpu` for one that the trace does not define. */
static const struct device *device_of(const struct process *process, uint64_t ordinal)
{
    static const struct device unknown;
    const struct device *device = dense_at(&process->devices, ordinal);

    return device ? device : &unknown;
}

/* The number of its GPU: its ordinal, if it is not defined. */
static uint64_t gpu_of(const struct process *process, uint64_t ordinal)
{
    const struct device *device = device_of(process, ordinal);

    return device->known ? device->gpu : ordinal <= INT32_MAX ? ordinal : 0;
}

/* ---- What kernels of NCCL carry ---- */

/* Function, communicator, bytes and so on are arguments of the launch, which the UI shows beside
 * the launch's shape. Of several operations in a kernel the bytes are added up, if all are of one
 * function and communicator; otherwise only their number is known. */

static void put(struct perfetto *perfetto, enum argument name, uint64_t value)
{
    packets_argument(&perfetto->packets.bytes, LAUNCH_ARGUMENTS, name, value & INT64_MAX);
}

static void write_communicator(struct perfetto *perfetto, const struct ranks_operation *operation)
{
    char hash[24];

    if (!operation->hash)
        return;
    snprintf(hash, sizeof hash, "%016" PRIx64, operation->hash);
    packets_argument_text(&perfetto->packets, LAUNCH_ARGUMENTS, ARGUMENT_COMMUNICATOR, hash);
    if (operation->ranks)
        put(perfetto, ARGUMENT_RANKS, operation->ranks);
    if (operation->rank != RANKS_NONE)
        put(perfetto, ARGUMENT_RANK, operation->rank);
}

/* Writes what a kernel of NCCL carries, as arguments of its launch. */
static void write_collective(struct perfetto *perfetto, const struct export_row *row)
{
    const struct ranks_operations *operations = perfetto->process.operations;
    struct ranks_operation sum;
    size_t first, count = ranks_operations_find(operations, row->correlation, row->graph,
                                                row->graph_node, &first);

    if (count > 1)
        put(perfetto, ARGUMENT_OPERATIONS, count);
    if (!ranks_operations_sum(operations, first, count, &sum))
        return;
    packets_argument_text(&perfetto->packets, LAUNCH_ARGUMENTS, ARGUMENT_COLLECTIVE, sum.function);
    write_communicator(perfetto, &sum);
    put(perfetto, ARGUMENT_NUMBER, sum.sequence ? sum.sequence : sum.number);
    if (sum.bytes)
        put(perfetto, ARGUMENT_BYTES, sum.bytes);
    if (sum.peer != RANKS_NONE)
        put(perfetto, ARGUMENT_PEER, sum.peer);
}

/* Stages have the numbers of their kinds plus 1; those of queues come after. */
#define FIRST_QUEUE 16

static const char *const stages[] = {
    [EXPORT_KERNEL] = "Kernel",
    [EXPORT_COPY] = "Memcpy",
    [EXPORT_SET] = "Memset",
    [EXPORT_GRAPH] = "Graph",
    [EXPORT_HOST_FUNCTION] = "Host function",
};
#define STAGES (sizeof stages / sizeof *stages)

/* ---- Numbers ---- */

static void specify(struct packets *packets, uint64_t number, const char *name, const char *text,
                    unsigned category)
{
    size_t at = proto_begin(&packets->bytes, INTERNED_SPECIFICATIONS);

    proto_uint(&packets->bytes, IID, number);
    proto_text(&packets->bytes, IID_NAME, name);
    proto_text(&packets->bytes, SPECIFICATION_TEXT, text);
    proto_uint(&packets->bytes, SPECIFICATION_CATEGORY, category);
    proto_end(&packets->bytes, at);
}

static uint64_t stage_number(const struct process *process, enum export_kind kind)
{
    return process->first_number + kind + 1;
}

void gpu_begin(struct perfetto *perfetto)
{
    struct packets *packets = &perfetto->packets;
    size_t at = packet_begin_timeless(packets);
    size_t interned = proto_begin(&packets->bytes, PACKET_INTERNED);

    for (unsigned i = 0; i < STAGES; i++)
        specify(packets, stage_number(&perfetto->process, (enum export_kind)i), stages[i],
                stages[i], i == EXPORT_KERNEL ? CATEGORY_COMPUTE : CATEGORY_OTHER);
    proto_end(&packets->bytes, interned);
    packet_end(packets, at);
}

static uint64_t context_number(struct perfetto *perfetto, uint64_t context)
{
    struct process *process = &perfetto->process;
    uint64_t own = context && context < PROCESS_NUMBERS ? context : PROCESS_NUMBERS - 1;
    struct packets *packets = &perfetto->packets;

    if (number_is_new(packets, &process->contexts, own)) {
        size_t at = packet_begin_timeless(packets);
        size_t interned = proto_begin(&packets->bytes, PACKET_INTERNED);
        size_t entry = proto_begin(&packets->bytes, INTERNED_CONTEXTS);

        proto_uint(&packets->bytes, IID, process->first_number + own);
        proto_uint(&packets->bytes, CONTEXT_PID, process->pid);
        proto_uint(&packets->bytes, CONTEXT_API, API_CUDA);
        proto_end(&packets->bytes, entry);
        proto_end(&packets->bytes, interned);
        packet_end(packets, at);
    }
    return process->first_number + own;
}

static uint64_t queue_number(struct perfetto *perfetto, const struct export_place *place)
{
    struct process *process = &perfetto->process;
    uint64_t number = process->first_number + FIRST_QUEUE + place->id;
    struct packets *packets = &perfetto->packets;

    if (number_is_new(packets, &process->queues, place->id)) {
        size_t at = packet_begin_timeless(packets);
        size_t interned = proto_begin(&packets->bytes, PACKET_INTERNED);
        char name[32], text[96];

        snprintf(name, sizeof name, "Stream %" PRIu64, place->stream);
        snprintf(text, sizeof text, "device %" PRIu64 ", context %" PRIu64 ", stream %" PRIu64,
                 place->device, place->context, place->stream);
        specify(packets, number, name, text, CATEGORY_OTHER);
        proto_end(&packets->bytes, interned);
        packet_end(packets, at);
    }
    return number;
}

/* ---- Kernels ---- */

static void write_limits(struct mp_buffer *bytes, const struct occupancy *occupancy)
{
    static const enum argument names[OCCUPANCY_LIMITS] = {
        [OCCUPANCY_WARPS] = ARGUMENT_BY_WARPS,
        [OCCUPANCY_REGISTERS] = ARGUMENT_BY_REGISTERS,
        [OCCUPANCY_SHARED_MEMORY] = ARGUMENT_BY_SHARED,
        [OCCUPANCY_BLOCKS] = ARGUMENT_BY_BLOCKS,
    };

    packets_argument_double(bytes, KERNEL_ARGUMENTS, ARGUMENT_WAVES, occupancy->waves);
    packets_argument_double(bytes, KERNEL_ARGUMENTS, ARGUMENT_OCCUPANCY, occupancy->percent);
    for (unsigned i = 0; i < OCCUPANCY_LIMITS; i++) {
        if (occupancy->by[i] != OCCUPANCY_NO_LIMIT)
            packets_argument(bytes, KERNEL_ARGUMENTS, names[i], occupancy->by[i]);
    }
}

static uint64_t saturated(uint64_t value)
{
    return value < INT64_MAX ? value : INT64_MAX;
}

static void write_resources(struct mp_buffer *bytes, const struct launch_shape *shape)
{
    packets_argument(bytes, KERNEL_ARGUMENTS, ARGUMENT_REGISTERS, shape->registers);
    packets_argument(bytes, KERNEL_ARGUMENTS, ARGUMENT_SHARED_STATIC, shape->static_shared);
    packets_argument(bytes, KERNEL_ARGUMENTS, ARGUMENT_SHARED_DYNAMIC, shape->dynamic_shared);
    if (shape->configured_shared)
        packets_argument(bytes, KERNEL_ARGUMENTS, ARGUMENT_SHARED_CONFIG, shape->configured_shared);
    packets_argument(bytes, KERNEL_ARGUMENTS, ARGUMENT_LOCAL_MEMORY, shape->local_memory);
    packets_argument(bytes, KERNEL_ARGUMENTS, ARGUMENT_THREADS, saturated(shape_threads(shape)));
    if (shape_cluster(shape))
        packets_argument(bytes, KERNEL_ARGUMENTS, ARGUMENT_CLUSTER,
                         saturated(shape_cluster(shape)));
}

static void write_place(struct mp_buffer *bytes, unsigned field, const struct export_place *place)
{
    packets_argument(bytes, field, ARGUMENT_DEVICE, place->device);
    packets_argument(bytes, field, ARGUMENT_STREAM, place->stream);
}

/* Writes a kernel with its shape and its stream: what all launches of them have in common. */
static void write_kernel(struct perfetto *perfetto, const struct export_row *row, uint64_t number)
{
    struct packets *packets = &perfetto->packets;
    const struct device *device = device_of(&perfetto->process, row->place->device);
    size_t at = packet_begin_timeless(packets);
    size_t interned = proto_begin(&packets->bytes, PACKET_INTERNED);
    size_t entry = proto_begin(&packets->bytes, INTERNED_KERNELS);
    struct device_limits limits;
    struct occupancy occupancy;

    proto_uint(&packets->bytes, IID, number);
    if (row->raw_name.text)
        proto_bytes(&packets->bytes, IID_NAME, row->raw_name.text, row->raw_name.bytes);
    if (row->name.text)
        proto_bytes(&packets->bytes, KERNEL_READABLE, row->name.text, row->name.bytes);
    if (*device->arch)
        proto_text(&packets->bytes, KERNEL_ARCH, device->arch);
    write_place(&packets->bytes, KERNEL_ARGUMENTS, row->place);
    if (row->shape)
        write_resources(&packets->bytes, row->shape);
    if (row->shape && export_rows_usable(perfetto->process.of->rows, row->place, &limits) &&
        occupancy_of(row->shape, &limits, &occupancy))
        write_limits(&packets->bytes, &occupancy);
    proto_end(&packets->bytes, entry);
    proto_end(&packets->bytes, interned);
    packet_end(packets, at);
}

/* ---- What launches have in common ---- */

static void encode_dimensions(struct mp_buffer *bytes, unsigned field, const uint32_t size[3])
{
    size_t at = proto_begin(bytes, field);

    for (unsigned i = 0; i < 3; i++)
        proto_uint(bytes, i + 1, size[i]);
    proto_end(bytes, at);
}

/* Encodes queue, stage, GPU, context, name and kernel; then the launch, whose own arguments follow.
 */
static enum mp_status encode(struct perfetto *perfetto, const struct export_row *row,
                             struct launch *launch)
{
    struct process *process = &perfetto->process;
    struct mp_buffer *bytes = &process->encoded;
    uint64_t queue = queue_number(perfetto, row->place);
    uint64_t context = context_number(perfetto, row->place->context);
    uint64_t name = packets_name(&perfetto->packets, &row->name);
    uint64_t kernel = row->kind == EXPORT_KERNEL ? process->launch_count + 1 : 0;

    if (kernel)
        write_kernel(perfetto, row, kernel);
    launch->at = bytes->size;
    proto_uint(bytes, STAGE_QUEUE, queue);
    proto_uint(bytes, STAGE_STAGE, stage_number(process, row->kind));
    proto_uint(bytes, STAGE_GPU, gpu_of(process, row->place->device));
    proto_uint(bytes, STAGE_CONTEXT, context);
    proto_uint(bytes, STAGE_NAME, name);
    if (kernel)
        proto_uint(bytes, STAGE_KERNEL, kernel);
    launch->bytes = bytes->size - launch->at;
    return bytes->status;
}

/* What rows have in common: kind, shape or name, stream. */
static uint64_t key_of(const struct export_row *row)
{
    uint64_t what = row->name.id;

    if (row->kind == EXPORT_KERNEL)
        what = row->shape ? export_row_kernel(row).shape : 0;
    return (what & UINT32_MAX) << 32 | (uint64_t)(row->place->id & 0xfffffff) << 4 | row->kind;
}

static enum mp_status find_launch(struct perfetto *perfetto, const struct export_row *row)
{
    struct process *process = &perfetto->process;
    uint64_t key = key_of(row);

    if (process->launch_count && key == process->last_key)
        return MP_OK;
    uint32_t found = mp_map_get(&process->launches, key);
    if (found == MP_MAP_ABSENT) {
        found = (uint32_t)process->launch_count;
        MP_TRY(MP_RESERVE(process->launch, found, process->launch_capacity));
        MP_TRY(encode(perfetto, row, &process->launch[found]));
        MP_TRY(mp_map_put(&process->launches, key, found));
        process->launch_count++;
    }
    process->last_key = key;
    process->last_launch = found;
    return MP_OK;
}

/* ---- A row ---- */

static void write_bytes(struct mp_buffer *bytes, const struct export_row *row, uint64_t count)
{
    packets_argument(bytes, LAUNCH_ARGUMENTS, ARGUMENT_BYTES, saturated(count));
    if (row->kind == EXPORT_COPY && row->duration)
        packets_argument_double(bytes, LAUNCH_ARGUMENTS, ARGUMENT_BANDWIDTH,
                                (double)count / (double)row->duration);
}

static void write_launch(struct perfetto *perfetto, const struct export_row *row)
{
    struct mp_buffer *bytes = &perfetto->packets.bytes;
    size_t at = proto_begin(bytes, STAGE_LAUNCH);

    if (row->shape) {
        encode_dimensions(bytes, LAUNCH_GRID, row->shape->grid);
        encode_dimensions(bytes, LAUNCH_BLOCK, row->shape->block);
    }
    if (row->kind != EXPORT_KERNEL)
        write_place(bytes, LAUNCH_ARGUMENTS, row->place);
    if (row->correlation)
        packets_argument(bytes, LAUNCH_ARGUMENTS, ARGUMENT_CORRELATION, row->correlation);
    if (row->graph)
        packets_argument(bytes, LAUNCH_ARGUMENTS, ARGUMENT_GRAPH, row->graph);
    if (row->graph_node)
        packets_argument(bytes, LAUNCH_ARGUMENTS, ARGUMENT_GRAPH_NODE, row->graph_node);
    if (row->kind == EXPORT_COPY)
        write_bytes(bytes, row, export_row_copy(row).bytes);
    if (row->kind == EXPORT_SET)
        write_bytes(bytes, row, export_row_set(row).bytes);
    if (row->kind == EXPORT_KERNEL)
        write_collective(perfetto, row);
    proto_end(bytes, at);
}

enum mp_status gpu_row(struct perfetto *perfetto, const struct export_row *row)
{
    struct process *process = &perfetto->process;
    struct packets *packets = &perfetto->packets;
    struct links *links = &process->links;

    MP_TRY(find_launch(perfetto, row));
    links->found_count = 0;
    if (links->deps && row->activity != DEPS_NONE)
        MP_TRY(links_awaited_by_work(links, row->activity));
    const struct launch *launch = &process->launch[process->last_launch];
    size_t at = packet_begin(packets, row->start);
    size_t event = proto_begin(&packets->bytes, PACKET_GPU_EVENT);
    proto_uint(&packets->bytes, STAGE_EVENT_ID, links_id(links, row->activity));
    proto_uint(&packets->bytes, STAGE_DURATION, row->duration);
    mp_buffer_append(&packets->bytes, process->encoded.data + launch->at, launch->bytes);
    for (size_t i = 0; i < links->found_count; i++)
        proto_uint(&packets->bytes, STAGE_AWAITED, links->first + links->found[i]);
    write_launch(perfetto, row);
    proto_end(&packets->bytes, event);
    packet_end(packets, at);
    return packets->status;
}
