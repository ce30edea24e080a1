/* The formats of `miniprof export`; a new one is a line here, before NULL. */
#include "export/common/format.h"
#include "export/folded/folded.h"
#include "export/kineto/kineto.h"
#include "export/lake/lake.h"
#include "export/nsys/nsys.h"
#include "export/perfetto/perfetto.h"
#include "export/text/text.h"

#include "base/poison.h"

static const struct export_format *const formats[] = {
    &export_perfetto, &export_kineto, &export_nsys_sqlite, &export_nsys_parquet, &export_parquet,
    &export_jsonl,    &export_csv,    &export_chrome,      &export_folded,       NULL,
};

const struct export_format *const *export_formats(size_t *count)
{
    for (*count = 0; formats[*count]; (*count)++)
        ;
    return formats;
}
