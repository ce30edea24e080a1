/* The command line of every subcommand, from tables.
 *
 * A command describes its options as data: name, letter, argument, help, and the field of its own
 * struct that takes the value. Parsing, --help and complaints all come from the table. getopt_long
 * does the parsing. argp is not used, because it prints two-line complaints and exits with codes of
 * its own.
 */
#ifndef MP_CLI_OPTIONS_H
#define MP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_FLAG,   /* bool: set to true */
    OPTION_VALUE,  /* int: set to `value` */
    OPTION_NUMBER, /* uint64_t: a decimal number from 1 on */
    OPTION_SWITCH, /* bool: on or off */
    OPTION_TEXT,   /* const char *: points into argv */
    OPTION_TEXTS   /* struct option_texts: as often as the option is given */
};

#define OPTION_TEXTS_MAX 32

/* The arguments of an option that may be given several times, in their order. */
struct option_texts {
    const char *items[OPTION_TEXTS_MAX]; /* point into argv */
    size_t count;
};

struct option_spec {
    const char *name;     /* without the dashes */
    const char *argument; /* what --help calls it; NULL when the option takes none */
    const char *help;     /* a phrase without a full stop */
    const char *alone;    /* OPTION_TEXT: the value without an argument; NULL: it needs one */
    size_t offset;        /* of the field in the command's struct */
    enum option_kind kind;
    int value;   /* OPTION_VALUE */
    char letter; /* 0: no short form */
    bool hidden; /* an old name: it works, and neither --help nor a suggestion names it */
};

/* The old name of an option that takes a text, for one version. */
#define OPTION_ALIAS(name_, argument_, offset_)                                                    \
    {                                                                                              \
        .name = (name_), .argument = (argument_), .kind = OPTION_TEXT, .offset = (offset_),        \
        .help = "", .hidden = true                                                                 \
    }

struct option_set {
    const char *command;  /* "summary" */
    const char *synopsis; /* "[options] TRACE..." */
    const char *purpose;  /* a sentence */
    const char *notes;    /* what --help ends with; NULL: nothing */
    const struct option_spec *specs;
    size_t count;
    bool program_follows; /* options end at the first argument that is none */
};

#define OPTIONS_MAX 56 /* of one command */

enum options_result { OPTIONS_OK, OPTIONS_DONE, OPTIONS_WRONG };

/* Fills `values`, which holds the defaults, from argv, and sets *first to the first argument that
 * is no option. OPTIONS_DONE: --help was printed; OPTIONS_WRONG: a complaint was printed. */
enum options_result options_parse(const struct option_set *set, int argc, char **argv, void *values,
                                  int *first);

/* Takes the options of a command. */
typedef void options_listener(void *context, const struct option_set *set);

/* From now on options_parse only hands the options to `listener` and says OPTIONS_DONE, so that
 * calling a command lists its options; NULL ends that. */
void options_listen(options_listener *listener, void *context);

/* Complains about options that exclude each other if they `clash`; returns true if they do not. */
bool options_agree(const char *command, bool clash, const char *complaint);

/* One option as --help prints it: broken into lines, on stdout. */
void options_print(char letter, const char *name, const char *argument, const char *help);

#endif
