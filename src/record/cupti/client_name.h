/* The other CUPTI client: its name for messages, and what is known of how it uses CUPTI. */
#ifndef MP_RECORD_CUPTI_CLIENT_NAME_H
#define MP_RECORD_CUPTI_CLIENT_NAME_H

#include <stddef.h>

#define CLIENT_NAME_BYTES 256

/* How a client uses CUPTI. If several known clients are loaded, the greatest value counts. */
enum client_habit {
    CLIENT_STAYS,  /* subscriber for good; registers its buffers anew in each of its sessions, so
                      between these CUPTI's activities are free */
    CLIENT_LEAVES, /* subscriber in its sessions only */
    CLIENT_UNKNOWN /* not known, or it records all the time */
};

struct client {
    char name[CLIENT_NAME_BYTES]; /* "torch.profiler ('/path/to.so')"; empty: none is known */
    enum client_habit habit;
    const char *version_1; /* how the user keeps it from CUPTI's version 2; NULL: not known */
};

/* Who the other client may be, guessed from the loaded libraries: a known one, or one that calls
 * CUPTI. Walks the loader's list, so only for messages. Any thread. */
void client_find(struct client *client);

#endif
