/* The commands that look further into this trace, as lines for a shell: always those that show all
 * findings and all events, and those that its findings ask for.
 */
#include <inttypes.h>
#include <string.h>

#include "base/data/storage.h"
#include "reports/digest/build.h"

#include "base/poison.h"

/* ---- Lines for a shell ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("_-./:=@%+,", c);
}

static bool needs_quotes(const char *word)
{
    for (; *word; word++) {
        if (!is_plain(*word))
            return true;
    }
    return false;
}

static void put_word(struct mp_buffer *line, const char *word)
{
    if (!needs_quotes(word)) {
        mp_buffer_append_text(line, word);
        return;
    }
    mp_buffer_append_text(line, "'");
    for (; *word; word++) {
        if (*word == '\'')
            mp_buffer_append_text(line, "'\\''");
        else
            mp_buffer_append_byte(line, (uint8_t)*word);
    }
    mp_buffer_append_text(line, "'");
}

/* A path that is no option. */
static void put_path(struct mp_buffer *line, const char *path)
{
    mp_buffer_append_text(line, path[0] == '-' ? " ./" : " ");
    put_word(line, path);
}

/* The page beside the trace. */
static void put_page(struct mp_buffer *line, const char *path)
{
    size_t length = strlen(path);
    bool ends = length > 4 && !strcmp(path + length - 4, ".mpt");
    struct mp_buffer page = {.size = 0};

    mp_buffer_append(&page, path, ends ? length - 4 : length);
    mp_buffer_append_text(&page, ".html");
    if (!mp_buffer_append_byte(&page, '\0'))
        put_path(line, (const char *)page.data);
    else
        line->status = page.status;
    mp_buffer_free(&page);
}

/* ---- Commands ---- */

enum command_form {
    WITH_TRACE,
    WITH_RANGE,      /* and with the capture range, if one was asked for */
    WITH_ITERATIONS, /* and with the way of the iterations, if one was asked for */
    WITH_PAGE
};

struct command {
    const char *why;
    const char *words;
    enum command_form form;
    const char *option; /* WITH_ITERATIONS: which takes the way */
    bool always;        /* also the way that is found by itself */
};

static const struct command all_findings = {"every finding", "advise", WITH_ITERATIONS,
                                            "--iterations=", false};
static const struct command percentiles = {"every percentile", "iters", WITH_ITERATIONS,
                                           "--iterations=", false};
static const struct command slowest = {"slowest iteration", "deps --slowest=1", WITH_ITERATIONS,
                                       "--iterations=", true};
static const struct command path = {"the critical path", "deps", WITH_RANGE, NULL, false};
static const struct command churn = {"who allocates", "memory", WITH_ITERATIONS,
                                     "--iterations=", true};
static const struct command overlap = {"what overlaps", "overlap", WITH_RANGE, NULL, false};
static const struct command layers = {"layer by layer", "layers", WITH_RANGE, NULL, false};
static const struct command kernels = {"kernel by kernel", "kernels", WITH_RANGE, NULL, false};
static const struct command metrics = {"the counters", "metrics", WITH_RANGE, NULL, false};
static const struct command page = {"the time line", "html", WITH_PAGE, NULL, false};
static const struct command contents = {"what is in it", "info", WITH_TRACE, NULL, false};
static const struct command calls = {"what was called", "summary", WITH_RANGE, NULL, false};

static void put_command(struct mp_buffer *line, const struct command *command,
                        const struct digest_options *options)
{
    mp_buffer_append_format(line, "miniprof %s", command->words);
    if (command->form != WITH_TRACE && options->iterations.range)
        mp_buffer_append_format(line, " --range=%" PRIu64, options->iterations.range);
    if (command->form == WITH_ITERATIONS && (options->by || command->always)) {
        mp_buffer_append_format(line, " %s", command->option);
        put_word(line, options->by ? options->by : "auto");
    }
    if (command->form == WITH_PAGE) {
        mp_buffer_append_text(line, " -o");
        put_page(line, options->path);
    }
    put_path(line, options->path);
    mp_buffer_append_byte(line, '\0');
}

static enum mp_status add(const struct digest_material *material, struct digest *digest,
                          const struct command *command)
{
    struct digest_command *into = &digest->commands[digest->command_count];
    struct mp_buffer line = {.size = 0};
    enum mp_status status;

    put_command(&line, command, material->options);
    status = line.status ? line.status : digest_copy(digest, (const char *)line.data, &into->line);
    mp_buffer_free(&line);
    if (status)
        return status;
    into->why = command->why;
    digest->command_count++;
    return MP_OK;
}

/* What the first finding is about; NULL: the other commands show it. */
static const struct command *of_finding(const struct digest *digest)
{
    if (digest->quality.profiled)
        return &metrics;
    if (!digest->finding_count)
        return &kernels;
    switch (digest->findings[0].rule) {
    case ADVISE_PAGEABLE_COPIES:
    case ADVISE_SYNCHRONOUS_COPIES:
    case ADVISE_EXPOSED_COPIES:
    case ADVISE_CONSTANT_COPIES:
    case ADVISE_UNUSED_STREAMS:
    case ADVISE_FULL_PCIE:
        return &overlap;
    case ADVISE_ALLOCATION:
        return &churn;
    case ADVISE_SLOW_LAYER:
    case ADVISE_REFORMAT_LAYERS:
        return &layers;
    case ADVISE_LAUNCH_BOUND:
    case ADVISE_NEEDLESS_WAIT:
    case ADVISE_SMALL_KERNELS:
    case ADVISE_HOST_BOUND:
    case ADVISE_TAIL:
    case ADVISE_PAGE_FAULTS:
    case ADVISE_LAYOUT_CHANGES:
    case ADVISE_UNFUSED_POINTWISE:
    case ADVISE_LOW_PRECISION:
    case ADVISE_SPLIT_K:
    case ADVISE_REPEATED_CASTS:
    case ADVISE_SMALL_GRIDS:
    case ADVISE_MEMORY_BOUND:
    case ADVISE_IDLE_TENSOR_CORES:
    case ADVISE_FEW_SMS:
    case ADVISE_LOW_CLOCKS:
    case ADVISE_NCCL_WAITING:
    case ADVISE_LATE_RANK: /* these are of jobs */
    case ADVISE_BUBBLES:
    case ADVISE_TRANSFERS:
    case ADVISE_RULES:
    default:
        return NULL;
    }
}

enum mp_status digest_take_commands(const struct digest_material *material, struct digest *digest)
{
    const struct command *special = of_finding(digest);
    bool loop = digest->iterations.count > 1;

    if (digest->no_work) {
        MP_TRY(add(material, digest, &contents));
        return digest->recording.records ? add(material, digest, &calls) : MP_OK;
    }
    if (digest->findings_all)
        MP_TRY(add(material, digest, &all_findings));
    if (loop)
        MP_TRY(add(material, digest, &percentiles));
    if (!digest->quality.gap)
        MP_TRY(add(material, digest, loop ? &slowest : &path));
    if (special)
        MP_TRY(add(material, digest, special));
    return add(material, digest, &page);
}
