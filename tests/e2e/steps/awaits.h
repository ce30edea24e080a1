/* Steps that wait: for a file, or for what the recorder in the process does. Without the recorder
 * the latter do not wait, so that a program does the same with it and without. The software GPU
 * counts the calls of CUPTI. What never comes ends the program.
 */
#ifndef E2E_AWAITS_H
#define E2E_AWAITS_H

/* The file exists: somebody outside says when to go on. */
void await_file(const char *path);

/* All that the program has done so far is in the file. Where the recorder does not ask CUPTI for
 * records, that is outside of ranges, this never comes. */
void await_written(const char *unused);

/* A flush of CUPTI that begins later has begun. */
void await_flush(const char *unused);

/* CUPTI has no buffer, and the recorder has looked for other clients. */
void await_returned(const char *unused);

/* The recorder has looked whether another client has finished, which it does after a flush that
 * brought nothing. */
void await_look(const char *unused);

/* Records of kernels have been switched on or off that often in this process; are off. */
void await_switches(const char *count);
void await_off(const char *unused);

/* A launch waits for its kernel to be profiled. */
void await_profiled(const char *unused);

/* NVML has been read anew. */
void await_reading(const char *unused);

/* The writer has run a round. */
void await_round(const char *unused);

/* What `miniprof ctl status` answers begins with this text. */
void await_state(const char *text);

/* stderr, which is a file, has this text. */
void await_said(const char *text);

#endif
