/* Saving and loading the model of ratings.
 * Users and items are lists of ids, the model's arrays one tensor each, "fold" the
 * numbers that folding in needs. Nothing in the file says which method made it: the form
 * is one for all of them. */
#include "methods/shared/near.h"

/* Of users or items in a codebook: far beyond any use, and k * l still fits 64 bits. */
enum { MOST_GROUPS = 1000000 };

/* What each user rated: places ascend, items exist. After these checks
 * item[start[i] .. start[i + 1]) is safe for every user. */
static void rated_file(ferry_io *io, rating_model *m)
{
    const int64_t users = m->p->rows;
    int64_t n = io->to ? m->start[users] : -1;
    bool fine = true;

    ferry_i_io_ints(io, "rated.start", users + 1, m->start);
    /* as long as the ratings: lent to the dict, which is gone before the model */
    if (io->to && io->st == FERRY_OK)
        io->st = ferry_i_dict_lend_ints(io->ctx, io->to, "rated.item", n, m->item);
    else
        ferry_i_io_int_list(io, "rated.item", &n, &m->item);
    if (!ferry_i_io_loading(io)) return;
    fine = m->start[0] == 0 && m->start[users] == n;
    for (int64_t i = 0; fine && i < users; i++)
        fine = m->start[i] <= m->start[i + 1];
    for (int64_t e = 0; fine && e < n; e++)
        fine = m->item[e] >= 0 && m->item[e] < m->q->rows;
    FERRY_IO_NEED(io, fine,
                  "tensors rated.start and rated.item: expected what each of %lld users "
                  "rated of %lld items",
                  (long long)users, (long long)m->q->rows);
}

/* Loading: room for parts of these shapes, all k, then all l. The l add up to the columns of
 * p and q. */
static ferry_status make_parts(ferry_ctx *ctx, int64_t n, const int64_t *shape, bool soft,
                               rating_model *m)
{
    ferry_status st = FERRY_OK;
    int64_t rank = 0;
    bool fine = n % 2 == 0;

    for (int64_t s = 0; fine && s < n / 2; s++) {
        const int64_t k = shape[s], l = shape[n / 2 + s];
        fine = k > 0 && k <= MOST_GROUPS && l > 0 && l <= MOST_GROUPS;
        if (fine) rank += l;
    }
    FERRY_NEED(ctx, fine && (n == 0 || rank == m->rank), FERRY_EDATA,
               "tensor parts: expected groups of users and items for %lld columns",
               (long long)m->rank);
    if (n > 0)
        FERRY_TRY(ferry_i_rating_model_parts(ctx, m, n / 2, shape, shape + n / 2, soft));
done:
    return st;
}

/* "parts" has the shapes, "part.S" R and the shares of the groups behind it. Soft groups
 * have a variance above 0, hard ones none. */
static void parts_file(ferry_io *io, rating_model *m)
{
    const bool soft = ferry_i_io_has(io, "pu", m->pu != NULL);
    int64_t *shape = NULL, n = io->to ? 2 * m->parts : -1;

    if (io->to) FERRY_IO_NEW(io, shape, n);
    for (int64_t s = 0; shape && s < m->parts; s++) {
        shape[s] = m->part[s].k;
        shape[m->parts + s] = m->part[s].l;
    }
    ferry_i_io_int_list(io, "parts", &n, &shape);
    if (ferry_i_io_loading(io)) ferry_i_io_fail(io, make_parts(io->ctx, n, shape, soft, m));
    for (int64_t s = 0; s < m->parts && io->st == FERRY_OK; s++) {
        rating_part *t = &m->part[s];
        double numbers[] = {t->weight, t->sigma2};
        ferry_i_io_numbers(io, ferry_i_io_name(io, "part.%lld", (long long)s),
                           t->k * t->l + t->k + t->l, t->r);
        ferry_i_io_numbers(io, ferry_i_io_name(io, "part.%lld.weight", (long long)s), 2,
                           numbers);
        FERRY_IO_NEED(io, soft ? numbers[1] > 0 : numbers[1] == 0,
                      "tensor %s: a variance of %g", io->name, numbers[1]);
        if (ferry_i_io_loading(io)) {
            t->weight = numbers[0];
            t->sigma2 = numbers[1];
        }
    }
    if (m->pu && io->st == FERRY_OK) {
        double *pu = m->pu->data;
        ferry_i_io_reals(io, "pu", m->pu->rows, m->pu->k, &pu);
    }
    ferry_i_free(shape);
}

/* Users, items and the rank, which "p0" tells: everything else is as large as that. */
static void sizes_file(ferry_io *io, rating_model *m)
{
    ferry_ids *users = m->users, *items = m->items;
    const double *unused = NULL;
    int64_t one = 1, rank = -1;

    if (ferry_i_io_loading(io))
        io->st = ferry_i_dict_reals(io->ctx, io->from, "p0", &one, &rank, &unused);
    ferry_i_io_ids(io, "users", &users);
    ferry_i_io_ids(io, "items", &items);
    if (io->to) return;
    if (io->st == FERRY_OK) {
        io->st = ferry_i_rating_model_fill(io->ctx, users, items, rank, m);
    } else {
        ferry_i_ids_free(users);
        ferry_i_ids_free(items);
    }
}

/* p and q have users x rank and items x rank numbers; rank may be 0. */
void ferry_i_rating_file(ferry_io *io, void *state)
{
    rating_model *m = state;
    double scale[] = {m->mu, m->lo, m->hi};
    double fold[] = {m->shrink_a, m->shrink_b, m->ridge, m->weighted};

    ferry_i_io_numbers(io, "scale", 3, scale);
    FERRY_IO_NEED(io, scale[1] <= scale[2], "tensor scale: ratings from %g to %g", scale[1],
                  scale[2]);
    sizes_file(io, m);
    if (io->st != FERRY_OK) return;
    ferry_i_io_numbers(io, "a", m->p->rows, m->a);
    ferry_i_io_numbers(io, "b", m->q->rows, m->b);
    ferry_i_io_numbers(io, "p0", m->rank, m->p0);
    ferry_i_io_numbers(io, "q0", m->rank, m->q0);
    ferry_i_io_reals(io, "p", m->p->rows, m->rank, &m->p->data);
    ferry_i_io_reals(io, "q", m->q->rows, m->rank, &m->q->data);
    ferry_i_io_numbers(io, "fold", 4, fold);
    if (ferry_i_io_loading(io)) {
        m->mu = scale[0];
        m->lo = scale[1];
        m->hi = scale[2];
        m->shrink_a = fold[0];
        m->shrink_b = fold[1];
        m->ridge = fold[2];
        m->weighted = fold[3] != 0;
    }
    rated_file(io, m);
    if (io->st == FERRY_OK) parts_file(io, m);
    if (io->st == FERRY_OK && ferry_i_io_has(io, "near", m->near != NULL))
        ferry_i_near_file(io, m->p->rows, m->q->rows, &m->near);
}
