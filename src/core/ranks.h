/* Ranks: the processes of one MPI job, and what they send each other.
 *
 * Rank 0 runs the command. The others wait (ferry_ranks_serve); rank 0 calls them to an evaluation or a
 * selection, they load the same task, and then all go through the same code. Where that comes to a pool
 * (pool.h) its jobs are dispatched by rank 0 to whoever is free; what every job left in its slot goes to all
 * (`pack`), so that all stand at the same point with the same bits afterwards. Outside of pools nobody
 * waits for anybody: a rank that is late finds the outcome waiting.
 *
 * MPI itself is behind ferry_transport: libferry_mpi.so (libexec/mpi.c) is the only code that is linked with
 * it, and is loaded when a job of several ranks begins. Only the thread that joined sends and receives.
 *
 * With --engine mpi nothing is dispatched: every rank has its own rows of all data (prepare), all ranks go through
 * the same code at the same time, and meet where numbers are added up over all rows (reduce.c). Before that they have
 * read the task's files together: a rank parses a part of a file, and all get all (data/records.h). */
#ifndef FERRY_RANKS_H
#define FERRY_RANKS_H

#include "core/core.h"

/* What the plugin gives. Functions that return int: 0 is fine. Nothing waits by spinning. */
typedef struct ferry_transport {
    const char *version; /* FERRY_VERSION that it was built with */
    /* neighbours: ranks on this machine, with this one; name: of the MPI library */
    int (*open)(int *rank, int *size, int *neighbours, char *name, int capacity);
    int (*send)(int to, int tag, const void *data, int64_t n);
    /* 1: a message is there, -1: broken. It must be taken before the next call; n: its bytes. What *from and
     * *tag say before the call is what is looked for; -1: any. */
    int (*poll)(int *from, int *tag, int64_t *n);
    int (*take)(void *to);
    /* Between two looks of the same wait, the turn-th time: until a message may have come, for a millisecond at most. NULL: a
     * nap will do. */
    void (*rest)(int64_t turn);
    void (*close)(void);
} ferry_transport;
#define FERRY_TRANSPORT "ferry_mpi_transport" /* the symbol */

/* ---- buffers ---- */

/* Bytes on their way. One function packs and unpacks: `writing` says which way each value goes. What does
 * not fit or finds no memory sets `failed`: check it once at the end. Same program, same machine type:
 * values are sent as they are in memory. */
typedef struct ferry_buffer {
    uint8_t *at;
    int64_t n, cap, pos;
    bool writing, failed;
} ferry_buffer;
void ferry_i_buffer_bytes(ferry_buffer *p, void *x, int64_t n);
#define FERRY_PACK(p, x) ferry_i_buffer_bytes((p), &(x), (int64_t)sizeof(x))
/* An array of *n items, or NULL; reading makes a new one, which is the caller's. */
void ferry_i_buffer_array(ferry_buffer *p, void **x, int64_t *n, size_t size);
/* The same where the length is known: an array of another length fails. */
void ferry_i_buffer_known(ferry_buffer *p, void **x, int64_t n, size_t size);
void ferry_i_buffer_text(ferry_buffer *p, char **text);
void ferry_i_buffer_lines(ferry_buffer *p, ferry_later *lines);
void ferry_i_buffer_free(ferry_buffer *p);

/* ---- the job ---- */

typedef enum ferry_tag {
    RANK_HELLO = 1, /* who I am; answered by a sentence, "" for welcome */
    RANK_CALL,      /* 0 to all: take part in this */
    RANK_READY,     /* status and sentence */
    RANK_OVER,      /* 0 to all: the call is over */
    RANK_QUIT,      /* 0 to all: the end */
    RANK_BYE,
    RANK_WANT, /* to 0: a worker is free */
    RANK_JOB,  /* its answer */
    RANK_DONE, /* to 0: what the job left */
    RANK_STOP, /* 0 to all: finish, cancel, or leave what comes after a failure */
    RANK_END,  /* 0 to all: the outcome of the pool */
    /* while rows are spread (reduce.c); they have the number of the section, see ferry_i_ranks_agree() */
    RANK_DATA, /* numbers on their way up or down the tree */
    RANK_FAIL, /* to 0: status and sentence of a rank that failed, or has heard of one */
    RANK_HALT, /* 0 to all: somebody has failed */
    RANK_GO,   /* 0 to all: how it ended for all */
    RANK_TAGS
} ferry_tag;

struct ferry_ranks {
    const ferry_transport *t;
    int rank, size;
    char **host;  /* rank 0: of every rank */
    int calls;    /* calls that are under way, one in another */
    bool over;    /* rank 0 left the call before its end */
    int64_t pool; /* number of the pool that all are in */
    /* rows over ranks (reduce.c) */
    bool rows; /* each rank has its own rows, and all go through the same code together */
    bool reading;        /* all read a task's files together: `rows` while one is open */
    int64_t section;     /* number of what all are in: a fit, a prediction */
    ferry_status broken; /* the section cannot go on; OK: it can */
    bool heard;          /* ... as another rank has said */
    int left;            /* rank 0: ranks that have sent FAIL in this section */
    ferry_status verdict;
    char why[1024];
    int64_t sent; /* bytes of RANK_DATA */
};

/* Join; `about` is what must be the same for the same bits (a difference is warned of), and *share this
 * rank's part of its machine's cores. Everybody fails when the versions differ. */
ferry_status ferry_i_ranks_join(ferry_ctx *ctx, const char *about, int *share);
void ferry_i_ranks_free(struct ferry_ranks *r); /* also leaves; NULL is fine */
/* Whether a pool is dispatched to ranks now. */
bool ferry_i_ranks_dispatching(const ferry_ctx *ctx);

/* Send a buffer, to all others with to = -1. */
ferry_status ferry_i_ranks_send(ferry_ctx *ctx, int to, ferry_tag tag,
                                const ferry_buffer *p);
/* A message if there is one (*there), to be freed. */
ferry_status ferry_i_ranks_poll(ferry_ctx *ctx, bool *there, int *from, ferry_tag *tag,
                                ferry_buffer *p);
/* Wait for one of that tag; others are dropped. FERRY_ECANCELLED when the progress callback says so. */
ferry_status ferry_i_ranks_wait(ferry_ctx *ctx, ferry_tag tag, int *from, ferry_buffer *p);
void ferry_i_ranks_rest(void); /* a millisecond */

/* Rank 0: call the others (task/call.c knows to what), and hear that all are ready; then pools are dispatched
 * until the end. */
ferry_status ferry_i_ranks_begin(ferry_ctx *ctx, ferry_buffer *call);
void ferry_i_ranks_end(ferry_ctx *ctx);

/* ---- rows over ranks (reduce.c): all ranks make the same calls in the same order ---- */

/* Whether rows are spread over ranks now. Without that all of these do nothing, and every part is the whole. */
bool ferry_i_ranks_split(const ferry_ctx *ctx);
/* From here to the end of the call. */
void ferry_i_ranks_spread(ferry_ctx *ctx);
/* All ranks read the same files from here on; the end is that of a section, see ferry_i_ranks_agree(). Between the two large
 * arrays are maps of files (spill.c), since every rank gets them whole. */
void ferry_i_ranks_read(ferry_ctx *ctx);
ferry_status ferry_i_ranks_read_end(ferry_ctx *ctx, ferry_status st);
/* While files are read together: one of them begins, or ends. Rows are spread in between alone, since what a task file does
 * with its data otherwise is done by every rank on all rows. */
void ferry_i_ranks_file(ferry_ctx *ctx, bool begins);
/* FERRY_EDATA on ranks that have other bytes than rank 0 under this name. */
ferry_status ferry_i_ranks_same(ferry_ctx *ctx, const char *name, const void *bytes,
                                int64_t n);
/* Which of n things in a row are this rank's: [from, to). */
void ferry_i_ranks_part(const ferry_ctx *ctx, int64_t n, int64_t *from, int64_t *to);
/* ... and those of all: [cut[i], cut[i + 1]) are rank i's. While rows are spread alone. */
void ferry_i_ranks_cuts(const ferry_ctx *ctx, int64_t n, int64_t *cut);
/* x <- the sum (the largest) of all ranks' x: added up in a tree to rank 0 and sent back from there, so that no two
 * ranks differ by a bit. 16 (size - 1) bytes a number are sent in all. After a failure, of whichever rank, it does
 * nothing and says so again and again until ferry_i_ranks_agree(): who cannot fail need not look. */
ferry_status ferry_i_ranks_sum(ferry_ctx *ctx, int64_t n, double *x);
ferry_status ferry_i_ranks_most(ferry_ctx *ctx, int64_t n, double *x);
ferry_status ferry_i_ranks_count(ferry_ctx *ctx,
                                 int64_t *n); /* the sum of one whole number */
/* *before <- the sum of n over the ranks before this one. */
ferry_status ferry_i_ranks_before(ferry_ctx *ctx, int64_t n, int64_t *before);
/* Every rank has set its part of n items; all get all. */
ferry_status ferry_i_ranks_gather(ferry_ctx *ctx, int64_t n, size_t size, void *items);
/* The same where every rank has some number of them: *out (new) <- all ranks' one after the other, *all of them, of
 * which this rank's begin at *from. Without ranks a copy. */
ferry_status ferry_i_ranks_collect(ferry_ctx *ctx, int64_t n, size_t size, const void *mine,
                                   int64_t *from, int64_t *all, void **out);
/* What rank 0 has, for all. */
ferry_status ferry_i_ranks_broadcast(ferry_ctx *ctx, void *x, int64_t bytes);
/* out[i], of n_out[i] bytes, goes to rank i; in[i] has space for the n_in[i] that come from there. While rows are spread
 * alone. */
ferry_status ferry_i_ranks_trade(ferry_ctx *ctx, const void *const *out,
                                 const int64_t *n_out, void *const *in,
                                 const int64_t *n_in);
/* Items [cut[i], cut[i + 1]) are rank i's; all get all. (size - 1) times their bytes are sent. */
ferry_status ferry_i_ranks_share(ferry_ctx *ctx, const int64_t *cut, size_t size,
                                 void *items);
/* The end of a section: whatever befell one rank is what befell all, status and message. */
ferry_status ferry_i_ranks_agree(ferry_ctx *ctx, ferry_status st);
/* All but rank 0: the call ended here with st; if that is a failure nobody may wait for us. */
void ferry_i_ranks_leave_rows(ferry_ctx *ctx, ferry_status st);

#endif
