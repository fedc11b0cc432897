/* Makes a disk slow, forgetful and countable: it stands between a program and its C library.

   SLOWSYNC_MICROS  how long a sync takes in addition
   SLOWSYNC_SKIP    the end of the names of files that are not synced at all
   SLOWSYNC_COUNT   a file of eight bytes in which syncs are counted */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static long micros;
static const char *skip;
static unsigned long *count;

__attribute__((constructor)) static void begin(void) {
	const char *text = getenv("SLOWSYNC_MICROS");
	micros = text ? atol(text) : 0;
	skip = getenv("SLOWSYNC_SKIP");
	const char *file = getenv("SLOWSYNC_COUNT");
	int fd = file ? open(file, O_RDWR) : -1;
	if (fd >= 0) {
		void *page = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		count = page == MAP_FAILED ? NULL : page;
		close(fd);
	}
}

static int skipped(int fd) {
	char link[64], name[4096];
	if (!skip || !*skip) return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof name - 1), end = strlen(skip);
	return n >= end && memcmp(name + n - end, skip, end) == 0;
}

static int sync_with(const char *name, int fd) {
	if (skipped(fd)) return 0;
	if (count) __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	if (micros > 0) {
		struct timespec pause = {micros / 1000000, micros % 1000000 * 1000};
		nanosleep(&pause, NULL);
	}
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
	return real(fd);
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }
