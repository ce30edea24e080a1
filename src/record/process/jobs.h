/* Fills the table of core/jobs.h. */
#ifndef MP_RECORD_PROCESS_JOBS_H
#define MP_RECORD_PROCESS_JOBS_H

struct recorder;

/* Before anything else of the recorder is set up. */
void jobs_register(struct recorder *recorder);

#endif
