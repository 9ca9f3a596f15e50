#!/bin/sh
# The example program against answers worked out by hand: test_example.sh SCORE_CSV MAKE_MODEL
#
# The model (tests/specs.h, full_spec) has the values 0.125 below 0.25, 0.5 below 0.5, 1 above; the score 0.5 is split by the
# key 1000, so practically every key sends it to 0.25.
set -eu
score_csv=$1
make_model=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
${RUN:-} "$make_model" "$folder/model.fbm"
failed=0
passed=0

check() { # what, expected, seen
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s: %s: expected\n%s\nbut saw\n%s\n' "$0" "$1" "$2" "$3" >&2
  fi
}

run() { # CSV text with printf escapes, column, seed
  printf "$1" > "$folder/scores.csv"
  shift
  ${RUN:-} "$score_csv" "$folder/model.fbm" "$folder/scores.csv" "$@" 2>&1 | sed "s|$folder/||"
}

check 'plain' "$(printf 'probability\n0.125\n0.5\n0.25\n1')" "$(run 'id,p\n1,0\n2,0.25\n3,0.5\n4,1\n' p)"
check 'no newline at the end, CRLF' "$(printf 'probability\n0.125\n1')" "$(run 'p,id\r\n0.1,x\r\n5.1e-1,y' p 7)"
check 'quotes' "$(printf 'probability\n0.125')" "$(run '"a ""b""","p,q"\n"line 1\nline 2","0.125"\n' p,q 18446744073709551615)"
check 'no rows' probability "$(run 'p\n' p)"
check 'no column' 'score_csv: scores.csv, line 1: no column of this name' "$(run 'q\n1\n' p)"
check 'two columns' 'score_csv: scores.csv, line 1: more than one column of this name' "$(run 'p,p\n1,1\n' p)"
check 'word' "$(printf 'probability\nscore_csv: scores.csv, line 3: the score is not a number')" "$(run 'p\n0.5\nhigh\n' p)"
check 'empty' "$(printf 'probability\nscore_csv: scores.csv, line 2: the score is not a number')" "$(run 'id,p\n1,\n' p)"
check 'short' "$(printf 'probability\nscore_csv: scores.csv, line 2: the record is too short')" "$(run 'id,p\n1\n' p)"
check 'short behind the score' "$(printf 'probability\nscore_csv: scores.csv, line 3: the record is too short')" \
  "$(run 'p,id\n0,1\n0\n' p)"
check 'decimal comma' "$(printf 'probability\nscore_csv: scores.csv, line 3: the record has more fields than the heading')" \
  "$(run 'p\n0.5\n0,5\n' p)"
check 'byte order mark' "$(printf 'probability\n0.125')" "$(run '\357\273\277p\n0\n' p)"
check 'half a mark' 'score_csv: scores.csv, line 1: no column of this name' "$(run '\357\273p\n0\n' p)"
check 'carriage return' "$(printf 'probability\nscore_csv: scores.csv, line 2: the score is not a number')" \
  "$(run 'p\n0.2\r1\n' p)"
check 'zero byte' "$(printf 'probability\nscore_csv: scores.csv, line 2: a zero byte')" "$(run 'p\n0.2\0001\n' p)"
check 'NaN' "$(printf 'probability\nscore_csv: scores.csv, line 3: a score is NaN')" "$(run 'p\n0\nnan\n' p)"
check 'range' "$(printf "probability\nscore_csv: scores.csv, line 2: a score is outside the model's range, or infinite")" \
  "$(run 'p\n1.5\n' p)"
for seed in -1 ' -1' +1 ' 1' 1x '' 18446744073709551616; do
  check 'seed' "score_csv: $seed: the seed is not a number from 0 to 2^64 - 1" "$(run 'p\n1\n' p "$seed" | tail -1)"
done
echo '0.5' > "$folder/model.fbm"
check 'model' 'score_csv: model.fbm: not a fastbin model, or damaged by a text-mode transfer' "$(run 'p\n1\n' p)"
printf '%s: %d passed, %d failed\n' "$0" "$passed" "$failed"
[ "$failed" = 0 ]
