/* The page's own parts, before and after the documents: each is one zstd frame, which makes the
 * program 0.2 MB smaller. tools/dev/embed makes them from src/page/html. */
#ifndef MP_PAGE_ASSETS_H
#define MP_PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char html_assets_head[];
extern const size_t html_assets_head_bytes;
extern const unsigned char html_assets_tail[];
extern const size_t html_assets_tail_bytes;

#endif
