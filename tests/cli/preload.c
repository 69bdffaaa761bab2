/* Preloaded by a test: an OpenBLAS that picks the wrong kernels unless it is told which to
 * take, as Debian's does on new CPUs. Also notes every start of the program in the file
 * FERRY_TEST_STARTS. */
#include <stdio.h>
#include <stdlib.h>

char *openblas_get_corename(void);
char *openblas_get_corename(void)
{
    static char wrong[] = "Prescott";
    char *told = getenv("OPENBLAS_CORETYPE");

    return told ? told : wrong;
}

__attribute__((constructor)) static void started(void)
{
    const char *path = getenv("FERRY_TEST_STARTS");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (!file) return;
    fputs("started\n", file);
    fclose(file);
}
