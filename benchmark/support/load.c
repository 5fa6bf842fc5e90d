// A client for connections.js: many connections, each of which sends a batch of messages and, when all
// of them have come back, the next. One that runs on Node.js would be the bottleneck.
//
//   load PORT CONNECTIONS COUNT SIZE WARM_MS TURN_MS
//
// Prints "measuring" after the warm-up, then the number of messages that came back. Keeps the
// connections open until stdin ends: their end is not measured. Fails if a connection ends or sends
// other bytes. If COUNT is 0, all are idle: they answer Pings, whose number is printed, and Close
// frames, and nothing is measured any longer when all have ended.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct connection {
  int fd;
  size_t sent, received;
};

static int watched, connections, idle, count, size;
static uint8_t *batch, *echo, chunk[1 << 18];
static size_t batch_length, echo_length;
static int64_t messages;

static void fail(const char* what) {
  fprintf(stderr, "load: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

static size_t put_header(uint8_t* at, int masked) {
  const int extra = size < 126 ? 0 : size < 65536 ? 2 : 8;
  at[0] = 0x82;
  at[1] = (uint8_t)((masked ? 0x80 : 0) | (extra == 0 ? size : extra == 2 ? 126 : 127));
  for (int i = 0; i < extra; i++) at[2 + i] = (uint8_t)((uint64_t)size >> 8 * (extra - 1 - i));
  return (size_t)(2 + extra);
}

// The messages as they are sent, and as they come back.
static void make_batch(void) {
  const uint8_t key[] = {0x12, 0x34, 0x56, 0x78};
  batch = malloc((size_t)count * ((size_t)size + 14));
  echo = malloc((size_t)count * ((size_t)size + 10));
  if (batch == NULL || echo == NULL) fail("no memory");
  for (int i = 0; i < count; i++) {
    batch_length += put_header(batch + batch_length, 1);
    echo_length += put_header(echo + echo_length, 0);
    memcpy(batch + batch_length, key, 4);
    batch_length += 4;
    for (int k = 0; k < size; k++) {
      const uint8_t byte = (uint8_t)(i + k);
      echo[echo_length++] = byte;
      batch[batch_length++] = byte ^ key[k & 3];
    }
  }
}

static void watch(struct connection* it, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = it};
  if (epoll_ctl(watched, operation, it->fd, &event) != 0) fail("epoll_ctl");
}

static void open_connection(struct connection* it, int port) {
  static const char request[] =
      "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  const struct timeval patience = {.tv_sec = 10};
  it->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (it->fd < 0 || connect(it->fd, (struct sockaddr*)&address, sizeof address) != 0) fail("connect");
  setsockopt(it->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(it->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (send(it->fd, request, sizeof request - 1, MSG_NOSIGNAL) != sizeof request - 1) fail("send");
  char answer[1024];
  size_t length = 0;
  while (length < 4 || memcmp(answer + length - 4, "\r\n\r\n", 4) != 0) {
    errno = 0;
    if (length == sizeof answer || recv(it->fd, answer + length, 1, 0) != 1) fail("no answer to the handshake");
    length++;
  }
  if (memcmp(answer, "HTTP/1.1 101", 12) != 0) fail("the handshake was refused");
  watch(it, EPOLL_CTL_ADD, EPOLLIN);
}

static void send_batch(struct connection* it) {
  while (it->sent < batch_length) {
    const ssize_t length = send(it->fd, batch + it->sent, batch_length - it->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (length < 0 && errno != EAGAIN) fail("send");
    if (length < 0) {
      watch(it, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
      return;
    }
    it->sent += (size_t)length;
  }
}

static void begin_batch(struct connection* it) {
  it->sent = it->received = 0;
  send_batch(it);
}

static void receive(struct connection* it) {
  errno = 0;
  const ssize_t length = recv(it->fd, chunk, sizeof chunk, MSG_DONTWAIT);
  if (length < 0 && errno == EAGAIN) return;
  if (length <= 0) fail("a connection has ended");
  if ((size_t)length > echo_length - it->received || memcmp(chunk, echo + it->received, (size_t)length) != 0) {
    fail("other bytes have come back");
  }
  it->received += (size_t)length;
  if (it->received < echo_length) return;
  messages += count;
  begin_batch(it);
}

static void reply(struct connection* it, uint8_t first) {
  // Masked with a key of zeros.
  const uint8_t frame[6] = {first, 0x80};
  if (send(it->fd, frame, sizeof frame, MSG_NOSIGNAL) != sizeof frame) fail("send");
}

// Control frames are short, and come whole over loopback.
static void answer(struct connection* it) {
  const ssize_t length = recv(it->fd, chunk, sizeof chunk, MSG_DONTWAIT);
  if (length < 0 && errno == EAGAIN) return;
  if (length <= 0) {
    close(it->fd);
    idle--;
    return;
  }
  for (ssize_t at = 0; at < length; at += 2 + chunk[at + 1]) {
    errno = 0;
    if (at + 2 > length || at + 2 + chunk[at + 1] > length) fail("a frame is cut");
    if (chunk[at] == 0x88) reply(it, 0x88);
    if (chunk[at] != 0x89) continue;
    reply(it, 0x8a);
    messages++;
  }
}

// Handles what has come, or comes within so many milliseconds.
static void poll_all(int patience) {
  struct epoll_event events[256];
  const int ready = epoll_wait(watched, events, 256, patience);
  for (int i = 0; i < ready; i++) {
    struct connection* it = events[i].data.ptr;
    if (count == 0) {
      answer(it);
      continue;
    }
    if (events[i].events & EPOLLOUT) {
      watch(it, EPOLL_CTL_MOD, EPOLLIN);
      send_batch(it);
    }
    if (events[i].events & ~(uint32_t)EPOLLOUT) receive(it);
  }
}

static void run(int64_t milliseconds) {
  const int64_t end = now() + milliseconds;
  while (now() < end && (count > 0 || idle > 0)) poll_all(100);
}

int main(int argc, char** argv) {
  if (argc != 7) fail("usage: load PORT CONNECTIONS COUNT SIZE WARM_MS TURN_MS");
  connections = atoi(argv[2]), count = atoi(argv[3]), size = atoi(argv[4]);
  make_batch();
  watched = epoll_create1(0);
  struct connection* all = calloc((size_t)connections, sizeof *all);
  if (watched < 0 || all == NULL) fail("no epoll");
  for (int i = 0; i < connections; i++) {
    open_connection(all + i, atoi(argv[1]));
    idle++;
    // The first have been sent Pings before the last are open.
    if (count == 0 && i % 64 == 0) poll_all(0);
  }
  for (int i = 0; i < connections && count > 0; i++) begin_batch(all + i);
  run(atoi(argv[5]));
  puts("measuring");
  fflush(stdout);
  messages = 0;
  run(atoi(argv[6]));
  printf("%lld\n", (long long)messages);
  fflush(stdout);
  while (getchar() != EOF) continue;
  return 0;
}
