/* What the HetOMTL-CDSPP studies share: the streams of Office-Caltech that the data at hand
 * allows, and their task files. */
#ifndef FERRY_REPRODUCE_HETOMTL_H
#define FERRY_REPRODUCE_HETOMTL_H

#include "reproduce/study.h"

/* Features and labels of one domain, below the data folder. */
typedef struct hetomtl_part {
    const char *file, *x, *y;
} hetomtl_part;

typedef struct hetomtl_stream {
    const char *name; /* "SURF -> DeCAF6 W" */
    const char *file; /* of the task */
    const hetomtl_part *source;
    int64_t n_sources;
    const hetomtl_part *target;
    int64_t rounds; /* rows of the target after 3 of each of its classes */
} hetomtl_stream;

enum {
    HETOMTL_SURF_TO_W, /* DeCAF6 */
    HETOMTL_SURF_TO_D,
    HETOMTL_DECAF_TO_A, /* SURF */
    HETOMTL_DECAF_TO_W,
    HETOMTL_DECAF_TO_D,
    HETOMTL_DECAF_TO_C,
    HETOMTL_OF_PAPER,                      /* those before are tasks of the paper */
    HETOMTL_SURF_TO_GA = HETOMTL_OF_PAPER, /* GoogLeNet, not in the paper */
    HETOMTL_SURF_TO_GW,
    HETOMTL_NUS,     /* words -> pictures, 10 classes */
    HETOMTL_REUTERS, /* four views -> the fifth, 6 classes */
    HETOMTL_STREAMS
};
extern const hetomtl_stream ferry_i_hetomtl_streams[HETOMTL_STREAMS];

#define HETOMTL_PAPER                                                                      \
    "Jiang, Wu, Chen and Qu, Heterogeneous Online Multi-Source Transfer Learning with "    \
    "Cross-Domain "                                                                        \
    "Structure Preserving Projection, Acta Electronica Sinica 2023"
#define HETOMTL_NEEDS                                                                      \
    "office_caltech10/surf/amazon_SURF_L10.mat\n"                                          \
    "office_caltech10/surf/webcam_SURF_L10.mat\n"                                          \
    "office_caltech10/surf/dslr_SURF_L10.mat\n"                                            \
    "office_caltech10/surf/Caltech10_SURF_L10.mat\n"                                       \
    "office_caltech10/decaf6/cdls_amazon_DeCAF_dslr_SURF.mat\n"                            \
    "office_caltech10/decaf6/webcam_decaf.mat\n"                                           \
    "office_caltech10/decaf6/dslr_decaf.mat"
#define HETOMTL_NEEDS_OTHERS                                                               \
    "\noffice_caltech10/googlenet1024/amazon.mat"                                          \
    "\noffice_caltech10/googlenet1024/webcam.mat"                                          \
    "\nnuswide_text_image/multiclass_all_data.mat"                                         \
    "\nreuters_1200_5view/Reuters.mat"
#define HETOMTL_DRAWS                                                                      \
    "As in the paper: 20 labelled rows of each class from each source (DSLR has fewer of " \
    "some), 3 of each class of the target offline, the rest of the target in a random "    \
    "order, all drawn anew in each repeat; C = 1 and betas from the length of the "        \
    "stream unless they are what varies; our corrections of its misprints. "

/* Write the task of a stream. methods: its entries in YAML, a line each. */
ferry_status ferry_i_hetomtl_task(ferry_ctx *ctx, ferry_lab *lab, const hetomtl_stream *s,
                                  const char *methods, int64_t repeats);
/* Write and run it. */
ferry_status ferry_i_hetomtl_run(ferry_ctx *ctx, ferry_lab *lab, const hetomtl_stream *s,
                                 const char *methods, int64_t repeats);

#endif
