// The least work that multicast to HTTP can be: one thread; one socket and one ring for each group; a timer drains all
// groups (recvmmsg, straight into the ring) and sends each client what is new to it, by one call. No order of RTP, no fast
// start, no access rules: what it is measured for is CPU and delay (README.md).
#include "common.h"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#define TS_BYTES 188
#define DATAGRAM (7 * TS_BYTES)
#define RTP_HEADER 12
#define BATCH 64
#define REQUEST 1024
#define RECEIVE_BUFFER (12 << 20)

struct group;

// A descriptor in epoll: which of the two it is, stands first.
enum kind { LISTENER, CLIENT };
struct client {
    enum kind kind;
    int fd, have;            // bytes of the request
    int blocked;             // its socket is full: EPOLLOUT tells when not
    struct group *group;     // null: has not asked yet
    uint64_t at;             // in the stream of its group
    struct client *next;
    char request[REQUEST];
};
struct group {
    struct sockaddr_in address;
    int fd;
    int rtp;
    uint8_t *ring;
    uint64_t end;            // bytes received so far
    struct client *clients;
    struct group *next;
};

static size_t ring_bytes = 1 << 20;
static uint64_t period_ns = 5000000;
static struct in_addr interface_address;
static struct group *all_groups;
static int poller;
static uint64_t skipped;
static volatile sig_atomic_t ended;

static void on_signal(int number) { (void)number; ended = 1; }

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void watch(int operation, int fd, uint32_t events, void *owner) {
    struct epoll_event event = {.events = events, .data.ptr = owner};
    epoll_ctl(poller, operation, fd, &event);
}

// ---- groups ----

static struct group *join(struct sockaddr_in address, int rtp) {
    for (struct group *each = all_groups; each; each = each->next)
        if (each->address.sin_addr.s_addr == address.sin_addr.s_addr && each->address.sin_port == address.sin_port) return each;
    struct group *group = calloc(1, sizeof *group);
    if (!group || !(group->ring = malloc(ring_bytes))) die("out of memory");
    group->address = address;
    group->rtp = rtp;
    group->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1, off = 0, bytes = RECEIVE_BUFFER;
    setsockopt(group->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (setsockopt(group->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(group->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    setsockopt(group->fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off);
    if (bind(group->fd, (struct sockaddr *)&address, sizeof address) < 0) die("bind: %s", strerror(errno));
    struct ip_mreqn member = {.imr_multiaddr = address.sin_addr, .imr_address = interface_address};
    if (setsockopt(group->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member) < 0) die("join: %s", strerror(errno));
    group->next = all_groups;
    return all_groups = group;
}

// What is in the socket, up to a quarter of the ring. 0: that was all of it.
static int drain(struct group *group) {
    static uint8_t headers[BATCH][RTP_HEADER];
    static struct mmsghdr messages[BATCH];
    static struct iovec parts[BATCH][3];
    uint64_t begin = group->end;
    for (;;) {
        for (int i = 0; i < BATCH; i++) {
            size_t at = (group->end + (uint64_t)i * DATAGRAM) % ring_bytes, room = ring_bytes - at;
            size_t first = room < DATAGRAM ? room : DATAGRAM, n = 0;
            if (group->rtp) parts[i][n++] = (struct iovec){headers[i], RTP_HEADER};
            parts[i][n++] = (struct iovec){group->ring + at, first};
            if (first < DATAGRAM) parts[i][n++] = (struct iovec){group->ring, DATAGRAM - first};
            messages[i].msg_hdr = (struct msghdr){.msg_iov = parts[i], .msg_iovlen = n};
        }
        int got = recvmmsg(group->fd, messages, BATCH, MSG_DONTWAIT, NULL);
        for (int i = 0; i < got; i++)
            if (messages[i].msg_len != (unsigned)(DATAGRAM + (group->rtp ? RTP_HEADER : 0))) die("a datagram of %u bytes", messages[i].msg_len);
        if (got > 0) group->end += (uint64_t)got * DATAGRAM;
        if (got < BATCH) return 0;
        if (group->end - begin > ring_bytes / 4) return 1;
    }
}

// ---- clients ----

static void leave(struct client *client) {
    if (client->group) {
        struct client **link = &client->group->clients;
        while (*link != client) link = &(*link)->next;
        *link = client->next;
    }
    close(client->fd);
    free(client);
}

// 0: it is gone.
static int flush_client(struct client *client) {
    struct group *group = client->group;
    while (client->at < group->end) {
        uint64_t left = group->end - client->at;
        if (left > ring_bytes - ring_bytes / 4) {
            skipped += left;
            client->at = group->end;
            break;
        }
        size_t at = client->at % ring_bytes, room = ring_bytes - at, first = left < room ? left : room;
        struct iovec parts[2] = {{group->ring + at, first}, {group->ring, left - first}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = left > first ? 2 : 1};
        ssize_t sent = sendmsg(client->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) {
            leave(client);
            return 0;
        }
        if (sent < 0) {
            if (!client->blocked) watch(EPOLL_CTL_MOD, client->fd, EPOLLIN | EPOLLOUT, client);
            client->blocked = 1;
            return 1;
        }
        client->at += (uint64_t)sent;
    }
    if (client->blocked) watch(EPOLL_CTL_MOD, client->fd, EPOLLIN, client);
    client->blocked = 0;
    return 1;
}

static void flush_group(struct group *group) {
    for (struct client *each = group->clients, *next; each; each = next) {
        next = each->next;
        if (!each->blocked) flush_client(each);
    }
}

// Takes "GET /udp/1.2.3.4:5 " or "/rtp/". 0: this is something else.
static int begin(struct client *client) {
    static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\nConnection: close\r\n\r\n";
    char how[4], ip[16];
    unsigned port;
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (sscanf(client->request, "GET /%3[a-z]/%15[0-9.]:%u", how, ip, &port) != 3 || !inet_aton(ip, &address.sin_addr)) return 0;
    address.sin_port = htons((uint16_t)port);
    client->group = join(address, !strcmp(how, "rtp"));
    client->at = client->group->end;
    client->next = client->group->clients;
    client->group->clients = client;
    return write(client->fd, ok, sizeof ok - 1) == sizeof ok - 1;
}

static int read_client(struct client *client) {
    char waste[256];
    char *to = client->group ? waste : client->request + client->have;
    size_t room = client->group ? sizeof waste : sizeof client->request - 1 - (size_t)client->have;
    ssize_t got = recv(client->fd, to, room, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return 1;
    if (got <= 0) return 0;
    if (client->group) return 1;
    client->have += (int)got;
    client->request[client->have] = 0;
    return strstr(client->request, "\r\n\r\n") ? begin(client) : client->have < REQUEST - 1;
}

static void accept_all(int listener) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        struct client *client = calloc(1, sizeof *client);
        if (!client) die("out of memory");
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        client->kind = CLIENT;
        client->fd = fd;
        watch(EPOLL_CTL_ADD, fd, EPOLLIN, client);
    }
}

// Connections that come, ask and leave. One that is freed may have another event in the list: the rest waits for the next look.
static void look_at_clients(int listener, int wait_ms) {
    struct epoll_event events[64];
    int count = epoll_wait(poller, events, 64, wait_ms);
    for (int i = 0; i < count; i++) {
        struct client *client = events[i].data.ptr;
        if (client->kind == LISTENER) {
            accept_all(listener);
            continue;
        }
        int alive = !(events[i].events & (EPOLLERR | EPOLLHUP)) && (!(events[i].events & EPOLLIN) || read_client(client));
        if (!alive) {
            leave(client);
            return;
        }
        if ((events[i].events & EPOLLOUT) && client->group && !flush_client(client)) return;
    }
}

static int listen_at(struct in_addr ip, uint16_t port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = ip, .sin_port = htons(port)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1024) < 0) die("port %u: %s", port, strerror(errno));
    return fd;
}

static void usage(void) {
    fprintf(stderr, "mcast_floor [-a ADDRESS] -p PORT [-i ADDRESS] [-b MS] [-r KIB]\n"
                    "  -a, -p  where clients ask: GET /udp/GROUP:PORT or /rtp/GROUP:PORT\n"
                    "  -i      address of the interface where groups are joined\n"
                    "  -b      between two drains [5]\n"
                    "  -r      ring of a group [1024]\n");
    exit(2);
}

int main(int count, char **arguments) {
    struct in_addr ip = {htonl(INADDR_LOOPBACK)};
    int option, port = 0;
    while ((option = getopt(count, arguments, "a:p:i:b:r:")) != -1) {
        if (option == 'p') port = atoi(optarg);
        else if (option == 'b') period_ns = (uint64_t)atoi(optarg) * 1000000;
        else if (option == 'r') ring_bytes = (size_t)atoi(optarg) << 10;
        else if (option == 'a' && inet_aton(optarg, &ip)) continue;
        else if (option == 'i' && inet_aton(optarg, &interface_address)) continue;
        else usage();
    }
    if (port <= 0 || port > 65535 || period_ns == 0 || ring_bytes < 4 * BATCH * DATAGRAM) usage();
    raise_nofile(0);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1000);
    poller = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_at(ip, (uint16_t)port);
    struct client listening = {.kind = LISTENER, .fd = listener};
    watch(EPOLL_CTL_ADD, listener, EPOLLIN, &listening);
    for (uint64_t next = clock_ns(); !ended;) {
        if (!all_groups) {
            look_at_clients(listener, 100);
            next = clock_ns();
            continue;
        }
        next += period_ns;
        if (next < clock_ns()) next = clock_ns();
        struct timespec until = {.tv_sec = (time_t)(next / NS_PER_S), .tv_nsec = (long)(next % NS_PER_S)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        for (struct group *each = all_groups; each; each = each->next)
            for (int more = 1; more; flush_group(each)) more = drain(each);
        look_at_clients(listener, 0);
    }
    if (skipped) fprintf(stderr, "mcast_floor: %llu bytes were not sent to slow clients\n", (unsigned long long)skipped);
    return 0;
}
