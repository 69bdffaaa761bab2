/* Shared libraries that are loaded when they are first needed.
 *
 * Linked, OpenBLAS, matio with HDF5, libcurl and libarchive would bring dozens more (TLS, XML, ICU,
 * the Fortran and C++ run times) and 16 ms to the start of every program that uses Ferry. Loaded at run
 * time, their absence is one sentence from the call that needs them. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"

/* RTLD_LOCAL keeps the library's symbols from meeting those of the program. Nothing is
 * unloaded: threads that such libraries start could still run. */
bool ferry_i_load(const char *name, const ferry_symbol *want, int64_t n, char *why)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        const char *text = dlerror();
        (void)snprintf(why, FERRY_LOAD_WHY, "%s", text ? text : name);
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        void *symbol = dlsym(handle, want[i].name);
        if (!symbol) {
            (void)snprintf(why, FERRY_LOAD_WHY, "%s has no %s", name, want[i].name);
            return false;
        }
        memcpy(want[i].to, &symbol, sizeof symbol); /* data pointer to function pointer */
    }
    return true;
}
