/* The name of another CUPTI client, for messages. */
#ifndef MP_RECORD_CUPTI_CLIENT_NAME_H
#define MP_RECORD_CUPTI_CLIENT_NAME_H

#include <stddef.h>

#define CLIENT_NAME_BYTES 256

/* Who the other client may be, by the libraries that are loaded: "torch.profiler ('/path/to.so')",
 * empty if there is none that is known. Reads the loader's list: only when something is wrong. Any
 * thread. */
const char *client_name(char *text, size_t size);

#endif
