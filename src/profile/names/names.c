/* Names as nvprof prints them: demangled or not, without suffixes of CUDA's functions. libstdc++'s
 * demangler is called with a bound on the length, since its time can grow fast with the name.
 */
#include "profile/names/names.h"

#include <ctype.h>
#include <inttypes.h>
#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- nvprof's spelling ----
 *
 * nvprof's spelling of C++ names, made from GNU's.
 *
 *     GNU     void f<8, (Mode)1, Grid<float const> >(float const*, float*)
 *     nvprof  void f<int=8, Mode=1, Grid<float const >>(float const *, float*)
 *
 * One pass with a stack of the open brackets. A value gets its type only if it is a whole template
 * argument. A name whose brackets do not pair, or that nests too deep, stays as it is. (nvprof's
 * own demangler confuses some parameters with others, `bool=1 const *` for a type; this is not
 * imitated.) Examples: apache/mxnet#14684, PaddlePaddle/benchmark#329.
 */

#define DEEPEST 1024

struct rewrite {
    const char *at; /* what is not read yet */
    struct mp_buffer out;
    size_t depth;
    char open[DEEPEST]; /* brackets: < ( [ { */
    bool at_argument;   /* a template argument begins here */
    bool wrong;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static void copy(struct rewrite *r, size_t bytes)
{
    mp_buffer_append(&r->out, r->at, bytes);
    r->at += bytes;
}

static bool inside_template(const struct rewrite *r)
{
    return r->depth && r->open[r->depth - 1] == '<';
}

static char last_written(const struct rewrite *r)
{
    return r->out.size ? (char)r->out.data[r->out.size - 1] : '\0';
}

/* ---- Values ---- */

/* Length of a number with its sign; 0: it is none. */
static size_t number_length(const char *text)
{
    size_t sign = *text == '-';
    size_t digits = strspn(text + sign, "0123456789");

    return digits ? sign + digits : 0;
}

static bool ends_argument(const char *text)
{
    return *text == ',' || *text == '>' || !strncmp(text, " >", 2);
}

/* `8`, `8ul`: false when that is not the whole argument. */
static bool rewrite_number(struct rewrite *r)
{
    static const struct {
        const char *suffix;
        const char *type;
    } types[] = {{"", "int"},         {"u", "unsigned int"},
                 {"l", "long"},       {"ul", "unsigned long"},
                 {"ll", "long long"}, {"ull", "unsigned long long"}};
    size_t digits = number_length(r->at);
    size_t letters = strspn(r->at + digits, "ul");

    if (!digits || !ends_argument(r->at + digits + letters))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strlen(types[i].suffix) != letters ||
            strncmp(r->at + digits, types[i].suffix, letters) != 0)
            continue;
        mp_buffer_append_text(&r->out, types[i].type);
        mp_buffer_append_byte(&r->out, '=');
        copy(r, digits);
        r->at += letters;
        return true;
    }
    return false;
}

static bool rewrite_bool(struct rewrite *r)
{
    static const char *const words[] = {"false", "true"};

    for (int i = 0; i < 2; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(r->at, words[i], length) != 0 || !ends_argument(r->at + length))
            continue;
        mp_buffer_append_text(&r->out, i ? "bool=1" : "bool=0");
        r->at += length;
        return true;
    }
    return false;
}

/* The bracket that closes the one at `text`; NULL: there is none. */
static const char *closing(const char *text)
{
    size_t depth = 0;

    for (; *text; text++) {
        depth += *text == '(';
        depth -= *text == ')';
        if (!depth)
            return text;
    }
    return NULL;
}

/* `(Enum)3`. The main pass rewrites the type, which may contain template arguments; the cast's
 * closing bracket becomes the `=`. */
static bool is_cast(const char *text)
{
    const char *end = *text == '(' ? closing(text) : NULL;
    size_t digits = end ? number_length(end + 1) : 0;

    return digits && end > text + 1 && ends_argument(end + 1 + digits);
}

#define CAST 'c' /* in `open`: the bracket of a cast, not printed */

static bool push_bracket(struct rewrite *r, char bracket)
{
    if (r->depth == DEEPEST) {
        r->wrong = true;
        return false;
    }
    r->open[r->depth++] = bracket;
    return true;
}

static bool rewrite_argument(struct rewrite *r)
{
    if (rewrite_number(r) || rewrite_bool(r))
        return true;
    if (!is_cast(r->at))
        return false;
    r->at++;
    return push_bracket(r, CAST);
}

/* ---- Everything else ---- */

/* The symbol of `operator<` and its like, which is no bracket. */
static size_t operator_length(const char *text)
{
    static const char *const symbols[] = {"<<=", ">>=", "<=>", "->*", "()", "[]", "<<",
                                          ">>",  "<=",  ">=",  "->",  "<",  ">"};

    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if (!strncmp(text, symbols[i], strlen(symbols[i])))
            return strlen(symbols[i]);
    }
    return 0;
}

/* A word; `const` and `volatile` keep their distance from what follows. */
static void copy_word(struct rewrite *r)
{
    const char *word = r->at;
    size_t length = 0;
    bool qualifies;

    while (is_word(word[length]))
        length++;
    qualifies =
        (length == 5 && !memcmp(word, "const", 5)) || (length == 8 && !memcmp(word, "volatile", 8));
    copy(r, length);
    if (length == 8 && !memcmp(word, "operator", 8))
        copy(r, operator_length(r->at));
    else if (qualifies && *r->at && strchr("*&,>)", *r->at))
        mp_buffer_append_byte(&r->out, ' ');
}

/* A `<` after a name opens template arguments; any other one compares. */
static bool opens_template(const struct rewrite *r)
{
    char before = last_written(r);

    if (before == ' ') /* `operator< <int>` */
        return r->out.size > 1 && r->out.data[r->out.size - 2] == '<';
    if (before == ')') /* `operator()<int>`, not `(3)<(4)` */
        return r->out.size >= 10 && !memcmp(r->out.data + r->out.size - 10, "operator()", 10);
    return is_word(before) || (before && strchr("]}<>=+-*/%^&|~!", before));
}

/* Closes the innermost bracket if it is an `opening`. */
static void pop_bracket(struct rewrite *r, char opening)
{
    if (r->depth && r->open[r->depth - 1] == opening)
        r->depth--;
    else
        r->wrong = true;
}

static void copy_closing_angle(struct rewrite *r)
{
    if (!inside_template(r)) { /* `->`, or an expression in brackets */
        copy(r, 1);
        return;
    }
    /* GNU's `> >` is nvprof's `>>`, but `const >` stays. */
    if (r->out.size > 1 && !memcmp(r->out.data + r->out.size - 2, "> ", 2))
        r->out.size--;
    copy(r, 1);
    r->depth--;
}

static void copy_closing(struct rewrite *r)
{
    if (*r->at == ')' && r->depth && r->open[r->depth - 1] == CAST) {
        mp_buffer_append_byte(&r->out, '=');
        r->at++;
        r->depth--;
        copy(r, number_length(r->at));
        return;
    }
    pop_bracket(r, *r->at == ')' ? '(' : *r->at == ']' ? '[' : '{');
    copy(r, 1);
}

static void copy_symbol(struct rewrite *r)
{
    char c = *r->at;

    if (c == '<' && opens_template(r)) {
        r->at_argument = push_bracket(r, '<');
        copy(r, 1);
    } else if (c == '(' || c == '[' || c == '{') {
        push_bracket(r, c);
        copy(r, 1);
    } else if (c == '>') {
        copy_closing_angle(r);
    } else if (c == ')' || c == ']' || c == '}') {
        copy_closing(r);
    } else if (c == ',' && r->at[1] == ' ') {
        r->at_argument = inside_template(r);
        copy(r, 2);
    } else {
        copy(r, 1);
    }
}

const char *names_nvprof(const char *demangled, struct mp_arena *arena)
{
    struct rewrite r = {.at = demangled};
    const char *result = NULL;

    while (*r.at && !r.wrong && !r.out.status) {
        bool at_argument = r.at_argument;

        r.at_argument = false;
        if (at_argument && rewrite_argument(&r))
            continue;
        if (is_word(*r.at))
            copy_word(&r);
        else
            copy_symbol(&r);
    }
    if (r.wrong || r.depth)
        result = mp_arena_copy(arena, demangled, strlen(demangled));
    else if (!r.out.status)
        result = mp_arena_copy(arena, r.out.data, r.out.size);
    mp_buffer_free(&r.out);
    return result;
}

/* ---- Names ---- */

/* The demangler's time and recursion grow with the name; real kernels stay far below (CUTLASS
 * reaches some 4 KiB). */
#define LONGEST_MANGLED 65536

/* In libstdc++ (Itanium C++ ABI, section 3.4); its header is C++ only. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

const char *names_demangle(const char *name, enum names_style style, struct mp_arena *arena)
{
    const char *result = name;
    int status = -1;

    if (style == NAMES_MANGLED || strncmp(name, "_Z", 2) != 0 ||
        strnlen(name, LONGEST_MANGLED) == LONGEST_MANGLED)
        return name;
    char *text = __cxa_demangle(name, NULL, NULL, &status);
    if (text && status == 0) {
        const char *copy = style == NAMES_NVPROF ? names_nvprof(text, arena)
                                                 : mp_arena_copy(arena, text, strlen(text));
        result = copy ? copy : name;
    }
    free(text);
    return result;
}

/* Whether the name ends in an underscore, the given letters and, with `digits`, at least one digit.
 * If so, takes this suffix off *length. */
static bool strip(const char *name, size_t *length, const char *suffix, bool digits)
{
    size_t suffix_length = strlen(suffix);
    size_t end = *length;

    while (digits && end && isdigit((unsigned char)name[end - 1]))
        end--;
    if ((digits && end == *length) || end <= suffix_length)
        return false;
    if (memcmp(name + end - suffix_length, suffix, suffix_length) != 0)
        return false;
    *length = end - suffix_length;
    return true;
}

size_t names_api_length(const char *name)
{
    size_t length = strlen(name);

    if (strncmp(name, "cu", 2) != 0)
        return length;
    while (strip(name, &length, "_v", true) || strip(name, &length, "_ptsz", false) ||
           strip(name, &length, "_ptds", false))
        ;
    return length;
}

const char *names_copy(uint64_t kind, char *buffer, size_t size)
{
    const char *name = mp_enum_name("copy_kind", kind);

    if (name)
        snprintf(buffer, size, "[CUDA memcpy %s]", name);
    else
        snprintf(buffer, size, "[CUDA memcpy %" PRIu64 "]", kind);
    return buffer;
}

const char *names_memory(uint64_t kind)
{
    static const char *const names[] = {
        [MP_memory_kind_unknown] = "Unknown",
        [MP_memory_kind_pageable] = "Pageable",
        [MP_memory_kind_pinned] = "Pinned",
        [MP_memory_kind_device] = "Device",
        [MP_memory_kind_array] = "Array",
        [MP_memory_kind_managed] = "Managed",
        [MP_memory_kind_device_static] = "Device Static",
        [MP_memory_kind_managed_static] = "Managed Static",
    };

    return names[kind < sizeof names / sizeof *names ? kind : MP_memory_kind_unknown];
}

const char *names_wait(uint64_t kind)
{
    static const char *const functions[] = {
        [MP_wait_kind_condition] = "pthread_cond_wait",
        [MP_wait_kind_mutex] = "pthread_mutex_lock",
        [MP_wait_kind_join] = "pthread_join",
        [MP_wait_kind_barrier] = "pthread_barrier_wait",
        [MP_wait_kind_semaphore] = "sem_wait",
        [MP_wait_kind_poll] = "poll",
        [MP_wait_kind_epoll] = "epoll_wait",
        [MP_wait_kind_select] = "select",
        [MP_wait_kind_read] = "read",
        [MP_wait_kind_futex] = "futex",
        [MP_wait_kind_sleep] = "nanosleep",
        [MP_wait_kind_rwlock] = "pthread_rwlock_lock",
    };

    if (kind < sizeof functions / sizeof *functions && functions[kind])
        return functions[kind];
    return "[unnamed wait]";
}

const char *names_graph(uint64_t graph, char *buffer, size_t size)
{
    snprintf(buffer, size, "[CUDA graph %" PRIu64 "]", graph);
    return buffer;
}
