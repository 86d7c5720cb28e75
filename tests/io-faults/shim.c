/* Lets the Nth call to the file system fail, of those that a program makes through the C library after it began: FAULT_AT says which,
 * FAULT_ERRNO how. Without FAULT_AT calls are counted, and FAULT_COUNT names the file that the number is written to. Calls on stdin,
 * stdout and stderr, on sockets and pipes are left alone. With FAULT_ARMED the count begins once that file exists. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static long at = -1;
static int error = EIO;
static const char *armed;
static atomic_int is_armed;

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("FAULT_AT");
  if (text) at = atol(text);
  text = getenv("FAULT_ERRNO");
  if (text) error = atoi(text);
  armed = getenv("FAULT_ARMED");
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("FAULT_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld\n", atomic_load(&calls));
  fclose(file);
}

static int fails(void) {
  if (armed && !atomic_load(&is_armed)) {
    static int (*look)(const char *, int);
    if (!look) look = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
    int kept = errno;
    int there = look(armed, F_OK) == 0;
    errno = kept;
    if (!there) return 0;
    atomic_store(&is_armed, 1);
  }
  if (atomic_fetch_add(&calls, 1) + 1 != at) return 0;
  errno = error;
  return 1;
}

static int is_file(int fd) {
  struct stat found;
  static int (*look)(int, struct stat *);
  if (!look) look = (int (*)(int, struct stat *))dlsym(RTLD_NEXT, "fstat");
  if (fd <= 2 || !look) return 0;
  int kept = errno;
  int is = look(fd, &found) == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
  errno = kept;
  return is;
}

/* What the program's own start reads is not the program's doing. */
static int is_ours(const char *path) {
  return path && strncmp(path, "/proc", 5) != 0 && strncmp(path, "/sys", 4) != 0 && strncmp(path, "/dev", 4) != 0;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = va_arg(rest, mode_t); \
    va_end(rest); \
    return is_ours(path) && fails() ? -1 : real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define ON_FILE(type, name, given, passed) \
  type name given { \
    REAL(name); \
    return is_file(fd) && fails() ? (type)-1 : real passed; \
  }
ON_FILE(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size))
ON_FILE(ssize_t, pread, (int fd, void *to, size_t size, off_t from), (fd, to, size, from))
ON_FILE(ssize_t, pread64, (int fd, void *to, size_t size, off64_t from), (fd, to, size, from))
ON_FILE(ssize_t, readv, (int fd, const struct iovec *to, int count), (fd, to, count))
ON_FILE(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size))
ON_FILE(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at_byte), (fd, from, size, at_byte))
ON_FILE(ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t at_byte), (fd, from, size, at_byte))
ON_FILE(ssize_t, writev, (int fd, const struct iovec *from, int count), (fd, from, count))
ON_FILE(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FILE(int, ftruncate64, (int fd, off64_t size), (fd, size))
ON_FILE(int, fsync, (int fd), (fd))
ON_FILE(int, fdatasync, (int fd), (fd))
ON_FILE(int, fchmod, (int fd, mode_t mode), (fd, mode))
ON_FILE(off_t, lseek, (int fd, off_t by, int whence), (fd, by, whence))
ON_FILE(off64_t, lseek64, (int fd, off64_t by, int whence), (fd, by, whence))

#define ON_MAP(name, offset) \
  void *name(void *near, size_t size, int how, int flags, int fd, offset from) { \
    REAL(name); \
    return !(flags & MAP_ANONYMOUS) && is_file(fd) && fails() ? MAP_FAILED : real(near, size, how, flags, fd, from); \
  }
ON_MAP(mmap, off_t)
ON_MAP(mmap64, off64_t)

#define ON_PATH(name, given, passed) \
  int name given { \
    REAL(name); \
    return is_ours(path) && fails() ? -1 : real passed; \
  }
ON_PATH(rename, (const char *path, const char *to), (path, to))
ON_PATH(unlink, (const char *path), (path))
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(statx, (int near, const char *restrict path, int flags, unsigned mask, struct statx *restrict found), (near, path, flags, mask, found))
ON_PATH(stat64, (const char *restrict path, struct stat64 *restrict found), (path, found))
ON_PATH(lstat64, (const char *restrict path, struct stat64 *restrict found), (path, found))

DIR *opendir(const char *path) {
  REAL(opendir);
  return is_ours(path) && fails() ? NULL : real(path);
}

struct dirent64 *readdir64(DIR *folder) {
  REAL(readdir64);
  return fails() ? NULL : real(folder);
}

char *realpath(const char *restrict path, char *restrict to) {
  REAL(realpath);
  return is_ours(path) && fails() ? NULL : real(path, to);
}
