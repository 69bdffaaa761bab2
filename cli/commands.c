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
            "fits side by side, at most; 0, the default: as many as pay"                   \
    }
#define MEMORY                                                                             \
    {                                                                                      \
        KEY_MEMORY, 0, "memory", "SIZE", WORDS_NONE,                                       \
            "the most memory to hold, such as 8G; default: half of what is free"           \
    }
#define MAX_INPUT                                                                          \
    {                                                                                      \
        KEY_MAX_INPUT, 0, "max-input", "SIZE", WORDS_NONE,                                 \
            "most bytes of one input, unpacked (such as 2G); default: 100 times a "        \
            "compressed file or 256 MiB, whichever is more, at most half of free memory"   \
    }
#define ENGINE                                                                             \
    {                                                                                      \
        KEY_ENGINE, 0, "engine", "NAME", WORDS_ENGINE,                                     \
            "linear algebra: host (fast) or ref (plain C)"                                 \
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
            "join the other ranks of an MPI job; under mpirun that is the default"         \
    }
#define FORCE                                                                              \
    {                                                                                      \
        KEY_FORCE, 0, "force", NULL, WORDS_NONE,                                           \
            "replace the results of another task that are in the folder"                   \
    }

static const cli_option run_options[] = {
    OUT("DIR", WORDS_FOLDER, "folder for the results; default: results/TASK-NAME"),
    {KEY_SAVE, 0, "save", "WHAT", WORDS_NONE,
     "keep splits and predictions of all repeats: splits,predictions or one of them"},
    {KEY_RESUME, 0, "resume", NULL, WORDS_NONE,
     "go on from what a stopped run left in DIR.part"},
    FORCE,
    SET("change a value of the task, by dotted path; may be repeated"),
    JSON("print results.json instead of the table"),
    CONTROLS,
    {KEY_GUARD, 0, "guard", NULL, WORDS_NONE,
     "also choose the method to take, by cross-validation on the visible target labels"},
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
    MAX_INPUT,
    ENGINE,
    QUIET,
    HELP,
};
static const cli_option fit_options[] = {
    {KEY_METHOD, 'm', "method", "METHOD", WORDS_METHOD,
     "what to fit: a method, or a name under methods: in the task"},
    {KEY_GUARD, 0, "guard", NULL, WORDS_NONE,
     "choose the method, by cross-validation on the labels that it may see"},
    OUT("MODEL", WORDS_FILE, "file for the model, usually NAME.ferry"),
    SET("change an option of the method (KEY) or of the task (dotted path); repeatable"),
    SEED,
    THREADS,
    MAX_INPUT,
    ENGINE,
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
    OUT("DIR", WORDS_FOLDER, "keep the task and its results in this folder"),
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
    out->table = ferry_evaluate_options();
    return i == 0;
}

static bool select_settings(int64_t i, cli_settings *out)
{
    out->title = i == 0 ? "Settings by trial (--set KEY=VALUE)"
                        : "Settings by paper (--by paper --set KEY=VALUE)";
    out->table = i == 0 ? ferry_trial_options() : ferry_select_options();
    return i < 2;
}

static bool read_settings(int64_t i, cli_settings *out)
{
    out->title = "Settings for reading a file (--set KEY=VALUE)";
    out->table = ferry_read_options();
    return i == 0;
}

static bool stream_settings(int64_t i, cli_settings *out)
{
    out->title = "Settings of a stream (--set KEY=VALUE)";
    out->table = ferry_stream_options();
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
    out->table = ferry_fetch_options();
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
    {"run", "TASK...", "compare methods on a task, or on several",
     "Reads a task file and the data it names, runs its methods (all that fit when it "
     "names "
     "none) on every repeat, and prints a table. The folder of the results gets "
     "results.json and the predictions of the first repeat. --set changes the task for "
     "this "
     "run, as in --set evaluate.repeats=3, --set methods.svm.C=10 or --set "
     "domains.target.labelled=20. Each transfer method is judged: is it better or "
     "worse than the best method without transfer, for new data of this kind, and is that "
     "the source? Controls keep everything but the knowledge, such as a source with "
     "shuffled labels. The folder appears when it is complete; until then what is done is in "
     "DIR.part. After Ctrl-C or SIGTERM the repeats that were complete are kept, and --resume "
     "goes on, as after a crash. Several task files, or a folder with some, end with a summary: "
     "wins, ties and losses against each task's best baseline, mean ranks with their "
     "critical difference, and how often each verdict was given; -o is then the folder for "
     "the folders of all tasks.",
     1, 1000, WORDS_FILE, OPTIONS(run_options), run_settings, true, cli_run},
    {"advise", "TASK", "say what fits a task before it is run",
     "Which methods fit and why the others do not, how long a fit takes and how much "
     "memory "
     "(measured for up to a second each, else reckoned from how far it came), and how far "
     "the domains are from the target: A-distance, complexity, shared features, ids and "
     "labels.",
     1, 1, WORDS_FILE, OPTIONS(advise_options), NULL, true, cli_advise},
    {"rerun", "DIR", "run again what a folder of results came from",
     "Takes task, options, seed, threads and engine from the run.json in the folder, "
     "checks "
     "that the data is what it was, runs, and says whether every number came out again. "
     "Exit code 1 when one did not.",
     1, 1, WORDS_FOLDER, OPTIONS(rerun_options), NULL, true, cli_rerun},
    {"explain", "DIR [METHOD]", "say what the table of a run leaves out",
     "Reads the results in a folder. Of all methods: the verdict on each in words, which "
     "methods have no result and why, and their notes. With a method: every metric, the "
     "comparison with the best baseline, the controls, its settings and what its fit told.",
     1, 2, WORDS_FOLDER, OPTIONS(explain_options), NULL, false, cli_explain},
    {"table", "DIR", "the table of a run as CSV, Markdown or LaTeX",
     "Reads the results in a folder and prints the table again, for a spreadsheet or a "
     "paper.",
     1, 1, WORDS_FOLDER, OPTIONS(table_options), NULL, false, cli_results_table},
    {"report", "DIR...", "one page about the results in folders",
     "Makes report.html from the results.json and run.json of each folder: verdicts, "
     "plots, "
     "tables that sort, the data behind each plot, and the command that makes every number "
     "again. Several folders are compared side by side. The page needs no network.",
     1, 1000, WORDS_FOLDER, OPTIONS(report_options), NULL, false, cli_report},
    {"fit", "TASK -m METHOD|--guard -o MODEL", "learn a model from a task and save it",
     "Learns from every label the task lets a method see: all labels of the sources, and "
     "of "
     "the target those that labelled: draws in the first repeat under the task's seed. The "
     "model is thus the one whose predictions ferry run saves. To learn from all target "
     "labels give --set domains.NAME.labelled=1.0. With --guard instead of -m the "
     "method is the one that the guard takes among those of the task, which it explains.",
     1, 1, WORDS_FILE, OPTIONS(fit_options), NULL, true, cli_fit},
    {"predict", "MODEL [DATA...]", "predict with a saved model",
     "DATA is a file like the target's, or VIEW=FILE for each view of a model that has "
     "several; GRAPH=EDGES joins the instances with each other and with labelled ones that "
     "the model knows. Files are read with the settings of the task unless changed here. "
     "Features are matched by name where both sides have names, else by number. For a "
     "model of "
     "ratings DATA has the users and items to rate, one pair a line; with --top N it has "
     "users, one a line, and the answer is their N best items. --known FILE has ratings of "
     "users and items that the model has not seen: they are placed by these without "
     "learning anew.",
     1, 64, WORDS_FILE, OPTIONS(predict_options), read_settings, true, cli_predict},
    {"select", "TASK", "rank the bridges: which intermediate domain to go by",
     "Tries every way from the sources to the target: each intermediate domain, none, "
     "chains of the best. It fits ttl by each and asks how well the labels that the target "
     "gets repeat, on halves of the features and of the instances. No label of the target "
     "is needed; those that the task shows help to rank. Below its floor it says that it "
     "cannot tell; otherwise it recommends the bridges to use and prints their lines of "
     "the task file. --by paper ranks by the model of the paper: what helps is learned from "
     "triples of the task's domains besides the target; -o keeps what was learned, "
     "--selector uses it again on other tasks.",
     1, 1, WORDS_FILE, OPTIONS(select_options), select_settings, true, cli_select},
    {"stream", "MODEL --state DIR", "answer and learn line by line, losing nothing",
     "Reads one line after the other from standard input and answers each with one line of "
     "JSON on standard output. {\"id\": ..., \"x\": [...]} asks for a prediction, {\"id\": "
     "..., \"y\": ...} gives the label of one asked before, both together predict first "
     "and "
     "then learn. An answer that has a seq says that its record is kept: it survives kill "
     "-9 "
     "under any --sync, and a power cut under always and batch. batch syncs after 64 "
     "lines, "
     "50 ms, or when the input pauses. Started again with the same MODEL and DIR it goes "
     "on "
     "with the same bits. A line that is wrong gets {\"error\": ..., \"line\": N} and "
     "changes "
     "nothing. Ctrl-C and SIGTERM end it with a snapshot, DIR/snapshot.ferry, which is a "
     "model like any other.",
     1, 1, WORDS_FILE, OPTIONS(stream_options), stream_settings, true, cli_stream},
    {"serve", "MODELS", "answer and learn over HTTP",
     "MODELS is a model file or a folder of them (NAME.ferry, or NAME/VERSION.ferry, of "
     "which the highest number serves and a new one is taken over without a lost request). "
     "POST /predict and /learn take JSON or one object a line as ferry stream does; the "
     "Open Inference Protocol (/v2) and MLflow's /invocations work with their clients; "
     "GET / is a page with live numbers, /metrics is for Prometheus, /openapi.json lists "
     "everything. A label that was acknowledged survives kill -9 as in ferry stream. "
     "Without --tls-cert it listens on this machine alone. Ctrl-C and SIGTERM finish the "
     "requests that came; SIGHUP looks for new models and tokens.",
     1, 1, WORDS_FILE, OPTIONS(serve_options), serve_settings, true, cli_serve},
    {"methods", "[NAME]", "list the methods, or describe one",
     "With a name: what the method needs, where it comes from, and its options with their "
     "defaults and ranges.",
     0, 1, WORDS_METHOD, OPTIONS(methods_options), NULL, false, cli_methods},
    {"inspect", "FILE...", "say what is in a data file",
     "Says the format, shape, density, label counts, missing cells and memory. FILE#NAME "
     "picks a variable or member of a MAT or NPZ file or archive; without NAME those are "
     "listed. Of a model (NAME.ferry): its method, goal, classes, views and what its fit told.",
     1, 10000, WORDS_FILE, OPTIONS(inspect_options), read_settings, false, cli_inspect},
    {"convert", "IN OUT", "write a data file in another format",
     "Ids, feature names and labels go along where the output format can hold them. IN may "
     "also be TASK.yaml#DOMAIN (or TASK.yaml#DOMAIN.VIEW): what a task makes of its files.",
     2, 2, WORDS_FILE, OPTIONS(convert_options), read_settings, false, cli_convert},
    {"gen", "[NAME]", "make a synthetic task with known truth",
     "Writes task.yaml and its data into a folder. Without a name the generators are "
     "listed. Of a model (NAME.ferry): its method, goal, classes, views and what its fit told.",
     0, 1, WORDS_GENERATOR, OPTIONS(gen_options), generator_settings, false, cli_gen},
    {"demo", "[NAME]", "make a synthetic task and run every method on it",
     "Makes the task of a generator (default: the first) in a temporary folder, runs every "
     "method that fits it, and says how to read the table.",
     0, 1, WORDS_GENERATOR, OPTIONS(demo_options), generator_settings, true, cli_demo},
    {"fetch", "[NAME]", "download a public data set",
     "Gets the files of a data set into DIR/NAME, checks every one against its SHA-256 sum "
     "and unpacks archives. What is there already is kept, and what broke off is resumed. "
     "Without a name the data sets are listed, with what is known about their licences.",
     0, 1, WORDS_NONE, OPTIONS(fetch_options), fetch_settings, false, cli_fetch},
    {"reproduce", "[NAME]", "run a table or figure of a paper again",
     "Prepares the data (with python3), runs the methods, and prints our numbers beside the "
     "paper's, the protocol, which of the paper's claims held, and a verdict. The folder gets "
     "study.json, the task files and the prepared data, for ferry run. Without a name the "
     "studies are listed, with whether their data is there.",
     0, 1, WORDS_STUDY, OPTIONS(reproduce_options), NULL, true, cli_reproduce},
    {"doctor", "", "describe this installation and what is wrong with it",
     "Prints versions, engines, BLAS kernels, the instruction set of our own, threads and memory. Exit code 1 when there "
     "is "
     "a problem.",
     0, 0, WORDS_NONE, OPTIONS(doctor_options), NULL, true, cli_doctor},
    {"help", "[COMMAND]", "explain a command", "Without a command: an overview.", 0, 1,
     WORDS_COMMAND, OPTIONS(help_options), NULL, false, cli_help},
    {"version", "", "print the version", "The same as ferry --version.", 0, 0, WORDS_NONE,
     OPTIONS(version_options), NULL, false, cli_version},
};
const int64_t cli_n_commands = COUNT(cli_commands);

const cli_line cli_examples[] = {
    {"ferry demo", "a first look: a made-up task and every method that fits it"},
    {"ferry gen bridge --out bridge",
     "write that task into a folder, to look at and change"},
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
                        "take each other's cores"},
    {"OPENBLAS_THREAD_TIMEOUT",
     "2^N cycles for which idle threads of OpenBLAS spin; 10 when "
     "not set, OpenBLAS's own 26 takes the cores from others"},
    {"FERRY_DATA", "folder of the data sets, for ferry reproduce; default: data, then ../shared/data"},
    {"FERRY_LIBEXEC", "folder of ferry-mat73, which reads MAT 7.3 files; found beside the "
                      "library when not set"},
    {"FERRY_STUDIES", "folder with studies/ and prepare/ of your own, for ferry reproduce"},
    {"TMPDIR", "where ferry demo makes its folder; default /tmp"},
};
const int64_t cli_n_environment = COUNT(cli_environment);

const cli_command *cli_command_find(const char *name)
{
    for (int64_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i].name, name) == 0) return &cli_commands[i];
    return NULL;
}
