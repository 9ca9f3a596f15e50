#!/bin/sh
# The public header on its own: any C11 or C++17 compiler takes it without a warning, and it asks for two headers only.
set -eu
header=$(dirname "$0")/../include/fastbin.h
strict="-Wall -Wextra -pedantic -Werror -fsyntax-only"

try() { # compiler and language
  if ! command -v "$1" > /dev/null; then
    echo "check_header: skipped, no $1"
    return
  fi
  "$@" $strict "$header"
  "$@" $strict -DFASTBIN_SHARED "$header"
  echo "check_header: $* takes it"
}

try "${CC:-cc}" -std=c11 -x c
try "${CXX:-c++}" -std=c++17 -x c++
try clang-14 -std=c11 -x c
try clang++-14 -std=c++17 -x c++

asked=$(sed -n 's/^# *include *//p' "$header" | sort | tr '\n' ' ')
if [ "$asked" != "<stddef.h> <stdint.h> " ]; then
  echo "check_header: includes $asked" >&2
  exit 1
fi
