/* Metrics of known_trace.h's kernels, of all units and states.
 *
 *                              vecAdd on device 0, 3 times      gemm        vecAdd on device 1
 *     achieved_occupancy       0.25  0.5  0.75                  0.125       1
 *     gld_throughput           11 MB/s  2 GB/s  0               1000 B/s
 *     gld_efficiency           25 %  100 %  55 %                none
 *     inst_executed            6400  6401  6403                 123456789012
 *     l2_global_load_bytes     4096  4096  4096                 1000000
 *     warps_launched (event)   200  200  200                    7
 *     gpu__time_duration.sum   1234 ns  2000 ns  3 ms           500 us
 *
 * gemm runs between the second and the third vecAdd, the one on device 1 last.
 */
#ifndef TESTS_KNOWN_METRICS_H
#define TESTS_KNOWN_METRICS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "trace/writer.h"

struct known_metric {
    const char *name, *description, *expression; /* NULL: none */
    uint64_t device, state, unit;
};

#define KNOWN_SUBSTITUTE "l1tex__m_xbar2l1tex_read_bytes_mem_lg_op_ld.sum"

static const struct known_metric known_metrics[] = {
    {"achieved_occupancy", "Achieved Occupancy",
     "0.01 * sm__warps_active.avg.pct_of_peak_sustained_active", 0, MP_metric_state_exact,
     MP_metric_unit_ratio},
    {"gld_throughput", "Global Load Throughput",
     "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second", 0, MP_metric_state_exact,
     MP_metric_unit_bytes_per_second},
    {"gld_efficiency", "Global Memory Load Efficiency",
     "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", 0, MP_metric_state_exact,
     MP_metric_unit_percent},
    {"inst_executed", "Instructions Executed", "smsp__inst_executed.sum", 0, MP_metric_state_exact,
     MP_metric_unit_count},
    {"l2_global_load_bytes", "Bytes from L2, Global Loads", KNOWN_SUBSTITUTE, 0,
     MP_metric_state_substitute, MP_metric_unit_bytes},
    {"warps_launched", "Warps launched", "smsp__warps_launched.sum", 0, MP_metric_state_exact,
     MP_metric_unit_count},
    {"gpu__time_duration.sum", "time of the kernel", "gpu__time_duration.sum", 0,
     MP_metric_state_exact, MP_metric_unit_nanoseconds},
    {"nvlink_receive_throughput", "NVLink Receive Throughput", NULL, 0, MP_metric_state_unavailable,
     MP_metric_unit_bytes_per_second},
    {"flop_count_sp_special", "Floating Point Operations(Single Precision Special)", NULL, 0,
     MP_metric_state_discontinued, MP_metric_unit_count},
    {"achieved_ocupancy", NULL, NULL, 0, MP_metric_state_unknown, MP_metric_unit_none},
    {"achieved_occupancy", "Achieved Occupancy",
     "0.01 * sm__warps_active.avg.pct_of_peak_sustained_active", 1, MP_metric_state_exact,
     MP_metric_unit_ratio},
    {"flop_count_sp_special", "Floating Point Operations(Single Precision Special)", NULL, 1,
     MP_metric_state_discontinued, MP_metric_unit_count},
};

#define KNOWN_METRICS  (sizeof known_metrics / sizeof *known_metrics)
#define KNOWN_COUNTERS 7 /* of device 0, the first ones */

static inline uint64_t known_text(struct mp_writer *writer, uint64_t *id, const char *text)
{
    struct mp_row_string row = {.id = *id};

    if (!text)
        return 0;
    row.text.bytes = text;
    row.text.length = (uint32_t)strlen(text);
    mp_append_string(writer, &row);
    return (*id)++;
}

static inline void known_value(struct mp_writer *writer, uint64_t metric, uint64_t stream,
                               uint64_t kernel, uint64_t correlation, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    mp_append_metric_value(writer, &(struct mp_row_metric_value){.metric = metric,
                                                                 .stream = stream,
                                                                 .kernel = kernel,
                                                                 .time = 1000000 * correlation,
                                                                 .correlation = correlation,
                                                                 .value = bits});
}

/* The strings from `first` on are ours; `vecadd` and `gemm` are those of the kernels' names. */
static inline void known_metric_rows(struct mp_writer *writer, uint64_t first, uint64_t vecadd,
                                     uint64_t gemm)
{
    static const struct {
        bool gemm;
        double values[KNOWN_COUNTERS];
    } launches[] = {
        {false, {0.25, 11 * 1048576.0, 25, 6400, 4096, 200, 1234}},
        {false, {0.5, 2 * 1073741824.0, 100, 6401, 4096, 200, 2000}},
        {true, {0.125, 1000, (double)NAN, 123456789012.0, 1000000, 7, 500000}},
        {false, {0.75, 0, 55, 6403, 4096, 200, 3000000}},
    };

    mp_append_device(
        writer, &(struct mp_row_device){.id = 1, .name = known_text(writer, &first, "Second GPU")});
    mp_append_stream(writer,
                     &(struct mp_row_stream){.id = 2, .stream = 7, .context = 2, .device = 1});
    for (uint64_t i = 0; i < KNOWN_METRICS; i++)
        mp_append_metric(
            writer, &(struct mp_row_metric){
                        .id = i + 1,
                        .device = known_metrics[i].device,
                        .name = known_text(writer, &first, known_metrics[i].name),
                        .state = known_metrics[i].state,
                        .unit = known_metrics[i].unit,
                        .expression = known_text(writer, &first, known_metrics[i].expression),
                        .description = known_text(writer, &first, known_metrics[i].description)});
    for (uint64_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        for (uint64_t metric = 0; metric < KNOWN_COUNTERS; metric++)
            known_value(writer, metric + 1, 1, launches[i].gemm ? gemm : vecadd, 501 + i,
                        launches[i].values[metric]);
    }
    known_value(writer, 11, 2, vecadd, 505, 1);
}

#endif
