/* The page's own parts, as bytes in the program: before and behind the documents. Made by
 * tools/dev/embed from src/report/html and uPlot; without uPlot, assets_none.c takes their
 * place, with sizes of 0.
 */
#ifndef MP_REPORT_PAGE_ASSETS_H
#define MP_REPORT_PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char html_assets_head[];
extern const size_t html_assets_head_bytes;
extern const unsigned char html_assets_tail[];
extern const size_t html_assets_tail_bytes;

#endif
