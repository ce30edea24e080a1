/*
 * nvml.c: the few functions of libnvidia-ml.so.1 that read a GPU, and GPM.
 *
 * Readings are constants, which SIMGPU_THROTTLE (power or heat) and SIMGPU_CLOCK_PERCENT change.
 * GPM's metrics follow from what the device did between two samples (ledger.c). SIMGPU_NVML=0:
 * the library does not start; SIMGPU_GPM=0: the GPU has no GPM.
 */
#include "env.h"
#include "hooks.h"

#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };

#define NVML       SIMGPU_EXPORT int
#define BUS_BEFORE "0000:"

struct gpm_sample {
    uint64_t time;
};

struct gpm_support {
    unsigned version, supported;
};

struct gpm_metric {
    unsigned id;
    int result;
    double value;
    const char *names[3];
};

struct gpm_metrics {
    unsigned version, count;
    struct gpm_sample *before, *after;
    struct gpm_metric items[];
};

struct memory {
    unsigned long long total, free, used;
};

static char devices[16]; /* their addresses are the handles */
static uint32_t sampled; /* the device of the last sample: samples do not name theirs */

/* As the real header declares them. */
NVML nvmlInit_v2(void);
NVML nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device);
NVML nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
NVML nvmlDeviceGetClockInfo(void *device, int type, unsigned *megahertz);
NVML nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees);
NVML nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
NVML nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
NVML nvmlGpmQueryDeviceSupport(void *device, struct gpm_support *support);
NVML nvmlGpmSampleAlloc(struct gpm_sample **sample);
NVML nvmlGpmSampleGet(void *device, struct gpm_sample *sample);
NVML nvmlGpmMetricsGet(struct gpm_metrics *metrics);

static const char *throttle(void)
{
    const char *why = getenv("SIMGPU_THROTTLE");

    return why ? why : "";
}

NVML nvmlInit_v2(void)
{
    if (!env_number("SIMGPU_NVML", 1))
        return DRIVER_NOT_LOADED;
    simgpu_ledger_keep();
    return SUCCESS;
}

NVML nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
    unsigned long number;

    if (strncmp(id, BUS_BEFORE, strlen(BUS_BEFORE)) != 0)
        return NOT_FOUND;
    number = strtoul(id + strlen(BUS_BEFORE), NULL, 16);
    if (number < 1 || number > sizeof(devices))
        return NOT_FOUND;
    *device = &devices[number - 1];
    return SUCCESS;
}

NVML nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 412500;
    return SUCCESS;
}

NVML nvmlDeviceGetClockInfo(void *device, int type, unsigned *megahertz)
{
    (void)device;
    *megahertz =
        type == 2 ? 2619 : (unsigned)(1755 * env_number("SIMGPU_CLOCK_PERCENT", 100) / 100);
    return SUCCESS;
}

NVML nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    (void)device;
    if (sensor)
        return INVALID_ARGUMENT;
    *degrees = 61;
    return SUCCESS;
}

NVML nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    (void)device;
    memory->total = 80000000000u;
    memory->used = 12000000000u;
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

NVML nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    simgpu_readings++;
    *reasons = strcmp(throttle(), "power") == 0 ? 0x4 : strcmp(throttle(), "heat") == 0 ? 0x20 : 0;
    return SUCCESS;
}

/* ---- GPM ---- */

NVML nvmlGpmQueryDeviceSupport(void *device, struct gpm_support *support)
{
    (void)device;
    if (support->version != 1)
        return INVALID_ARGUMENT;
    support->supported = env_number("SIMGPU_GPM", 1) != 0;
    return SUCCESS;
}

NVML nvmlGpmSampleAlloc(struct gpm_sample **sample)
{
    *sample = calloc(1, sizeof(**sample));
    return *sample ? SUCCESS : NOT_SUPPORTED;
}

NVML nvmlGpmSampleGet(void *device, struct gpm_sample *sample)
{
    sampled = (uint32_t)((char *)device - devices);
    sample->time = simgpu_horizon_ns();
    return SUCCESS;
}

static double metric_value(unsigned id, const struct simgpu_usage *usage, int *result)
{
    const double mebibyte = 1048576;

    *result = SUCCESS;
    switch (id) {
    case 1:
        return usage->busy;
    case 2:
        return usage->sms;
    case 3:
        return usage->occupancy;
    case 5:
        return usage->tensor;
    case 10:
        return usage->read + usage->write;
    case 20:
        return usage->bus_out * 1e9 / mebibyte;
    case 21:
        return usage->bus_in * 1e9 / mebibyte;
    case 60:
        return usage->nvlink_in * 1e9 / mebibyte;
    case 61:
        return usage->nvlink_out * 1e9 / mebibyte;
    default:
        *result = NOT_SUPPORTED;
        return 0;
    }
}

NVML nvmlGpmMetricsGet(struct gpm_metrics *metrics)
{
    struct simgpu_usage usage = simgpu_usage(sampled, metrics->before->time, metrics->after->time);

    if (metrics->version != 1)
        return INVALID_ARGUMENT;
    for (unsigned i = 0; i < metrics->count; i++)
        metrics->items[i].value =
            metric_value(metrics->items[i].id, &usage, &metrics->items[i].result);
    return SUCCESS;
}
