/* What stands once for a session, a host, a process and a GPU; and nsys's tables as data. */
#include "export/nsys/build.h"

#include <string.h>
#include <time.h>

#include "base/data/storage.h"
#include "base/text/strings.h"
#include "export/rows/rows.h"
#include "profile/common/source_names.h"

#include "base/poison.h"

/* ---- The tables, and the values of enumerations ---- */

#define NULL_NULLED                        0
#define NULL_FULL                          TABLES_REQUIRED
#define NULL_KEY                           (TABLES_REQUIRED | TABLES_KEY)
#define COLUMN_OF(table, name, type, null) {#name, TABLES_##type, NULL_##null},
#define COLUMN_ARRAY(table, name)                                                                  \
    static const struct tables_column columns_##table[] = {NSYS_COLUMNS_##table(COLUMN_OF)};
NSYS_TABLES(COLUMN_ARRAY)

#define TABLE_OF(table, name) {#name, columns_##table, NSYS_##table##_COLUMNS},
const struct tables_table nsys_tables[NSYS_TABLE_COUNT] = {NSYS_TABLES(TABLE_OF)};

#define COPY(value, name, label)                                                                   \
    {                                                                                              \
        NSYS_ENUM_CUDA_MEMCPY_OPER, value, "CUDA_MEMCPY_KIND_" name, label                         \
    }
#define MEMORY(value, name, label)                                                                 \
    {                                                                                              \
        NSYS_ENUM_CUDA_MEM_KIND, value, "CUDA_MEMOPR_MEMORY_KIND_" name, label                     \
    }
#define OPERATION(value, name, label)                                                              \
    {                                                                                              \
        NSYS_ENUM_CUDA_DEV_MEM_EVENT_OPER, value, "CUDA_DEV_MEM_EVENT_OPR_" name, label            \
    }
#define SYNC(value, name, label)                                                                   \
    {                                                                                              \
        NSYS_ENUM_CUPTI_SYNC_TYPE, value, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" name, label       \
    }
#define ACCESS(value, name, label)                                                                 \
    {                                                                                              \
        NSYS_ENUM_CUDA_UNIF_MEM_ACCESS_TYPE, value,                                                \
            "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_" name, label                               \
    }
#define EVENT(value, name)                                                                         \
    {                                                                                              \
        NSYS_ENUM_NSYS_EVENT_TYPE, value, name, name                                               \
    }
#define CLASS(value, name, label)                                                                  \
    {                                                                                              \
        NSYS_ENUM_NSYS_EVENT_CLASS, value, "TRACE_PROCESS_EVENT_" name, label                      \
    }

static const struct {
    uint16_t table;
    uint16_t value;
    const char *name, *label;
} values[] = {
    COPY(0, "UNKNOWN", "Unknown"),
    COPY(1, "HTOD", "Host-to-Device"),
    COPY(2, "DTOH", "Device-to-Host"),
    COPY(3, "HTOA", "Host-to-Array"),
    COPY(4, "ATOH", "Array-to-Host"),
    COPY(5, "ATOA", "Array-to-Array"),
    COPY(6, "ATOD", "Array-to-Device"),
    COPY(7, "DTOA", "Device-to-Array"),
    COPY(8, "DTOD", "Device-to-Device"),
    COPY(9, "HTOH", "Host-to-Host"),
    COPY(10, "PTOP", "Peer-to-Peer"),
    COPY(11, "UVM_HTOD", "Unified Host-to-Device"),
    COPY(12, "UVM_DTOH", "Unified Device-to-Host"),
    COPY(13, "UVM_DTOD", "Unified Device-to-Device"),
    MEMORY(0, "PAGEABLE", "Pageable"),
    MEMORY(1, "PINNED", "Pinned"),
    MEMORY(2, "DEVICE", "Device"),
    MEMORY(3, "ARRAY", "Array"),
    MEMORY(4, "MANAGED", "Managed"),
    MEMORY(5, "DEVICE_STATIC", "Device Static"),
    MEMORY(6, "MANAGED_STATIC", "Managed Static"),
    MEMORY(7, "UNKNOWN", "Unknown"),
    OPERATION(0, "ALLOCATION", "Allocation"),
    OPERATION(1, "DEALLOCATION", "Deallocation"),
    SYNC(0, "UNKNOWN", "Unknown"),
    SYNC(1, "EVENT_SYNCHRONIZE", "Event sync"),
    SYNC(2, "STREAM_WAIT_EVENT", "Stream wait sync"),
    SYNC(3, "STREAM_SYNCHRONIZE", "Stream sync"),
    SYNC(4, "CONTEXT_SYNCHRONIZE", "Context sync"),
    ACCESS(0, "UNKNOWN", "Unknown"),
    ACCESS(1, "READ", "Read"),
    ACCESS(2, "WRITE", "Write"),
    ACCESS(3, "ATOMIC", "Atomic"),
    ACCESS(4, "PREFETCH", "Prefetch"),
    EVENT(33, "NvtxCategory"),
    EVENT(34, "NvtxMark"),
    EVENT(39, "NvtxThread"),
    EVENT(59, "NvtxPushPopRange"),
    EVENT(60, "NvtxStartEndRange"),
    EVENT(75, "NvtxDomainCreate"),
    EVENT(76, "NvtxDomainDestroy"),
    CLASS(0, "CUDA_RUNTIME", "CUDA runtime"),
    CLASS(1, "CUDA_DRIVER", "CUDA driver"),
    CLASS(27, "OS_RUNTIME", "OS runtime"),
};

/* ---- schema.c ---- */
static enum mp_status put_enums(struct tables *tables)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct tables_cell cells[] = {
            TABLES_NUMBER(values[i].value),
            TABLES_WORDS(values[i].name, strlen(values[i].name)),
            TABLES_WORDS(values[i].label, strlen(values[i].label)),
        };

        MP_TRY(tables_put(tables, values[i].table, cells));
    }
    return MP_OK;
}

/* ---- Texts ---- */

/* nsys's tables refer to texts by number. A text is looked up once for each process. */

enum mp_status nsys_string(struct nsys *nsys, const char *text, size_t bytes, uint32_t *id)
{
    uint32_t before = nsys->strings.count;

    *id = mp_intern_add(&nsys->strings, text, bytes);
    if (!*id)
        return MP_ERR_MEMORY;
    if (*id <= before)
        return MP_OK;
    return tables_put(nsys->tables, NSYS_STRINGS,
                      (struct tables_cell[]){TABLES_NUMBER(*id), TABLES_WORDS(text, bytes)});
}

static enum mp_status known(struct nsys *nsys, const struct export_text *text,
                            struct nsys_text **found)
{
    size_t before = nsys->text_capacity;

    while (text->id >= nsys->text_capacity)
        MP_TRY(MP_RESERVE(nsys->texts, nsys->text_capacity, nsys->text_capacity));
    if (nsys->text_capacity > before)
        memset(nsys->texts + before, 0, (nsys->text_capacity - before) * sizeof *nsys->texts);
    *found = &nsys->texts[text->id];
    return MP_OK;
}

enum mp_status nsys_text_id(struct nsys *nsys, const struct export_text *text, uint32_t *id)
{
    struct nsys_text *found;

    MP_TRY(known(nsys, text, &found));
    if (!found->id)
        MP_TRY(nsys_string(nsys, text->text, text->bytes, &found->id));
    *id = found->id;
    return MP_OK;
}

enum mp_status nsys_short_id(struct nsys *nsys, const struct export_text *text, uint32_t *id)
{
    struct nsys_text *found;
    const char *name = text->text;
    size_t bytes = 0;

    MP_TRY(known(nsys, text, &found));
    if (!found->short_id) {
        if (*name != '[') /* `[unnamed kernel]` */
            name = source_last_part(text->text, &bytes);
        MP_TRY(nsys_string(nsys, bytes ? name : text->text, bytes ? bytes : text->bytes,
                           &found->short_id));
    }
    *id = found->short_id;
    return MP_OK;
}

#define VID_SHIFT 48 /* of host's numbers: 8 bits of hardware and 8 of the virtual machine */
#define PID_SHIFT 24
#define PID_MASK  0xffffffu

/* Text of the header, with U+FFFD for what is not valid; it stays until the next call. */
static enum mp_status valid(struct nsys *nsys, const char *text, struct tables_cell *cell)
{
    *cell = (struct tables_cell){.kind = TABLES_CELL_NONE};
    if (!text)
        return MP_OK;
    mp_buffer_clear(&nsys->text);
    MP_TRY(utf8_append_valid(&nsys->text, text, strlen(text)));
    *cell = TABLES_WORDS((const char *)nsys->text.data, nsys->text.size);
    return MP_OK;
}

/* ---- The session ---- */

static enum mp_status put_meta(struct nsys *nsys)
{
    static const char *const pairs[][2] = {
        {"EXPORT_SCHEMA_VERSION", NSYS_SCHEMA_VERSION},
        {"EXPORT_PRODUCT_VERSION", "miniprof " MP_VERSION},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        MP_TRY(tables_put(
            nsys->tables, NSYS_META,
            (struct tables_cell[]){tables_words(pairs[i][0]), tables_words(pairs[i][1])}));
    return MP_OK;
}

/* When the earliest record was; *first is the process that has it. */
static uint64_t find_begin(const struct export_process *process, const struct trace_process **first,
                           uint64_t *end)
{
    uint64_t begin = 0;

    *first = process->set->processes;
    *end = 0;
    for (size_t i = 0; i < process->count; i++) {
        const struct trace_process *who = &process->set->processes[i];

        if (who->first_time && (!begin || who->first_time + who->offset < begin)) {
            begin = who->first_time + who->offset;
            *first = who;
        }
        if (who->last_time + who->offset > *end && who->first_time)
            *end = who->last_time + who->offset;
    }
    return begin;
}

enum mp_status nsys_begin_session(struct nsys *nsys, const struct export_process *process)
{
    struct tables_cell times[NSYS_SESSION_START_TIME_COLUMNS] = {{.kind = 0}};
    const struct trace_process *first;
    uint64_t end;
    char text[32];
    struct tm parts;

    nsys->session = find_begin(process, &first, &end);
    uint64_t length = end - nsys->session;
    time_t seconds = (time_t)(nsys->session / 1000000000);
    MP_TRY(put_meta(nsys));
    MP_TRY(put_enums(nsys->tables));
    /* nsys has it in each file, and `nsys stats` reads it for each thread of a call. */
    MP_TRY(tables_begin(nsys->tables, NSYS_THREADS));
    times[NSYS_SESSION_START_TIME_utcEpochNs] = TABLES_NUMBER(nsys->session);
    if (gmtime_r(&seconds, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts))
        times[NSYS_SESSION_START_TIME_utcTime] = tables_words(text);
    times[NSYS_SESSION_START_TIME_systemClockNs] = TABLES_NUMBER(first->first_time);
    MP_TRY(tables_put(nsys->tables, NSYS_SESSION_START_TIME, times));
    return tables_put(nsys->tables, NSYS_ANALYSIS_DETAILS,
                      (struct tables_cell[]){TABLES_NUMBER(UINT64_C(1) << VID_SHIFT),
                                             TABLES_NUMBER(length), TABLES_NUMBER(0),
                                             TABLES_NUMBER(length)});
}

/* ---- GPUs ---- */

/* A GPU without a UUID is its host's one of that ordinal. */
static enum mp_status gpu_of(struct nsys *nsys, uint64_t host, const struct mp_row_device *device,
                             uint32_t *gpu, bool *fresh)
{
    uint64_t key[3] = {device->uuid_high, device->uuid_low, 0};
    uint32_t before = nsys->gpus.count;

    if (!key[0] && !key[1]) {
        key[0] = device->id;
        key[2] = host + 1;
    }
    *gpu = mp_intern_add(&nsys->gpus, key, sizeof key);
    *fresh = *gpu > before;
    return *gpu ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status put_gpu(struct nsys *nsys, const struct mp_row_device *device, uint32_t gpu,
                              const char *uuid)
{
    struct tables_cell cells[NSYS_GPU_COLUMNS] = {{.kind = 0}};
    struct export_text name;

    MP_TRY(export_rows_string(nsys->process->rows, device->name, &name));
    cells[NSYS_GPU_l2CacheSize] = tables_some(device->l2_cache);
    cells[NSYS_GPU_totalMemory] = tables_some(device->memory);
    cells[NSYS_GPU_memoryBandwidth] = tables_some(device->memory_bandwidth * 1000);
    cells[NSYS_GPU_clockRate] = tables_some(device->core_clock * 1000);
    cells[NSYS_GPU_smCount] = tables_some(device->multiprocessors);
    cells[NSYS_GPU_maxRegistersPerBlock] = tables_some(device->block_registers);
    cells[NSYS_GPU_maxShmemPerBlock] = tables_some(device->block_shared_memory);
    cells[NSYS_GPU_maxShmemPerSm] = tables_some(device->sm_shared_memory);
    cells[NSYS_GPU_maxRegistersPerSm] = tables_some(device->sm_registers);
    cells[NSYS_GPU_threadsPerWarp] = tables_some(device->warp_threads);
    cells[NSYS_GPU_maxWarpsPerSm] = tables_some(device->sm_warps);
    cells[NSYS_GPU_maxBlocksPerSm] = tables_some(device->sm_blocks);
    cells[NSYS_GPU_maxThreadsPerBlock] = tables_some(device->block_threads);
    cells[NSYS_GPU_computeMajor] = cells[NSYS_GPU_smMajor] = tables_some(device->compute_major);
    cells[NSYS_GPU_computeMinor] = cells[NSYS_GPU_smMinor] = tables_some(device->compute_minor);
    cells[NSYS_GPU_vmId] = TABLES_NUMBER(nsys->global_pid >> VID_SHIFT << VID_SHIFT);
    cells[NSYS_GPU_id] = TABLES_NUMBER(gpu - 1);
    if (name.text)
        cells[NSYS_GPU_name] = TABLES_WORDS(name.text, name.bytes);
    cells[NSYS_GPU_uuid] = tables_words(uuid);
    cells[NSYS_GPU_cuDevice] = TABLES_NUMBER(device->id);
    return tables_put(nsys->tables, NSYS_GPU, cells);
}

static enum mp_status put_device(struct nsys *nsys, uint64_t host,
                                 const struct mp_row_device *device)
{
    struct tables_cell cells[NSYS_CUDA_DEVICE_COLUMNS] = {{.kind = 0}};
    char text[EXPORT_UUID_BYTES];
    const char *uuid = export_uuid(device->uuid_high, device->uuid_low, text);
    uint32_t gpu;
    bool fresh;

    MP_TRY(gpu_of(nsys, host, device, &gpu, &fresh));
    if (fresh)
        MP_TRY(put_gpu(nsys, device, gpu, uuid));
    cells[NSYS_CUDA_DEVICE_gpuId] = TABLES_NUMBER(gpu - 1);
    cells[NSYS_CUDA_DEVICE_cudaId] = TABLES_NUMBER(device->id);
    cells[NSYS_CUDA_DEVICE_pid] = TABLES_NUMBER(nsys->global_pid >> PID_SHIFT & PID_MASK);
    cells[NSYS_CUDA_DEVICE_uuid] = tables_words(uuid);
    cells[NSYS_CUDA_DEVICE_numMultiprocessors] = tables_some(device->multiprocessors);
    return tables_put(nsys->tables, NSYS_CUDA_DEVICE, cells);
}

static enum mp_status put_devices(struct nsys *nsys, uint64_t host)
{
    size_t count;
    const struct mp_row_device *devices = export_rows_devices(nsys->process->rows, &count);

    for (size_t i = 0; i < count; i++)
        MP_TRY(put_device(nsys, host, &devices[i]));
    return MP_OK;
}

/* ---- The process ---- */

/* Two processes of one pid, as in two containers, get different numbers of the virtual machine. */
static enum mp_status choose_pid(struct nsys *nsys, uint64_t host)
{
    const struct trace_process *who = nsys->process->who;
    uint64_t pid = who->pid == TRACE_SET_UNKNOWN ? nsys->process->number + 1 : who->pid;
    uint64_t vid = (host & 0x7f) << 8 | 1;
    uint32_t before;

    do {
        before = nsys->pids.count;
        nsys->global_pid = vid++ << VID_SHIFT | (pid & PID_MASK) << PID_SHIFT;
        if (!mp_intern_add(&nsys->pids, &nsys->global_pid, sizeof nsys->global_pid))
            return MP_ERR_MEMORY;
    } while (nsys->pids.count == before);
    return MP_OK;
}

static enum mp_status put_host(struct nsys *nsys, const char *host)
{
    struct tables_cell cells[NSYS_SYSTEM_ENV_COLUMNS] = {{.kind = 0}};

    cells[NSYS_SYSTEM_ENV_globalVid] = TABLES_NUMBER(nsys->global_pid >> VID_SHIFT << VID_SHIFT);
    cells[NSYS_SYSTEM_ENV_devStateName] = cells[NSYS_SYSTEM_ENV_name] = tables_words("Hostname");
    MP_TRY(valid(nsys, host, &cells[NSYS_SYSTEM_ENV_value]));
    return tables_put(nsys->tables, NSYS_SYSTEM_ENV, cells);
}

static enum mp_status put_process(struct nsys *nsys)
{
    const char *executable = mp_trace_property(nsys->process->trace, "executable");
    const struct trace_process *who = nsys->process->who;
    struct tables_cell cells[NSYS_PROCESSES_COLUMNS] = {{.kind = 0}};

    cells[NSYS_PROCESSES_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_PROCESSES_pid] = TABLES_NUMBER(nsys->global_pid >> PID_SHIFT & PID_MASK);
    MP_TRY(valid(nsys, executable ? executable : who->command, &cells[NSYS_PROCESSES_name]));
    return tables_put(nsys->tables, NSYS_PROCESSES, cells);
}

enum mp_status nsys_begin_process(struct nsys *nsys, const struct export_process *process)
{
    const char *host = process->who->host ? process->who->host : "";
    uint32_t before = nsys->hosts.count;

    nsys->process = process;
    if (nsys->texts)
        memset(nsys->texts, 0, nsys->text_capacity * sizeof *nsys->texts);
    mp_map_clear(&nsys->threads);
    uint32_t number = mp_intern_add(&nsys->hosts, host, strlen(host));
    if (!number)
        return MP_ERR_MEMORY;
    MP_TRY(choose_pid(nsys, number - 1));
    if (number > before && *host)
        MP_TRY(put_host(nsys, host));
    MP_TRY(put_process(nsys));
    return put_devices(nsys, number - 1);
}

enum mp_status nsys_thread(struct nsys *nsys, const struct export_row *row,
                           struct tables_cell *cell)
{
    const struct export_thread *thread = row->thread;
    struct tables_cell cells[NSYS_THREADS_COLUMNS] = {{.kind = 0}};
    uint32_t name;

    if (!thread)
        return MP_OK;
    *cell = TABLES_NUMBER(nsys->global_pid | (thread->tid & PID_MASK));
    if (!thread->name.text || mp_map_get(&nsys->threads, thread->id) != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(nsys_text_id(nsys, &thread->name, &name));
    cells[NSYS_THREADS_nameId] = TABLES_NUMBER(name);
    cells[NSYS_THREADS_globalTid] = *cell;
    MP_TRY(tables_put(nsys->tables, NSYS_THREADS, cells));
    return mp_map_put(&nsys->threads, thread->id, name);
}
