#!/usr/bin/env bash
# The real servers behind the integration tests: a RocketMQ name server and broker; Redis in three
# ways: a single server, a cluster of three masters, and a master with a replica under three
# sentinels; MariaDB and MySQL 5.6, each with a database "dedup".
#
#   services.sh up             install what is missing, start what is not running, wait until it works
#   services.sh down           stop what "up" started, and nothing else
#   services.sh status         tell what runs; exit 1 unless everything works
#   services.sh env [strict]   print the export lines for "go test"; strict: a missing server fails
#
# Everything they write is in .services/ of this tree. They listen on loopback, on the ports from
# DEDUP_SERVICES_PORT on (name server +0, broker +9 +11 +12, Redis +20, cluster +30 to +35, master
# and replica +40 +41, sentinels +42 to +44, MariaDB +50, MySQL +51); without it, on the first free
# block from 21000 on, so that a server that is already there is never touched. (+12 is the broker's
# replication port, the only one that cannot be bound to loopback.)
set -euo pipefail
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
conf=$root/scripts/services
data=$root/.services
patience=${DEDUP_SERVICES_PATIENCE:-90} # seconds until a server must work

# In the order of their start. The broker registers when it starts and then only every ten seconds:
# the name server goes first.
services=(redis cluster sentinel namesrv broker mariadb)

say() { printf 'services: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# shellcheck source=scripts/services/redis.sh
. "$conf/redis.sh"
# shellcheck source=scripts/services/rocketmq.sh
. "$conf/rocketmq.sh"
# shellcheck source=scripts/services/mysql.sh
. "$conf/mysql.sh"
! has_mysql || services+=(mysql)

use_base() {
  base=$1 namesrv_port=$1 broker_port=$(($1 + 11)) redis_port=$(($1 + 20))
  mariadb_port=$(($1 + 50)) mysql_port=$(($1 + 51))
}

# ports SERVICE prints the ports for its clients.
ports() {
  case $1 in
    cluster) seq $((base + 30)) $((base + 32)) ;;
    sentinel) seq $((base + 42)) $((base + 44)) ;;
    *) local port=$1_port; echo "${!port}" ;;
  esac
}

addresses() { ports "$1" | sed 's/^/127.0.0.1:/' | paste -s -d ,; }

# members SERVICE prints the names of its processes. Each has a folder of its own.
members() {
  case $1 in
    cluster) echo cluster-{1,2,3} ;;
    sentinel) echo master replica sentinel-{1,2,3} ;;
    *) echo "$1" ;;
  esac
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

block_is_free() {
  local offset
  for offset in 0 9 11 12 20 {30..35} {40..44} 50 51; do
    ! listening $(($1 + offset)) || return 1
  done
}

# known_base takes the ports in use, or those that the next start would try first.
known_base() {
  local kept=''
  [ ! -f "$data/base" ] || kept=$(<"$data/base")
  [[ $kept =~ ^[0-9]+$ ]] || kept=21000
  any_alive || kept=${DEDUP_SERVICES_PORT:-$kept}
  use_base "$kept"
}

# choose_base settles the ports before anything starts; a block that anybody else uses is left to them.
choose_base() {
  known_base
  ! any_alive || return 0
  until block_is_free "$base"; do
    [ -z "${DEDUP_SERVICES_PORT:-}" ] || die "port in $base…$((base + 51)) taken; set another DEDUP_SERVICES_PORT"
    [ "$base" -lt 31000 ] || die "no free block of ports; set DEDUP_SERVICES_PORT"
    use_base $((base + 100))
  done
  echo "$base" >"$data/base"
}

# identity PID prints what no other process shares: its number, its start time and the machine's
# start. It fails for a process that is gone or only waits to be reaped.
identity() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # shellcheck disable=SC2086 # the fields after the command's name, which may hold spaces
  set -- "$1" ${stat##*) }
  [ "$2" != Z ] || return 1
  echo "$1 ${21} $(cat /proc/sys/kernel/random/boot_id)"
}

alive() {
  local kept pid
  kept=$(cat "$data/$1/pid" 2>/dev/null) || return 1
  pid=${kept%% *}
  [[ $pid =~ ^[0-9]+$ ]] && [ "$(identity "$pid")" = "$kept" ]
}

all_alive() {
  local member
  for member in $(members "$1"); do alive "$member" || return 1; done
}

# any_alive [SERVICE...] reports whether a process of these services runs, without arguments: of any.
any_alive() {
  local service member
  for service in "${@:-${services[@]}}"; do
    for member in $(members "$service"); do
      ! alive "$member" || return 0
    done
  done
  return 1
}

# launch NAME COMMAND... runs a server that outlives this script.
launch() {
  local name=$1
  shift
  say "starting $name"
  (cd "$data/$name" && exec setsid "$@" </dev/null >out.log 2>&1 9>&-) &
  identity $! >"$data/$name/pid" || true # it may be dead already; await will tell
}

stop() {
  local name=$1 pid tries
  if alive "$name"; then
    pid=$(cut -d ' ' -f 1 "$data/$name/pid")
    say "stopping $name"
    kill "$pid"
    for ((tries = 200; tries > 0; tries--)); do
      alive "$name" || break
      sleep 0.1
    done
    ! alive "$name" || kill -9 "$pid"
  fi
  rm -f "$data/$name/pid"
}

# await SERVICE waits until it works, and shows its last words if it does not.
await() {
  local service=$1 member until=$((SECONDS + patience))
  until "works_$service"; do
    if ! all_alive "$service" || [ $SECONDS -ge $until ]; then
      say "$service does not work; the end of its logs:"
      for member in $(members "$service"); do
        tail -n 25 "$data/$member"/{out,server}.log >&2 2>/dev/null || true
      done
      exit 1
    fi
    sleep 0.1
  done
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

install_missing() {
  local missing=()
  command -v redis-server >/dev/null || missing+=(redis-server)
  command -v redis-cli >/dev/null || missing+=(redis-tools)
  find_java >/dev/null || missing+=(default-jdk-headless)
  [ -d "$lib" ] || command -v mvn >/dev/null || missing+=(maven)
  command -v mariadbd >/dev/null || missing+=(mariadb-server-core)
  command -v mariadb >/dev/null || missing+=(mariadb-client-core)
  ! has_mysql || [ -d "$mysql_home" ] || command -v npm >/dev/null || missing+=(npm)
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  logged apt as_root apt-get update -qq
  logged apt as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# logged LOG COMMAND... shows what the command printed only if it fails.
logged() {
  local log=$data/$1.log
  shift
  "$@" >"$log" 2>&1 && return
  tail -n 20 "$log" >&2
  die "failed: $*"
}

up() {
  local service member
  mkdir -p "$data"
  exec 9>"$data/lock"
  flock -w 600 9 || die "another 'services.sh up' has been running for ten minutes"
  install_missing
  fetch_jars
  fetch_mysql
  choose_base
  for service in "${services[@]}"; do
    forget_set "$service"
    for member in $(members "$service"); do
      mkdir -p "$data/$member"
      alive "$member" || "start_$service" "$member"
    done
    await "$service"
  done
  for service in "${services[@]}"; do say "up: $service $(addresses "$service")"; done
}

down() {
  local name
  [ -d "$data" ] || return 0
  exec 9>"$data/lock"
  flock -w 600 9 || die "a 'services.sh up' has been running for ten minutes"
  # Sentinels go before what they watch, so that they do not promote while everything ends.
  for name in broker namesrv sentinel-{1,2,3} replica master cluster-{1,2,3} redis mariadb mysql; do stop "$name"; done
}

status() {
  local service failed=0
  known_base
  for service in "${services[@]}"; do
    if ! any_alive "$service"; then
      echo "$service: not running"
      failed=1
    elif all_alive "$service" && "works_$service"; then
      echo "$service: works, $(addresses "$service"), pid $(pids "$service")"
    else
      echo "$service: runs but does not work, see $data for $(members "$service")"
      failed=1
    fi
  done
  return $failed
}

pids() {
  local member
  for member in $(members "$1"); do cut -d ' ' -f 1 "$data/$member/pid"; done | paste -s -d ' '
}

print_env() {
  known_base
  any_alive || die "nothing runs; start it with scripts/services.sh up"
  echo "export DEDUP_TEST_NAMESRV=$(addresses namesrv)"
  echo "export DEDUP_TEST_REDIS=$(addresses redis)"
  echo "export DEDUP_TEST_REDIS_CLUSTER=$(addresses cluster)"
  echo "export DEDUP_TEST_REDIS_SENTINEL=$(addresses sentinel)"
  echo "export DEDUP_TEST_REDIS_MASTER=$master_name"
  echo "export DEDUP_TEST_MARIADB=$(addresses mariadb)"
  ! has_mysql || echo "export DEDUP_TEST_MYSQL=$(addresses mysql)"
  ! has_mysql || printf 'export DEDUP_TEST_MYSQL_HOME=%q\n' "$mysql_home"
  printf 'export DEDUP_TEST_JAVA=%q\nexport DEDUP_TEST_JAVA_JARS=%q\n' "$(find_java)" "$lib"
  [ "${1:-}" != strict ] || echo "export DEDUP_TEST_STRICT=1"
}

case ${1:-} in
  up | down | status) "$1" ;;
  env) print_env "${2:-}" ;;
  *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
