/* The table of commands. Parsing, help, man page and completions all come from here. */
#include <string.h>

#include "cli.h"

/* Options that several commands have. */
#define SEED                                                                               \
    {                                                                                      \
        KEY_SEED, 0, "seed", "N", WORDS_NONE, "seed of every random choice"                \
    }
#define THREADS                                                                            \
    {                                                                                      \
        KEY_THREADS, 0, "threads", "N", WORDS_NONE, "threads to use; 0: all cores"         \
    }
#define JOBS                                                                               \
    {                                                                                      \
        KEY_JOBS, 0, "jobs", "N", WORDS_NONE,                                              \
            "most fits at a time; 0, the default: as many as are worthwhile"               \
    }
#define MEMORY                                                                             \
    {                                                                                      \
        KEY_MEMORY, 0, "memory", "SIZE", WORDS_NONE,                                       \
            "most memory to use, such as 8G; larger arrays are kept in files "             \
            "(in TMPDIR, else /var/tmp); default: half of what is free, none in files"     \
    }
#define MAX_INPUT                                                                          \
    {                                                                                      \
        KEY_MAX_INPUT, 0, "max-input", "SIZE", WORDS_NONE,                                 \
            "most bytes of one input, unpacked (such as 2G); default: 100 times a "        \
            "compressed file or 256 MiB, whichever is more, at most half of free memory"   \
    }
#define ENGINE                                                                             \
    {KEY_ENGINE,                                                                           \
     0,                                                                                    \
     "engine",                                                                             \
     "NAME",                                                                               \
     WORDS_ENGINE,                                                                         \
     "linear algebra: host (fast), ref (plain C), mpi (run, fit: rows over ranks), "       \
     "cuda (an NVIDIA card) or auto (the card where it pays)"},                            \
    {                                                                                      \
        KEY_GPU_MEMORY, 0, "gpu-memory", "SIZE", WORDS_NONE,                               \
            "most memory of a card to use, such as 40G; default: 80 % of what is free"     \
    }
#define SET(help)                                                                          \
    {                                                                                      \
        KEY_SET, 0, "set", "KEY=VALUE", WORDS_NONE, help                                   \
    }
#define QUIET                                                                              \
    {                                                                                      \
        KEY_QUIET, 'q', "quiet", NULL, WORDS_NONE, "no notes and no progress bar"          \
    }
#define JSON(help)                                                                         \
    {                                                                                      \
        KEY_JSON, 0, "json", NULL, WORDS_NONE, help                                        \
    }
#define OUT(value, words, help)                                                            \
    {                                                                                      \
        KEY_OUT, 'o', "out", value, words, help                                            \
    }
#define FORMAT                                                                             \
    {                                                                                      \
        KEY_FORMAT, 0, "format", "NAME", WORDS_FORMAT,                                     \
            "format of the input; default: by extension, then by content"                  \
    }
#define CONTROLS                                                                           \
    {                                                                                      \
        KEY_CONTROLS, 0, "controls", "LEVEL", WORDS_CONTROLS,                              \
            "what transfer is checked against: none, quick (default) or full"              \
    }
#define HELP                                                                               \
    {                                                                                      \
        KEY_HELP, 'h', "help", NULL, WORDS_NONE, "say what the command does"               \
    }

#define MPI                                                                                \
    {                                                                                      \
        KEY_MPI, 0, "mpi", NULL, WORDS_NONE,                                               \
            "join the other ranks of an MPI job; the default under mpirun (fit: with "     \
            "engine mpi)"                                                                  \
    }
#define FORCE                                                                              \
    {                                                                                      \
        KEY_FORCE, 0, "force", NULL, WORDS_NONE,                                           \
            "replace the results of another task that are in the folder"                   \
    }

static const cli_option answer_options[] = {
    {KEY_SOURCE, 0, "source", "FILE", WORDS_FILE,
     "a table with labels of the same kind, other columns or other rows; may be repeated"},
    {KEY_BRIDGE, 0, "bridge", "FILE", WORDS_FILE,
     "a table without labels that has columns of both; may be repeated"},
    {KEY_LABEL, 0, "label", "COLUMN", WORDS_NONE,
     "what is to be predicted: a column of MINE and of the sources, blank where not known"},
    OUT("DIR", WORDS_FOLDER,
        "folder for the task, the results, the model and the predictions"),
    {KEY_GOAL, 0, "goal", "GOAL", WORDS_NONE,
     "classify, regress, multilabel or rate; default: by what the labels are"},
    {KEY_METRIC, 0, "metric", "NAME", WORDS_NONE,
     "what to measure; default: what is usual for the goal"},
    {KEY_ID, 0, "id", "COLUMN", WORDS_NONE,
     "column with the names of rows, or none; default: one called id"},
    {KEY_DROP, 0, "drop", "COLUMNS", WORDS_NONE, "columns to leave out: a,b,c"},
    {KEY_APART, 0, "apart", NULL, WORDS_NONE,
     "columns of the same name are not the same thing"},
    {KEY_FORCE, 0, "force", NULL, WORDS_NONE, "write into a folder that is not empty"},
    JSON("print results.json instead of the answer"),
    SEED,
    THREADS,
    JOBS,
    MEMORY,
    MAX_INPUT,
    ENGINE,
    QUIET,
    HELP,
};
static const cli_option run_options[] = {
    OUT("DIR", WORDS_FOLDER, "folder for the results; default: results/TASK-NAME"),
    {KEY_SAVE, 0, "save", "WHAT", WORDS_NONE,
     "keep splits and predictions of all repeats: splits,predictions or one of them"},
    {KEY_RESUME, 0, "resume", NULL, WORDS_NONE,
     "continue from what a stopped run left in DIR.part"},
    FORCE,
    SET("change a value of the task, by dotted path; may be repeated"),
    JSON("print results.json instead of the table"),
    CONTROLS,
    {KEY_SINGLE, 0, "single", NULL, WORDS_NONE,
     "recommend one method, not a blend of several"},
    {KEY_NO_ANSWER, 0, "no-answer", NULL, WORDS_NONE,
     "do not say what to use: saves the time of cross-validation"},
    {KEY_GUARD, 0, "guard", NULL, WORDS_NONE, "does nothing: the answer is there without"},
    SEED,
    THREADS,
    JOBS,
    MEMORY,
    MAX_INPUT,
    ENGINE,
    MPI,
    QUIET,
    HELP,
};
static const cli_option rerun_options[] = {
    OUT("DIR", WORDS_FOLDER, "folder for the new results; default: they are not kept"),
    FORCE,
    JSON("print results.json instead of the table"),
    THREADS,
    JOBS,
    MEMORY,
    MAX_INPUT,
    MPI,
    QUIET,
    HELP,
};
static const cli_option explain_options[] = {HELP};
static const cli_option table_options[] = {
    {KEY_ALL, 0, "all", NULL, WORDS_NONE, "all methods, controls too, not the first 12"},
    {KEY_FORMAT, 0, "format", "NAME", WORDS_TABLE,
     "csv (all digits), markdown or latex; default: as on the screen"},
    HELP,
};
static const cli_option report_options[] = {
    OUT("FILE", WORDS_FILE,
        "the page; default: report.html in the folder, or here when there are several"),
    QUIET,
    HELP,
};
static const cli_option advise_options[] = {
    SET("change a value of the task, by dotted path; may be repeated"),
    JSON("print as JSON"),
    SEED,
    THREADS,
    MEMORY,
    MAX_INPUT,
    ENGINE,
    QUIET,
    HELP,
};
static const cli_option fit_options[] = {
    {KEY_METHOD, 'm', "method", "METHOD", WORDS_METHOD,
     "what to fit: a method, or a name under methods: in the task"},
    {KEY_SINGLE, 0, "single", NULL, WORDS_NONE,
     "without -m: one method, not a blend of several"},
    {KEY_GUARD, 0, "guard", NULL, WORDS_NONE,
     "does nothing: what is recommended is fitted where no method is named"},
    OUT("MODEL", WORDS_FILE, "file for the model, usually NAME.ferry"),
    SET("change an option of the method (KEY) or of the task (dotted path); repeatable"),
    SEED,
    THREADS,
    MEMORY,
    MAX_INPUT,
    ENGINE,
    MPI,
    QUIET,
    HELP,
};
static const cli_option predict_options[] = {
    OUT("FILE", WORDS_FILE,
        "CSV file for the predictions (embeddings also .npz or .npy); default: standard "
        "output"),
    {KEY_TOP, 0, "top", "N", WORDS_NONE,
     "ratings: the N best items of each user instead of pairs"},
    {KEY_USER, 0, "user", "ID,...", WORDS_NONE,
     "with --top: these users; default: those in DATA, or all"},
    {KEY_RATED, 0, "rated", NULL, WORDS_NONE,
     "with --top: also items that the user has rated"},
    {KEY_KNOWN, 0, "known", "FILE", WORDS_FILE,
     "ratings of users and items that are new to the model, to fold in first"},
    FORMAT,
    SET("change how the data is read; may be repeated"),
    THREADS,
    MEMORY,
    MAX_INPUT,
    ENGINE,
    QUIET,
    HELP,
};
static const cli_option select_options[] = {
    {KEY_BY, 0, "by", "HOW", WORDS_BY,
     "trial (default): how well the labels that arrive repeat; paper: the paper's model"},
    {KEY_ONE, 0, "one", NULL, WORDS_NONE,
     "recommend the first way alone, not every bridge that is half as good"},
    {KEY_SELECTOR, 0, "selector", "FILE", WORDS_FILE,
     "by paper: rank with a selector that was saved before; train none"},
    OUT("FILE", WORDS_FILE, "by paper: file for the trained selector, usually NAME.ferry"),
    SET("change a setting (KEY) or the task (dotted path); may be repeated"),
    JSON("print as JSON instead of the table"),
    SEED,
    THREADS,
    JOBS,
    MEMORY,
    MAX_INPUT,
    ENGINE,
    MPI,
    QUIET,
    HELP,
};
static const cli_option stream_options[] = {
    {KEY_STATE, 0, "state", "DIR", WORDS_FOLDER,
     "folder that keeps what was learned; made when it is not there"},
    {KEY_SYNC, 0, "sync", "WHEN", WORDS_SYNC,
     "when answers go out: always, batch (default) or off"},
    {KEY_FORMAT, 0, "format", "NAME", WORDS_LINES,
     "how the lines are written: ndjson (default), csv or svmlight"},
    {KEY_REPAIR, 0, "repair", NULL, WORDS_NONE,
     "salvage what is whole of a state that was refused as damaged, and end"},
    SET("change a setting of the stream; may be repeated"),
    ENGINE,
    QUIET,
    HELP,
};
static const cli_option serve_options[] = {
    {KEY_LISTEN, 0, "listen", "WHERE", WORDS_NONE,
     "HOST:PORT or unix:PATH; default: 127.0.0.1:8080"},
    {KEY_STATE, 0, "state", "DIR", WORDS_FOLDER,
     "folder for what models learn; without it nothing is learned"},
    {KEY_TOKENS, 0, "tokens", "FILE", WORDS_FILE,
     "who may: NAME ROLE SHA256 [RATE] a line"},
    {KEY_OPEN, 0, "open", NULL, WORDS_NONE,
     "without tokens, for anyone on this machine (loopback or unix socket)"},
    {KEY_TLS_CERT, 0, "tls-cert", "FILE", WORDS_FILE, "certificate chain (PEM), for https"},
    {KEY_TLS_KEY, 0, "tls-key", "FILE", WORDS_FILE, "its private key (PEM)"},
    {KEY_REPLAY, 0, "replay", NULL, WORDS_NONE,
     "a new version first learns the labels that were kept"},
    {KEY_SYNC, 0, "sync", "WHEN", WORDS_SYNC,
     "when labels are acknowledged: always, batch (default) or off"},
    SET("change a setting of the server; may be repeated"),
    ENGINE,
    QUIET,
    HELP,
};
static const cli_option methods_options[] = {
    JSON("print as JSON"),
    {KEY_MARKDOWN, 0, "markdown", NULL, WORDS_NONE, "print as Markdown, for the docs"},
    HELP,
};
static const cli_option inspect_options[] = {
    JSON("print as JSON, one object a file"),
    FORMAT,
    MAX_INPUT,
    SET("change how the file is read; may be repeated"),
    QUIET,
    HELP,
};
static const cli_option convert_options[] = {
    FORMAT,
    MEMORY,
    MAX_INPUT,
    {KEY_TO, 0, "to", "NAME", WORDS_FORMAT, "format of the output; default: by extension"},
    SET("change how the file is read; may be repeated"),
    SEED,
    QUIET,
    HELP,
};
static const cli_option gen_options[] = {
    OUT("DIR", WORDS_FOLDER, "folder for the task; default: the generator's name"),
    SET("change an option of the generator; may be repeated"),
    SEED,
    QUIET,
    HELP,
};
static const cli_option demo_options[] = {
    OUT("DIR", WORDS_FOLDER,
        "keep the task and its results in this folder; default: ferry-demo (digits)"),
    SET("change an option of the generator; may be repeated"),
    JSON("print the results as JSON instead of the table"),
    CONTROLS,
    SEED,
    THREADS,
    JOBS,
    MEMORY,
    ENGINE,
    QUIET,
    HELP,
};
static const cli_option fetch_options[] = {
    OUT("DIR", WORDS_FOLDER, "folder that gets a folder NAME; default: data"),
    {KEY_MIRROR, 0, "mirror", "URL", WORDS_NONE,
     "take every file from URL/NAME/PATH instead of where the catalog says"},
    {KEY_CATALOG, 0, "catalog", "FILE", WORDS_FILE,
     "a catalog of your own instead of the one that Ferry comes with"},
    SET("change a setting of the download; may be repeated"),
    JSON("print the list of data sets as JSON"),
    QUIET,
    HELP,
};
static const cli_option reproduce_options[] = {
    {KEY_DATA, 0, "data", "DIR", WORDS_FOLDER,
     "folder of the data sets; default: FERRY_DATA, else for each set data, then ../shared/data"},
    {KEY_QUICK, 0, "quick", NULL, WORDS_NONE,
     "fewer rows, repeats and settings: about a minute"},
    OUT("DIR", WORDS_FOLDER, "folder for what comes out; default: results/NAME"),
    JSON("print study.json instead of the tables; without NAME: the list"),
    SEED,
    THREADS,
    JOBS,
    MEMORY,
    MAX_INPUT,
    ENGINE,
    MPI,
    QUIET,
    HELP,
};
static const cli_option doctor_options[] = {
    JSON("print as JSON"),
    THREADS,
    ENGINE,
    HELP,
};
static const cli_option help_options[] = {
    {KEY_MAN, 0, "man", NULL, WORDS_NONE, "print the manual page (roff)"},
    {KEY_MARKDOWN, 0, "markdown", NULL, WORDS_NONE,
     "print all of it as Markdown, for the docs"},
    {KEY_COMPLETION, 0, "completion", "SHELL", WORDS_SHELL,
     "print the completion script of bash or zsh"},
    HELP,
};
static const cli_option version_options[] = {HELP};

/* What --set takes, from the library's own tables. */
static bool run_settings(int64_t i, cli_settings *out)
{
    out->title = "Settings under evaluate: (--set evaluate.KEY=VALUE)";
    out->table = ferry_options("evaluate");
    return i == 0;
}

static bool select_settings(int64_t i, cli_settings *out)
{
    out->title = i == 0 ? "Settings by trial (--set KEY=VALUE)"
                        : "Settings by paper (--by paper --set KEY=VALUE)";
    out->table = ferry_options(i == 0 ? "trial" : "train");
    return i < 2;
}

static bool read_settings(int64_t i, cli_settings *out)
{
    out->title = "Settings for reading a file (--set KEY=VALUE)";
    out->table = ferry_options("read");
    return i == 0;
}

static bool stream_settings(int64_t i, cli_settings *out)
{
    out->title = "Settings of a stream (--set KEY=VALUE)";
    out->table = ferry_options("stream");
    return i == 0;
}

static bool serve_settings(int64_t i, cli_settings *out)
{
    out->title = "Settings of the server (--set KEY=VALUE)";
    out->table = ferry_serve_options();
    return i == 0;
}

static bool fetch_settings(int64_t i, cli_settings *out)
{
    out->title = "Settings of the download (--set KEY=VALUE)";
    out->table = ferry_options("fetch");
    return i == 0;
}

static bool generator_settings(int64_t i, cli_settings *out)
{
    const ferry_generator_info *g = ferry_generator_at(i);

    if (!g) return false;
    out->title = g->name;
    out->table = g->options;
    return true;
}

#define OPTIONS(table) table, COUNT(table)

const cli_command cli_commands[] = {
    {"answer", "MINE --source FILE... --label COLUMN -o DIR",
     "what to use, how good it will be, what the source is worth",
     "From tables to an answer, without a task file. MINE has a column that is known in some "
     "rows and blank in the others; a source has that column in all rows, and may have other "
     "columns, other rows or another format; a bridge has columns of both. Columns of the "
     "same name are taken for the same thing. Writes DIR/task.yaml, runs it, and keeps the "
     "results and the report in DIR/results, the recommended model in DIR/model.ferry and "
     "the rows without a label in DIR/predictions.csv. What it guessed is said in a line "
     "each, with the option that overrules it.",
     1, 1, WORDS_FILE, OPTIONS(answer_options), NULL, true, cli_answer},
    {"run", "TASK...", "compare methods on a task, or on several",
     "Reads a task file and the data it names, runs its methods (all that fit, if it names "
     "none) in every repeat, and prints a table. Writes results.json and the predictions of "
     "the first repeat to a folder. --set changes the task for this run, as in --set "
     "evaluate.repeats=3, --set methods.svm.C=10 or --set domains.target.labelled=20. Each "
     "transfer method gets a verdict: is it better or worse than the best method without "
     "transfer on new data of this kind, and is that due to the source? Controls change only "
     "what the source knows, for example by shuffling its labels. The folder appears when it "
     "is complete; until then, finished work is in DIR.part. After Ctrl-C or SIGTERM "
     "complete repeats are kept; --resume continues, also after a crash. Several task files, "
     "or a folder of them, end with a summary: wins, ties and losses against each task's "
     "best baseline, mean ranks with their critical difference, and how often each verdict "
     "was given; -o is then the folder for the results of all tasks.",
     1, 1000, WORDS_FILE, OPTIONS(run_options), run_settings, true, cli_run},
    {"advise", "TASK", "tell which methods fit a task, before running it",
     "Shows which methods fit and why the others do not, how long a fit takes and how much "
     "memory it needs (measured for up to a second each, else extrapolated), and how far the "
     "domains are from the target: A-distance, complexity, shared features, ids and labels.",
     1, 1, WORDS_FILE, OPTIONS(advise_options), NULL, true, cli_advise},
    {"rerun", "DIR", "repeat the run behind a folder of results",
     "Takes task, options, seed, threads and engine from the run.json in the folder, checks "
     "that the data has not changed, runs, and says whether every number is the same. Exit "
     "code 1 if one is not.",
     1, 1, WORDS_FOLDER, OPTIONS(rerun_options), NULL, true, cli_rerun},
    {"explain", "DIR [METHOD]", "explain the results of a run",
     "Reads the results in a folder. Without a method: the verdict on each method in words, "
     "which methods have no result and why, and notes. With a method: every metric, the "
     "comparison with the best baseline, the controls, its settings and its diagnostics.",
     1, 2, WORDS_FOLDER, OPTIONS(explain_options), NULL, false, cli_explain},
    {"table", "DIR", "the table of a run as CSV, Markdown or LaTeX",
     "Reads the results in a folder and prints the table again, for a spreadsheet or a "
     "paper.",
     1, 1, WORDS_FOLDER, OPTIONS(table_options), NULL, false, cli_results_table},
    {"report", "DIR...", "one page about the results in folders",
     "Makes report.html from the results.json and run.json of each folder: verdicts, plots, "
     "sortable tables, the data behind each plot, and the command that reproduces every "
     "number. Several folders are compared side by side. The page needs no network.",
     1, 1000, WORDS_FOLDER, OPTIONS(report_options), NULL, false, cli_report},
    {"fit", "TASK [-m METHOD] -o MODEL", "learn a model from a task and save it",
     "Learns from every label that the task lets a method see: all labels of the sources, "
     "and those of the target that labelled: draws in the first repeat with the task's seed. "
     "So it is the model whose predictions ferry run saves. To learn from all target labels "
     "give --set domains.NAME.labelled=1.0. Without -m it fits what ferry run recommends, "
     "mostly a blend of several methods, and keeps the evidence in the model.",
     1, 1, WORDS_FILE, OPTIONS(fit_options), NULL, true, cli_fit},
    {"predict", "MODEL [DATA...]", "predict with a saved model",
     "DATA is a file like the target's, or VIEW=FILE for each view of a model that has "
     "several; GRAPH=EDGES connects the instances with each other and with labelled ones "
     "that the model knows. Files are read with the settings of the task unless changed "
     "here. Features are matched by name if both sides have names, else by number. For a "
     "model of ratings, DATA has the users and items to rate, one pair per line; with --top "
     "N it has users, one per line, and the answer is their N best items. --known FILE has "
     "ratings of users and items that the model has not seen, which are then placed without "
     "learning again.",
     1, 64, WORDS_FILE, OPTIONS(predict_options), read_settings, true, cli_predict},
    {"select", "TASK", "rank the bridges: which intermediate domain to use",
     "Tries every way from the sources to the target: each intermediate domain, none, and "
     "chains of the best. It fits ttl for each and measures how reproducible the target's "
     "labels are, on halves of the features and of the instances. No label of the target is "
     "needed; those that the task shows help to rank. If no way is better than chance it "
     "says that it cannot tell; otherwise it recommends the bridges to use and prints their "
     "lines for the task file. --by paper ranks with the paper's model, which is learned "
     "from triples of the task's other domains; -o saves it, --selector uses it on other "
     "tasks.",
     1, 1, WORDS_FILE, OPTIONS(select_options), select_settings, true, cli_select},
    {"stream", "MODEL --state DIR", "answer and learn line by line, losing nothing",
     "Reads lines from standard input and answers each with one line of JSON on standard "
     "output. {\"id\": ..., \"x\": [...]} asks for a prediction, {\"id\": ..., \"y\": ...} "
     "gives the label of an earlier one; both together predict first and then learn. An "
     "answer with a seq says that its record is stored: it survives kill -9 with any --sync, "
     "and a power cut with always and batch. batch syncs after 64 lines, 50 ms, or when the "
     "input pauses. Started again with the same MODEL and DIR, it continues with the same "
     "bits. A wrong line gets {\"error\": ..., \"line\": N} and changes nothing. Ctrl-C and "
     "SIGTERM end it with a snapshot, DIR/snapshot.ferry, which is a model like any other.",
     1, 1, WORDS_FILE, OPTIONS(stream_options), stream_settings, true, cli_stream},
    {"serve", "MODELS", "answer and learn over HTTP",
     "MODELS is a model file or a folder of them (NAME.ferry, or NAME/VERSION.ferry, of "
     "which the highest number serves; a new one takes over without a lost request). POST "
     "/predict and /learn take JSON or one object per line, as ferry stream does; the Open "
     "Inference Protocol (/v2) and MLflow's /invocations work with their clients; GET / is a "
     "page with live numbers, /metrics is for Prometheus, /openapi.json lists everything. A "
     "label that was acknowledged survives kill -9 as in ferry stream. Without --tls-cert it "
     "listens on this machine only. Ctrl-C and SIGTERM finish the requests at hand; SIGHUP "
     "looks for new models and tokens.",
     1, 1, WORDS_FILE, OPTIONS(serve_options), serve_settings, true, cli_serve},
    {"methods", "[NAME]", "list the methods, or describe one",
     "With a name: what the method needs, where it comes from, and its options with their "
     "defaults and ranges.",
     0, 1, WORDS_METHOD, OPTIONS(methods_options), NULL, false, cli_methods},
    {"inspect", "FILE...", "say what is in a data file",
     "Shows the format, shape, density, label counts, missing cells and memory. FILE#NAME "
     "picks a variable or member of a MAT or NPZ file or archive; without NAME they are "
     "listed. For a model (NAME.ferry): its method, goal, classes, views and diagnostics. Of "
     "two tables, a source's and the target's, it also says which columns may be the same "
     "under other names (with --json one more object, {\"same\": {...}}).",
     1, 10000, WORDS_FILE, OPTIONS(inspect_options), read_settings, false, cli_inspect},
    {"convert", "IN OUT", "write a data file in another format",
     "Ids, feature names and labels are kept if the output format can hold them. IN may also "
     "be TASK.yaml#DOMAIN (or TASK.yaml#DOMAIN.VIEW): what a task makes of its files.",
     2, 2, WORDS_FILE, OPTIONS(convert_options), read_settings, false, cli_convert},
    {"gen", "[NAME]", "make a task to try things with",
     "Writes task.yaml and its data into a folder. Without a name, lists the generators.",
     0, 1, WORDS_GENERATOR, OPTIONS(gen_options), generator_settings, false, cli_gen},
    {"demo", "[NAME]", "a first look: read right halves of digits with left ones",
     "Makes a task and runs it. Without NAME: halves of handwritten digits, which stay in "
     "ferry-demo with the report; if they are there already, the task is run as it stands. "
     "With the name of another generator: its task, in a temporary folder unless -o keeps "
     "it, and every method that fits.",
     0, 1, WORDS_GENERATOR, OPTIONS(demo_options), generator_settings, true, cli_demo},
    {"fetch", "[NAME]", "download a public data set",
     "Downloads the files of a data set to DIR/NAME, checks each against its SHA-256 sum and "
     "unpacks archives. Files that are already there are kept, and interrupted downloads are "
     "resumed. Without a name, lists the data sets and what is known about their licences.",
     0, 1, WORDS_NONE, OPTIONS(fetch_options), fetch_settings, false, cli_fetch},
    {"reproduce", "[NAME]", "run a table or figure of a paper again",
     "Prepares the data (with python3), runs the methods, and prints our numbers beside the "
     "paper's, the protocol, which of the paper's claims held, and a verdict. The folder "
     "gets study.json, the task files and the prepared data, for ferry run. Without a name, "
     "lists the studies and whether their data is there.",
     0, 1, WORDS_STUDY, OPTIONS(reproduce_options), NULL, true, cli_reproduce},
    {"doctor", "", "describe this installation and what is wrong with it",
     "Prints versions, engines, BLAS kernels, the instruction set of our own kernels, "
     "threads and memory. Exit code 1 if there is a problem.",
     0, 0, WORDS_NONE, OPTIONS(doctor_options), NULL, true, cli_doctor},
    {"help", "[COMMAND]", "explain a command", "Without a command: an overview.", 0, 1,
     WORDS_COMMAND, OPTIONS(help_options), NULL, false, cli_help},
    {"version", "", "print the version", "The same as ferry --version.", 0, 0, WORDS_NONE,
     OPTIONS(version_options), NULL, false, cli_version},
};
const int64_t cli_n_commands = COUNT(cli_commands);

const cli_line cli_examples[] = {
    {"ferry demo", "a first look: what a source is worth, on handwritten digits"},
    {"ferry gen bridge --out bridge",
     "write a made-up task into a folder, to look at and change"},
    {"ferry run bridge/task.yaml --set evaluate.repeats=3", "run it, shorter"},
    {"ferry fit bridge/task.yaml -m svm -o svm.ferry", "learn one model and keep it"},
    {"ferry predict svm.ferry bridge/target.csv -o new.csv", "use it on a file"},
    {"ferry inspect bridge/target.csv", "what is in a file"},
};
const int64_t cli_n_examples = COUNT(cli_examples);

const cli_line cli_exit_codes[] = {
    {"0", "done"},
    {"1", "failed: the system, or a computation that broke down"},
    {"2", "bad usage or bad input; nothing was written"},
    {"130, 143", "interrupted by Ctrl-C, by SIGTERM; what was complete is kept"},
};
const int64_t cli_n_exit_codes = COUNT(cli_exit_codes);

const cli_line cli_environment[] = {
    {"FERRY_ISA",
     "instruction set of our own loops: baseline, avx2 or avx512; the widest that "
     "the CPU has when not set"},
    {"OPENBLAS_CORETYPE", "kernels for OpenBLAS; chosen to fit the CPU when not set"},
    {"OMP_WAIT_POLICY", "how threads wait; passive when not set, so that two pools do not "
                        "compete for cores"},
    {"OPENBLAS_THREAD_TIMEOUT",
     "idle OpenBLAS threads spin for 2^N cycles; 10 when not set, since OpenBLAS's "
     "own 26 takes cores away from other threads"},
    {"FERRY_DATA",
     "folder of the data sets, for ferry reproduce; default: data, then ../shared/data"},
    {"FERRY_LIBEXEC", "folder of ferry-mat73, which reads MAT 7.3 files; found beside the "
                      "library when not set"},
    {"FERRY_STUDIES", "folder with studies/ and prepare/ of your own, for ferry reproduce"},
    {"TMPDIR", "where ferry demo NAME makes its folder; default /tmp"},
};
const int64_t cli_n_environment = COUNT(cli_environment);

const cli_command *cli_command_find(const char *name)
{
    for (int64_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i].name, name) == 0) return &cli_commands[i];
    return NULL;
}
