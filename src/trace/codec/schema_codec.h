/* The codecs that tables.def gives the columns of a table: one for each, in their order. Only the
 * encoder needs them; a decoder follows what the file says. */
#ifndef MP_TRACE_CODEC_SCHEMA_CODEC_H
#define MP_TRACE_CODEC_SCHEMA_CODEC_H

#include "trace/codec/codec.h"

#include <miniprof/trace.h>

const struct mp_codec *mp_table_codecs(const struct mp_table_info *table);

#endif
