// What floor.c needs besides RTMP: fatal errors, open files, growable buffers, big-endian numbers.
#ifndef FLOOR_COMMON_H
#define FLOOR_COMMON_H
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull

__attribute__((format(printf, 1, 2), noreturn)) static inline void die(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fputs("fatal: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

// ---- process-wide set-up ----
// Raises the soft limit of open files to at least `need`, or as far as this process may (need = 0).
static inline void raise_nofile(unsigned need) {
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = r.rlim_max;
    if (need > r.rlim_max) r.rlim_cur = r.rlim_max = need; // works with CAP_SYS_RESOURCE only
    if (setrlimit(RLIMIT_NOFILE, &r) < 0) die("RLIMIT_NOFILE: need %u, hard limit is lower", need);
}

// ---- growable byte buffer ----
struct buf {
    uint8_t *p;
    size_t n, cap, off; // live bytes: p[off..n)
};
static inline void buf_reserve(struct buf *b, size_t more) {
    if (b->off && b->off == b->n) b->off = b->n = 0;
    if (b->n + more <= b->cap) return;
    if (b->off) {
        memmove(b->p, b->p + b->off, b->n - b->off);
        b->n -= b->off;
        b->off = 0;
        if (b->n + more <= b->cap) return;
    }
    size_t c = b->cap ? b->cap : 1024;
    while (c < b->n + more) c *= 2;
    b->p = realloc(b->p, c);
    if (!b->p) die("out of memory");
    b->cap = c;
}
static inline void buf_put(struct buf *b, const void *d, size_t n) {
    buf_reserve(b, n);
    memcpy(b->p + b->n, d, n);
    b->n += n;
}
static inline void buf_free(struct buf *b) {
    free(b->p);
    memset(b, 0, sizeof *b);
}

static inline void be16(uint8_t *p, uint32_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void be24(uint8_t *p, uint32_t v) { p[0] = (uint8_t)(v >> 16); p[1] = (uint8_t)(v >> 8); p[2] = (uint8_t)v; }
static inline void be32(uint8_t *p, uint32_t v) { p[0] = (uint8_t)(v >> 24); be24(p + 1, v); }
static inline uint32_t rd24(const uint8_t *p) { return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]; }
static inline uint32_t rd32(const uint8_t *p) { return (uint32_t)p[0] << 24 | rd24(p + 1); }

#endif
