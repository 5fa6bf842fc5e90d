// Receives for all sockets that are ready, calls JavaScript once for all of them, a round, and sends
// the replies. lib/sockets/rounds.js has the other half. Linux alone: it needs epoll.
//
// The sockets are in an epoll instance, which is watched by one uv_poll_t on Node.js's loop. A round
// receives once for each of them, into one piece of memory, and fills a table with the places. The
// replies come in a piece of memory and a table, too.
//
// Each argument is checked, and the result of each call. Each thread has a reactor of its own, which
// its functions hold.
#include <errno.h>
#include <node_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../add-function.h"

// The functions of libuv that are used, whose ABI is stable within a major version. Its header is
// not among those that npm's node-api-headers has.
extern "C" {
struct uv_poll_s;
typedef void (*uv_poll_callback)(uv_poll_s* handle, int status, int events);
typedef void (*uv_close_callback)(uv_poll_s* handle);
unsigned int uv_version(void);
size_t uv_handle_size(int type);
void uv_handle_set_data(uv_poll_s* handle, void* data);
void* uv_handle_get_data(const uv_poll_s* handle);
int uv_poll_init(uv_loop_s* loop, uv_poll_s* handle, int fd);
int uv_poll_start(uv_poll_s* handle, int events, uv_poll_callback callback);
void uv_close(uv_poll_s* handle, uv_close_callback callback);
void uv_ref(uv_poll_s* handle);
void uv_unref(uv_poll_s* handle);
}

namespace {

using framemask::AddFunction;

constexpr unsigned int kUvMajor = 1;
constexpr int kUvPoll = 8;
constexpr int kUvReadable = 1;

// A round ends after so many bytes: the last of them are decoded last, and should still be in the
// processor's cache then.
constexpr size_t kRoundBytes = 16 * 1024;
// Each receives so many at most, as with libuv.
constexpr size_t kReceiveBytes = 64 * 1024;
constexpr size_t kMemoryBytes = kRoundBytes + kReceiveBytes;

constexpr int kMaxEvents = 256;
constexpr uint32_t kMaxSlots = 1 << 20;

// The table: the index of the next entry to deliver, then for each entry a slot, the first byte in
// the memory, and the number of bytes; 0 if the socket is to be given back, below 0 an error.
// That of the replies has the same entries; `send` puts the number of bytes sent in the last.
constexpr size_t kEntryLength = 3;
constexpr size_t kTableLength = 1 + kEntryLength * kMaxEvents;

struct Slot {
  int descriptor;  // -1 if the slot is free
  bool is_watched;
};

struct Memory {
  uint8_t* bytes;
  size_t length;
  volatile int32_t* table;
};

struct Reactor {
  napi_env env;
  napi_async_context context;
  napi_ref received, received_table, replies, replies_table, callback;
  napi_async_cleanup_hook_handle hook;
  uv_poll_s* poll;
  int epoll;
  bool in_round;
  Slot* slots;
  uint32_t slot_count;
  // Events from `next` on are left for the next round, before new ones: in rounds that are full, the
  // first sockets would otherwise always win.
  epoll_event events[kMaxEvents];
  int count, next;
};

napi_value Throw(napi_env env, const char* message) {
  napi_throw_error(env, "FRAMEMASK_ERR_REACTOR", message);
  return nullptr;
}

// Finds memory and table anew each time: a reference does not keep them from being detached.
bool GetMemory(const Reactor* reactor, napi_ref bytes, napi_ref table, Memory* memory) {
  napi_env env = reactor->env;
  napi_value value;
  napi_typedarray_type bytes_type, table_type;
  size_t table_length;
  void *data, *table_data;
  if (napi_get_reference_value(env, bytes, &value) != napi_ok || value == nullptr ||
      napi_get_typedarray_info(env, value, &bytes_type, &memory->length, &data, nullptr, nullptr) != napi_ok ||
      napi_get_reference_value(env, table, &value) != napi_ok || value == nullptr ||
      napi_get_typedarray_info(env, value, &table_type, &table_length, &table_data, nullptr, nullptr) != napi_ok) {
    return false;
  }
  memory->bytes = static_cast<uint8_t*>(data);
  memory->table = static_cast<int32_t*>(table_data);
  return bytes_type == napi_uint8_array && table_type == napi_int32_array && table_length >= kTableLength;
}

bool GetReceived(const Reactor* reactor, Memory* memory) {
  return GetMemory(reactor, reactor->received, reactor->received_table, memory) && memory->length >= kMemoryBytes;
}

// Receives for the sockets that are ready. Returns the number of entries in the table.
int Receive(Reactor* reactor, const Memory& memory) {
  if (reactor->next == reactor->count) {
    const int count = epoll_wait(reactor->epoll, reactor->events, kMaxEvents, 0);
    reactor->next = 0;
    reactor->count = count < 0 ? 0 : count;  // EINTR: the loop calls again
  }
  int entries = 0;
  size_t used = 0;
  while (reactor->next < reactor->count && used < kRoundBytes) {
    const epoll_event& event = reactor->events[reactor->next++];
    const uint32_t slot = event.data.u32;
    if (slot >= reactor->slot_count || !reactor->slots[slot].is_watched) continue;  // not any more
    ssize_t length = 0;
    // Node.js sees the error itself when it has the socket back.
    if ((event.events & (EPOLLERR | EPOLLHUP)) == 0) {
      length = recv(reactor->slots[slot].descriptor, memory.bytes + used, kReceiveBytes, MSG_DONTWAIT);
      if (length < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (length < 0) length = -errno;  // GCOV_EXCL_LINE: most errors come with EPOLLERR
    }
    volatile int32_t* entry = memory.table + 1 + kEntryLength * entries++;
    entry[0] = static_cast<int32_t>(slot);
    entry[1] = static_cast<int32_t>(used);
    entry[2] = static_cast<int32_t>(length);
    if (length > 0) used += static_cast<size_t>(length);
  }
  return entries;
}

// Calls JavaScript until it returns: an error that a handler throws is the process's, as in Node.js's
// own reads, and the entries after it are delivered then. False if the thread ends.
bool Deliver(Reactor* reactor, int entries, volatile int32_t* table) {
  napi_env env = reactor->env;
  napi_value callback, receiver, argument, error;
  table[0] = 0;
  for (int calls = 0; calls <= entries; calls++) {
    if (napi_get_reference_value(env, reactor->callback, &callback) != napi_ok ||
        napi_get_global(env, &receiver) != napi_ok || napi_create_int32(env, entries, &argument) != napi_ok) {
      return false;
    }
    const napi_status status = napi_make_callback(env, reactor->context, receiver, callback, 1, &argument, nullptr);
    if (status == napi_ok) return true;
    bool pending = false;
    if (napi_is_exception_pending(env, &pending) != napi_ok || !pending ||
        napi_get_and_clear_last_exception(env, &error) != napi_ok || napi_fatal_exception(env, error) != napi_ok) {
      return false;  // GCOV_EXCL_LINE: the thread ends
    }
  }
  return false;
}

void OnReadable(uv_poll_s* poll, int status, int) {
  Reactor* reactor = static_cast<Reactor*>(uv_handle_get_data(poll));
  // A handler may run the loop.
  if (status < 0 || reactor->in_round) return;
  napi_handle_scope scope;
  if (napi_open_handle_scope(reactor->env, &scope) != napi_ok) return;
  Memory memory;
  reactor->in_round = true;
  // Long reads fill a round with one or two sockets. A turn of the loop for each would cost more than
  // libuv's own reads do.
  do {
    if (!GetReceived(reactor, &memory)) break;
    const int entries = Receive(reactor, memory);
    if (entries > 0 && !Deliver(reactor, entries, memory.table)) break;
  } while (reactor->next < reactor->count);
  reactor->in_round = false;
  napi_close_handle_scope(reactor->env, scope);
}

// Reads `kCount` whole numbers; null if they are none.
template <size_t kCount>
Reactor* GetNumbers(napi_env env, napi_callback_info info, int32_t (&numbers)[kCount]) {
  napi_value arguments[kCount];
  size_t count = kCount;
  void* data = nullptr;
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, &data) != napi_ok || count < kCount) return nullptr;
  for (size_t i = 0; i < kCount; i++) {
    double number;
    if (napi_get_value_double(env, arguments[i], &number) != napi_ok || !(number >= 0 && number <= INT32_MAX)) {
      return nullptr;
    }
    numbers[i] = static_cast<int32_t>(number);
    if (numbers[i] != number) return nullptr;
  }
  return static_cast<Reactor*>(data);
}

napi_value ToResult(napi_env env, int result) {
  napi_value value = nullptr;
  napi_create_int32(env, result, &value);
  return value;
}

bool Grow(Reactor* reactor, uint32_t slot) {
  if (slot < reactor->slot_count) return true;
  if (slot >= kMaxSlots) return false;
  const uint32_t count = slot < 64 ? 64 : slot * 2;
  Slot* grown = static_cast<Slot*>(realloc(reactor->slots, count * sizeof(Slot)));
  if (grown == nullptr) return false;
  for (uint32_t i = reactor->slot_count; i < count; i++) grown[i] = {-1, false};
  reactor->slots = grown;
  reactor->slot_count = count;
  return true;
}

// The slot that has a socket; null if none has.
Slot* GetSlot(const Reactor* reactor, int32_t number) {
  const uint32_t index = static_cast<uint32_t>(number);
  return index < reactor->slot_count && reactor->slots[index].descriptor >= 0 ? reactor->slots + index : nullptr;
}

// The functions return 0, or an error below 0 as libuv has it.

// enter(slot, descriptor)
napi_value Enter(napi_env env, napi_callback_info info) {
  int32_t numbers[2];
  Reactor* reactor = GetNumbers(env, info, numbers);
  if (reactor == nullptr) return Throw(env, "enter: wrong arguments");
  int type;
  socklen_t length = sizeof type;
  if (getsockopt(numbers[1], SOL_SOCKET, SO_TYPE, &type, &length) != 0) return ToResult(env, -errno);
  if (type != SOCK_STREAM) return ToResult(env, -EINVAL);
  if (!Grow(reactor, static_cast<uint32_t>(numbers[0]))) return ToResult(env, -ENOMEM);
  if (GetSlot(reactor, numbers[0]) != nullptr) return ToResult(env, -EEXIST);
  reactor->slots[numbers[0]] = {numbers[1], false};
  return ToResult(env, 0);
}

int Watch(Reactor* reactor, int32_t number, bool watch) {
  Slot* slot = GetSlot(reactor, number);
  if (slot == nullptr) return -ENOENT;
  if (slot->is_watched == watch) return 0;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u32 = static_cast<uint32_t>(number);
  const int operation = watch ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
  if (epoll_ctl(reactor->epoll, operation, slot->descriptor, &event) != 0) return -errno;
  slot->is_watched = watch;
  return 0;
}

// watch(slot, 0 or 1): whether the socket is received for.
napi_value WatchFunction(napi_env env, napi_callback_info info) {
  int32_t numbers[2];
  Reactor* reactor = GetNumbers(env, info, numbers);
  if (reactor == nullptr) return Throw(env, "watch: wrong arguments");
  return ToResult(env, Watch(reactor, numbers[0], numbers[1] != 0));
}

// leave(slot): must be called before the descriptor is closed.
napi_value Leave(napi_env env, napi_callback_info info) {
  int32_t numbers[1];
  Reactor* reactor = GetNumbers(env, info, numbers);
  if (reactor == nullptr) return Throw(env, "leave: wrong arguments");
  const int result = Watch(reactor, numbers[0], false);
  Slot* slot = GetSlot(reactor, numbers[0]);
  if (slot != nullptr) *slot = {-1, false};
  return ToResult(env, result);
}

// send(first, end): sends the replies of these entries. Each gets the number of bytes that the
// system took, 0 if it takes none now, or an error.
napi_value Send(napi_env env, napi_callback_info info) {
  int32_t numbers[2];
  Reactor* reactor = GetNumbers(env, info, numbers);
  if (reactor == nullptr || numbers[1] > kMaxEvents) return Throw(env, "send: wrong arguments");
  Memory memory;
  if (!GetMemory(reactor, reactor->replies, reactor->replies_table, &memory)) return Throw(env, "send: no memory");
  for (int32_t i = numbers[0]; i < numbers[1]; i++) {
    volatile int32_t* entry = memory.table + 1 + kEntryLength * i;
    const Slot* slot = GetSlot(reactor, entry[0]);
    const int32_t start = entry[1], length = entry[2];
    const size_t at = static_cast<size_t>(start), size = static_cast<size_t>(length);
    if (slot == nullptr || start < 0 || length < 0 || at > memory.length || size > memory.length - at) {
      entry[2] = -EINVAL;
      continue;
    }
    ssize_t sent;
    do {
      sent = send(slot->descriptor, memory.bytes + at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) sent = errno == EAGAIN ? 0 : -errno;
    entry[2] = static_cast<int32_t>(sent);
    if (sent == length) continue;
    // Later replies of the same socket must not overtake the rest.
    for (int32_t j = i + 1; j < numbers[1]; j++) {
      volatile int32_t* later = memory.table + 1 + kEntryLength * j;
      if (later[0] == entry[0]) later[2] = 0;
    }
  }
  return ToResult(env, 0);
}

// hold(0 or 1): whether the loop stays alive for the reactor.
napi_value Hold(napi_env env, napi_callback_info info) {
  int32_t numbers[1];
  Reactor* reactor = GetNumbers(env, info, numbers);
  if (reactor == nullptr) return Throw(env, "hold: wrong arguments");
  if (numbers[0] == 0) {
    uv_unref(reactor->poll);
  } else {
    uv_ref(reactor->poll);
  }
  return nullptr;
}

void Free(Reactor* reactor) {
  if (reactor->epoll >= 0) close(reactor->epoll);
  free(reactor->slots);
  free(reactor->poll);
  free(reactor);
}

void OnClosed(uv_poll_s* poll) {
  Reactor* reactor = static_cast<Reactor*>(uv_handle_get_data(poll));
  napi_async_cleanup_hook_handle hook = reactor->hook;
  Free(reactor);
  napi_remove_async_cleanup_hook(hook);
}

// The thread ends. Its JavaScript no longer runs, so that nothing uses the reactor any more.
void OnCleanup(napi_async_cleanup_hook_handle, void* data) { uv_close(static_cast<Reactor*>(data)->poll, OnClosed); }

// Whether this system receives by epoll as the reactor does: a pair of sockets tries it. A sandbox
// may refuse a call.
bool Prove(const Reactor* reactor) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
  const char sent[] = "framemask";
  char received[sizeof sent] = "";
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u32 = kMaxSlots;
  bool proved =
      epoll_ctl(reactor->epoll, EPOLL_CTL_ADD, pair[0], &event) == 0 && epoll_wait(reactor->epoll, &event, 1, 0) == 0 &&
      send(pair[1], sent, sizeof sent, MSG_NOSIGNAL) == sizeof sent && epoll_wait(reactor->epoll, &event, 1, 0) == 1 &&
      event.data.u32 == kMaxSlots && recv(pair[0], received, sizeof received, MSG_DONTWAIT) == sizeof received;
  for (size_t i = 0; i < sizeof sent; i++) proved = proved && sent[i] == received[i];
  proved = epoll_ctl(reactor->epoll, EPOLL_CTL_DEL, pair[0], nullptr) == 0 && proved;
  close(pair[0]);
  close(pair[1]);
  return proved;
}

// Keeps the memories, their tables and the callback; false if they can't be used.
bool KeepArguments(Reactor* reactor, napi_callback_info info) {
  napi_env env = reactor->env;
  napi_value arguments[5], name;
  size_t count = 5;
  napi_valuetype type;
  Memory memory;
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr) != napi_ok || count != 5) return false;
  napi_ref* references[] = {&reactor->received, &reactor->received_table, &reactor->replies, &reactor->replies_table,
                            &reactor->callback};
  for (size_t i = 0; i < 5; i++) {
    if (napi_typeof(env, arguments[i], &type) != napi_ok || type != (i == 4 ? napi_function : napi_object) ||
        napi_create_reference(env, arguments[i], 1, references[i]) != napi_ok) {
      return false;
    }
  }
  return GetReceived(reactor, &memory) && GetMemory(reactor, reactor->replies, reactor->replies_table, &memory) &&
         napi_create_string_utf8(env, "framemask", NAPI_AUTO_LENGTH, &name) == napi_ok &&
         napi_async_init(env, nullptr, name, &reactor->context) == napi_ok;
}

// open(received, table, replies, table, onRound) -> { enter, watch, leave, send, hold }. `onRound`
// gets the number of entries.
napi_value Open(napi_env env, napi_callback_info info) {
  if (uv_version() >> 16 != kUvMajor) return Throw(env, "libuv is of another major version");
  Reactor* reactor = static_cast<Reactor*>(calloc(1, sizeof(Reactor)));
  if (reactor == nullptr) return Throw(env, "no memory");
  reactor->env = env;
  reactor->poll = static_cast<uv_poll_s*>(calloc(1, uv_handle_size(kUvPoll)));
  reactor->epoll = epoll_create1(EPOLL_CLOEXEC);
  const char* fault = nullptr;
  uv_loop_s* loop;
  if (reactor->poll == nullptr || reactor->epoll < 0)
    fault = "epoll can't be used";
  else if (!KeepArguments(reactor, info))
    fault = "open: wrong arguments";
  else if (!Prove(reactor))
    fault = "epoll does not receive";
  else if (napi_get_uv_event_loop(env, &loop) != napi_ok || uv_poll_init(loop, reactor->poll, reactor->epoll) != 0)
    fault = "libuv can't watch epoll";
  if (fault != nullptr) {
    Free(reactor);
    return Throw(env, fault);
  }
  uv_handle_set_data(reactor->poll, reactor);
  uv_unref(reactor->poll);
  napi_value functions;
  const bool made =
      napi_add_async_cleanup_hook(env, OnCleanup, reactor, &reactor->hook) == napi_ok &&
      uv_poll_start(reactor->poll, kUvReadable, OnReadable) == 0 && napi_create_object(env, &functions) == napi_ok &&
      AddFunction(env, functions, "enter", Enter, reactor) &&
      AddFunction(env, functions, "watch", WatchFunction, reactor) &&
      AddFunction(env, functions, "leave", Leave, reactor) && AddFunction(env, functions, "send", Send, reactor) &&
      AddFunction(env, functions, "hold", Hold, reactor);
  if (made) return functions;
  // GCOV_EXCL_START: Node.js is out of memory, or ends.
  if (reactor->hook == nullptr) uv_close(reactor->poll, OnClosed);
  return Throw(env, "open failed");
  // GCOV_EXCL_STOP
}

}  // namespace

NAPI_MODULE_INIT() {
  if (!AddFunction(env, exports, "open", Open, nullptr)) return Throw(env, "no exports");
  return exports;
}
