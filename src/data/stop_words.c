/* Stop words: a list for English, or a file.
 *
 * They are compared with tokens after lower-casing, so the built-in list is in lower case
 * and a file is lower-cased when the tokens are. A set with hashing makes the test
 * O(length). */
#include <string.h>

#include "data/text.h"

/* Articles, pronouns, prepositions, conjunctions, auxiliaries, common adverbs, and what is
 * left of contractions when the apostrophe splits them (don't: don, t). */
static const char english[] =
    "a about above across after afterwards again against ain all almost alone along "
    "already "
    "also although always am among amongst an and another any anybody anyhow anyone "
    "anything "
    "anyway anywhere are aren around as at away back be became because become becomes "
    "becoming been before beforehand behind being below beside besides between beyond both "
    "but by can cannot could couldn did didn do does doesn doing don done down due during "
    "each eg either else elsewhere enough etc even ever every everybody everyone "
    "everything "
    "everywhere except few for former formerly from further had hadn has hasn have haven "
    "having he hence her here hereby herein hers herself him himself his how however i ie "
    "if "
    "in indeed instead into is isn it its itself just latter least less ll ma many may "
    "maybe "
    "me meanwhile might mightn mine more moreover most mostly much must mustn my myself "
    "namely needn neither never nevertheless no nobody none nonetheless nor not nothing "
    "now "
    "nowhere of off often on once one only onto or other others otherwise ought our ours "
    "ourselves out over own per perhaps quite rather re really same shall shan she should "
    "shouldn since so some somebody somehow someone something sometime sometimes somewhere "
    "still such than that the their theirs them themselves then thence there thereafter "
    "thereby therefore therein these they this those though through throughout thus to "
    "together too toward towards under unless until up upon us ve very via was wasn we "
    "were "
    "weren what whatever when whenever where whereas whereby wherein wherever whether "
    "which "
    "whichever while who whoever whole whom whose why will with within without won would "
    "wouldn yet you your yours yourself yourselves s t d m o y";

/* ferry_word_fn: repeated words are no error. */
static ferry_status add_word(ferry_ctx *ctx, void *arg, const char *word, int64_t n)
{
    return ferry_i_ids_addn(arg, word, n, NULL) < 0 ? ferry_i_nomem(ctx) : FERRY_OK;
}

/* The words of a file, in any order; lines that begin with # are comments. */
static ferry_status from_file(ferry_ctx *ctx, const char *path, bool lower, ferry_ids *ids)
{
    ferry_status st = FERRY_OK;
    ferry_input in = {0};
    ferry_utf8 u = {0};

    FERRY_TRY(ferry_i_input_open(ctx, path, &in));
    FERRY_TRY(ferry_i_utf8_open(ctx, in.data, in.size, &u));
    for (ferry_lines l = ferry_i_lines(u.s, u.n); ferry_i_full_line(&l, "#");)
        FERRY_TRY(ferry_i_words(ctx, l.s, l.e - l.s, true, lower, 1, add_word, ids));
    FERRY_NEED(ctx, ferry_i_ids_count(ids) > 0, FERRY_EDATA, "%s: expected stop words",
               path);
done:
    ferry_i_utf8_close(&u);
    ferry_i_input_close(&in);
    return st;
}

/* A name that is neither "none" nor "english" is the path of a file. Both lists are split
 * at white space only, so with tokens = spaces a stop word may hold an apostrophe or a
 * digit. */
ferry_status ferry_i_stop_words(ferry_ctx *ctx, const char *name, bool lower,
                                ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *ids = NULL;

    *out = NULL;
    if (!name[0] || strcmp(name, "none") == 0) goto done;
    FERRY_HAVE(ctx, ids = ferry_i_ids_new());
    if (strcmp(name, "english") == 0)
        FERRY_TRY(
            ferry_i_words(ctx, english, sizeof english - 1, true, false, 1, add_word, ids));
    else
        FERRY_TRY(from_file(ctx, name, lower, ids));
    FERRY_MOVE(*out, ids);
done:
    ferry_i_ids_free(ids);
    return st;
}
