/* The size of a terminal: the kernel knows it, or else the variables that shells set. */
#include "cli/size.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text/strings.h"

#include "base/poison.h"

#define MIN_COLUMNS 10
#define MIN_LINES   2

bool screen_is_able(int file)
{
    const char *term = getenv("TERM");

    return isatty(file) && term && *term && strcmp(term, "dumb") != 0;
}

static unsigned from_environment(const char *name, unsigned usual)
{
    const char *text = getenv(name);
    uint64_t number;

    return text && mp_text_to_u64(text, 1, 10000, &number) ? (unsigned)number : usual;
}

struct screen_size screen_size_of(int file)
{
    struct winsize window = {.ws_row = 0};
    struct screen_size size;

    (void)ioctl(file, TIOCGWINSZ, &window);
    size.columns = window.ws_col ? window.ws_col : from_environment("COLUMNS", 80);
    size.lines = window.ws_row ? window.ws_row : from_environment("LINES", 24);
    size.columns = size.columns < MIN_COLUMNS ? MIN_COLUMNS : size.columns;
    size.lines = size.lines < MIN_LINES ? MIN_LINES : size.lines;
    return size;
}
