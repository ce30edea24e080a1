/* The timeline as a page holds it: a JSON document that says what there is, and a blob of columns.
 *
 * The blob is a sequence of LEB128 numbers (base/data/storage.h), track by track in the document's
 * order. A track of n events:
 *
 *     n  begin       minus the event before, for the first minus the origin; ns
 *     n  duration    ns
 *     n  kind        index in `kinds`, of which the most frequent come first
 *
 *     tracks of calls and work:
 *     n  flags       one byte each: HTML_REASON bits: enum deps_reason; HTML_CRITICAL_...: on the
 *                    critical path as a whole, or with a number of its own; HTML_BOUND, HTML_WAITS
 *     n  launch      tracks of work: 0 none, else 1 + zigzag of the launching event's index minus
 *                    the launching event that was named before in the track
 *     .. bound       of events with HTML_BOUND: zigzag of the index of what bound it minus its own.
 *                    Without: the launch if that is the reason, else the event before in the track
 *     .. critical    of events with HTML_CRITICAL_PART: ns on the critical path
 *     .. waiting     of events with HTML_WAITS: ns
 *     n  caller      if the document has `callers`: number of one of them, from 1; 0: none, of
 *                    work: that of its launch
 *
 *     levels 1, 2, ... up to one group (timeline.h); a level of m groups:
 *     m  idle        ns from its begin to its end that are in none of its events
 *     m  name        index in `names`
 *
 * The begin and end of a group follow from its events.
 */
#ifndef MP_PAGE_TIMELINE_H
#define MP_PAGE_TIMELINE_H

#include <stdio.h>

#include "base/data/storage.h"
#include "page/timeline/timeline.h"

#define HTML_REASON         0x0f
#define HTML_CRITICAL_WHOLE 0x10
#define HTML_CRITICAL_PART  0x20
#define HTML_BOUND          0x40
#define HTML_WAITS          0x80

/* Orders kinds by how often they occur. The document and the blob number kinds in this order. */
struct html_kinds {
    uint32_t *order;   /* kind by number; owned */
    uint32_t *numbers; /* number by kind; owned */
    size_t used;       /* kinds that occur */
};

/* MP_ERR_MEMORY; call html_kinds_free in any case. */
enum mp_status html_kinds_build(struct html_kinds *kinds, const struct timeline *timeline);
void html_kinds_free(struct html_kinds *kinds);

/* Prints the document: origin_ns, end_ns, fan, events, left_out_late, until_ns (from when on events
 * are left out; null: none are), left_out_deep, lanes, tracks, names, kinds; with stacks callers:
 * the lines of the program that called. */
void html_timeline_json(FILE *out, const struct timeline *timeline, const struct html_kinds *kinds);

/* Appends the columns to the blob. `critical` has each activity's time on the critical path, ns
 * (deps_path). MP_ERR_MEMORY. */
enum mp_status html_timeline_pack(struct mp_buffer *blob, const struct timeline *timeline,
                                  const struct deps *deps, const struct html_kinds *kinds,
                                  const uint64_t *critical);

#endif
