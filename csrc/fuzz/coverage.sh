#!/bin/sh
# Which lines of src the fuzz targets reach with the committed seeds: coverage.sh [LEAST PERCENT] [MORE SEEDS ...]
#
# Every folder of further seeds holds one folder for each target (model, stream, ...). Needs gcc and gcov. Prints the lines that
# no seed reaches, and fails below the percentage. Lines for instructions that the processor does not have are not counted.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
least=${1:-95}
[ $# -gt 0 ] && shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CC=${CC:-gcc}
GCOV=${GCOV:-gcov}

cd "$work"
for source in "$root"/src/*.c; do
  $CC -O0 -g --coverage -std=c11 -ffp-contract=off -I"$root/include" -c "$source" -o "$(basename "$source" .c).o"
done
$CC -O1 -g -std=c11 -D_GNU_SOURCE -I"$root/include" -c "$root/fuzz/replay.c" -o replay.obj
for target in "$root"/fuzz/fuzz_*.c; do
  name=$(basename "$target" .c)
  name=${name#fuzz_}
  $CC -O1 -g -std=c11 -D_GNU_SOURCE -I"$root/include" -c "$target" -o target.obj
  $CC --coverage ./*.o target.obj replay.obj -lm -o replay
  for seeds in "$root/fuzz/corpus" "$@"; do
    find "$seeds/$name/" -type f -exec ./replay {} + > replay.log || { cat replay.log; exit 1; }
  done
done

# The counts of all targets are added in the .gcda files, and stand before "line:text" in the reports; a line of a header has one in
# each file that includes it. The compiler's own headers are there too, as far as it inlines them, and are not counted.
$GCOV -t ./*.gcda > lines.txt 2> gcov.log || { cat gcov.log; exit 1; }
awk -v least="$least" -v avx512="$(grep -c avx512dq /proc/cpuinfo 2> /dev/null || true)" \
  -v fp16="$(grep -c avx512_fp16 /proc/cpuinfo 2> /dev/null || true)" '
  { count = $0; sub(/:.*/, "", count); gsub(/[ *]/, "", count)
    rest = $0; sub(/^[^:]*:/, "", rest); number = rest; sub(/:.*/, "", number); gsub(/ /, "", number)
    text = rest; sub(/^[^:]*:/, "", text) }
  number == 0 { if (text ~ /^Source:/) { is_ours = text ~ /\/src\/[a-z_0-9]*\.[ch]$/; file = text; sub(/.*\//, "", file) } next }
  count == "-" || !is_ours { next }
  file == "index_small.c" && avx512 == 0 { next }
  file == "index_packed.c" && fp16 == 0 { next }
  { place = file ":" number
    known[place] = text
    if (count !~ /^[#=]/) reached[place] = 1 }
  END {
    for (place in known) {
      n++
      if (place in reached) hit++; else print "not reached  " place ":" known[place] | "sort -t: -k1,1 -k2,2n"
    }
    close("sort -t: -k1,1 -k2,2n")
    percent = n ? 100 * hit / n : 0
    printf "the fuzz targets reach %d of %d lines of src, %.1f %%\n", hit, n, percent
    if (avx512 == 0) print "index_small.c is not counted: this processor has no AVX-512"
    if (fp16 == 0) print "index_packed.c is not counted: this processor has no AVX512-FP16"
    exit percent < least
  }' lines.txt
