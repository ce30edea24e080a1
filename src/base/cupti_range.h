/* Which versions of CUPTI the recorder knows; `miniprof --version` prints the range. */
#ifndef MP_BASE_CUPTI_RANGE_H
#define MP_BASE_CUPTI_RANGE_H

/* CUPTI_API_VERSION, and the CUDA release that it came with. */
#define MP_CUPTI_MIN      18 /* the oldest that is supported */
#define MP_CUPTI_MIN_CUDA "11.8"
#define MP_CUPTI_NEWEST   130401 /* the newest whose faults record/cupti/quirks.def knows */

#define MP_CUPTI_NEWEST_CUDA "13.4 Update 1"

#endif
