/* A build without uPlot has this file in place of the one that tools/dev/embed makes. */
#include "report/page/assets.h"

#include "base/poison.h"

const unsigned char html_assets_head[] = "";
const size_t html_assets_head_bytes = 0;
const unsigned char html_assets_tail[] = "";
const size_t html_assets_tail_bytes = 0;
