/* hetomtl's model: predictions of rows that do not count, the file and back. A look changes
 * nothing: predicting a whole domain leaves the stream's state alone. */
#include "methods/hetomtl/hetomtl.h"

void ferry_i_hetomtl_free(void *state)
{
    hetomtl *m = state;

    if (!m) return;
    ferry_i_hedge_model_free(m->paper);
    ferry_i_experts_clear(&m->e);
    ferry_i_fleet_clear(&m->f);
    ferry_i_free(m);
}

/* With a room of this call, not that of the stream. */
static void look(const void *state, const ferry_row *x, void *room, double *score)
{
    ferry_i_experts_look(state, x, room, score);
}

static void look_fleet(const void *state, const ferry_row *x, void *room, double *score)
{
    ferry_i_fleet_look(state, x, room, score);
}

static ferry_status predict_fleet(ferry_ctx *ctx, const fleet *f, const ferry_domain *d,
                                  ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    fleet_room room = {.k = 0};
    const online_looker how = {"hetomtl", f->k, f->d, look_fleet, f, &room};

    FERRY_TRY(ferry_i_fleet_room(ctx, f, &room));
    FERRY_TRY(ferry_i_online_predict(ctx, &how, d, p));
done:
    ferry_i_fleet_room_clear(&room);
    return st;
}

ferry_status ferry_i_hetomtl_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const hetomtl *m = state;
    experts_room room = {NULL};
    const online_looker how = {"hetomtl", m->e.k, m->e.d, look, &m->e, &room};

    if (m->paper) return ferry_i_hedge_predict(ctx, m->paper, d, p);
    if (m->mode == MODE_FERRY) return predict_fleet(ctx, &m->f, d, p);
    FERRY_TRY(ferry_i_experts_room(ctx, &m->e, &room));
    FERRY_TRY(ferry_i_online_predict(ctx, &how, d, p));
done:
    ferry_i_experts_room_clear(&room);
    return st;
}

/* The tensor tells which of three layouts follows. */
void ferry_i_hetomtl_file(ferry_io *io, void *state)
{
    hetomtl *m = state;
    int64_t mode = m->mode;

    ferry_i_io_ints(io, "mode", 1, &mode);
    FERRY_IO_NEED(io, 0 <= mode && mode <= MODE_FERRY, "tensor mode: %lld",
                  (long long)mode);
    if (ferry_i_io_loading(io) && mode == MODE_PAPER) FERRY_IO_NEW(io, m->paper, 1);
    if (io->st != FERRY_OK) return;
    if (ferry_i_io_loading(io)) m->mode = (int)mode;
    if (mode == MODE_PAPER)
        ferry_i_hedge_file(io, m->paper);
    else if (mode == MODE_FERRY)
        ferry_i_fleet_file(io, &m->f);
    else
        ferry_i_experts_file(io, &m->e);
}
