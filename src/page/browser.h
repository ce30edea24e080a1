/* Shows a page in the user's browser. */
#ifndef MP_PAGE_BROWSER_H
#define MP_PAGE_BROWSER_H

#include <stdbool.h>

/* Starts the first program of $BROWSER, a list with colons, or else xdg-open or open with the page,
 * and does not wait for it. Returns false after a complaint. */
bool browser_open(const char *command, const char *page);

#endif
