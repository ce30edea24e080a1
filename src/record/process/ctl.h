/* The process's end of `miniprof ctl`: a socket that the writer thread looks at in each round.
 *
 * One request is served at a time, and no client is waited for: a connection without a request is
 * closed after a second. Requests of other users than the process's own and root are refused.
 *
 * An application may close descriptors that it did not open, as daemons do, and open others with
 * the same numbers. So each descriptor is asked for its name before it is used.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_PROCESS_CTL_H
#define MP_RECORD_PROCESS_CTL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct recorder;

struct ctl {
    bool open;
    int listener;       /* -1: none */
    int peer;           /* a connection whose request has not come yet; -1: none */
    int64_t peer_until; /* when it is closed, ms */
    struct sockaddr_un address;
    socklen_t address_bytes;
};

/* Begins to listen. A failure is a line at level info. */
void ctl_open(struct ctl *ctl);

/* Takes what has come, if anything, and answers; does not wait. */
void ctl_serve(struct recorder *recorder);

/* Also in a forked child. */
void ctl_close(struct ctl *ctl);

#endif
