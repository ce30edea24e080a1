/* nvprof's options: the table of options.def, and the values of a command line.
 *
 * Parsing is our own, because getopt_long accepts abbreviations and cannot say which word was
 * wrong. Names must be complete. Accepted forms: `--name value`, `--name=value`, `-x value`,
 * `-xvalue`, and letters without values together (`-sf`). Options end at the first word that is
 * none, and at `--`.
 */
#ifndef MP_NVPROF_OPTIONS_H
#define MP_NVPROF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cli/options.h"

enum nvprof_kind {
    NVPROF_FLAG,    /* bool */
    NVPROF_CHOICE,  /* int: position of the word in `takes`, on|off */
    NVPROF_LIST,    /* unsigned: a bit for each word of `takes`, gpu,api */
    NVPROF_NUMBER,  /* uint64_t */
    NVPROF_TEXT,    /* const char *: into argv, like the next ones */
    NVPROF_PATTERN, /* of a file: %p %h %q{NAME} %% */
    NVPROF_LOG,     /* the same, or %1 or %2 alone */
    NVPROF_NAMING,  /* the same and %i */
    NVPROF_DEVICES, /* all or ordinals */
    NVPROF_KERNELS, /* forms.h */
    NVPROF_METRICS, /* names: struct nvprof_metrics */
    NVPROF_EVENTS,  /* the same; `all` is all events */
    NVPROF_FILES    /* struct option_texts: as often as it is given */
};

enum nvprof_state { NVPROF_WORKS, NVPROF_ACCEPTED, NVPROF_REFUSED };

struct nvprof_option {
    const char *name;     /* without the dashes */
    const char *takes;    /* words, or what help calls the value; NULL: none */
    const char *preset;   /* nvprof's default, NULL: none */
    const char *setting;  /* of the recorder, without MINIPROF_: the setting that takes the value */
    const char *settings; /* a choice: the setting's words, one for each of `takes`; NULL: the same
                           */
    const char *plain;    /* values, separated by bars, that are accepted without `note` */
    const char *note;     /* printed when the option is given, or the reason why it is refused */
    const char *doc;      /* for docs/nvprof.md and --help: a sentence without its full stop */
    uint64_t min, max;    /* a number */
    size_t offset;        /* in struct nvprof_values */
    enum nvprof_kind kind; /* of value */
    enum nvprof_state state;
    char letter; /* 0: none */
};

#define NVPROF_OPTIONS_MAX 96
#define NVPROF_METRICS_MAX 4096 /* bytes of all names together: that of a text setting */

/* Metrics and events in one list, and the scope that the last of them has. */
struct nvprof_metrics {
    char names[NVPROF_METRICS_MAX]; /* with commas; empty: none */
    const char *kernels;            /* NULL: all */
    const char *devices;
    bool several_scopes;
};

enum nvprof_trace { NVPROF_TRACE_GPU = 1, NVPROF_TRACE_API = 2 }; /* words of --trace */

struct nvprof_values {
    uint64_t ignored; /* the field of options whose value nobody reads; first, so that it is the
                         default */
    const char *ignored_text;

    bool help, version, quiet, force, csv, child_processes;
    bool query_events, query_metrics;
    bool summary, gpu_summary, api_summary, per_gpu_summary, gpu_trace, api_trace;
    bool dependencies, dependency_trace;
    bool openacc_constructs, openacc_summary, openacc_trace, openmp_summary;
    int demangling;        /* 0 on, 1 off */
    int units;             /* nvprof_units */
    int track_allocations; /* 0 on, 1 off */
    unsigned trace;        /* enum nvprof_trace; 0: not given */
    uint64_t timeout;      /* s; 0: none */
    const char *context_name, *stream_name, *process_name;
    const char *export_file, *log_file;
    const char *kernels, *devices; /* the scope in force */
    struct nvprof_metrics metrics;
    struct option_texts imports;
    const char *given[NVPROF_OPTIONS_MAX]; /* by position in the table: the last value, "" for a
                                               flag; NULL: not given */
};

extern const struct nvprof_option nvprof_options[];
extern const size_t nvprof_option_count;

/* Sets the defaults. */
void nvprof_values_init(struct nvprof_values *values);

/* Fills *values from argv[1] on, and sets *first to the first word that is no option.
 * MP_ERR_UNSUPPORTED: error->text names an option that nvprof does not have. MP_ERR_ARGUMENT:
 * error->text says what is wrong with an option's value, or which present tool does what miniprof
 * does not. */
enum mp_status nvprof_parse(int argc, char **argv, struct nvprof_values *values, int *first,
                            struct mp_error *error);

/* Whether any option asks for a report that replaces the summary. */
bool nvprof_wants_reports(const struct nvprof_values *values);

/* The next word of a `|` list; otherwise as mp_text_next_item. */
bool nvprof_next_word(const char **cursor, const char **word, size_t *bytes);

/* Position of `text` in a `|` list of words; -1 if it is none of them. */
int nvprof_word_position(const char *words, const char *text, size_t bytes);

/* The note on a given option's value; NULL if there is none. */
const char *nvprof_note(const struct nvprof_option *option, const char *value);

#endif
