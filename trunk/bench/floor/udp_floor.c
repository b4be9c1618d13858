// udp_floor: the least that a fan-out by UDP can do. Sends a stream's packets, as they are, to many
// receivers on loopback at the stream's pace: for each video frame a train of packets to everybody
// (GSO), for each audio frame a packet. The receivers are a process of their own, which waits for
// packets as players do, and counts them.
//
//   udp_floor -n RECEIVERS [-f FRAMES/S] [-t PACKETS] [-s BYTES] [-a FRAMES/S] [-b BYTES] [-d SECONDS]
//             [-S CORE] [-R CORE]
//
// Prints {"packets_per_second", "us_per_packet", "lost"}.
#include "common.h"

#include <netinet/udp.h>
#include <sched.h>
#include <sys/wait.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define MOST_TRAIN 65000u // bytes

static unsigned receivers = 500, train = 4, video_bytes = 1040, audio_bytes = 202, port = 20000;
static double video_fps = 30, audio_fps = 54, seconds = 5;
static volatile sig_atomic_t stopping;

static void stop(int number) {
    (void)number;
    stopping = 1;
}

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static uint64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static struct sockaddr_in address_of(unsigned receiver) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(port + receiver))};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

// Counts bytes until it is told to stop, then writes the sum.
static void receive(int ready, int result) {
    static uint8_t buffer[65536];
    static struct epoll_event events[512];
    int ep = epoll_create1(0);
    for (unsigned i = 0; i < receivers; i++) {
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), room = 1 << 20, one = 1;
        struct sockaddr_in a = address_of(i);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one);
        if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0) die("port %u: %s", port + i, strerror(errno));
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
    }
    if (write(ready, "", 1) != 1) exit(2);
    uint64_t bytes = 0;
    while (!stopping) {
        int count = epoll_wait(ep, events, 512, 50);
        for (int i = 0; i < count; i++)
            for (ssize_t got; (got = recv(events[i].data.fd, buffer, sizeof buffer, 0)) > 0;) bytes += (uint64_t)got;
    }
    if (write(result, &bytes, sizeof bytes) != sizeof bytes) exit(2);
    exit(0);
}

static void send_to_all(int fd, const uint8_t *data, unsigned packets, unsigned bytes) {
    union {
        char room[CMSG_SPACE(sizeof(uint16_t))];
        struct cmsghdr header;
    } control = {{0}};
    struct iovec part = {(void *)data, (size_t)packets * bytes};
    for (unsigned i = 0; i < receivers; i++) {
        struct sockaddr_in to = address_of(i);
        struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1};
        if (packets > 1) {
            message.msg_control = &control;
            message.msg_controllen = sizeof control.room;
            control.header = (struct cmsghdr){.cmsg_level = IPPROTO_UDP, .cmsg_type = UDP_SEGMENT, .cmsg_len = CMSG_LEN(sizeof(uint16_t))};
            uint16_t each = (uint16_t)bytes;
            memcpy(CMSG_DATA(&control.header), &each, sizeof each);
        }
        if (sendmsg(fd, &message, 0) < 0) die("sendmsg: %s", strerror(errno));
    }
}

int main(int argc, char **argv) {
    int sender_core = 0, receiver_core = 1;
    for (int option; (option = getopt(argc, argv, "n:f:t:s:a:b:d:p:S:R:")) != -1;) switch (option) {
        case 'n': receivers = (unsigned)atoi(optarg); break;
        case 'f': video_fps = atof(optarg); break;
        case 't': train = (unsigned)atoi(optarg); break;
        case 's': video_bytes = (unsigned)atoi(optarg); break;
        case 'a': audio_fps = atof(optarg); break;
        case 'b': audio_bytes = (unsigned)atoi(optarg); break;
        case 'd': seconds = atof(optarg); break;
        case 'p': port = (unsigned)atoi(optarg); break;
        case 'S': sender_core = atoi(optarg); break;
        case 'R': receiver_core = atoi(optarg); break;
        default: die("unknown option; the options are at the top of udp_floor.c");
    }
    if (receivers < 1 || port + receivers > 65535 || train < 1 || train * video_bytes > MOST_TRAIN || video_fps <= 0 || audio_fps <= 0)
        die("the options do not fit together");
    raise_nofile(receivers + 64);
    int ready[2], result[2];
    if (pipe(ready) || pipe(result)) die("pipe: %s", strerror(errno));
    signal(SIGTERM, stop);
    pid_t kid = fork();
    if (kid == 0) {
        pin(receiver_core);
        receive(ready[1], result[1]);
    }
    close(ready[1]); // a receiver that ends is seen
    close(result[1]);
    char byte;
    if (kid < 0 || read(ready[0], &byte, 1) != 1) die("the receivers do not start");
    pin(sender_core);
    int fd = socket(AF_INET, SOCK_DGRAM, 0), room = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    static uint8_t data[MOST_TRAIN];
    memset(data, 0x5A, sizeof data);
    uint64_t began = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t end = began + (uint64_t)(seconds * NS_PER_S), packets = 0, bytes = 0;
    uint64_t video_frames = 0, audio_frames = 0;
    for (;;) {
        uint64_t video_at = began + (uint64_t)((double)video_frames / video_fps * NS_PER_S);
        uint64_t audio_at = began + (uint64_t)((double)audio_frames / audio_fps * NS_PER_S);
        uint64_t due = video_at < audio_at ? video_at : audio_at;
        if (due >= end || stopping) break;
        struct timespec at = {(time_t)(due / NS_PER_S), (long)(due % NS_PER_S)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        unsigned count = due == video_at ? train : 1, size = due == video_at ? video_bytes : audio_bytes;
        if (due == video_at) video_frames++;
        else audio_frames++;
        send_to_all(fd, data, count, size);
        packets += (uint64_t)count * receivers;
        bytes += (uint64_t)count * size * receivers;
    }
    double took = (double)(clock_ns(CLOCK_MONOTONIC) - began) / NS_PER_S;
    double used = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / NS_PER_S;
    usleep(100000); // what is on the way arrives
    kill(kid, SIGTERM);
    uint64_t received = 0;
    if (read(result[0], &received, sizeof received) != sizeof received) die("the receivers ended");
    waitpid(kid, NULL, 0);
    printf("{\"packets_per_second\": %.0f, \"us_per_packet\": %.4f, \"lost\": %.6f}\n", (double)packets / took,
           used * 1e6 / (double)packets, bytes ? 1 - (double)received / (double)bytes : 0);
    return 0;
}
