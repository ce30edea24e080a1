"""The laws of the house as data: who may include whom, what is too long, which words are banned.

What may only become less is in `limits`, beside this file.
"""

# ---- Layers --------------------------------------------------------------------------------------
#
#    base <- preload
#    base <- trace <- record
#    base <- table
#    trace <- profile, table <- cli <- reports <- page, export <- run, calibrate, nvprof <- command
#
# A layer may include itself, what stands left of it and include/miniprof. The recorder (record) and
# the reader (profile and what follows) never see each other. A command.c is of the layer `command`,
# but for that of cli.

ALLOWED = {
    "base": {"base"},
    "trace": {"base", "trace"},
    "record": {"base", "trace", "record"},
    "preload": {"base", "preload"},
    "profile": {"base", "trace", "profile"},
    "table": {"base", "table"},
    "cli": {"base", "trace", "profile", "table", "cli"},
    "reports": {"base", "trace", "profile", "table", "cli", "reports"},
}
ALLOWED["page"] = ALLOWED["reports"] | {"page"}
ALLOWED["export"] = ALLOWED["reports"] | {"export"}
for _layer in ("run", "calibrate", "nvprof"):
    ALLOWED[_layer] = ALLOWED["page"] | ALLOWED["export"] | {"run", "nvprof", _layer}
ALLOWED["command"] = set(ALLOWED) - {"record", "preload"} | {"command"}

# A layer's folders are of two kinds. A library shows all of its headers. A family answers one
# question and shows one header, which has the family's name (reports/deps/deps.h), and print.h; its
# other headers are private. Where a folder shows other headers, SHOWN lists them.
LIBRARIES = ("base", "base/*", "trace", "profile", "profile/*", "record/*", "preload", "table",
             "cli", "reports/common", "export", "run", "page")
SHOWN = {
    "reports/deps": ("deps.h", "lookup.h", "print.h"),
    "reports/job": ("job.h", "answer.h", "print.h"),
    "reports/ranks": ("ranks.h", "load.h", "print.h"),
    "reports/recording_cost": ("recording_cost.h", "baseline.h"),
    "reports/summary": ("summary.h", "print.h", "merge.h", "unified.h"),
    "record/nvtx": ("nvtx.h", "time.h", "watch.h"),
}

# The rooms of src/record from low to high. A file includes headers and needs functions of its own
# room and of lower ones.
RECORD = ("core", "nvtx", "stacks", "waits", "cupti", "graphs", "counters", "names", "nccl", "rows",
          "process")

# CUDA's and CUPTI's headers appear only where a driver is spoken to.
CUDA_FOLDERS = ("src/record/", "samples/", "tests/simgpu/", "tests/gpu/", "tests/zoo/",
                "tests/strangers/", "tests/e2e/", "tests/oracle/", "tests/unit/record/",
                "tests/bench/bench_record_")

# What libminiprof.so shows to the process: what the driver, NVTX and NCCL look for, nothing else.
ENTRY_POINTS = ("InitializeInjection", "InitializeInjectionNvtx", "InitializeInjectionNvtx2",
                "InitializeInjectionNvtxExtension", "ncclProfiler_v4", "ncclProfiler_v5",
                "ncclProfiler_v6")

# ---- Lengths -------------------------------------------------------------------------------------

MAX_COLUMNS = 100
MAX_FILE = 700 # lines, of C
MAX_FUNCTION = 80 # lines, from brace to brace
LONG_FUNCTION = 60 # the limit `long_functions` counts those above
MAX_FOLDER = 32 # source files
MAX_SENTENCE = 30 # words, in documents
MAX_SUBJECT = 72
MIN_HEAD = 6 # words of the comment at the head of a .c file
CRUMB = 60 # lines: a shorter file that only one other uses belongs into that one

# ---- Calls ---------------------------------------------------------------------------------------

BANNED_CALLS = {
    "sprintf": "snprintf", "vsprintf": "vsnprintf", "strcpy": "mp_text_copy", "strcat": "mp_buffer",
    "stpcpy": "mp_text_copy", "strncpy": "mp_text_copy", "strncat": "mp_buffer",
    "strtok": "mp_text_next_item", "atoi": "mp_text_to_u64", "atol": "mp_text_to_u64",
    "atoll": "mp_text_to_u64", "atof": "strtod", "gets": "fgets", "alloca": "an arena",
}
# The recorder runs inside somebody else's process.
GUEST_FOLDERS = ("src/base/", "src/trace/", "src/record/")
BANNED_IN_GUEST = ("exit", "_exit", "_Exit", "abort", "quick_exit", "assert", "printf", "puts",
                   "putchar", "perror", "system", "popen")
# When the program's last thread has ended, as glibc does.
MAY_END = ("src/record/process/lifecycle.c", "exit")

# ---- Words ---------------------------------------------------------------------------------------

# In comments, texts of C and documents: what to write instead, and a pattern where the word is not
# its own. `limits` has how many of each are left, as word_...
WORDS = {
    "so many": (None, "N, or how many there are"),
    "in place of": (None, "instead of"),
    "told": (None, "known, reported"),
    "is due": (None, "happens, is needed"),
    "stands in": ("stands? in", "is in"),
    "lies in": ("lies? in", "is in"),
    "goes by": (None, "uses"),
    "behind": (None, "after"),
    "beside": (None, "next to, with"),
    "of its own": ("of (?:its|their) own", "its, separate"),
    "as far as": (None, "if, up to"),
    "now and then": (None, "sometimes"),
    "a piece of": (None, "part of"),
    "greatest": ("greatest(?! common)", "max, largest"),
    "least": ("least(?! (?:squares|significant|severe|important))", "min"), # but "at least"
}
# In names.
NAMES = {"MOST_": "MAX_", "LEAST_": "MIN_", "GREATEST_": "MAX_", "told": "reported, nccl",
         "crowd": "concurrency", "piece": "part, section, or what it is", "whys": "reasons",
         "studied": "corrected_profile", "undisturbed": "overhead_free", "wishes": "wanted",
         "lacks": "unavailable", "mixing": "how values are combined"}
# What these files hold nobody knows from their names.
VAGUE_FILES = ("pieces", "parts", "more", "misc", "util", "utils", "helpers", "stuff", "rest",
               "own", "told", "way", "whys", "answers", "places", "rows", "set", "wishes", "kept",
               "renew")
# Names that somebody else's code uses.
FOR_OTHERS = ("main", "XXH_INLINE_ALL", "NVTX_NO_IMPL")
