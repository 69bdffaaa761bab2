/* Which options a call takes, by name: the tables of all parts, and so in the topmost. */
#include <string.h>

#include "fetch/fetch.h"
#include "select/select.h"
#include "stream/folder.h"
#include "task/task.h"

static const struct {
    const char *name;
    const ferry_opt_table *table;
} all[] = {
    {"read", &ferry_i_read_options},     {"evaluate", &ferry_i_evaluate_options},
    {"stream", &ferry_i_stream_options}, {"trial", &ferry_i_trial_options},
    {"train", &ferry_i_select_options},  {"fetch", &ferry_i_fetch_options},
};

const ferry_opt_table *ferry_options(const char *name)
{
    for (int64_t i = 0; name && i < FERRY_COUNT(all); i++)
        if (strcmp(all[i].name, name) == 0) return all[i].table;
    return NULL;
}
