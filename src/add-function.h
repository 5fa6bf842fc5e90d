// How both addons put a function on an object.
#ifndef FRAMEMASK_SRC_ADD_FUNCTION_H_
#define FRAMEMASK_SRC_ADD_FUNCTION_H_

#include <node_api.h>

namespace framemask {

// False if Node.js refuses.
inline bool AddFunction(napi_env env, napi_value target, const char* name, napi_callback callback, void* data) {
  napi_value function;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, data, &function) == napi_ok &&
         napi_set_named_property(env, target, name, function) == napi_ok;
}

}  // namespace framemask

#endif  // FRAMEMASK_SRC_ADD_FUNCTION_H_
