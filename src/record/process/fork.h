/* Makes a forked child inert. */
#ifndef MP_RECORD_PROCESS_FORK_H
#define MP_RECORD_PROCESS_FORK_H

/* Registers the handler that runs in a forked child, once: NVTX may come before CUDA. */
void fork_watch(void);

#endif
