/* Large arrays in files: how a limit on memory is kept by data that does not fit.
 *
 * Once a limit is set (--memory), an array of at least a megabyte that would take more than half of what
 * the limit leaves is mapped from a file without a name, in TMPDIR or /var/tmp. Nobody who uses the array can
 * tell: every reader, method and learner works on more than the limit, at the speed of the disk where it
 * has to. Shared pages of a file are the kernel's to write out and to read in again. So they are no data of the
 * process (RLIMIT_DATA), and a memory cgroup gets them back when it needs them.
 *
 * Half of what is left, so that the largest go first and there is always space for the small ones, which come and
 * go in loops. The other half of --memory is for what is not counted here: small arrays, other libraries,
 * threads (context.c).
 *
 * While ranks read files together (core/ranks.h), or divide what was read, every large array is such a map, since all
 * ranks have all of it and methods ask for their own rows alone. That is a wish and no limit: without space on disk the heap does.
 *
 * The blocks of a file are reserved before it is mapped: a full disk is a sentence, not a SIGBUS. A folder that
 * lies in memory itself (tmpfs) is passed over. */
#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#include "core/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LARGE = 1 << 20, PAGE = 4096, BITS = 13, SLOTS = 1 << BITS, MOST = SLOTS / 2 };

/* of large arrays on the heap, and what they take; 0: none. `any`: there was a limit, so there may be files. */
static _Atomic int64_t limit, held;
static _Atomic bool any;
static _Atomic int all; /* who wants every large array in a file */

/* Which arrays are files: a hash table by address, without holes between an address and its place. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void *p;
    size_t bytes;
} slot[SLOTS];
static _Atomic int n_slots;

static _Thread_local char why[160];

void ferry_i_spill_limit(int64_t bytes)
{
    if (bytes > 0) any = true;
    limit = bytes;
}

void ferry_i_spill_all(bool on)
{
    if (on) any = true;
    all += on ? 1 : -1;
}

/* Whether the limit asks for a file. */
static bool beyond(size_t bytes, size_t less)
{
    const int64_t most = limit;

    return most > 0 && (int64_t)bytes > (most - held + (int64_t)less) / 2;
}

bool ferry_i_spill_forgives(size_t bytes, size_t less)
{
    if (beyond(bytes, less)) return false;
    why[0] = 0;
    return true;
}

const char *ferry_i_spill_why(void)
{
    return why;
}

bool ferry_i_spill_due(size_t bytes, size_t less)
{
    if (bytes < LARGE) return false;
    why[0] = 0;
    return n_slots < MOST && (all || beyond(bytes, less));
}

void ferry_i_spill_count(void *p, int sign)
{
    const size_t bytes = p ? malloc_usable_size(p) : 0;

    if (bytes >= LARGE) held += sign * (int64_t)bytes;
}

/* ---- which arrays ---- */

static int home(const void *p)
{
    return (int)((uint64_t)(uintptr_t)p / PAGE * 0x9E3779B97F4A7C15u >> (64 - BITS));
}

/* The place of p, or the empty one where it would go. Called under the lock. */
static int place(const void *p)
{
    int i = home(p);

    while (slot[i].p && slot[i].p != p)
        i = (i + 1) % SLOTS;
    return i;
}

static bool remember(void *p, size_t bytes)
{
    (void)pthread_mutex_lock(&lock);
    const bool found = n_slots < MOST;
    if (found) {
        const int i = place(p);
        slot[i].p = p;
        slot[i].bytes = bytes;
        n_slots++;
    }
    (void)pthread_mutex_unlock(&lock);
    return found;
}

/* Those behind it move up where the gap would hide them from their home. */
static size_t forget(const void *p)
{
    (void)pthread_mutex_lock(&lock);
    int gap = place(p);
    const size_t bytes = slot[gap].p ? slot[gap].bytes : 0;
    for (int i = gap; bytes > 0;) {
        i = (i + 1) % SLOTS;
        if (!slot[i].p) break;
        const int from_home = (i - home(slot[i].p) + SLOTS) % SLOTS;
        if (from_home < (i - gap + SLOTS) % SLOTS) continue;
        slot[gap] = slot[i];
        gap = i;
    }
    if (bytes > 0) {
        slot[gap].p = NULL;
        n_slots--;
    }
    (void)pthread_mutex_unlock(&lock);
    return bytes;
}

/* Files are mapped at pages, which few arrays of the heap begin at: those alone are looked up. */
size_t ferry_i_spill_size(const void *p)
{
    if (!any || (uintptr_t)p % PAGE != 0) return 0;
    (void)pthread_mutex_lock(&lock);
    const int i = place(p);
    const size_t bytes = slot[i].p ? slot[i].bytes : 0;
    (void)pthread_mutex_unlock(&lock);
    return bytes;
}

bool ferry_i_spill_free(void *p)
{
    if (!any || (uintptr_t)p % PAGE != 0) return false;
    const size_t bytes = forget(p);
    if (bytes > 0) (void)munmap(p, bytes);
    return bytes > 0;
}

/* ---- files ---- */

/* Some file systems have no files without a name: there it loses it at once. */
static int open_in(const char *folder)
{
    char path[4096];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0) return fd;
    if (snprintf(path, sizeof path, "%s/ferry.XXXXXX", folder) >= (int)sizeof path)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) (void)unlink(path);
    return fd;
}

static bool lies_in_memory(int fd)
{
    const uint32_t tmpfs = 0x01021994, ramfs = 0x858458f6;
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 &&
           ((uint32_t)fs.f_type == tmpfs || (uint32_t)fs.f_type == ramfs);
}

/* One reason after the other, of each folder that was tried. */
static void add_why(const char *folder, const char *reason)
{
    const size_t n = strlen(why);

    (void)snprintf(why + n, sizeof why - n, "%s%.60s: %s", n > 0 ? ", " : "", folder,
                   reason);
}

/* A file of so many bytes in the folder, or -1. */
static int make_file(const char *folder, size_t bytes)
{
    const int fd = open_in(folder);
    int error = fd < 0 ? errno : EINTR;

    if (fd >= 0 && lies_in_memory(fd)) {
        add_why(folder, "lies in memory itself");
        (void)close(fd);
        return -1;
    }
    while (error == EINTR)
        error = posix_fallocate(fd, 0, (off_t)bytes);
    if (error == 0) return fd;
    add_why(folder, strerror(error));
    if (fd >= 0) (void)close(fd);
    return -1;
}

/* The file lives as long as the map. */
void *ferry_i_spill_new(size_t bytes)
{
    const char *chosen = getenv("TMPDIR");
    const size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    int fd = chosen && chosen[0] ? make_file(chosen, whole) : -1;

    if (fd < 0) fd = make_file("/var/tmp", whole);
    if (fd < 0) return NULL;
    void *p = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (p != MAP_FAILED && remember(p, whole)) {
        why[0] = 0;
        return p;
    }
    (void)snprintf(why, sizeof why, "no more files can be mapped");
    if (p != MAP_FAILED) (void)munmap(p, whole);
    return NULL;
}
