/* In place of what tools/dev/embed makes, in a build without uPlot. */
#include "report/page/assets.h"

#include "base/poison.h"

const unsigned char html_assets_head[] = "";
const size_t html_assets_head_bytes = 0;
const unsigned char html_assets_tail[] = "";
const size_t html_assets_tail_bytes = 0;
