// RTMP wire helpers: AMF0 command building, a streaming chunk parser, chunk header writing.
#ifndef FLOOR_RTMP_H
#define FLOOR_RTMP_H
#include "common.h"

#define RTMP_HS 1536u

// ---- AMF0 writer ----
static inline void amf_str_raw(struct buf *b, const char *s) {
    uint8_t l[2];
    size_t n = strlen(s);
    be16(l, (uint32_t)n);
    buf_put(b, l, 2);
    buf_put(b, s, n);
}
static inline void amf_str(struct buf *b, const char *s) { buf_put(b, "\2", 1); amf_str_raw(b, s); }
static inline void amf_num(struct buf *b, double d) {
    uint8_t o[9];
    uint64_t v;
    memcpy(&v, &d, 8);
    o[0] = 0;
    be32(o + 1, (uint32_t)(v >> 32));
    be32(o + 5, (uint32_t)v);
    buf_put(b, o, 9);
}
static inline void amf_null(struct buf *b) { buf_put(b, "\5", 1); }
static inline void amf_obj(struct buf *b) { buf_put(b, "\3", 1); }
static inline void amf_end(struct buf *b) { buf_put(b, "\0\0\11", 3); }
static inline void amf_kstr(struct buf *b, const char *k, const char *v) { amf_str_raw(b, k); amf_str(b, v); }
static inline void amf_knum(struct buf *b, const char *k, double v) { amf_str_raw(b, k); amf_num(b, v); }
static inline double amf_rd_num(const uint8_t *p) {
    uint64_t v = (uint64_t)rd32(p) << 32 | rd32(p + 4);
    double d;
    memcpy(&d, &v, 8);
    return d;
}

// ---- message writer: one message as type-0 chunk followed by type-3 chunks ----
static inline void rtmp_put_msg(struct buf *b, uint32_t csid, uint8_t type, uint32_t ts, uint32_t msid, const void *body,
                                uint32_t n, uint32_t chunk) {
    uint8_t h[16];
    uint32_t hn = 12;
    h[0] = (uint8_t)csid; // 2..63 only
    be24(h + 1, ts >= 0xffffff ? 0xffffff : ts);
    be24(h + 4, n);
    h[7] = type;
    h[8] = (uint8_t)msid; h[9] = (uint8_t)(msid >> 8); h[10] = (uint8_t)(msid >> 16); h[11] = (uint8_t)(msid >> 24);
    if (ts >= 0xffffff) { be32(h + 12, ts); hn = 16; }
    buf_reserve(b, n + (n / chunk + 1) * 5 + 32);
    buf_put(b, h, hn);
    const uint8_t *p = body;
    for (;;) {
        uint32_t k = n < chunk ? n : chunk;
        buf_put(b, p, k);
        p += k; n -= k;
        if (!n) break;
        uint8_t c[5] = {(uint8_t)(0xC0 | csid)};
        if (ts >= 0xffffff) be32(c + 1, ts);
        buf_put(b, c, ts >= 0xffffff ? 5 : 1);
    }
}
static inline void rtmp_put_u32(struct buf *b, uint8_t type, uint32_t v) {
    uint8_t o[4];
    be32(o, v);
    rtmp_put_msg(b, 2, type, 0, 0, o, 4, 128);
}
static inline void rtmp_put_cmd(struct buf *b, uint32_t csid, uint32_t msid, struct buf *amf, uint32_t chunk) {
    rtmp_put_msg(b, csid, 20, 0, msid, amf->p, (uint32_t)amf->n, chunk);
    amf->n = 0;
}
// ---- streaming chunk parser ----
// head[]: the first bytes of the message (MEDIA_HEAD of a media message, CMD_HEAD of any other).
#define CMD_HEAD 512u
#define MEDIA_HEAD 160u
#define MAX_CS 8
struct chunk_cs {
    uint16_t csid;
    uint8_t type, ext, live; // live: inside a message
    uint32_t ts, field, len, pos, msid;
    uint32_t user[4];        // the consumer's per-message state, zeroed when a message begins
    uint64_t user64;
    uint8_t head[CMD_HEAD];
};
struct chunk_parser {
    uint32_t in_chunk;       // incoming chunk size
    uint32_t left;           // payload bytes left in the current chunk
    uint8_t hn, ncs;
    struct chunk_cs *cur;
    uint8_t hbuf[20];        // an incomplete chunk header
    struct chunk_cs *cs[MAX_CS];
};
static inline uint32_t head_cap(const struct chunk_cs *c) {
    uint32_t cap = c->type == 8 || c->type == 9 ? MEDIA_HEAD : CMD_HEAD;
    return c->len < cap ? c->len : cap;
}
static inline void chunk_init(struct chunk_parser *p) { memset(p, 0, sizeof *p); p->in_chunk = 128; }
static inline void chunk_free(struct chunk_parser *p) {
    for (unsigned i = 0; i < p->ncs; i++) free(p->cs[i]);
    p->ncs = 0;
}
static inline struct chunk_cs *chunk_find(struct chunk_parser *p, uint32_t csid) {
    for (unsigned i = 0; i < p->ncs; i++)
        if (p->cs[i]->csid == csid) return p->cs[i];
    if (p->ncs == MAX_CS) return NULL;
    struct chunk_cs *c = calloc(1, sizeof *c);
    if (!c) die("out of memory");
    c->csid = (uint16_t)csid;
    return p->cs[p->ncs++] = c;
}
// Parses one chunk header at d[0..n). Returns its length, 0 when more bytes are needed, -1 on a protocol error.
static inline int chunk_header(struct chunk_parser *p, const uint8_t *d, size_t n) {
    if (n < 1) return 0;
    uint32_t fmt = d[0] >> 6, csid = d[0] & 63, at = 1;
    if (csid == 0) { if (n < 2) return 0; csid = 64u + d[1]; at = 2; }
    else if (csid == 1) { if (n < 3) return 0; csid = 64u + d[1] + 256u * d[2]; at = 3; }
    static const uint8_t hl[4] = {11, 7, 3, 0};
    if (n < at + hl[fmt]) return 0;
    struct chunk_cs *c = chunk_find(p, csid);
    if (!c) return -1;
    uint32_t field = fmt < 3 ? rd24(d + at) : 0;
    int ext = fmt < 3 ? field == 0xffffff : c->ext;
    if (n < at + hl[fmt] + (ext ? 4u : 0u)) return 0;
    if (c->live && fmt != 3) return -1; // a message must be complete before the next one on its chunk stream
    if (fmt < 2) { c->len = rd24(d + at + 3); c->type = d[at + 6]; }
    if (fmt == 0) c->msid = (uint32_t)d[at + 7] | (uint32_t)d[at + 8] << 8 | (uint32_t)d[at + 9] << 16 | (uint32_t)d[at + 10] << 24;
    at += hl[fmt];
    if (ext) { if (fmt < 3 || !c->live) field = rd32(d + at); at += 4; }
    if (!c->live) {
        if (fmt < 3) { c->ext = (uint8_t)ext; c->field = field; }
        if (fmt == 0) c->ts = c->field; else c->ts += c->field;
        c->pos = 0;
        c->live = 1;
        memset(c->user, 0, sizeof c->user);
    }
    uint32_t rest = c->len - c->pos;
    p->left = rest < p->in_chunk ? rest : p->in_chunk;
    p->cur = c;
    return (int)at;
}
// Callbacks: head(ctx, cs, h): the first head_cap() bytes are known (before any span);
//            span(ctx, cs, off, d, n): payload bytes [off, off+n) , delivered after head() ; may repeat;
//            end(ctx, cs): message complete. Non-zero from any of them stops the parse with an error.
struct chunk_cb {
    int (*head)(void *, struct chunk_cs *, const uint8_t *);
    int (*span)(void *, struct chunk_cs *, uint32_t, const uint8_t *, uint32_t);
    int (*end)(void *, struct chunk_cs *);
};
#define CHUNK_FRONT 32 // bytes the caller keeps free in front of the receive buffer (for a stashed header)
// d must have CHUNK_FRONT writable bytes in front of it. Returns 0, or -1 on error.
__attribute__((always_inline)) static inline int chunk_feed(struct chunk_parser *p, uint8_t *d, size_t n,
                                                            const struct chunk_cb cb, void *ctx) {
    if (p->hn) {
        d -= p->hn; n += p->hn;
        memcpy(d, p->hbuf, p->hn);
        p->hn = 0;
    }
    while (n) {
        if (!p->cur) {
            int h = chunk_header(p, d, n);
            if (h < 0) return -1;
            if (h == 0) {
                if (n > sizeof p->hbuf) return -1;
                memcpy(p->hbuf, d, n);
                p->hn = (uint8_t)n;
                return 0;
            }
            d += h; n -= (size_t)h;
        }
        struct chunk_cs *c = p->cur;
        uint32_t k = p->left < n ? p->left : (uint32_t)n;
        if (k) {
            uint32_t cap = head_cap(c);
            if (c->pos < cap) {
                if (c->pos == 0 && k >= cap) {
                    if (cb.head(ctx, c, d)) return -1;
                    if (c->type < 8) memcpy(c->head, d, cap);
                    if (cb.span(ctx, c, 0, d, k)) return -1;
                } else {
                    uint32_t m = cap - c->pos < k ? cap - c->pos : k;
                    memcpy(c->head + c->pos, d, m);
                    if (c->pos + m == cap) {
                        if (cb.head(ctx, c, c->head)) return -1;
                        if (cb.span(ctx, c, 0, c->head, cap)) return -1;
                        if (k > m && cb.span(ctx, c, cap, d + m, k - m)) return -1;
                    }
                }
            } else if (cb.span(ctx, c, c->pos, d, k)) return -1;
            c->pos += k; p->left -= k;
            d += k; n -= k;
        }
        if (c->pos == c->len) {
            if (!c->len && cb.head(ctx, c, c->head)) return -1;
            if (c->type == 1 && c->len >= 4) {
                uint32_t v = rd32(c->head) & 0x7fffffff;
                if (!v) return -1;
                p->in_chunk = v;
            }
            c->live = 0;
            if (cb.end(ctx, c)) return -1;
            p->cur = NULL;
        } else if (!p->left) {
            p->cur = NULL;
        }
    }
    return 0;
}

// "_result"/"onStatus"/... of a command message (type 20 or 17): copies the name, gives the transaction id.
static inline int cmd_name(const uint8_t *h, uint32_t n, char *name, size_t cap, double *txn, uint32_t *body) {
    if (n < 3 || h[0] != 2) return 0;
    uint32_t l = (uint32_t)h[1] << 8 | h[2];
    if (l + 3 > n || l >= cap) return 0;
    memcpy(name, h + 3, l);
    name[l] = 0;
    *txn = 0;
    *body = 3 + l;
    if (n >= 3 + l + 9 && h[3 + l] == 0) { *txn = amf_rd_num(h + 4 + l); *body = 12 + l; }
    return 1;
}
#endif
