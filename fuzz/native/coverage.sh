#!/bin/bash -eu
# Prints which lines of src/ the corpus reaches, with Clang's llvm-profdata and llvm-cov. Further corpora can be named.
cd "$(dirname "$0")/../.."

out=$PWD/.cache/fuzz/coverage
OUT=$out CXXFLAGS='-g -O1 -fprofile-instr-generate -fcoverage-mapping -fsanitize=fuzzer-no-link' fuzz/native/build.sh
for target in mask scan; do
  LLVM_PROFILE_FILE="$out/$target.profraw" "$out/${target}_fuzzer" -runs=0 "fuzz/native/corpus/$target" "$@"
done
llvm-profdata merge -o "$out/all.profdata" "$out"/*.profraw
llvm-cov report "$out/mask_fuzzer" -object "$out/scan_fuzzer" -instr-profile "$out/all.profdata" src
llvm-cov show "$out/mask_fuzzer" -object "$out/scan_fuzzer" -instr-profile "$out/all.profdata" src \
  > "$out/lines.txt"
echo "lines with no executions, of those that were compiled:"
grep -nE '\|  +0\|' "$out/lines.txt" || echo none
