/* The process's end of `miniprof ctl`: a socket that the writer thread looks at in each round.
 *
 * Anybody on the machine can connect. So the writer looks first who connects, and accepts only the
 * process's own user and root; it closes other connections at once. It waits for no client: it
 * closes a connection without a request after a second, or as soon as CTL_PEERS later ones have
 * come.
 *
 * An application may close descriptors that it did not open, as daemons do, and open others with
 * the same numbers. So the writer checks the name of each descriptor before it uses it.
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

#define CTL_PEERS 4

struct ctl {
    bool open;
    int listener; /* -1: none */
    struct ctl_peer {
        int file;      /* a connection whose request has not come yet; -1: none */
        int64_t until; /* when it is closed, ms */
    } peers[CTL_PEERS];
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
