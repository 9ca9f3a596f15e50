#!/bin/sh
# What the built libraries show and need: check_symbols.sh libfastbin.a libfastbin.so
#
#   - every symbol that the archive defines for others starts with fastbin_;
#   - the shared library shows the functions of the header and nothing else;
#   - there is no writable data;
#   - of the C library, only the functions listed here are called.
set -eu
archive=$1
shared=$2
header=$(dirname "$0")/../include/fastbin.h
failed=0

refuse() { # what, list
  if [ -n "$2" ]; then
    printf 'check_symbols: %s:\n%s\n' "$1" "$2" >&2
    failed=1
  fi
}

refuse "symbols without the prefix in $archive" \
  "$(nm -g --defined-only "$archive" | awk 'NF == 3 && $3 !~ /^fastbin_/ { print $3 }')"

declared=$(sed -n 's/^FASTBIN_API .*[ *]\(fastbin_[a-z0-9_]*\)(.*/\1/p' "$header" | sort)
shown=$(nm -D --defined-only "$shared" | awk '{ print $3 }' | sort)
refuse "the header declares one thing and $shared shows another" \
  "$( [ "$declared" = "$shown" ] || printf 'declared: %s\nshown: %s' "$(echo $declared)" "$(echo $shown)")"

# Tables of pointers are .data.rel.ro: writable for the loader, not for us.
refuse "writable data in $archive" \
  "$(size -A "$archive" | awk '$1 ~ /^\.(data|bss|tdata|tbss)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 { print $1, $2 }')"

# __cpu_* belong to the compiler's own processor detection, __stack_chk_fail and _GLOBAL_OFFSET_TABLE_ to its code.
allowed=' exp log sqrt malloc calloc realloc free memcpy memmove memset memcmp strcmp strlen getenv '
allowed="$allowed fopen fclose fread fwrite ferror remove rename snprintf fflush fileno fdopen open close "
allowed="$allowed stat fstat lstat realpath fchmod fchown fsync "
allowed="$allowed __cpu_model __cpu_features2 __cpu_indicator_init __stack_chk_fail _GLOBAL_OFFSET_TABLE_ "
needed=$(nm -u "$archive" | awk '$1 == "U" { print $2 }' | grep -v '^fastbin_' | sort -u)
for symbol in $needed; do
  case "$allowed" in
    *" $symbol "*) ;;
    *) refuse "$archive calls" "$symbol" ;;
  esac
done

[ $failed = 0 ] && echo "check_symbols: $(echo "$shown" | wc -l) functions, no writable data"
