/* Links: which views of which domains are the same thing, so that a column means the same
 * in both. Everything that lines features up, scales them together or takes weights from
 * one domain to another asks here and nowhere else.
 *
 * Views of two domains are the same thing
 *   (1) if both names were chosen (written in the task file, or given by a program) and are
 *       equal;
 *   (2) else if both have names of features and at least half of the smaller set occurs in
 *       the other;
 *   (3) else, where neither has such names, if they are equally wide and only one pairing
 *       is possible. That is a guess and is said as a warning. Names of views that were
 *       both chosen and differ speak against it.
 * same_as: DOMAIN.VIEW | none on a view overrules all three. Names of features that are
 * numbers from 1 or 0 are none. A view that nobody named (x: in a task file) is never another
 * one because of its name.
 *
 * Views that are linked form groups, at most one view of a domain in each: what would put
 * two views of a domain together is not done, the better evidence first. */
#ifndef FERRY_LINKS_H
#define FERRY_LINKS_H

#include "core/scope.h"
#include "data/data.h"

/* What a link was made for, the strongest first. */
typedef enum ferry_link_by {
    FERRY_BY_SAME_AS,
    FERRY_BY_NAME,
    FERRY_BY_FEATURES,
    FERRY_BY_WIDTH,
    FERRY_BY_NOTHING
} ferry_link_by;

/* View `view` of domain `domain` is view to_view of to_domain, an earlier one. */
typedef struct ferry_link {
    int64_t domain, view, to_domain, to_view;
    ferry_link_by by;
    int64_t columns; /* that they share */
} ferry_link;

typedef struct ferry_links {
    int64_t n;                   /* domains */
    const ferry_domain **domain; /* borrowed */
    int64_t n_groups;
    int32_t **group; /* [domain][view]: its group. Those of the last domain's views come
                        first, in their order, then new ones of the domain before it, ... */
    int64_t n_links; /* those that were made, the strongest first */
    ferry_link *link;
    const char *text;  /* "bridge.x = source.x by 60 feature names; ...", for people; may be
                        empty */
    const char *apart; /* why views of one name are not the same thing; may be empty */
} ferry_links;

/* For n domains; the target should be the last (its views become groups 0, 1, ...). The
 * domains are borrowed. Cost: one look-up for each feature name and each pair of views. */
ferry_links *links_find(scope *s, int64_t n, const ferry_domain *const *domain);
/* Once in a context: links by width, which nothing in the data supports. */
void links_warn(scope *s, const ferry_links *l);
/* The view of domain d in group g, or NULL. */
const ferry_view *links_view(const ferry_links *l, int64_t d, int64_t g);

#endif
