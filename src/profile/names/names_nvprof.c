/* nvprof's spelling of C++ names, made from GNU's.
 *
 *     GNU     void f<8, (Mode)1, Grid<float const> >(float const*, float*)
 *     nvprof  void f<int=8, Mode=1, Grid<float const >>(float const *, float*)
 *
 * One pass with a stack of the open brackets. A value gets its type only if it is a whole template
 * argument. A name whose brackets do not pair, or that nests too deep, stays as it is. (nvprof's
 * own demangler confuses some parameters with others, `bool=1 const *` for a type; this is not
 * imitated.) Examples: apache/mxnet#14684, PaddlePaddle/benchmark#329.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/data/storage.h"
#include "profile/names/names.h"

#include "base/poison.h"

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
