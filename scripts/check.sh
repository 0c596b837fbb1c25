#!/usr/bin/env bash
# The gate: everything that needs no server, and it starts none. The same here and in CI, under two
# minutes once the build cache is warm. It runs every step, tells how long each took, and exits 1 if any failed.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
failed=''

# step NAME REMEDY COMMAND... prints one line, and the command's output and the remedy if it fails.
step() {
  local name=$1 remedy=$2 began=$EPOCHREALTIME output verdict=ok
  shift 2
  output=$("$@" 2>&1) || verdict=FAIL
  printf '%-4s  %-28s %6s s\n' $verdict "$name" "$(elapsed "$began")"
  [ $verdict = FAIL ] || return 0
  failed=${failed:-$name}
  printf '%s\n' "$output" | sed 's/^/      /'
  printf '      remedy: %s\n' "$remedy"
}

elapsed() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# nothing COMMAND... succeeds if the command prints nothing, not even an error.
nothing() {
  local output
  output=$("$@" 2>&1) || true
  [ -z "$output" ] || { echo "$output"; return 1; }
}

# Samples with heavy dependencies may be modules of their own.
each_module() {
  local mod
  for mod in . $(find sample -name go.mod -exec dirname {} \; 2>/dev/null); do
    (cd "$mod" && "$@") || { echo "in module $mod"; return 1; }
  done
}

scripts() { find scripts .ci -type f \( -name '*.sh' -o -path '.ci/*' \); }

parse_scripts() {
  local script
  for script in $(scripts); do bash -n "$script" || return 1; done
  ! command -v shellcheck >/dev/null || scripts | xargs shellcheck
}

# search PATTERN [GREP-OPTION...] prints the places in our own text that match.
search() { grep -rnIP --exclude-dir=.git --exclude-dir=.services --exclude-dir=bin "${@:2}" -- "$1" .; }

race_tests() {
  command -v gcc >/dev/null || { echo 'the race detector needs gcc'; return 1; }
  unset "${!DEDUP_TEST_@}"
  DEDUP_TEST_SERVERS=none go test -race ./...
}

step 'format' 'gofmt -w .' nothing gofmt -l .
# A comment may be the output of an example, and a test may quote a server.
step 'line length' 'break the line: 120 characters at most' \
  nothing search '^(?!\s*//).{121,}' --include='*.go' --include='*.sh' --exclude='*_test.go'
step 'no machine paths, no notes' 'say it without the path; do it or delete the note' \
  nothing search '/(work|root|home|tmp)/|TO[D]O|FIX[M]E'
step 'scripts parse' 'see the message' parse_scripts
step 'tidy' 'go mod tidy' each_module go mod tidy -diff
step 'vet' 'see the message' each_module go vet ./...
step 'staticcheck' 'see the message; silence one line with //lint:ignore CHECK reason' \
  each_module go run "$staticcheck" ./...
step 'imports, comments, deps.txt' 'scripts/gate/main.go tells how to run one check alone' go run ./scripts/gate
step 'race tests without servers' 'run the failing package alone: go test -race ./PACKAGE' each_module race_tests

[ -z "$failed" ] || { echo "check: failed, first at: $failed"; exit 1; }
echo "check: all good in $SECONDS s"
