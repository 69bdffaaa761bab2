/* The tree that at every node takes the split of largest gain among all thresholds in the middle between two values of
 * the data, the first of equals. A row with c = 0 counts for nothing but the thresholds. */
#ifndef FERRY_TREE_PLAIN_H
#define FERRY_TREE_PLAIN_H

#include "learn/tree.h"

void oracle_tree(scope *s, const tree_options *o, matrix x, bool sparse, block zc,
                 tree *out);

#endif
