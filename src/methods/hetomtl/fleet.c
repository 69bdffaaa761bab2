/* The fleet at work (fleet.h): scores, the mixer, a label. */
#include "methods/hetomtl/fleet.h"

#include <math.h>
#include <string.h>

const char *const ferry_i_fleet_names[FLEET] = {"ur", "sr", "qr", "s", "ncm", "pavg"};
static const int map_of[FLEET_RIDGES] = {0, 1, 2, 1};

/* ---- scores ---- */

double ferry_i_fleet_kernel(const fleet *f, int e, double product, double one, double other)
{
    if (e == FLEET_S) return product + 0.1;
    return exp(-fmax(one + other - 2 * product, 0) / f->h[e]);
}

void ferry_i_fleet_unit(int64_t k, double *f)
{
    double mean = 0, norm = 0;

    for (int64_t c = 0; c < k; c++)
        mean += f[c] / (double)k;
    for (int64_t c = 0; c < k; c++) {
        f[c] -= mean;
        norm += f[c] * f[c];
    }
    norm = sqrt(norm);
    for (int64_t c = 0; c < k; c++)
        f[c] = norm > 1e-12 ? f[c] / norm : 0;
}

/* Kernels of the room's row to the basis, and what the ridges say: room->l, room->f; and how
 * near the newest rows are. */
static void ask_ridges(const fleet *f, fleet_room *room)
{
    ferry_i_fleet_ask_for(f, &room->row, room);
    ferry_i_fleet_products(f, &room->row, room, f->n, f->basis, f->m, room->gram);
    ferry_i_fleet_near(f, room, f->n_ring, f->ring, room->near);
    ferry_i_fleet_asked(f, &room->row, room);
    for (int e = 0; e < FLEET_RIDGES; e++) {
        const int i = map_of[e];
        double *l = room->l + e * f->m;
        for (int64_t j = 0; j < f->n; j++)
            l[j] = ferry_i_fleet_kernel(f, e, room->gram[i * f->m + j], room->row.one[i],
                                        f->basis[j]->one[i]);
        ferry_i_kridge_scores(&f->ridge[e], l, l, room->f + e * f->k);
    }
}

/* u (or s) of a row as doubles. */
static ferry_row wide_row(const fleet_row *r, bool u, double *value)
{
    for (int64_t e = 0; e < r->n; e++) {
        const double s = (double)r->s[e];
        value[e] = u ? r->u * s * fabs(s) : s;
    }
    return (ferry_row){r->n, r->index, value};
}

/* room->f <- all experts' scores of the room's row, centred and of unit length. */
void ferry_i_fleet_ask(const fleet *f, fleet_room *room)
{
    const int64_t k = f->k;
    double *ncm = room->f + FLEET_NCM * k, *pavg = room->f + FLEET_PAVG * k;

    ask_ridges(f, room);
    const ferry_row u = wide_row(&room->row, true, room->value);
    const ferry_row s = wide_row(&room->row, false, room->value + f->d);
    ferry_i_row_scores(k, f->d, f->sum, &s, ncm);
    for (int64_t c = 0; c < k; c++)
        ncm[c] = f->length[c] > 1e-12 ? ncm[c] / f->length[c] : 0;
    ferry_i_pa_scores(f->pa, &u, pavg);
    ferry_i_pa_average(f->pa, &u, pavg);
    for (int e = 0; e < FLEET; e++)
        ferry_i_fleet_unit(k, room->f + e * k);
}

static void mixture(const fleet *f, const double *scores, double *total)
{
    memset(total, 0, (size_t)f->k * sizeof *total);
    for (int e = 0; e < FLEET; e++)
        for (int64_t c = 0; c < f->k; c++)
            total[c] += f->w[e] * scores[e * f->k + c];
}

void ferry_i_fleet_look(const fleet *f, const ferry_row *x, fleet_room *room, double *total)
{
    const ferry_row raw = ferry_i_online_row(&f->in, x, &room->raw);

    if (f->k == 0) return;
    ferry_i_fleet_map(f, &raw, room);
    ferry_i_fleet_ask(f, room);
    mixture(f, room->f, total);
}

/* What the sentinel says of the room's row; -1: nothing yet. */
static int32_t sentinel_says(const fleet *f, const fleet_room *room)
{
    double kernel[FLEET_NEW], best = 0;
    int32_t says = -1;

    for (int64_t i = 0; i < f->n_ring; i++)
        kernel[i] = ferry_i_fleet_kernel(f, FLEET_SR, room->near[i], 1, 1);
    for (int64_t c = 0; c < f->k && f->n_ring > 0; c++) {
        double sum = 0;
        for (int64_t i = 0; i < f->n_ring; i++)
            sum += kernel[i] * f->alpha[c * FLEET_NEW + i];
        if (says < 0 || sum > best) {
            best = sum;
            says = (int32_t)c;
        }
    }
    return says;
}

/* ---- a row is seen ---- */

/* Votes: what the mixture and the sentinel said, of how many classes, and the experts'
 * scores as floats, as long as there is room for the classes. */
static void note(const fleet *f, const fleet_room *room, const double *total,
                 int32_t *votes)
{
    const int64_t most = (f->votes - 3) / FLEET;

    memset(votes, 0, (size_t)f->votes * sizeof *votes); /* all of them go into a log */
    votes[0] = ferry_i_argmax(f->k, total);
    votes[1] = sentinel_says(f, room);
    votes[2] = f->k <= most ? (int32_t)f->k : -1;
    for (int e = 0; e < FLEET && votes[2] > 0; e++)
        for (int64_t c = 0; c < f->k; c++) {
            const float v = (float)room->f[e * f->k + c];
            memcpy(&votes[3 + e * most + c], &v, sizeof v);
        }
}

/* The scores that were noted, FLEET x k; classes that came later have none. */
static void noted(const fleet *f, const int32_t *votes, double *scores)
{
    const int64_t most = (f->votes - 3) / FLEET;

    for (int e = 0; e < FLEET; e++)
        for (int64_t c = 0; c < f->k; c++) {
            float v = 0;
            if (c < votes[2]) memcpy(&v, &votes[3 + e * most + c], sizeof v);
            scores[e * f->k + c] = (double)v;
        }
}

ferry_status ferry_i_fleet_see(ferry_ctx *ctx, fleet *f, const ferry_row *x, int64_t k,
                               double *score, int32_t *votes)
{
    ferry_status st = FERRY_OK;
    fleet_room *room = &f->room;

    FERRY_TRY(ferry_i_online_check(ctx, x, f->d, k, f->k));
    memset(score, 0, (size_t)k * sizeof *score);
    ferry_i_fleet_look(f, x, room, score);
    if (votes) note(f, room, score, votes);
    if (f->k == 0) { /* look() had nothing to do */
        const ferry_row raw = ferry_i_online_row(&f->in, x, &room->raw);
        ferry_i_fleet_map(f, &raw, room);
    }
    ferry_i_fleet_watch(f, &room->row, room->value);
    room->valid = !f->sparse && !x->index && f->k > 0;
    if (room->valid) memcpy(room->last, x->value, (size_t)f->d * sizeof *room->last);
done:
    return st;
}

/* ---- a label ---- */

void ferry_i_fleet_mix(fleet *f, const double *scores, int32_t y)
{
    const int64_t k = f->k;
    double mean[FLEET] = {0}, g[FLEET], factor[FLEET * FLEET], sum = 0;
    double *p = f->warm + FLEET * k; /* softmax(w'F) */

    mixture(f, scores, p);
    const double most = p[ferry_i_argmax(k, p)];
    for (int64_t c = 0; c < k; c++)
        sum += p[c] = exp(p[c] - most);
    for (int64_t c = 0; c < k; c++) {
        p[c] /= sum;
        for (int e = 0; e < FLEET; e++)
            mean[e] += p[c] * scores[e * k + c];
    }
    for (int i = 0; i < FLEET; i++) {
        g[i] = mean[i] - scores[i * k + y];
        for (int j = 0; j < FLEET; j++) {
            double *h = &f->hess[i * FLEET + j];
            *h = 0.99 * *h + (i == j ? 0.01 : 0);
            for (int64_t c = 0; c < k; c++)
                *h += p[c] * (scores[i * k + c] - mean[i]) * (scores[j * k + c] - mean[j]);
        }
    }
    memcpy(factor, f->hess, sizeof factor);
    ferry_i_lower_cholesky(FLEET, FLEET, factor);
    ferry_i_lower_systems(FLEET, FLEET, factor, 1, FLEET, g);
    ferry_i_lower_solve_t(FLEET, FLEET, factor, g);
    for (int e = 0; e < FLEET; e++)
        f->w[e] = fmax(f->w[e] - g[e], 0);
}

void ferry_i_fleet_length(fleet *f, int64_t c)
{
    const ferry_row sum = {f->d, NULL, f->sum + c * f->d};

    f->length[c] = sqrt(ferry_i_row_norm2(&sum));
}

void ferry_i_fleet_linear(fleet *f, const fleet_row *r, double *value, int32_t y)
{
    for (int64_t e = 0; e < r->n; e++)
        f->sum[y * f->d + (r->index ? r->index[e] : e)] += (double)r->s[e];
    ferry_i_fleet_length(f, y);
    const ferry_row u = wide_row(r, true, value);
    ferry_i_pa_scores(f->pa, &u, f->room.f);
    (void)ferry_i_pa_learn(f->pa, &u, ferry_i_row_norm2(&u), y, f->room.f);
}

void ferry_i_fleet_add(fleet *f, const fleet_room *room, fleet_row *row)
{
    for (int e = 0; e < FLEET_RIDGES; e++) {
        const double one = row->one[map_of[e]];
        ferry_i_kridge_learn(&f->ridge[e], room->l + e * f->m, e == FLEET_S ? one + 0.1 : 1,
                             row->cls);
    }
    if (f->n == f->m) return;
    f->basis[f->n++] = row;
    row->refs++;
}

/* Log likelihood of n trials of which k came true, at their own rate. */
static double likelihood(const fleet *f, int64_t n, int64_t k)
{
    return f->nlogn[k] + f->nlogn[n - k] - f->nlogn[n];
}

/* Of the newest labels, how many came after the mixture began to err more often: where two
 * rates explain its mistakes best. *gain: how much better than one rate does, in units of log;
 * 0 and all labels where its mistakes have not become more. */
static int64_t changed_since(const fleet *f, double *gain)
{
    int64_t wrong = 0, late = 0, since = f->n_past;

    *gain = 0;
    for (int64_t i = 0; i < f->n_past; i++)
        wrong += f->past[i] > 0;
    for (int64_t n = 1; n < f->n_past; n++) {
        const int64_t rest = f->n_past - n;
        late += f->past[rest] > 0;
        if (n < FLEET_LEAST || late * rest <= (wrong - late) * n) continue;
        const double now = likelihood(f, n, late) + likelihood(f, rest, wrong - late) -
                           likelihood(f, f->n_past, wrong);
        if (now > *gain) {
            *gain = now;
            since = n;
        }
    }
    return since;
}

int64_t ferry_i_fleet_since(const fleet *f)
{
    double gain = 0;
    const int64_t since = changed_since(f, &gain);

    return gain > FLEET_SURE ? since : FLEET_NEW;
}

/* One more pair of answers, of the mixture and of the sentinel. */
static void remember(fleet *f, int32_t said, int32_t sentinel, int32_t y)
{
    if (f->n_past == FLEET_NEW)
        memmove(f->past, f->past + 1, (FLEET_NEW - 1) * sizeof *f->past);
    else
        f->n_past++;
    f->past[f->n_past - 1] =
        said != y && sentinel != y ? FLEET_BOTH : (said != y) - (sentinel != y);
}

/* Whether it is time to begin again. */
static bool drifted(const fleet *f)
{
    const int64_t since = ferry_i_fleet_since(f);
    int64_t sum = 0, apart = 0;

    for (int64_t i = f->n_past > since ? f->n_past - since : 0; i < f->n_past; i++) {
        if (f->past[i] == FLEET_BOTH) continue;
        sum += f->past[i];
        apart += f->past[i] != 0;
    }
    return sum >= 10 && (double)sum > 3 * sqrt((double)apart);
}

/* First what may fail, then what cannot: on failure nothing has changed. */
ferry_status ferry_i_fleet_learn(ferry_ctx *ctx, fleet *f, const ferry_row *x, int32_t y,
                                 const int32_t *votes)
{
    ferry_status st = FERRY_OK;
    fleet_room *room = &f->room;
    fleet_row *row = NULL;
    int32_t said[2]; /* by the mixture and the sentinel, without this label, now */

    FERRY_TRY(ferry_i_online_check(ctx, x, f->d, 0, 0));
    /* What the look has left is of this row, or it is made again. */
    const bool known = room->valid && y < f->k && !x->index &&
                       memcmp(room->last, x->value, (size_t)f->d * sizeof *x->value) == 0;
    FERRY_TRY(ferry_i_fleet_classes(ctx, f, (int64_t)y + 1));
    if (!known) {
        const ferry_row raw = ferry_i_online_row(&f->in, x, &room->raw);
        room->valid = false;
        ferry_i_fleet_map(f, &raw, room);
    }
    FERRY_TRY(ferry_i_fleet_row_new(ctx, f, room->row.n, &room->row, &row));
    row->cls = y;
    double *scores = f->warm;
    if (!known) ferry_i_fleet_ask(f, room);
    room->valid = false;
    mixture(f, room->f, f->warm + FLEET * f->k);
    said[0] = ferry_i_argmax(f->k, f->warm + FLEET * f->k);
    said[1] = sentinel_says(f, room);
    if (votes && votes[2] >= 0)
        noted(f, votes, scores);
    else
        memcpy(scores, room->f, (size_t)(FLEET * f->k) * sizeof *scores);
    ferry_i_fleet_mix(f, scores, y);
    ferry_i_fleet_add(f, room, row);
    ferry_i_fleet_linear(f, row, room->value, y);
    if (f->z.n >= f->next && f->n < f->m) ferry_i_fleet_refresh(f);
    remember(f, said[0], said[1], y);
    ferry_i_fleet_newest(f, row, room->near);
    if (drifted(f)) {
        double gain = 0;
        const int64_t since = changed_since(f, &gain);
        f->alarms++;
        ferry_i_log(ctx, FERRY_WARN,
                    "hetomtl: the stream has changed: begins again from the newest %lld "
                    "labels (time %lld)",
                    (long long)since, (long long)f->alarms);
        ferry_i_fleet_again(f, since);
    } else if (f->n0 < 2 && f->n == 30) {
        f->n0 = f->n; /* began without labels: now there are rows to take bandwidths from */
        ferry_i_fleet_start(f, false);
    }
done:
    ferry_i_fleet_drop(row);
    return st;
}
