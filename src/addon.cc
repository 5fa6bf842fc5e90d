// The Node-API boundary: every argument is checked here, and nothing below checks any.
//
// Exports `kernels`, the names of the kernels that this machine runs, the best one last, and
// `bind(name, params)`, which returns the functions of one kernel. They take and return numbers
// through `params`, a Float64Array over shared memory. There is no global state: each function
// holds its own state, so worker threads and contexts share nothing.
//
// A number passed as an argument costs about 6 ns (a handle and a conversion), one stored in a
// param less than 1 ns: mask() takes 41 ns instead of 57, unmask() 25 instead of 34 (Node 20).
// Params come from outside, so they are checked like arguments.
#define NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED
#include <napi.h>

#include "dispatch.h"
#include "scan.h"

namespace framemask {
namespace {

// The content of each of the params. lib/masking/native.js has the same list.
enum Param {
  kKey,       // in: the masking key, its first byte in the lowest eight bits
  kStart,     // in: the first byte of the source, buffer or chunk to read
  kOffset,    // in: the first byte of the output to write
  kLength,    // in: the number of bytes
  kMode,      // in: the rules of scan, see scan.h
  kCount,     // out: the number of frames that scan found
  kNonAscii,  // out: 128 if mask or unmask wrote a byte of 128 or more, else 0
  kParamCount
};

struct Bytes {
  uint8_t* data;
  size_t length;
};

// The messages are short: users see those of lib/, which checks first.
napi_value Throw(napi_env env, const char* code, const char* message) {
  napi_throw_type_error(env, code, message);
  return nullptr;
}

// Reads a Uint8Array; false if `value` is not a typed array. Checking the element type would cost 7
// ns and is not needed: an array of wider elements has at least `length` bytes.
bool GetBytes(napi_env env, napi_value value, Bytes* bytes) {
  void* data;
  if (napi_get_typedarray_info(env, value, nullptr, &bytes->length, &data, nullptr, nullptr) != napi_ok) return false;
  bytes->data = static_cast<uint8_t*>(data);
  return true;
}

// Converts a whole number from 0 to 2^53 - 1 that fits a size_t; false for others, NaN included.
bool ToSize(double number, size_t* size) {
  constexpr double kMaxSafeInteger = 9007199254740991.0;
  if (!(number >= 0 && number <= kMaxSafeInteger && number <= static_cast<double>(SIZE_MAX))) return false;
  *size = static_cast<size_t>(number);
  return static_cast<double>(*size) == number;
}

// Converts a masking key from JavaScript, its first byte in the lowest eight bits, to memory order.
bool ToKey(double number, uint32_t* key) {
  if (!(number >= 0 && number <= 4294967295.0)) return false;
  *key = static_cast<uint32_t>(number);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  *key = __builtin_bswap32(*key);
#endif
  return true;
}

struct Kernel {
  const char* name;     // as FRAMEMASK_KERNEL and the export `kernel` have it
  bool (*supported)();  // by the processor and by the operating system
  MaskKernel mask;
};

// All kernels in this build, the best one last.
constexpr Kernel kKernels[] = {
    {"scalar", SupportsScalar, MaskScalar},
#ifdef FRAMEMASK_X86
    {"sse2", SupportsSse2, MaskSse2},       {"avx2", SupportsAvx2, MaskAvx2},
#endif
#ifdef FRAMEMASK_AVX512
    {"avx512", SupportsAvx512, MaskAvx512},
#endif
#ifdef FRAMEMASK_NEON
    {"neon", SupportsNeon, MaskNeon},
#endif
};

// The data pointer of a JavaScript function is the address of its params. The lowest three bits,
// 0 in the address of a double, hold the index of its kernel. So memory that JavaScript can write
// does not point to code, and one function serves all kernels; one for each would add 1 KB.
constexpr size_t kKernelCount = sizeof kKernels / sizeof *kKernels;
constexpr uintptr_t kKernelBits = 7;
static_assert(kKernelCount <= kKernelBits + 1, "more kernels than fit");

// Params are volatile because another thread may write to shared memory: each is read once, so
// the number that was checked is the number that is used.
struct Binding {
  volatile double* params;
  MaskKernel kernel;
};

// Fills `arguments` and `binding`; false if arguments are missing.
template <size_t kCount>
bool GetArguments(napi_env env, napi_callback_info info, napi_value (&arguments)[kCount], Binding* binding) {
  size_t count = kCount;
  void* data = nullptr;
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, &data) != napi_ok || count < kCount) return false;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(data) & kKernelBits;
  binding->params = reinterpret_cast<volatile double*>(static_cast<char*>(data) - bits);
  binding->kernel = kKernels[kKernelCount == 1 ? 0 : bits].mask;
  return true;
}

// Whether `bytes` contains `length` bytes from `start` on. Neither comparison can overflow.
bool Contains(const Bytes& bytes, size_t start, size_t length) {
  return start <= bytes.length && length <= bytes.length - start;
}

// mask(source, output): takes kKey, kStart, kOffset and kLength, sets kNonAscii.
napi_value MaskFunction(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  Binding binding;
  Bytes source, output;
  size_t start, offset, length;
  uint32_t key;
  if (!GetArguments(env, info, arguments, &binding) || !GetBytes(env, arguments[0], &source) ||
      !GetBytes(env, arguments[1], &output) || !ToKey(binding.params[kKey], &key) ||
      !ToSize(binding.params[kStart], &start) || !ToSize(binding.params[kOffset], &offset) ||
      !ToSize(binding.params[kLength], &length)) {
    return Throw(env, "ERR_INVALID_ARG_TYPE", "mask: wrong arguments");
  }
  if (!Contains(source, start, length) || !Contains(output, offset, length)) {
    return Throw(env, "ERR_OUT_OF_RANGE", "mask: wrong range");
  }
  binding.params[kNonAscii] =
      length == 0 ? 0 : Mask(binding.kernel, source.data + start, output.data + offset, length, key);
  return nullptr;
}

struct UnmaskArguments {
  Binding binding;
  uint8_t* bytes;
  size_t length;
  uint32_t key;
};

// Reads (buffer), kKey, kStart and kLength. If one of them is not valid, throws and returns false.
bool GetUnmaskArguments(napi_env env, napi_callback_info info, UnmaskArguments* out) {
  napi_value arguments[1];
  Bytes buffer;
  size_t start;
  const Binding& binding = out->binding;
  if (!GetArguments(env, info, arguments, &out->binding) || !GetBytes(env, arguments[0], &buffer) ||
      !ToKey(binding.params[kKey], &out->key) || !ToSize(binding.params[kStart], &start) ||
      !ToSize(binding.params[kLength], &out->length)) {
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

// unmask(buffer): takes kKey, kStart and kLength, sets kNonAscii.
napi_value UnmaskFunction(napi_env env, napi_callback_info info) {
  UnmaskArguments in;
  if (!GetUnmaskArguments(env, info, &in)) return nullptr;
  in.binding.params[kNonAscii] = in.length == 0 ? 0 : in.binding.kernel(in.bytes, in.bytes, in.length, in.key);
  return nullptr;
}

// unmaskText(buffer): as unmask, but returns the text if it is ASCII, else undefined. 64 bytes take
// 49 ns, with unmask() and Buffer.prototype.latin1Slice() 90 (Node 20).
napi_value UnmaskTextFunction(napi_env env, napi_callback_info info) {
  UnmaskArguments in;
  if (!GetUnmaskArguments(env, info, &in)) return nullptr;
  if (in.length != 0 && in.binding.kernel(in.bytes, in.bytes, in.length, in.key) != 0) return nullptr;
  napi_value text = nullptr;
  napi_create_string_latin1(env, reinterpret_cast<const char*>(in.bytes), in.length, &text);
  return text;
}

// scan(chunk, table): takes kStart and kMode, sets kCount.
napi_value ScanFunction(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  Binding binding;
  Bytes chunk;
  size_t start, mode, table_length;
  napi_typedarray_type table_type;
  void* table;
  if (!GetArguments(env, info, arguments, &binding) || !GetBytes(env, arguments[0], &chunk) ||
      !ToSize(binding.params[kStart], &start) || !ToSize(binding.params[kMode], &mode) ||
      napi_get_typedarray_info(env, arguments[1], &table_type, &table_length, &table, nullptr, nullptr) != napi_ok ||
      table_type != napi_uint32_array) {
    return Throw(env, "ERR_INVALID_ARG_TYPE", "scan: wrong arguments");
  }
  if (start > chunk.length) return Throw(env, "ERR_OUT_OF_RANGE", "scan: wrong range");
  binding.params[kCount] =
      static_cast<double>(Scan(binding.kernel, chunk.data, chunk.length, start, static_cast<uint32_t>(mode),
                               static_cast<uint32_t*>(table), table_length / kTableStride));
  return nullptr;
}

// Of node-addon-api, only the module entry is used. Its classes for values need std::string and an
// allocator from a C++ runtime: 45 KB, and no file that runs on both glibc and musl.

// Reads the params; false if they can't be used. It must be shared memory: an ArrayBuffer could be
// transferred to another thread, which frees or moves its memory.
bool GetParams(napi_env env, napi_value params, void** data) {
  napi_typedarray_type type;
  size_t length;
  napi_value buffer;
  bool transferable = true;
  return napi_get_typedarray_info(env, params, &type, &length, data, &buffer, nullptr) == napi_ok &&
         type == napi_float64_array && length >= kParamCount &&
         napi_is_arraybuffer(env, buffer, &transferable) == napi_ok && !transferable &&
         (reinterpret_cast<uintptr_t>(*data) & kKernelBits) == 0;
}

// Adds a function; false if Node.js refuses. One that is bound holds a raw pointer to its params. A
// property that can't be removed keeps them for as long as the function, and no longer: a test
// runner loads the package in many contexts.
bool AddFunction(napi_env env, napi_value object, const char* name, napi_callback callback, void* data,
                 napi_value params = nullptr) {
  napi_value function;
  const napi_property_descriptor keeps = {"params", nullptr, nullptr, nullptr, nullptr, params, napi_default, nullptr};
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, data, &function) == napi_ok &&
         (params == nullptr || napi_define_properties(env, function, 1, &keeps) == napi_ok) &&
         napi_set_named_property(env, object, name, function) == napi_ok;
}

// As strcmp, which would be another import from the C library.
bool Equal(const char* left, const char* right) {
  while (*left != '\0' && *left == *right) left++, right++;
  return *left == *right;
}

// bind(name, params) -> { mask, unmask, unmaskText, scan }
napi_value BindFunction(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  size_t count = 2;
  char name[16] = "";
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr) != napi_ok ||
      napi_get_value_string_utf8(env, arguments[0], name, sizeof name, nullptr) != napi_ok) {
    return Throw(env, "ERR_INVALID_ARG_TYPE", "bind: wrong arguments");
  }
  for (size_t i = 0; i < kKernelCount; i++) {
    if (!Equal(kKernels[i].name, name) || !kKernels[i].supported()) continue;
    napi_value functions;
    void* params;
    if (!GetParams(env, arguments[1], &params)) {
      return Throw(env, "ERR_INVALID_ARG_TYPE", "bind: wrong arguments");
    }
    void* data = static_cast<char*>(params) + i;
    const bool made = napi_create_object(env, &functions) == napi_ok &&
                      AddFunction(env, functions, "mask", MaskFunction, data, arguments[1]) &&
                      AddFunction(env, functions, "unmask", UnmaskFunction, data, arguments[1]) &&
                      AddFunction(env, functions, "unmaskText", UnmaskTextFunction, data, arguments[1]) &&
                      AddFunction(env, functions, "scan", ScanFunction, data, arguments[1]);
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
