/* The name of another CUPTI client, for messages. */
#ifndef MP_RECORD_CUPTI_CLIENT_NAME_H
#define MP_RECORD_CUPTI_CLIENT_NAME_H

#include <stddef.h>

#define CLIENT_NAME_BYTES 256

/* Who the other client may be, guessed from the loaded libraries: "torch.profiler ('/path/to.so')",
 * empty if none is known. Walks the loader's list, so only for error messages. Any thread. */
const char *client_name(char *text, size_t size);

#endif
