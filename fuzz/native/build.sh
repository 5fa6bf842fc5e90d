#!/bin/bash -eu
# Builds the libFuzzer targets into $OUT, as OSS-Fuzz calls it: with $CXX, $CXXFLAGS and $LIB_FUZZING_ENGINE. Without
# these, Clang with AddressSanitizer and UndefinedBehaviorSanitizer, into .cache/fuzz.
cd "$(dirname "$0")/../.."

: "${OUT:=$PWD/.cache/fuzz}"
: "${CXX:=clang++}"
: "${LIB_FUZZING_ENGINE:=-fsanitize=fuzzer}"
: "${CXXFLAGS=-g -O2 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all}"

mkdir -p "$OUT"
for target in mask scan; do
  # shellcheck disable=SC2086 -- flags are words
  $CXX $CXXFLAGS -std=c++17 fuzz/native/${target}_fuzzer.cc src/scan.cc src/dispatch.cc src/kernels/*.cc \
    $LIB_FUZZING_ENGINE -o "$OUT/${target}_fuzzer"
  # OSS-Fuzz finds the seeds beside the target by this name.
  if command -v zip > /dev/null; then zip -jqr "$OUT/${target}_fuzzer_seed_corpus.zip" "fuzz/native/corpus/$target"; fi
done
