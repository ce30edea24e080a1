/* Inside of screen: the program that shows text page by page. */
#ifndef MP_CLI_PAGER_H
#define MP_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
    pid_t pid; /* 0: none runs */
    int pipe;  /* what it shows is written here */
};

/* Starts $PAGER, or less -FRX. False if there is none, or it is not wanted (PAGER is empty or cat);
 * that is no failure. Until pager_end this process ignores Ctrl-C, which is the pager's. */
bool pager_begin(struct pager *pager);

/* Closes the pipe and waits until the person leaves the pager. */
void pager_end(struct pager *pager);

#endif
