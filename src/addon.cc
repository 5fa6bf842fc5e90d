// The Node-API boundary: every argument is checked here, whatever lib/ has checked before, and nothing below checks.
//
// Exports `kernels`, the names of the kernels that this machine runs, the best last, and `bind(name)`, which gives
// the functions over that kernel and `registers`, an ArrayBuffer through which their numbers come. There is no global
// state: what a function needs hangs on the function, so that worker threads and contexts share nothing.
//
// Registers, because each number that crosses as an argument costs about 6 ns (one handle, one conversion), and a store
// from JavaScript into memory that both sides know costs less than 1: mask() in 41 ns instead of 57, unmask() in 25
// instead of 34 (Node 20). They are read as what they are, numbers from outside, and checked like any argument.
#define NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED
#include <napi.h>

#include "dispatch.h"
#include "scan.h"

namespace framemask {
namespace {

// What each register holds. lib/masking/native.js has the same list.
enum Register {
  kKey,       // in: the masking key, its first byte in the lowest eight bits
  kStart,     // in: where in the source, or in the buffer, to begin
  kOffset,    // in: where in the output to begin
  kLength,    // in: how many bytes
  kMode,      // in: what scan accepts, see scan.h
  kCount,     // out: how many frames scan found
  kNonAscii,  // out: 0, or 128 if mask or unmask wrote a byte of 128 or more
  kRegisterCount
};

struct Bytes {
  uint8_t* data;
  size_t length;
};

// The words are few: lib/ has checked before, and says what is wrong with whose argument.
napi_value Throw(napi_env env, const char* code, const char* message) {
  napi_throw_type_error(env, code, message);
  return nullptr;
}

// The bytes of a Uint8Array. Asking for the type would cost 7 ns, and nothing depends on it: a wider array has at
// least as many bytes as elements, so the range is inside it; anything else than a typed array is refused.
bool GetBytes(napi_env env, napi_value value, Bytes* bytes) {
  void* data;
  if (napi_get_typedarray_info(env, value, nullptr, &bytes->length, &data, nullptr, nullptr) != napi_ok) return false;
  bytes->data = static_cast<uint8_t*>(data);
  return true;
}

// A whole number from 0 to 2^53 - 1 that fits this machine's addresses. The comparison refuses NaN, too.
bool ToSize(double number, size_t* size) {
  constexpr double kMaxSafeInteger = 9007199254740991.0;
  if (!(number >= 0 && number <= kMaxSafeInteger && number <= static_cast<double>(SIZE_MAX))) return false;
  *size = static_cast<size_t>(number);
  return static_cast<double>(*size) == number;
}

// A masking key as JavaScript hands it over, the first byte of the key in the lowest eight bits, to memory order.
bool ToKey(double number, uint32_t* key) {
  if (!(number >= 0 && number <= 4294967295.0)) return false;
  *key = static_cast<uint32_t>(number);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  *key = __builtin_bswap32(*key);
#endif
  return true;
}

// One kernel.
struct Kernel {
  const char* name;     // as FRAMEMASK_KERNEL and the export `kernel` have it
  bool (*supported)();  // by the processor and by the operating system
  MaskKernel mask;
};

// All kernels in this build, the plainest first and the best last.
constexpr Kernel kKernels[] = {
    {"scalar", RunsScalar, MaskScalar},
#ifdef FRAMEMASK_X86
    {"sse2", RunsSse2, MaskSse2},       {"avx2", RunsAvx2, MaskAvx2},
#endif
#ifdef FRAMEMASK_AVX512
    {"avx512", RunsAvx512, MaskAvx512},
#endif
#ifdef FRAMEMASK_NEON
    {"neon", RunsNeon, MaskNeon},
#endif
};

// What a function of JavaScript is made with: where its registers are, and in the three bits that are 0 in the address
// of a double which kernel it calls. So no pointer to code lies where JavaScript writes, and there is one function for
// all kernels: one for each would be 1 KB more in a file of 10.
constexpr size_t kKernelCount = sizeof kKernels / sizeof *kKernels;
constexpr uintptr_t kKernelBits = 7;
static_assert(kKernelCount <= kKernelBits + 1, "more kernels than fit");

struct Binding {
  double* registers;
  MaskKernel kernel;
};

// Fills `arguments`, and gives false where some are missing.
template <size_t kCount>
bool GetArguments(napi_env env, napi_callback_info info, napi_value (&arguments)[kCount], Binding* binding) {
  size_t count = kCount;
  void* data = nullptr;
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, &data) != napi_ok || count < kCount) return false;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(data) & kKernelBits;
  binding->registers = reinterpret_cast<double*>(static_cast<char*>(data) - bits);
  binding->kernel = kKernels[kKernelCount == 1 ? 0 : bits].mask;
  return true;
}

// Whether `length` bytes from `start` on lie inside `bytes`. Nothing here can wrap.
bool Contains(const Bytes& bytes, size_t start, size_t length) {
  return start <= bytes.length && length <= bytes.length - start;
}

// mask(source, output): in kKey, kStart, kOffset, kLength, out kNonAscii
napi_value MaskFunction(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  Binding binding;
  Bytes source, output;
  size_t start, offset, length;
  uint32_t key;
  if (!GetArguments(env, info, arguments, &binding) || !GetBytes(env, arguments[0], &source) ||
      !GetBytes(env, arguments[1], &output) || !ToKey(binding.registers[kKey], &key) ||
      !ToSize(binding.registers[kStart], &start) || !ToSize(binding.registers[kOffset], &offset) ||
      !ToSize(binding.registers[kLength], &length)) {
    return Throw(env, "ERR_INVALID_ARG_TYPE", "mask: wrong arguments");
  }
  if (!Contains(source, start, length) || !Contains(output, offset, length)) {
    return Throw(env, "ERR_OUT_OF_RANGE", "mask: wrong range");
  }
  binding.registers[kNonAscii] =
      length == 0 ? 0 : Mask(binding.kernel, source.data + start, output.data + offset, length, key);
  return nullptr;
}

struct UnmaskArguments {
  Binding binding;
  uint8_t* bytes;
  size_t length;
  uint32_t key;
};

// Reads (buffer) and kKey, kStart, kLength. Throws and returns false if they are not right.
bool GetUnmaskArguments(napi_env env, napi_callback_info info, UnmaskArguments* out) {
  napi_value arguments[1];
  Bytes buffer;
  size_t start;
  const Binding& binding = out->binding;
  if (!GetArguments(env, info, arguments, &out->binding) || !GetBytes(env, arguments[0], &buffer) ||
      !ToKey(binding.registers[kKey], &out->key) || !ToSize(binding.registers[kStart], &start) ||
      !ToSize(binding.registers[kLength], &out->length)) {
    Throw(env, "ERR_INVALID_ARG_TYPE", "unmask: wrong arguments");
    return false;
  }
  if (!Contains(buffer, start, out->length)) {
    Throw(env, "ERR_OUT_OF_RANGE", "unmask: wrong range");
    return false;
  }
  out->bytes = buffer.data + start;
  return true;
}

// unmask(buffer): in kKey, kStart, kLength, out kNonAscii
napi_value UnmaskFunction(napi_env env, napi_callback_info info) {
  UnmaskArguments in;
  if (!GetUnmaskArguments(env, info, &in)) return nullptr;
  in.binding.registers[kNonAscii] = in.length == 0 ? 0 : in.binding.kernel(in.bytes, in.bytes, in.length, in.key);
  return nullptr;
}

// unmaskText(buffer): as unmask, but returns the text if all of it is ASCII, else undefined. One crossing for both: 49
// ns for 64 bytes, where unmask and then Buffer.prototype.latin1Slice take 90 (Node 20).
napi_value UnmaskTextFunction(napi_env env, napi_callback_info info) {
  UnmaskArguments in;
  if (!GetUnmaskArguments(env, info, &in)) return nullptr;
  if (in.length != 0 && in.binding.kernel(in.bytes, in.bytes, in.length, in.key) != 0) return nullptr;
  napi_value text = nullptr;
  napi_create_string_latin1(env, reinterpret_cast<const char*>(in.bytes), in.length, &text);
  return text;
}

// scan(chunk, table): in kStart, kMode, out kCount
napi_value ScanFunction(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  Binding binding;
  Bytes chunk;
  size_t start, mode, table_length;
  napi_typedarray_type table_type;
  void* table;
  if (!GetArguments(env, info, arguments, &binding) || !GetBytes(env, arguments[0], &chunk) ||
      !ToSize(binding.registers[kStart], &start) || !ToSize(binding.registers[kMode], &mode) ||
      napi_get_typedarray_info(env, arguments[1], &table_type, &table_length, &table, nullptr, nullptr) != napi_ok ||
      table_type != napi_uint32_array) {
    return Throw(env, "ERR_INVALID_ARG_TYPE", "scan: wrong arguments");
  }
  if (start > chunk.length) return Throw(env, "ERR_OUT_OF_RANGE", "scan: wrong range");
  binding.registers[kCount] =
      static_cast<double>(Scan(binding.kernel, chunk.data, chunk.length, start, static_cast<uint32_t>(mode),
                               static_cast<uint32_t*>(table), table_length / kTableStride));
  return nullptr;
}

// Definitions. node-addon-api gives the module its entry; its classes for values would each bring std::string and an
// allocator along, from a C++ runtime that the addon then could not do without (45 KB, and no musl).

bool AddFunction(napi_env env, napi_value target, const char* name, napi_callback callback, void* data) {
  napi_value function;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, data, &function) == napi_ok &&
         napi_set_named_property(env, target, name, function) == napi_ok;
}

// The functions hold a bare pointer to the registers' memory, so a reference keeps it for as long as the environment.
bool AddRegisters(napi_env env, napi_value target, void** registers) {
  napi_value buffer;
  napi_ref reference;
  if (napi_create_arraybuffer(env, kRegisterCount * sizeof(double), registers, &buffer) != napi_ok) return false;
  return napi_create_reference(env, buffer, 1, &reference) == napi_ok &&
         napi_set_named_property(env, target, "registers", buffer) == napi_ok;
}

// As strcmp, which would be one more thing to ask a C library for.
bool Equal(const char* left, const char* right) {
  while (*left != '\0' && *left == *right) left++, right++;
  return *left == *right;
}

// bind(name) -> { registers, mask, unmask, unmaskText, scan }
napi_value BindFunction(napi_env env, napi_callback_info info) {
  napi_value arguments[1];
  size_t count = 1;
  char name[16] = "";
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr) != napi_ok ||
      napi_get_value_string_utf8(env, arguments[0], name, sizeof name, nullptr) != napi_ok) {
    return Throw(env, "ERR_INVALID_ARG_TYPE", "bind: wrong arguments");
  }
  for (size_t i = 0; i < kKernelCount; i++) {
    if (!Equal(kKernels[i].name, name) || !kKernels[i].supported()) continue;
    napi_value functions;
    void* registers;
    if (napi_create_object(env, &functions) != napi_ok || !AddRegisters(env, functions, &registers)) return nullptr;
    if ((reinterpret_cast<uintptr_t>(registers) & kKernelBits) != 0) {
      return Throw(env, "ERR_INVALID_STATE", "bind: memory");
    }
    void* data = static_cast<char*>(registers) + i;
    const bool made = AddFunction(env, functions, "mask", MaskFunction, data) &&
                      AddFunction(env, functions, "unmask", UnmaskFunction, data) &&
                      AddFunction(env, functions, "unmaskText", UnmaskTextFunction, data) &&
                      AddFunction(env, functions, "scan", ScanFunction, data);
    return made ? functions : nullptr;
  }
  return Throw(env, "ERR_INVALID_ARG_VALUE", "bind: no such kernel");
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  napi_value names, name;
  uint32_t count = 0;
  bool made = napi_create_array(env, &names) == napi_ok;
  for (const Kernel& kernel : kKernels) {
    if (!kernel.supported()) continue;
    made = made && napi_create_string_utf8(env, kernel.name, NAPI_AUTO_LENGTH, &name) == napi_ok &&
           napi_set_element(env, names, count++, name) == napi_ok;
  }
  made = made && napi_set_named_property(env, exports, "kernels", names) == napi_ok &&
         AddFunction(env, exports, "bind", BindFunction, nullptr);
  if (!made) Throw(env, "ERR_INVALID_STATE", "no exports");
  return exports;
}

}  // namespace
}  // namespace framemask

using framemask::Init;
NODE_API_MODULE(framemask, Init)
