/* The other CUPTI client: its name for messages, and what is known of how it uses CUPTI. */
#ifndef MP_RECORD_CUPTI_CLIENT_NAME_H
#define MP_RECORD_CUPTI_CLIENT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define CLIENT_NAME_BYTES 256

struct client {
    char name[CLIENT_NAME_BYTES]; /* "torch.profiler ('/path/to.so')"; empty: none is known */
    /* It stays CUPTI's subscriber between its sessions, and registers its buffers anew in each. So
     * between its sessions CUPTI's activities are free. False if it may be another client. */
    bool stays;
};

/* Who the other client may be, guessed from the loaded libraries: a known one, or one that calls
 * CUPTI. Walks the loader's list, so only for messages. Any thread. */
void client_find(struct client *client);

#endif
