#!/bin/bash -eu
# Runs the corpus under Valgrind's memcheck, which sees reads of memory that was never written, too. Valgrind hides
# AVX-512 from programs, so the kernels up to AVX2 run.
cd "$(dirname "$0")/../.."

out=$PWD/.cache/fuzz/valgrind
mkdir -p "$out"
OUT=$out CXX="${CXX:-g++}" CXXFLAGS='-g -O2' LIB_FUZZING_ENGINE=fuzz/native/standalone.cc fuzz/native/build.sh
for target in mask scan; do
  valgrind --quiet --error-exitcode=1 --leak-check=full "$out/${target}_fuzzer" "fuzz/native/corpus/$target" "$@"
done
