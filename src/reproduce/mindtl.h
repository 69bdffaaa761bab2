/* The target of the MINDTL study that has to be prepared. */
#ifndef FERRY_REPRODUCE_MINDTL_H
#define FERRY_REPRODUCE_MINDTL_H

#include "reproduce/study.h"

/* Write folder/books.csv: Book-Crossing's explicit ratings (not 0) of users with at least 8
 * for books with at least 3 of those that are kept, mapped from 1..10 to 1..5. */
ferry_status ferry_i_mindtl_books(ferry_ctx *ctx, ferry_lab *lab);

#endif
