{
  "variables": {
    "sanitize%": "",
    "prebuild%": "",
    "flags": [
      "-std=c++17",
      "-Wall",
      "-Wextra",
      "-fno-exceptions",
      "-fno-rtti",
      "-fno-threadsafe-statics",
      "-fvisibility=hidden",
      "-ffunction-sections",
      "-fdata-sections"
    ],
    "linked": ["-nodefaultlibs", "-Wl,--gc-sections", "-Wl,-z,now"]
  },
  "targets": [
    {
      "target_name": "framemask",
      "sources": [
        "src/addon.cc",
        "src/dispatch.cc",
        "src/scan.cc",
        "src/kernels/scalar.cc",
        "src/kernels/sse2.cc",
        "src/kernels/avx2.cc",
        "src/kernels/avx512.cc",
        "src/kernels/neon.cc"
      ],
      "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NAPI_VERSION=8", "NAPI_DISABLE_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED"],
      "cflags!": ["-fexceptions"],
      "cflags_cc!": ["-fexceptions", "-std=gnu++17", "-std=gnu++20"],
      "cflags_cc": ["-O3", "<@(flags)"],
      "xcode_settings": {
        "CLANG_CXX_LANGUAGE_STANDARD": "c++17",
        "GCC_ENABLE_CPP_EXCEPTIONS": "NO",
        "GCC_ENABLE_CPP_RTTI": "NO",
        "GCC_OPTIMIZATION_LEVEL": "3",
        "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
        "MACOSX_DEPLOYMENT_TARGET": "11.0"
      },
      "msvs_settings": { "VCCLCompilerTool": { "AdditionalOptions": ["/std:c++17"], "Optimization": 2 } },
      "conditions": [
        ["OS=='linux' and prebuild==''", { "ldflags": ["<@(linked)"], "libraries": ["-lgcc", "-lc"] }],
        ["prebuild=='win32'", { "sources": ["src/windows.cc"] }],
        [
          "sanitize!=''",
          {
            "cflags_cc": ["-fsanitize=<(sanitize)", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1", "-g"],
            "ldflags": ["-fsanitize=<(sanitize)"]
          }
        ]
      ]
    }
  ]
}
