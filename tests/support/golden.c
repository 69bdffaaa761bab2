/* Golden cases. */
#include "golden.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

json_t *golden(const char *name)
{
    const char *dir = golden_dir();
    char path[1024];
    json_error_t error;
    json_t *root;

    if (!dir) return NULL;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    if (access(path, F_OK) != 0) {
        print_message("skipped: no golden case %s\n", path);
        return NULL;
    }
    root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s:%d: %s", path, error.line, error.text);
    return root;
}

json_t *own_golden(const char *name)
{
    char path[1024];
    json_error_t error;

    (void)snprintf(path, sizeof path, "tests/golden/%s", name);
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s:%d: %s", path, error.line, error.text);
    return root;
}

json_t *golden_at(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    if (!value) fail_msg("the golden case has no '%s'", key);
    return value;
}

double golden_real(const json_t *object, const char *key)
{
    return json_number_value(golden_at(object, key));
}

static double *read_array(const json_t *array, bool turned, int64_t *rows, int64_t *cols)
{
    const int64_t n = (int64_t)json_array_size(array);
    const json_t *first = json_array_get(array, 0);
    const int64_t m = json_is_array(first) ? (int64_t)json_array_size(first) : 1;
    double *data = calloc((size_t)(n * m + 1), sizeof *data);

    for (int64_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(array, (size_t)i);
        for (int64_t j = 0; j < m; j++)
            data[turned ? j * n + i : i * m + j] = json_number_value(
                json_is_array(row) ? json_array_get(row, (size_t)j) : row);
    }
    if (rows) *rows = n;
    if (cols) *cols = m;
    return data;
}

double *golden_array(const json_t *object, const char *key, int64_t *rows, int64_t *cols)
{
    return read_array(golden_at(object, key), false, rows, cols);
}

double *golden_transposed(const json_t *object, const char *key, int64_t *rows,
                          int64_t *cols)
{
    return read_array(golden_at(object, key), true, rows, cols);
}
