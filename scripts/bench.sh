#!/usr/bin/env bash
# Measures the hot paths and whole consumers, and prints tables of medians.
#
#   scripts/bench.sh          print them
#   scripts/bench.sh -write   and put them into README.md and sample/README.md
#
# Packages and consumers take turns, so that a busy minute of the machine hits all of them alike.
# DEDUP_BENCH_RUNS (5) is the number of turns, DEDUP_BENCH_TIME (300ms) the time of one benchmark and
# DEDUP_BENCH_MESSAGES (20000) the messages that a consumer takes in a turn.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

write=() write_modes=()
case ${1:-} in
  '') ;;
  -write) write=(-write README.md) write_modes=(-write sample/README.md) ;;
  *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac

scripts/services.sh up
eval "$(scripts/services.sh env strict)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t packages < <(grep -rlE '^func Benchmark' --include='*_test.go' store listener | xargs -n 1 dirname | sort -u)
[ ${#packages[@]} -gt 0 ] || { echo 'bench: no package has a benchmark'; exit 1; }
for package in "${packages[@]}"; do
  go test -c -o "$work/$package.test" "./$package"
done

# bench PACKAGE OUTPUT FLAG... takes the benchmarks that the flags choose.
bench() {
  (cd "$1" && "$work/$1.test" -test.run '^$' -test.benchmem -test.benchtime "${DEDUP_BENCH_TIME:-300ms}" "${@:3}") \
    >>"$work/$2" || { cat "$work/$2" >&2; exit 1; }
}

# The modes of the samples' page have a table of their own.
modes='^BenchmarkMode$'
for ((run = 1; run <= ${DEDUP_BENCH_RUNS:-5}; run++)); do
  for package in "${packages[@]}"; do
    echo "bench: run $run of $package" >&2
    bench "$package" output -test.bench . -test.skip "$modes"
  done
  bench listener modes -test.bench "$modes"
done

redis=$(redis-server --version | grep -oE 'v=[0-9.]+')
go run ./scripts/benchtab -note "Redis ${redis#v=}" "${write[@]}" <"$work/output"
mariadb=$(PATH=$PATH:/usr/sbin mariadbd --version | grep -oE '[0-9.]+-MariaDB')
go run ./scripts/benchtab -figures -note "MariaDB ${mariadb%-*}, Redis ${redis#v=}" "${write_modes[@]}" <"$work/modes"
consume() {
  go run ./cmd/dedupbench consume -namesrv "$DEDUP_TEST_NAMESRV" -callbacks 64 -reps "${DEDUP_BENCH_RUNS:-5}" \
    -messages "${DEDUP_BENCH_MESSAGES:-20000}" "$@" "${write[@]}"
}
consume -redis "$DEDUP_TEST_REDIS"
# At the usual rate commits that wait for the disk would not keep up.
consume -store mysql -mysql "$DEDUP_TEST_MARIADB" -dup 0 -rate 1000
