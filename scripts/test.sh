#!/usr/bin/env bash
# Runs every test against real servers, strictly: a missing server fails, nothing is skipped for it.
#
#   scripts/test.sh                     on a bare Debian with Go, gcc and spin this is enough
#   scripts/test.sh -run TestResend     arguments go to "go test"
#   DEDUP_TEST_SEEDS=1000000 scripts/test.sh -run TestRandomSchedules    more seeds of the simulation than 50,000
#   DEDUP_TEST_DOWN=1 scripts/test.sh   stop the servers at the end; by default they stay for the next run
#
# Chaos goes on for DEDUP_TEST_CHAOS (2m) over Redis, DEDUP_TEST_CHAOS_MYSQL (45s) over MySQL,
# DEDUP_TEST_CHAOS_TX (45s) among transactions and DEDUP_TEST_CHAOS_CHAIN (45s) in a chain of them, and the long
# outage of the former two for DEDUP_TEST_OUTAGE (20s). Longer:
#   DEDUP_TEST_CHAOS=10m DEDUP_TEST_CHAOS_MYSQL=10m DEDUP_TEST_CHAOS_TX=20m DEDUP_TEST_CHAOS_CHAIN=10m \
#     DEDUP_TEST_OUTAGE=5m scripts/test.sh -run 'Chaos|LongOutage' -timeout 80m
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# check.sh has run everything that needs no server under the race detector; what the stores do with
# their servers is added here. The rest runs without: a test of allocations needs that, and the
# RocketMQ client has races of its own when it shuts down or rebalances.
is_raced='/store(/|$)'
is_scripts='/scripts/'

scripts/services.sh up
[ -z "${DEDUP_TEST_DOWN:-}" ] || trap 'scripts/services.sh down' EXIT
eval "$(scripts/services.sh env strict)"
DEDUP_TEST_SPIN=$(command -v spin) || DEDUP_TEST_SPIN='' # which fails its tests
export DEDUP_TEST_SPIN DEDUP_TEST_SEEDS=${DEDUP_TEST_SEEDS:-50000}
export DEDUP_TEST_CHAOS=${DEDUP_TEST_CHAOS:-2m} DEDUP_TEST_CHAOS_MYSQL=${DEDUP_TEST_CHAOS_MYSQL:-45s}
export DEDUP_TEST_CHAOS_TX=${DEDUP_TEST_CHAOS_TX:-45s} DEDUP_TEST_CHAOS_CHAIN=${DEDUP_TEST_CHAOS_CHAIN:-45s}
export DEDUP_TEST_OUTAGE=${DEDUP_TEST_OUTAGE:-20s}

failed=''
fail() { echo "FAIL  $*"; failed=yes; }

packages() { go list ./... | grep "$@"; }

# Samples with dependencies of their own are modules of their own.
nested_modules() { find sample -name go.mod -exec dirname {} \;; }

# The packages that talk to the broker go one after another: two cores do not keep two rebalances
# within the times that the tests allow.
all_tests() {
  local code=0
  # shellcheck disable=SC2046 # one word per package
  go test -json -race -count=1 -timeout 20m "$@" $(packages -E "$is_raced") || code=1
  # shellcheck disable=SC2046
  go test -json -count=1 -p 1 -timeout 20m "$@" $(packages -vE "$is_raced|$is_scripts") || code=1
  local mod
  for mod in $(nested_modules); do
    (cd "$mod" && go test -json -count=1 -timeout 5m "$@" ./...) || code=1
  done
  return $code
}

# sample PACKAGE FLAG... A sample tells on its last line what became of every order.
sample() {
  local last
  last=$(go run "$1" -namesrv "$DEDUP_TEST_NAMESRV" "${@:2}" | tee >(cat >&2) | tail -n 1) &&
    [[ $last =~ extra=0( |$) && $last =~ lost=0( |$) ]]
}

if [ $# = 0 ]; then
  echo '== the wrong stores, each with the cases that caught it'
  go test -count=1 -v -run TestWrongStores ./store/storetest | grep -v '^=== ' || fail TestWrongStores
  echo '== the quickstart, ten seeds; -seeds 200 -timeout 30m for many'
  go test -count=1 -v -run TestEverySeed -parallel 8 ./sample/quickstart -seeds 10 | grep -v '^=== ' || fail quickstart
  echo '== sample/redis'
  sample ./sample/redis -redis "$DEDUP_TEST_REDIS" || fail 'sample/redis: want extra=0 and lost=0 on the last line'
  echo '== sample/mysql'
  sample ./sample/mysql -dsn "root@tcp($DEDUP_TEST_MARIADB)/dedup" ||
    fail 'sample/mysql: want extra=0 and lost=0 on the last line'
  echo '== sample/mysqltx'
  sample ./sample/mysqltx -dsn "root@tcp($DEDUP_TEST_MARIADB)/dedup" ||
    fail 'sample/mysqltx: want extra=0 and lost=0 on the last line'
  echo '== sample/reconcile'
  sample ./sample/reconcile -records "root@tcp($DEDUP_TEST_MARIADB)/dedup" -shop "root@tcp($DEDUP_TEST_MYSQL)/dedup" ||
    fail 'sample/reconcile: want extra=0, lost=0 and unfinished=0 on the last line'
  echo '== sample/split'
  sample ./sample/split -dsn "root@tcp($DEDUP_TEST_MARIADB)/dedup" ||
    fail 'sample/split: want extra=0 and lost=0 on the last line'
fi

echo '== all tests'
all_tests "$@" | go run ./scripts/testsum || failed=yes
[ -z "$failed" ]
