// For Windows without a C runtime: finds Node-API when the addon loads, and defines what the code
// needs of a runtime. Only scripts/prebuild.js uses this file: with node-gyp the addon has a
// runtime, and node-gyp's own way to find Node-API.
//
// An import library would look for Node-API in a module named node.exe, but Electron and others
// have another name. So this file defines the pointers through which the compiler calls imported
// functions, and fills them from libnode.dll, or without one from the program itself. A function
// that is not on the list does not link.
#include <windows.h>

#define FRAMEMASK_NODE_API(F)   \
  F(napi_create_array)          \
  F(napi_create_function)       \
  F(napi_create_object)         \
  F(napi_create_string_latin1)  \
  F(napi_create_string_utf8)    \
  F(napi_define_properties)     \
  F(napi_get_cb_info)           \
  F(napi_get_typedarray_info)   \
  F(napi_get_value_string_utf8) \
  F(napi_is_arraybuffer)        \
  F(napi_set_element)           \
  F(napi_set_named_property)    \
  F(napi_throw_type_error)

#ifdef __i386__
#define FRAMEMASK_IMPORT(name) _imp__##name  // the compiler adds another underscore
#else
#define FRAMEMASK_IMPORT(name) __imp_##name
#endif

extern "C" {

#define FRAMEMASK_DEFINE(name) FARPROC FRAMEMASK_IMPORT(name);
FRAMEMASK_NODE_API(FRAMEMASK_DEFINE)

// The compiler refers to it where floating-point numbers are used; a C runtime defines it.
int _fltused = 0;

// Needs -fno-builtin: otherwise the compiler replaces the loops by a call of memmove.
void* memmove(void* destination, const void* source, size_t length) {
  char* to = static_cast<char*>(destination);
  const char* from = static_cast<const char*>(source);
  if (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from) >= length) {
    for (size_t i = 0; i < length; i++) to[i] = from[i];
  } else {
    for (size_t i = length; i > 0; i--) to[i - 1] = from[i - 1];
  }
  return destination;
}

BOOL WINAPI DllMainCRTStartup(HINSTANCE, DWORD reason, void*) {
  if (reason != DLL_PROCESS_ATTACH) return TRUE;
  HMODULE node = GetModuleHandleA("libnode.dll");
  if (node == nullptr) node = GetModuleHandleA(nullptr);
#define FRAMEMASK_FIND(name) \
  if ((FRAMEMASK_IMPORT(name) = GetProcAddress(node, #name)) == nullptr) return FALSE;
  FRAMEMASK_NODE_API(FRAMEMASK_FIND)
  return TRUE;
}

}  // extern "C"
