/* The studies by name, and whether their data is there. */
#include <string.h>
#include <unistd.h>

#include "reproduce/study.h"

#define STUDY(name) extern const ferry_study ferry_i_study_##name;
#include "reproduce/studies.def"
#undef STUDY

static const ferry_study *const studies[] = {
#define STUDY(name) &ferry_i_study_##name,
#include "reproduce/studies.def"
#undef STUDY
};

const ferry_study *ferry_i_study_at(int64_t i)
{
    return i >= 0 && i < FERRY_COUNT(studies) ? studies[i] : NULL;
}

const ferry_study *ferry_i_study_find(const char *name)
{
    for (int64_t i = 0; i < FERRY_COUNT(studies); i++)
        if (strcmp(studies[i]->name, name) == 0) return studies[i];
    return NULL;
}

int64_t ferry_study_count(void)
{
    return FERRY_COUNT(studies);
}

int ferry_study_at(int64_t i, ferry_study_info *out)
{
    const ferry_study *s = ferry_i_study_at(i);

    if (!s) return 0;
    *out = (ferry_study_info){s->name, s->paper, s->shows, s->needs, s->protocol};
    return 1;
}

static const char *name_at(const void *arg, int64_t i)
{
    (void)arg;
    return studies[i]->name;
}

static ferry_status find(ferry_ctx *ctx, const char *name, const ferry_study **out)
{
    *out = ferry_i_study_find(name);
    if (*out) return FERRY_OK;
    const char *near = ferry_i_nearest(name, FERRY_COUNT(studies), name_at, NULL);
    if (near)
        return ferry_i_fail(ctx, FERRY_EINVAL, "unknown study %s (did you mean %s?)", name,
                            near);
    return ferry_i_fail(ctx, FERRY_EINVAL, "unknown study %s (ferry reproduce lists them)",
                        name);
}

ferry_status ferry_i_study_file(ferry_ctx *ctx, const char *data, const char *names,
                                bool *there, char **out)
{
    ferry_status st = FERRY_OK;
    char *name = NULL, *path = NULL;

    *out = NULL;
    *there = false;
    for (const char *s = names; *s && !*there;) {
        const size_t len = strcspn(s, "|\n");
        name = ferry_i_strndup(s, (int64_t)len);
        path = name ? ferry_i_path_join(data, name) : NULL;
        FERRY_NEED(ctx, path, FERRY_ENOMEM, "no memory for the name of a file");
        *there = access(path, R_OK) == 0;
        if (*there || !*out) {
            ferry_i_free(*out);
            *out = path;
            path = NULL;
        }
        ferry_i_free(path);
        ferry_i_free(name);
        path = name = NULL;
        s += len;
        if (*s != '|') break;
        s++;
    }
done:
    ferry_i_free(path);
    ferry_i_free(name);
    return st;
}

ferry_status ferry_i_study_missing(ferry_ctx *ctx, const ferry_study *study,
                                   const char *data, char **missing)
{
    ferry_status st = FERRY_OK;
    bool there = true;

    *missing = NULL;
    for (const char *s = study->needs; *s;) {
        const size_t len = strcspn(s, "\n");
        FERRY_TRY(ferry_i_study_file(ctx, data, s, &there, missing));
        if (!there) break;
        ferry_i_free(*missing);
        *missing = NULL;
        s += len + (s[len] != 0);
    }
done:
    return st;
}

ferry_status ferry_study_missing(ferry_ctx *ctx, const char *name, const char *data,
                                 char **missing)
{
    ferry_status st = FERRY_OK;
    const ferry_study *study = NULL;

    *missing = NULL;
    FERRY_TRY(find(ctx, name, &study));
    FERRY_TRY(ferry_i_study_missing(ctx, study, data, missing));
done:
    return st;
}

ferry_status ferry_reproduce(ferry_ctx *ctx, const char *name,
                             const ferry_reproduce_settings *settings,
                             ferry_reproduction **out)
{
    ferry_status st = FERRY_OK;
    const ferry_study *study = NULL;

    *out = NULL;
    FERRY_TRY(find(ctx, name, &study));
    FERRY_TRY(ferry_i_reproduce(ctx, study, settings, out));
done:
    return st;
}
