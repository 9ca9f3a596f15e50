#!/bin/sh
# Every promise of the C library, tested: tests/run.sh. Works in a temporary folder and leaves nothing behind.
#
# Needs a C and a C++ compiler, make, cmake and binutils. clang and pkg-config are used where they are.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CC=${CC:-cc}
CXX=${CXX:-c++}
export CC CXX
vectors=${VECTORS:-$root/../tests/vectors}
jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)

step() { printf '\n== %s\n' "$*"; }

step "make and the tests, warnings as errors"
make -s -j"$jobs" BUILD="$work/make" CFLAGS="-O3 -g -Werror" VECTORS="$vectors" test

step "the tests under the address and undefined-behaviour sanitizers"
make -s -j"$jobs" BUILD="$work" VECTORS="$vectors" asan

step "many threads under the thread sanitizer"
make -s BUILD="$work" tsan

step "the tests for the machine at hand, where a compiler would fuse multiply and add: same answers"
make -s -j"$jobs" BUILD="$work/native" CFLAGS="-O3 -g -march=native" STRICT="-std=gnu11 -Iinclude" VECTORS="$vectors" test
if objdump -d "$work/native/libfastbin.a" | grep -q 'vfn\{0,1\}m\(add\|sub\)'; then
  echo "the compiler fused a multiplication and an addition" >&2
  exit 1
fi

# These have a narrower type than float, so FLT_EVAL_METHOD is 16 there; it compiles on any processor.
if echo | $CC -mavx512fp16 -fsyntax-only -x c - 2> /dev/null; then
  step "processors with AVX512-FP16"
  [ "$(echo 'int x = __FLT_EVAL_METHOD__;' | $CC -std=gnu11 -mavx512fp16 -E -P -x c -)" = 'int x = 16;' ] ||
    echo "this compiler computes in double there"
  for source in src/*.c; do
    $CC -std=gnu11 -mavx512fp16 -ffp-contract=off -Wall -Wextra -Werror -Iinclude -fsyntax-only "$source"
  done
else
  echo "AVX512-FP16: skipped, the compiler does not know it"
fi

step "the fuzz targets on the committed seeds, under the sanitizers"
make -s -j"$jobs" BUILD="$work" replay

if command -v gcov > /dev/null; then
  step "the lines of src that the fuzz targets reach with these seeds: at least 95 %"
  CC=gcc fuzz/coverage.sh 95
else
  echo "coverage: skipped, no gcov"
fi

if command -v clang-14 > /dev/null; then
  step "the tests with clang"
  make -s -j"$jobs" CC=clang-14 BUILD="$work/clang" CFLAGS="-O2 -g -Werror" VECTORS="$vectors" test
else
  step "clang: skipped, not here"
fi

step "header"
tests/check_header.sh

step "symbols"
shared=$(ls "$work"/make/libfastbin.so.*.*.*)
tests/check_symbols.sh "$work/make/libfastbin.a" "$shared"

step "make install below a name with a space, and a program that finds it by pkg-config"
make -s BUILD="$work/make" CFLAGS="-O3 -g -Werror" PREFIX="/opt/fast bin" DESTDIR="$work/stage" install
"$work/make/make_model" "$work/model.fbm"
if command -v pkg-config > /dev/null; then
  PKG_CONFIG_PATH="$work/stage/opt/fast bin/lib/pkgconfig"
  PKG_CONFIG_SYSROOT_DIR="$work/stage"
  export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
  eval "$CC tests/consumer/consumer.c $(pkg-config --cflags --libs fastbin) -o $work/by_pkg_config"
  LD_LIBRARY_PATH="$work/stage/opt/fast bin/lib" "$work/by_pkg_config" "$work/model.fbm"
  unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
else
  echo "pkg-config: skipped, not here"
fi

step "CMake: build, ctest, install"
cmake -S . -B "$work/cmake" -DFASTBIN_WERROR=ON -DFASTBIN_BUILD_BENCH=ON -DFASTBIN_VECTORS="$vectors" \
  -DCMAKE_INSTALL_PREFIX="$work/installed" > "$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/cmake" -j"$jobs" > "$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
(cd "$work/cmake" && ctest --output-on-failure)
cmake --install "$work/cmake" > /dev/null

# Moved, to show that the package does not know where it was installed.
mv "$work/installed" "$work/moved"
for shared in OFF ON; do
  step "an outside CMake project in C and C++, BUILD_SHARED_LIBS=$shared"
  cmake -S tests/consumer -B "$work/consumer_$shared" -DCMAKE_PREFIX_PATH="$work/moved" -DMODEL="$work/model.fbm" \
    -DBUILD_SHARED_LIBS=$shared > /dev/null
  cmake --build "$work/consumer_$shared" > /dev/null
  (cd "$work/consumer_$shared" && ctest --output-on-failure)
done

step "the sources added to a program, with no flags at all"
$CC -Iinclude tests/consumer/consumer.c src/*.c -lm -o "$work/bare"
"$work/bare" "$work/model.fbm"

step "fast-math is refused"
if $CC -ffast-math -Iinclude -c src/predict_one.c -o "$work/fast.o" 2> "$work/fast.log"; then
  echo "-ffast-math went through" >&2
  exit 1
fi
grep -q 'cannot be compiled with -ffast-math' "$work/fast.log"

step "all of it passed"
