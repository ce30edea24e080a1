/* The page's own parts, before and after the documents, as bytes in the program. tools/dev/embed
 * makes them from src/report/html and uPlot. Without uPlot, assets_none.c takes their place, with
 * sizes of 0.
 */
#ifndef MP_REPORT_PAGE_ASSETS_H
#define MP_REPORT_PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char html_assets_head[];
extern const size_t html_assets_head_bytes;
extern const unsigned char html_assets_tail[];
extern const size_t html_assets_tail_bytes;

#endif
