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

typedef struct word_list {
    scope *s;
    ferry_ids *ids;
} word_list;

/* Repeated words are no error. */
static void add_word(void *arg, const char *word, int64_t n)
{
    const word_list *to = arg;

    (void)add_id(to->s, to->ids, word, n, NULL);
}

/* A name that is neither "none" nor "english" is the path of a file: words in any order; lines that begin with # are
 * comments. Both lists are split at white space only, so with tokens = spaces a stop word may hold an apostrophe or a
 * digit. */
const ferry_ids *stop_words(scope *s, const char *name, bool lower)
{
    word_list to = {s, NULL};
    word_rule w = {.spaces = true, .min_len = 1, .each = add_word, .arg = &to};

    if (!name[0] || strcmp(name, "none") == 0) return NULL;
    to.ids = new_ids(s);
    if (strcmp(name, "english") == 0) {
        each_word(s, &w, english, sizeof english - 1);
        return to.ids;
    }
    const ferry_input *in = open_input(s, name);
    int64_t n = in->size;
    const char *text = as_utf8(s, in->data, &n);
    w.lower = lower;
    w.buffer = new_text(s);
    for (ferry_lines l = ferry_i_lines(text, n); ferry_i_full_line(&l, "#");)
        each_word(s, &w, l.s, l.e - l.s);
    if (ferry_i_ids_count(to.ids) == 0) bad_at(s, name, 0, "expected stop words");
    return to.ids;
}
