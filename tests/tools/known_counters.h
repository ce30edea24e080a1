/* Samples of counters over the known trace: one every 20 us from 1 ms on. sm_active is always 50 %,
 * dram_active grows from sample to sample, by 1 % up to 51 %, then by 2 %. One counter could not be
 * had, one NVML has read.
 */
#ifndef MP_TESTS_KNOWN_COUNTERS_H
#define MP_TESTS_KNOWN_COUNTERS_H

#include <stdint.h>
#include <string.h>

#include "known_metrics.h"
#include "trace/writer.h"

#define KNOWN_SAMPLES       60u
#define KNOWN_SAMPLE_LENGTH 20000u

static inline void known_counter(struct mp_writer *writer, uint64_t *first, uint64_t id,
                                 const char *name, uint64_t source, double step, const char *note)
{
    struct mp_row_counter row = {
        .id = id,
        .name = known_text(writer, first, name),
        .source = source,
        .unit = id == 3 ? MP_metric_unit_watts : MP_metric_unit_percent,
        .interval = source == MP_counter_source_cupti ? KNOWN_SAMPLE_LENGTH : 100000000,
        .note = known_text(writer, first, note),
    };

    row.expression = source ? row.name : 0;
    memcpy(&row.step, &step, sizeof step);
    mp_append_counter(writer, &row);
}

static inline void known_counter_rows(struct mp_writer *writer, uint64_t first)
{
    known_counter(writer, &first, 1, "sm_active", MP_counter_source_cupti, 0.1, NULL);
    known_counter(writer, &first, 2, "dram_active", MP_counter_source_cupti, 0.1, NULL);
    known_counter(writer, &first, 3, "power", MP_counter_source_nvml, 0.1, NULL);
    known_counter(writer, &first, 4, "pcie_rx", MP_counter_source_nobody, 1e6,
                  "this GPU has no such counter");
    for (uint64_t i = 1; i <= KNOWN_SAMPLES; i++) {
        for (uint64_t counter = 1; counter <= 2; counter++)
            mp_append_sample(writer, &(struct mp_row_sample){
                                         .counter = counter,
                                         .time = 1000000 + i * KNOWN_SAMPLE_LENGTH,
                                         .length = KNOWN_SAMPLE_LENGTH,
                                         .value = counter == 1 ? 500 : i * 10,
                                     });
    }
    mp_append_sample(writer, &(struct mp_row_sample){
                                 .counter = 3, .time = 2000000, .length = 900000, .value = 450});
}

/* `count` samples of 8 ns from 1 ms on: sm_active grows by 0.1 % from each to the next, up to
 * 51.1 %, then begins at 0 again. */
static inline void known_many_samples(struct mp_writer *writer, uint64_t first, uint64_t count)
{
    known_counter(writer, &first, 1, "sm_active", MP_counter_source_cupti, 0.1, NULL);
    for (uint64_t i = 0; i < count; i++)
        mp_append_sample(writer,
                         &(struct mp_row_sample){
                             .counter = 1, .time = 1000008 + i * 8, .length = 8, .value = i % 512});
}

#endif
