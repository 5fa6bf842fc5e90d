#!/bin/bash -eu
# Runs the corpus under Valgrind's memcheck, which sees reads of memory that was never written, too. Valgrind hides
# AVX-512 from programs, so the kernels up to AVX2 run.
cd "$(dirname "$0")/../.."

out=$PWD/.cache/fuzz/valgrind
# Valgrind does not read the DWARF of newer Clangs.
OUT=$out CXXFLAGS='-gdwarf-4 -O2 -fsanitize=fuzzer-no-link' fuzz/native/build.sh
for target in mask scan; do
  # Without a limit of memory libFuzzer starts no thread, which would be a leak.
  valgrind --quiet --error-exitcode=1 --leak-check=full \
    "$out/${target}_fuzzer" -runs=0 -rss_limit_mb=0 "fuzz/native/corpus/$target" "$@"
done
