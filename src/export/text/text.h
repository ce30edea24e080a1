/* The formats that are text, a row a line: JSON lines and CSV. */
#ifndef MP_EXPORT_TEXT_TEXT_H
#define MP_EXPORT_TEXT_TEXT_H

#include "export/common/format.h"

extern const struct export_format export_jsonl;
extern const struct export_format export_csv;

#endif
