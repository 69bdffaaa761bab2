/* Preloaded by a test: a disk that fails. While the file FERRY_TEST_FAULTS exists, it holds a number: one in so many writes,
 * syncs and changes of names below FERRY_TEST_ROOT fails, as on a full or broken disk; a write may do half of its work first.
 * Or it holds "ro": the disk is read-only. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* open() is ours */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REAL(name)                                                                         \
    static __typeof__(name) *real;                                                         \
    if (!real) {                                                                           \
        void *found = dlsym(RTLD_NEXT, #name);                                             \
        memcpy(&real, &found, sizeof real);                                                \
    }

static uint64_t draw(void)
{
    static uint64_t state;
    uint64_t x = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);

    if (x == 0x9e3779b97f4a7c15u) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        x = __atomic_add_fetch(&state, (uint64_t)now.tv_nsec * 0xbf58476d1ce4e5b9u,
                               __ATOMIC_RELAXED);
    }
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int below(const char *path)
{
    const char *root = getenv("FERRY_TEST_ROOT");
    const size_t n = root ? strlen(root) : 0;

    return n > 0 && strncmp(path, root, n) == 0;
}

static int below_fd(int fd)
{
    char link[64], path[4096] = "";

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && below(path);
}

/* Whether this call fails; errno says how. */
static int fails(void)
{
    const char *path = getenv("FERRY_TEST_FAULTS");
    const int before = errno, fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char text[32] = "";

    errno = before;
    if (fd < 0) return 0;
    const ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (strncmp(text, "ro", 2) == 0) {
        errno = EROFS;
        return 1;
    }
    const long one_in = n > 0 ? atol(text) : 0;
    if (one_in < 1 || draw() % (uint64_t)one_in != 0) return 0;
    errno = draw() % 2 ? ENOSPC : EIO;
    return 1;
}

int open(const char *path, int flags, ...)
{
    REAL(open)
    va_list more;

    va_start(more, flags);
    const mode_t mode = flags & O_CREAT ? (mode_t)va_arg(more, int) : 0;
    va_end(more);
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) && below(path) && fails() &&
        errno == EROFS)
        return -1;
    return real(path, flags, mode);
}

int fsync(int fd)
{
    REAL(fsync)
    return below_fd(fd) && fails() ? -1 : real(fd);
}

int fdatasync(int fd)
{
    REAL(fdatasync)
    return below_fd(fd) && fails() ? -1 : real(fd);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    REAL(write)
    if (below_fd(fd) && fails()) {
        const int error = errno;
        if (error == EROFS) return -1;
        if (draw() % 2)
            return n > 1 ? real(fd, bytes, n / 2) : -1; /* the rest fails, or not */
        if (draw() % 2) (void)!real(fd, bytes, n / 2);
        errno = error;
        return -1;
    }
    return real(fd, bytes, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    REAL(pwrite)
    if (below_fd(fd) && fails()) {
        const int error = errno;
        if (error != EROFS) (void)!real(fd, bytes, n / 2, at);
        errno = error;
        return -1;
    }
    return real(fd, bytes, n, at);
}

int ftruncate(int fd, off_t n)
{
    REAL(ftruncate)
    return below_fd(fd) && fails() ? -1 : real(fd, n);
}

int rename(const char *from, const char *to)
{
    REAL(rename)
    return below(to) && fails() ? -1 : real(from, to);
}

int unlink(const char *path)
{
    REAL(unlink)
    return below(path) && fails() ? -1 : real(path);
}
