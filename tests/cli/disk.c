/* Preloaded by a test: a disk that loses at a power cut what was not synced.
 *
 * The folder FERRY_TEST_ROOT is what the program sees, its page cache so to speak. Beside it
 * FERRY_TEST_DISK is what a disk would have by now:
 *   inode.N   a file's bytes as of its last fsync or fdatasync
 *   keep.N    a link to the file, so that its number is not used again
 *   names     the folder's entries, "N NAME" a line, as of its last fsync
 *   later.M   the entries after each change of names since then
 *   parent    the folder's own name was synced
 * At event FERRY_TEST_CUT (writes, syncs and changes of names are events) the program is
 * killed; a write is torn in the middle first when FERRY_TEST_TORN is set. The test then puts
 * together what a disk might hold.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int events, changes;
/* Two threads of a server may sync: each with what is written down about it. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
#define ALONE(call)                                                                        \
    do {                                                                                   \
        (void)pthread_mutex_lock(&one_at_a_time);                                          \
        call;                                                                              \
        (void)pthread_mutex_unlock(&one_at_a_time);                                        \
    } while (0)

/* The real function. POSIX lets a data pointer be one to a function; ISO C does not. */
#define REAL(name)                                                                         \
    static __typeof__(name) *real;                                                         \
    if (!real) {                                                                           \
        void *found = dlsym(RTLD_NEXT, #name);                                             \
        memcpy(&real, &found, sizeof real);                                                \
    }

static const char *root(void)
{
    const char *path = getenv("FERRY_TEST_ROOT");

    return path ? path : "/nowhere";
}

/* Whether a descriptor or path is in the folder: 2, is the folder: 1, its parent: -1. */
static int where_is(const char *path)
{
    const size_t n = strlen(root());

    if (strncmp(path, root(), n) == 0) return path[n] == '/' ? 2 : path[n] == 0;
    const size_t up = strlen(path);
    return up < n && strncmp(path, root(), up) == 0 && root()[up] == '/' &&
                   !strchr(root() + up + 1, '/')
               ? -1
               : 0;
}

static int where_fd(int fd)
{
    char link[64], path[4096] = "";

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    return n > 0 ? where_is(path) : 0;
}

/* The power goes; not while another thread writes down what the disk has. */
static void power_off(void)
{
    (void)pthread_mutex_lock(&one_at_a_time);
    (void)raise(SIGKILL);
}

/* One more event: perhaps the last. True: it is, and a write may still be torn. */
static int cut_here(void)
{
    const char *cut = getenv("FERRY_TEST_CUT");
    const int n = __atomic_add_fetch(&events, 1, __ATOMIC_SEQ_CST);

    if (!cut || n < atoi(cut)) return 0;
    if (getenv("FERRY_TEST_TORN")) return 1;
    power_off();
    return 1;
}

static FILE *on_disk(const char *mode, const char *name, unsigned long number)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s", getenv("FERRY_TEST_DISK"), name);
    if (number) (void)snprintf(path + strlen(path), 32, ".%lu", number);
    return fopen(path, mode);
}

static void list_names(const char *name, unsigned long number)
{
    DIR *dir = opendir(root());
    FILE *f = on_disk("w", name, number);

    for (struct dirent *e = dir ? readdir(dir) : NULL; e && f; e = readdir(dir))
        if (e->d_name[0] != '.') fprintf(f, "%lu %s\n", (unsigned long)e->d_ino, e->d_name);
    if (f) fclose(f);
    if (dir) closedir(dir);
}

/* What fsync does for a file. */
static void keep_bytes(int fd)
{
    char link[64], keep[4096], block[65536];
    struct stat info;
    ssize_t n = 0;

    if (fstat(fd, &info) != 0) return;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    (void)snprintf(keep, sizeof keep, "%s/keep.%lu", getenv("FERRY_TEST_DISK"),
                   (unsigned long)info.st_ino);
    (void)linkat(AT_FDCWD, link, AT_FDCWD, keep, AT_SYMLINK_FOLLOW);
    const int in = open(link, O_RDONLY);
    FILE *f = on_disk("w", "inode", (unsigned long)info.st_ino);
    while (f && in >= 0 && (n = read(in, block, sizeof block)) > 0)
        fwrite(block, 1, (size_t)n, f);
    if (f) fclose(f);
    if (in >= 0) close(in);
}

static int synced(int fd, int done)
{
    const int what = where_fd(fd);

    if (what == 2) keep_bytes(fd);
    if (what == 1) {
        list_names("names", 0);
        while (changes > 0) {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/later.%d", getenv("FERRY_TEST_DISK"),
                           changes--);
            unlink(path);
        }
    }
    if (what == -1 && access(root(), F_OK) == 0) {
        FILE *f = on_disk("w", "parent", 0);
        if (f) fclose(f);
    }
    return done;
}

int fsync(int fd)
{
    REAL(fsync)
    int done = 0;
    if (where_fd(fd) && cut_here()) power_off();
    ALONE(done = synced(fd, real(fd)));
    return done;
}

int fdatasync(int fd)
{
    REAL(fdatasync)
    int done = 0;
    if (where_fd(fd) && cut_here()) power_off();
    ALONE(done = synced(fd, real(fd)));
    return done;
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    REAL(write)
    if (where_fd(fd) == 2 && cut_here()) {
        (void)!real(fd, bytes, n / 2);
        power_off();
    }
    return real(fd, bytes, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    REAL(pwrite)
    if (where_fd(fd) == 2 && cut_here()) {
        (void)!real(fd, bytes, n / 2, at);
        power_off();
    }
    return real(fd, bytes, n, at);
}

int ftruncate(int fd, off_t n)
{
    REAL(ftruncate)
    if (where_fd(fd) == 2 && cut_here()) power_off();
    return real(fd, n);
}

int rename(const char *from, const char *to)
{
    REAL(rename)
    const int in = where_is(to) == 2;
    int done = 0;

    if (!in) return real(from, to);
    if (cut_here()) power_off();
    ALONE(done = real(from, to); list_names("later", (unsigned long)++changes));
    return done;
}

int unlink(const char *path)
{
    REAL(unlink)
    const int in = where_is(path) == 2;
    int done = 0;

    if (!in) return real(path);
    if (cut_here()) power_off();
    ALONE(done = real(path); list_names("later", (unsigned long)++changes));
    return done;
}
