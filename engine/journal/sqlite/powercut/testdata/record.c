// Records what a process does to the files of one folder, in the order in which it happens: preloaded, it stands between the C library's
// callers (SQLite, and cgo) and the system. POWERCUT_FOLDER names the folder, POWERCUT_RECORD the file that is written.
//
// A write is recorded after it was made and before its caller goes on; a sync, before it begins and after it has ended. So whatever a
// caller did before it asked for a sync is in front of the sync's beginning.
//
// Syncs of files whose names end in POWERCUT_NO_SYNC are neither made nor recorded: a planted bug, which the tests must find.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
	uint32_t kind, name;
	uint64_t inode, at, length;
};

static int record = -1;
static const char *folder, *no_sync;
static atomic_ulong syncs;

__attribute__((constructor)) static void begin(void) {
	const char *path = getenv("POWERCUT_RECORD");
	folder = getenv("POWERCUT_FOLDER");
	no_sync = getenv("POWERCUT_NO_SYNC");
	if (path && folder)
		record = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
}

// put appends a record, in one call, so that those of other threads stand before or behind it.
static void put(char kind, const char *name, uint64_t inode, uint64_t at, const void *data, uint64_t length) {
	struct head h = {kind, strlen(name), inode, at, length};
	struct iovec parts[] = {{&h, sizeof h}, {(void *)name, h.name}, {(void *)data, length}};
	size_t all = sizeof h + h.name + length;
	if (syscall(SYS_writev, record, parts, data ? 3 : 2) != (long)(data ? all : all - length))
		abort();
}

// inside returns the name of a path within the folder, "." for the folder itself, NULL for what is elsewhere.
static const char *inside(const char *path) {
	size_t n = record < 0 ? 0 : strlen(folder);
	if (!n || strncmp(path, folder, n) || (path[n] && path[n] != '/'))
		return NULL;
	return path[n] ? path + n + 1 : ".";
}

// opened returns the name of an open file in the folder, and its inode.
static const char *opened(int fd, char path[PATH_MAX], uint64_t *inode) {
	char link[64];
	struct stat s;
	if (record < 0)
		return NULL;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, PATH_MAX - 1);
	if (n < 0)
		return NULL;
	path[n] = 0;
	const char *name = inside(path);
	if (!name || fstat(fd, &s))
		return NULL;
	*inode = s.st_ino;
	return name;
}

#define FILE_OF(fd) \
	char path[PATH_MAX]; \
	uint64_t inode = 0; \
	const char *name = opened(fd, path, &inode)

static int open_file(const char *file, int flags, mode_t mode) {
	int fd = syscall(SYS_openat, AT_FDCWD, file, flags, mode);
	if (fd >= 0) {
		FILE_OF(fd);
		if (name)
			put('o', name, inode, 0, NULL, 0);
	}
	return fd;
}

static mode_t mode_of(int flags, va_list more) { return flags & O_CREAT ? va_arg(more, mode_t) : 0; }

int open(const char *file, int flags, ...) {
	va_list more;
	va_start(more, flags);
	mode_t mode = mode_of(flags, more);
	va_end(more);
	return open_file(file, flags, mode);
}

int open64(const char *file, int flags, ...) {
	va_list more;
	va_start(more, flags);
	mode_t mode = mode_of(flags, more);
	va_end(more);
	return open_file(file, flags, mode);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) {
	ssize_t n = syscall(SYS_pwrite64, fd, data, length, at);
	if (n > 0) {
		FILE_OF(fd);
		if (name)
			put('w', name, inode, at, data, n);
	}
	return n;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return pwrite64(fd, data, length, at); }

ssize_t write(int fd, const void *data, size_t length) {
	ssize_t n = syscall(SYS_write, fd, data, length);
	if (n > 0) {
		FILE_OF(fd);
		if (name)
			put('w', name, inode, lseek(fd, 0, SEEK_CUR) - n, data, n);
	}
	return n;
}

int ftruncate64(int fd, off64_t length) {
	int failed = syscall(SYS_ftruncate, fd, length);
	if (!failed) {
		FILE_OF(fd);
		if (name)
			put('t', name, inode, length, NULL, 0);
	}
	return failed;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int sync_file(int fd, long call) {
	FILE_OF(fd);
	if (!name)
		return syscall(call, fd);
	size_t n = strlen(name), d = no_sync ? strlen(no_sync) : 0;
	if (d && n >= d && !strcmp(name + n - d, no_sync))
		return 0;
	uint64_t id = ++syncs;
	put('s', name, inode, id, NULL, 0);
	int failed = syscall(call, fd);
	if (!failed)
		put('S', name, inode, id, NULL, 0);
	return failed;
}

int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }

int unlink(const char *file) {
	int failed = syscall(SYS_unlinkat, AT_FDCWD, file, 0);
	const char *name = inside(file);
	if (!failed && name)
		put('u', name, 0, 0, NULL, 0);
	return failed;
}

int rename(const char *from, const char *to) {
	int failed = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	const char *a = inside(from), *b = inside(to);
	if (!failed && a && b)
		put('r', a, 0, 0, b, strlen(b));
	return failed;
}
