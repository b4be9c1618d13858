// floor: the cheapest fan-out we can think of with plain sockets. Single thread, epoll, every message is serialised
// once into a ring that all players share, and a flush is one writev per player straight out of the ring. It parses
// nothing but the handshake and the commands. It is not a server; it is the lower bound that servers are compared with,
// and, with -F, the way to prove that a load client notices faults.
#include "rtmp.h"
#include <getopt.h>
#include <sys/uio.h>

enum { K_RTMP, K_FLV };
struct ring { uint8_t *p; uint64_t head, key; uint32_t last_tag; }; // absolute positions
struct stream {
    char name[400];
    struct ring r[2];
    struct buf hdr[2];
    struct player **pl;
    unsigned npl, cap, dirty, nflv;
    uint64_t nvideo;
    struct buf held;
    uint8_t held_type;
    uint32_t held_ts;
};
struct player {
    int fd;
    uint8_t kind, state, publishing, want_out; // state: 0 handshake, 1 commands, 2 HTTP request, 3 playing
    uint32_t slot, at;
    uint64_t pos;
    struct stream *s;
    struct chunk_parser *cp;
    struct buf *in;  // handshake / HTTP request
    struct buf *out; // command answers, drained before media
    struct buf *msg; // publisher: one assembly buffer per chunk stream
    char app[128];
};

static struct stream **streams;
static unsigned nstreams;
static uint64_t ring_size = 4u << 20;
static uint32_t out_chunk = 60000;
static int ep, g_stop, with_flv;
static unsigned slots = 1;
static double merge_ms = 0;
static enum { F_NONE, F_DROP, F_CORRUPT, F_DUP, F_SWAP, F_TSBACK } fault;
static unsigned fault_every = 100;
static uint64_t st_writes, st_bytes, st_eagain, st_overrun;
static unsigned n_players;

static void on_sig(int s) { (void)s; g_stop = 1; }

static struct stream *stream_get(const char *app, const char *name) {
    char k[400];
    snprintf(k, sizeof k, "%.127s/%.255s", app, name);
    char *q = strchr(k, '?');
    if (q) *q = 0;
    for (unsigned i = 0; i < nstreams; i++)
        if (!strcmp(streams[i]->name, k)) return streams[i];
    struct stream *s = calloc(1, sizeof *s);
    strcpy(s->name, k);
    s->r[0].p = malloc(ring_size);
    if (with_flv) s->r[1].p = malloc(ring_size);
    streams = realloc(streams, (nstreams + 1) * sizeof *streams);
    return streams[nstreams++] = s;
}
static void ring_put(struct ring *r, const void *d, size_t n) {
    uint64_t o = r->head % ring_size;
    size_t k = ring_size - o < n ? ring_size - o : n;
    memcpy(r->p + o, d, k);
    memcpy(r->p, (const uint8_t *)d + k, n - k);
    r->head += n;
}
static void player_close(struct player *p) {
    if (p->fd < 0) return;
    close(p->fd);
    p->fd = -1;
    if (p->state == 3 && p->s) {
        struct stream *s = p->s;
        s->pl[p->at] = s->pl[--s->npl];
        s->pl[p->at]->at = p->at;
        n_players--;
        if (p->kind == K_FLV) s->nflv--;
    }
    if (p->cp) {
        for (unsigned i = 0; p->msg && i < MAX_CS; i++) buf_free(&p->msg[i]);
        chunk_free(p->cp);
    }
    free(p->cp); free(p->msg);
    if (p->in) { buf_free(p->in); free(p->in); }
    if (p->out) { buf_free(p->out); free(p->out); }
    p->state = 9; // the struct itself is leaked on purpose: an epoll event of this batch may still name it
}
static void want_out(struct player *p, int w) {
    if (p->want_out == w) return;
    p->want_out = (uint8_t)w;
    struct epoll_event e = {.events = EPOLLIN | (w ? EPOLLOUT : 0u), .data.ptr = p};
    epoll_ctl(ep, EPOLL_CTL_MOD, p->fd, &e);
}
static void player_flush(struct player *p) {
    while (p->out && p->out->off < p->out->n) {
        ssize_t k = send(p->fd, p->out->p + p->out->off, p->out->n - p->out->off, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k < 0) {
            if (errno == EAGAIN) { want_out(p, 1); return; }
            player_close(p);
            return;
        }
        p->out->off += (size_t)k;
    }
    if (p->out) { buf_free(p->out); free(p->out); p->out = NULL; }
    if (p->state != 3) { want_out(p, 0); return; }
    struct ring *r = &p->s->r[p->kind];
    if (p->pos == r->head) { want_out(p, 0); return; }
    if (r->head - p->pos > ring_size) { st_overrun++; player_close(p); return; } // too slow
    uint64_t o = p->pos % ring_size, n = r->head - p->pos;
    struct iovec v[2] = {{r->p + o, n}, {r->p, 0}};
    int nv = 1;
    if (o + n > ring_size) { v[0].iov_len = ring_size - o; v[1].iov_len = n - v[0].iov_len; nv = 2; }
    // send() is a little cheaper than writev() when the span does not wrap
    ssize_t k = nv == 1 ? send(p->fd, v[0].iov_base, v[0].iov_len, MSG_NOSIGNAL | MSG_DONTWAIT) : writev(p->fd, v, nv);
    st_writes++;
    if (k < 0) {
        if (errno == EAGAIN) { st_eagain++; want_out(p, 1); return; }
        player_close(p);
        return;
    }
    st_bytes += (uint64_t)k;
    p->pos += (uint64_t)k;
    want_out(p, p->pos != r->head);
}
static void stream_flush(struct stream *s, unsigned slot) {
    for (unsigned i = 0; i < s->npl;) {
        struct player *p = s->pl[i];
        if ((slots == 1 || p->slot == slot) && !p->want_out) player_flush(p);
        if (i < s->npl && s->pl[i] == p) i++;
    }
}

// ---- publisher side ----
static void stream_append(struct stream *s, uint8_t type, uint32_t ts, const uint8_t *d, uint32_t n) {
    static struct buf b;
    int key = type == 9 && n > 1 && (d[0] >> 4) == 1 && d[1] == 1;
    b.n = b.off = 0;
    rtmp_put_msg(&b, type == 9 ? 6 : 4, type, ts, 1, d, n, out_chunk);
    if (key) s->r[0].key = s->r[0].head;
    ring_put(&s->r[0], b.p, b.n);
    if (with_flv) {
        uint8_t h[15];
        struct ring *r = &s->r[1];
        if (key) r->key = r->head;
        h[0] = type; be24(h + 1, n); be24(h + 4, ts & 0xffffff); h[7] = (uint8_t)(ts >> 24); memset(h + 8, 0, 3);
        ring_put(r, h, 11);
        ring_put(r, d, n);
        be32(h, n + 11);
        ring_put(r, h, 4);
    }
    s->dirty = 1;
}
static void header_append(struct stream *s, uint8_t type, const uint8_t *d, uint32_t n) {
    rtmp_put_msg(&s->hdr[0], type == 9 ? 6 : 4, type, 0, 1, d, n, out_chunk);
    uint8_t h[15] = {type};
    be24(h + 1, n);
    buf_put(&s->hdr[1], h, 11);
    buf_put(&s->hdr[1], d, n);
    be32(h, n + 11);
    buf_put(&s->hdr[1], h, 4);
}
static void stream_message(struct stream *s, uint8_t type, uint32_t ts, uint8_t *d, uint32_t n) {
    if (type == 18) {
        static const uint8_t set[] = "\2\0\15@setDataFrame";
        if (n > 16 && !memcmp(d, set, 16)) { d += 16; n -= 16; }
        header_append(s, 18, d, n);
        return;
    }
    if (n > 1 && d[1] == 0 && ((type == 9 && (d[0] & 15) == 7) || (type == 8 && (d[0] >> 4) == 10))) { header_append(s, type, d, n); return; }
    if (fault && type == 9 && ++s->nvideo % fault_every == 0) {
        switch (fault) {
        case F_DROP: return;
        case F_CORRUPT: d[n - 3] ^= 1; break;
        case F_DUP: stream_append(s, type, ts, d, n); break;
        case F_TSBACK: ts -= ts > 1000 ? 1000 : ts; break;
        default: s->held.n = 0; buf_put(&s->held, d, n); s->held_type = type; s->held_ts = ts; return;
        }
    }
    stream_append(s, type, ts, d, n);
    if (s->held.n && type == 9) { stream_append(s, s->held_type, s->held_ts, s->held.p, (uint32_t)s->held.n); s->held.n = 0; }
}

// ---- commands ----
static struct buf *out_of(struct player *p) {
    if (!p->out) p->out = calloc(1, sizeof *p->out);
    return p->out;
}
static void status(struct player *p, const char *code) {
    struct buf a = {0};
    amf_str(&a, "onStatus"); amf_num(&a, 0); amf_null(&a); amf_obj(&a);
    amf_kstr(&a, "level", "status"); amf_kstr(&a, "code", code); amf_kstr(&a, "description", code);
    amf_end(&a);
    rtmp_put_cmd(out_of(p), 5, 1, &a, out_chunk);
    buf_free(&a);
}
static void join(struct player *p, struct stream *s, int kind) {
    static unsigned next_slot;
    p->s = s;
    p->kind = (uint8_t)kind;
    p->state = 3;
    p->slot = next_slot++ % slots;
    if (s->npl == s->cap) { s->cap = s->cap ? s->cap * 2 : 16; s->pl = realloc(s->pl, s->cap * sizeof *s->pl); }
    p->at = s->npl;
    s->pl[s->npl++] = p;
    n_players++;
    struct ring *r = &s->r[kind];
    if (kind == K_FLV) s->nflv++;
    if (s->hdr[kind].n) buf_put(out_of(p), s->hdr[kind].p, s->hdr[kind].n);
    p->pos = r->head - r->key < ring_size / 2 ? r->key : r->head;
    player_flush(p);
}
static int amf_string_at(const uint8_t *h, uint32_t n, uint32_t at, char *o, size_t cap) {
    if (at + 3 > n || h[at] != 2) return 0;
    uint32_t l = (uint32_t)h[at + 1] << 8 | h[at + 2];
    if (at + 3 + l > n || l >= cap) return 0;
    memcpy(o, h + at + 3, l);
    o[l] = 0;
    return 1;
}
static int fb_head(void *x, struct chunk_cs *s, const uint8_t *h) {
    struct player *p = x;
    uint32_t n = head_cap(s), body;
    char name[64], arg[256];
    double txn;
    if (s->type != 20 || !cmd_name(h, n, name, sizeof name, &txn, &body)) return 0;
    struct buf a = {0};
    if (!strcmp(name, "connect")) {
        const uint8_t *q = memmem(h, n, "\0\3app\2", 6);
        if (q) amf_string_at(h, n, (uint32_t)(q - h) + 5, p->app, sizeof p->app);
        size_t l = strlen(p->app);
        if (l && p->app[l - 1] == '/') p->app[l - 1] = 0;
        struct buf *o = out_of(p);
        rtmp_put_u32(o, 5, 2500000);
        rtmp_put_u32(o, 1, out_chunk);
        amf_str(&a, "_result"); amf_num(&a, txn); amf_obj(&a); amf_kstr(&a, "fmsVer", "FMS/3,5,3,888"); amf_knum(&a, "capabilities", 127); amf_end(&a);
        amf_obj(&a); amf_kstr(&a, "level", "status"); amf_kstr(&a, "code", "NetConnection.Connect.Success"); amf_end(&a);
        rtmp_put_cmd(o, 3, 0, &a, out_chunk);
    } else if (!strcmp(name, "createStream")) {
        amf_str(&a, "_result"); amf_num(&a, txn); amf_null(&a); amf_num(&a, 1);
        rtmp_put_cmd(out_of(p), 3, 0, &a, out_chunk);
    } else if (!strcmp(name, "publish") && amf_string_at(h, n, body + 1, arg, sizeof arg)) {
        p->s = stream_get(p->app, arg);
        p->s->hdr[0].n = p->s->hdr[1].n = 0;
        p->publishing = 1;
        p->msg = calloc(MAX_CS, sizeof *p->msg);
        status(p, "NetStream.Publish.Start");
    } else if (!strcmp(name, "play") && amf_string_at(h, n, body + 1, arg, sizeof arg) && p->state == 1) {
        status(p, "NetStream.Play.Start");
        join(p, stream_get(p->app, arg), K_RTMP);
    }
    buf_free(&a);
    if (p->fd >= 0 && p->out) player_flush(p);
    return p->fd < 0 ? -1 : 0;
}
static unsigned cs_index(struct player *p, struct chunk_cs *s) {
    unsigned i = 0;
    while (p->cp->cs[i] != s) i++;
    return i;
}
static int fb_span(void *x, struct chunk_cs *s, uint32_t off, const uint8_t *d, uint32_t n) {
    struct player *p = x;
    if (!p->publishing || (s->type != 8 && s->type != 9 && s->type != 18)) return 0;
    struct buf *b = &p->msg[cs_index(p, s)];
    if (!off) b->n = 0;
    buf_put(b, d, n);
    return 0;
}
static int fb_end(void *x, struct chunk_cs *s) {
    struct player *p = x;
    if (!p->publishing || !s->len || (s->type != 8 && s->type != 9 && s->type != 18)) return 0;
    struct buf *b = &p->msg[cs_index(p, s)];
    stream_message(p->s, s->type, s->ts, b->p, (uint32_t)b->n);
    return 0;
}
static const struct chunk_cb FCB = {fb_head, fb_span, fb_end};

static void http_request(struct player *p) {
    buf_put(p->in, "", 1);
    char path[300];
    if (sscanf((char *)p->in->p, "GET /%299s HTTP/1.", path) != 1 || !with_flv) { player_close(p); return; }
    char *dot = strstr(path, ".flv"), *sl = strrchr(path, '/');
    if (!dot || !sl) { player_close(p); return; }
    *dot = *sl = 0;
    static const char ans[] = "HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\nConnection: close\r\n\r\nFLV\1\5\0\0\0\11\0\0\0\0";
    buf_put(out_of(p), ans, sizeof ans - 1);
    buf_free(p->in); free(p->in); p->in = NULL;
    join(p, stream_get(path, sl + 1), K_FLV);
}
#define RB (256u * 1024u)
static void player_read(struct player *p) {
    static uint8_t rb[CHUNK_FRONT + RB];
    uint8_t *d = rb + CHUNK_FRONT;
    ssize_t k = recv(p->fd, d, RB, MSG_DONTWAIT);
    if (k < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (k <= 0) { player_close(p); return; }
    if (p->state == 2) {
        buf_put(p->in, d, (size_t)k);
        if (p->in->n > 8192) player_close(p);
        else if (memmem(p->in->p, p->in->n, "\r\n\r\n", 4)) http_request(p);
        return;
    }
    if (p->kind == K_FLV) return;
    if (p->state == 0) {
        size_t had = p->in->n;
        buf_put(p->in, d, (size_t)k);
        if (had < 1 + RTMP_HS && p->in->n >= 1 + RTMP_HS) {
            struct buf *o = out_of(p);
            buf_put(o, p->in->p, 1 + RTMP_HS);         // S0 S1: any content will do
            buf_put(o, p->in->p + 1, RTMP_HS);         // S2 = C1
            player_flush(p);
            if (p->fd < 0) return;
        }
        if (p->in->n < 1 + 2 * RTMP_HS) return;
        k = (ssize_t)(p->in->n - 1 - 2 * RTMP_HS);
        if ((size_t)k > RB) { player_close(p); return; }
        memcpy(d, p->in->p + 1 + 2 * RTMP_HS, (size_t)k);
        buf_free(p->in); free(p->in); p->in = NULL;
        p->cp = malloc(sizeof *p->cp);
        chunk_init(p->cp);
        p->state = 1;
    }
    if (k && p->cp && chunk_feed(p->cp, d, (size_t)k, FCB, p) && p->fd >= 0) player_close(p);
    if (p->fd >= 0 && p->state == 3 && p->cp) { // a player says nothing more that matters
        chunk_free(p->cp);
        free(p->cp);
        p->cp = NULL;
    }
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 4096) < 0) die("port %d: %s", port, strerror(errno));
    return fd;
}
static void usage(void) {
    fputs("usage: floor [-p RTMP_PORT=1935] [-H HTTP_FLV_PORT] [-w MERGE_MS, 0 = every message] [-S SLOTS to spread a merged flush over]\n"
          "             [-R RING_BYTES] [-c CHUNK] [-F drop|corrupt|dup|swap|tsback [-E EVERY_NTH_VIDEO_MESSAGE]]\n", stderr);
    exit(2);
}
int main(int argc, char **argv) {
    int port = 1935, hport = 0, o;
    while ((o = getopt(argc, argv, "p:H:w:S:R:c:F:E:h")) != -1) switch (o) {
        case 'p': port = atoi(optarg); break;
        case 'H': hport = atoi(optarg); with_flv = 1; break;
        case 'w': merge_ms = atof(optarg); break;
        case 'S': slots = (unsigned)atoi(optarg); break;
        case 'R': ring_size = (uint64_t)atoll(optarg); break;
        case 'c': out_chunk = (uint32_t)atoi(optarg); break;
        case 'F': fault = !strcmp(optarg, "drop") ? F_DROP : !strcmp(optarg, "corrupt") ? F_CORRUPT : !strcmp(optarg, "dup") ? F_DUP
                          : !strcmp(optarg, "swap") ? F_SWAP : !strcmp(optarg, "tsback") ? F_TSBACK : F_NONE;
            if (!fault) usage();
            break;
        case 'E': fault_every = (unsigned)atoi(optarg); break;
        default: usage();
    }
    if (!slots || ring_size < 65536 || out_chunk < 128 || !fault_every) usage();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_sig);
    signal(SIGINT, on_sig);
    raise_nofile(0);
    ep = epoll_create1(EPOLL_CLOEXEC);
    static struct player L[2];
    int tfd = -1, dummy;
    L[0].fd = listen_on(port);
    L[1].fd = hport ? listen_on(hport) : -1;
    for (int i = 0; i < 2; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &L[i]};
        if (L[i].fd >= 0) epoll_ctl(ep, EPOLL_CTL_ADD, L[i].fd, &e);
    }
    if (merge_ms > 0) {
        tfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        uint64_t w = (uint64_t)(merge_ms * 1e6 / slots);
        struct itimerspec it = {{(time_t)(w / NS_PER_S), (long)(w % NS_PER_S)}, {0, 1000000}};
        timerfd_settime(tfd, 0, &it, NULL);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &dummy};
        epoll_ctl(ep, EPOLL_CTL_ADD, tfd, &e);
    }
    static struct epoll_event ev[1024];
    unsigned slot = 0;
    while (!g_stop) {
        int k = epoll_wait(ep, ev, 1024, -1), tick = 0;
        for (int i = 0; i < k; i++) {
            if (ev[i].data.ptr == &dummy) {
                uint64_t x;
                tick = read(tfd, &x, 8) == 8;
                continue;
            }
            struct player *p = ev[i].data.ptr;
            if (p == &L[0] || p == &L[1]) {
                for (int j = 0; j < 64; j++) {
                    int fd = accept4(p->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
                    if (fd < 0) break;
                    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    struct player *q = calloc(1, sizeof *q);
                    q->fd = fd;
                    q->in = calloc(1, sizeof *q->in);
                    q->state = p == &L[1] ? 2 : 0;
                    struct epoll_event e = {.events = EPOLLIN, .data.ptr = q};
                    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
                }
                continue;
            }
            if (p->fd >= 0 && (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) player_read(p);
            if (p->fd >= 0 && (ev[i].events & EPOLLOUT)) player_flush(p);
        }
        if (merge_ms > 0) {
            if (tick) {
                for (unsigned i = 0; i < nstreams; i++) stream_flush(streams[i], slot);
                slot = (slot + 1) % slots;
            }
        } else {
            for (unsigned i = 0; i < nstreams; i++)
                if (streams[i]->dirty) { streams[i]->dirty = 0; stream_flush(streams[i], 0); }
        }
    }
    fprintf(stderr, "floor: players=%u writes=%llu bytes=%llu eagain=%llu overrun=%llu\n", n_players, (unsigned long long)st_writes,
            (unsigned long long)st_bytes, (unsigned long long)st_eagain, (unsigned long long)st_overrun);
    return 0;
}
