/* hetomtl's model: predictions of rows that do not count, the file and back. A look changes
 * nothing: predicting a whole domain leaves the stream's state alone. */
#include "methods/hetomtl/hetomtl.h"

void ferry_i_hetomtl_free(void *state)
{
    hetomtl *m = state;

    if (!m) return;
    ferry_i_hedge_model_free(m->paper);
    ferry_i_experts_clear(&m->e);
    ferry_i_free(m);
}

/* With a room of this call, not that of the stream. */
static void look(const void *state, const ferry_row *x, void *room, double *score)
{
    ferry_i_experts_look(state, x, room, score);
}

ferry_status ferry_i_hetomtl_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const hetomtl *m = state;
    experts_room room = {NULL};
    const online_looker how = {"hetomtl", m->e.k, m->e.d, look, &m->e, &room};

    if (m->paper) return ferry_i_hedge_predict(ctx, m->paper, d, p);
    FERRY_TRY(ferry_i_experts_room(ctx, &m->e, &room));
    FERRY_TRY(ferry_i_online_predict(ctx, &how, d, p));
done:
    ferry_i_experts_room_clear(&room);
    return st;
}

/* 0 is mode ferry, 1 mode paper: the tensor tells which of the two layouts follows. */
ferry_status ferry_i_hetomtl_save(ferry_ctx *ctx, const void *state, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const hetomtl *m = state;
    const int64_t mode = m->paper != NULL;

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "mode", 1, &mode));
    FERRY_TRY(mode ? ferry_i_hedge_save(ctx, m->paper, dict)
                   : ferry_i_experts_save(ctx, &m->e, dict));
done:
    return st;
}

/* paper is set only when all of it was read, so the free at the end sees one or the
 * other. */
ferry_status ferry_i_hetomtl_load(ferry_ctx *ctx, const ferry_dict *dict, void **state)
{
    ferry_status st = FERRY_OK;
    const int64_t *mode = NULL;
    int64_t one = 1;
    void *paper = NULL;
    hetomtl *m = NULL;

    *state = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "mode", &one, &mode));
    FERRY_NEED(ctx, *mode == 0 || *mode == 1, FERRY_EDATA, "tensor mode: %lld",
               (long long)*mode);
    FERRY_TRY(*mode ? ferry_i_hedge_load(ctx, dict, &paper)
                    : ferry_i_experts_load(ctx, dict, &m->e));
    m->paper = paper;
    FERRY_MOVE(*state, m);
done:
    ferry_i_hetomtl_free(m);
    return st;
}
