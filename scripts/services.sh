#!/usr/bin/env bash
# The real servers behind the integration tests: a RocketMQ name server and broker, and Redis.
#
#   services.sh up             install what is missing, start what is not running, wait until it works
#   services.sh down           stop what "up" started, and nothing else
#   services.sh status         tell what runs; exit 1 unless everything works
#   services.sh env [strict]   print the export lines for "go test"; strict: a missing server fails
#
# Everything they write is in .services/ of this tree. They listen on loopback, on the ports from
# DEDUP_SERVICES_PORT on (name server +0, broker +9 +11 +12, Redis +20); without it, on the first
# free block from 21000 on, so that a server that is already there is never touched. (+12 is the
# broker's replication port, the only one that cannot be bound to loopback.)
set -euo pipefail
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
conf=$root/scripts/services
data=$root/.services
lib=$data/rocketmq-$(sed -n 's/.*<rocketmq.version>\(.*\)<.*/\1/p' "$conf/pom.xml")
patience=${DEDUP_SERVICES_PATIENCE:-90} # seconds until a server must work

say() { printf 'services: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

use_base() {
  base=$1 namesrv_port=$1 broker_port=$(($1 + 11)) redis_port=$(($1 + 20))
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

block_is_free() {
  local offset
  for offset in 0 9 11 12 20; do
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
    [ -z "${DEDUP_SERVICES_PORT:-}" ] || die "a port of $base…$((base + 20)) is taken; set another DEDUP_SERVICES_PORT"
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

any_alive() { alive namesrv || alive broker || alive redis; }

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

# await NAME waits until the server works, and shows its last words if it does not.
await() {
  local name=$1 until=$((SECONDS + patience))
  until "works_$name"; do
    if ! alive "$name" || [ $SECONDS -ge $until ]; then
      say "$name does not work; the end of its logs:"
      tail -n 25 "$data/$name"/{out,server}.log >&2 2>/dev/null || true
      exit 1
    fi
    sleep 0.1
  done
}

bytes() { printf '\\x%02x' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)); }

# ask PORT CODE FIELDS [BODY] sends one command of RocketMQ's own protocol (total length, header
# length, JSON header, body) and prints the reply without its lengths.
ask() {
  local body=${4:-} header length
  header='{"code":'$2',"language":"OTHER","version":453,"opaque":1,"flag":0,"extFields":{'$3'}}'
  {
    printf '%b%s%s' "$(bytes $((4 + ${#header} + ${#body})))$(bytes ${#header})" "$header" "$body" >&3
    length=$(timeout 3 head -c 4 <&3 | od -An -tu1 | awk 'NF == 4 { print (($1 * 256 + $2) * 256 + $3) * 256 + $4 }')
    timeout 3 head -c "${length:?no reply}" <&3 | tr -d '\0'
  } 2>/dev/null 3<>"/dev/tcp/127.0.0.1/$1"
}

succeeds() { [[ $(ask "$@" || true) == *'"code":0,'* ]]; }

works_redis() { [ "$(timeout 3 redis-cli -p "$redis_port" ping 2>/dev/null)" = PONG ]; }

# 106: list the brokers.
works_namesrv() { succeeds "$namesrv_port" 106 ''; }

# 10: send a message to a topic that the broker is to create; 105: ask the name server where that
# topic is, which it knows only from a broker that registered.
works_broker() {
  local topic=services-probe
  succeeds "$broker_port" 10 '"producerGroup":"services","topic":"'$topic'","defaultTopic":"TBW102",
    "defaultTopicQueueNums":"1","queueId":"0","sysFlag":"0","bornTimestamp":"'"$(date +%s)"'000","flag":"0",
    "properties":"","reconsumeTimes":"0","unitMode":"false","batch":"false"' probe &&
    succeeds "$namesrv_port" 105 '"topic":"'$topic'"'
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# find_java prints the first Java that RocketMQ 5 runs on.
find_java() {
  local java version
  for java in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
    [ -x "$java" ] || continue
    version=$("$java" -version 2>&1) || continue
    [[ ! $version =~ \"(1[1-9]|[2-9][0-9])[.\"-] ]] || { echo "$java"; return; }
  done
  return 1
}

install_missing() {
  local missing=()
  command -v redis-server >/dev/null || missing+=(redis-server)
  command -v redis-cli >/dev/null || missing+=(redis-tools)
  find_java >/dev/null || missing+=(default-jdk-headless)
  [ -d "$lib" ] || command -v mvn >/dev/null || missing+=(maven)
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

# fetch_jars leaves the folder of jars complete or not there at all.
fetch_jars() {
  [ ! -d "$lib" ] || return 0
  say "fetching RocketMQ (about 85 MB, once)"
  rm -rf "$lib.part"
  logged maven mvn -q -B -f "$conf/pom.xml" dependency:copy-dependencies -DoutputDirectory="$lib.part"
  mv "$lib.part" "$lib"
}

# launch_java NAME CLASS HEAP: user.home is where RocketMQ keeps its store and its logs.
launch_java() {
  launch "$1" "$(find_java)" "-Xmx$3" -Xss512k -XX:+UseSerialGC \
    --add-exports=java.base/jdk.internal.ref=ALL-UNNAMED --add-opens=java.base/java.nio=ALL-UNNAMED \
    --add-opens=java.base/sun.nio.ch=ALL-UNNAMED \
    "-Duser.home=$data/$1" "-Drocketmq.home.dir=$data/$1" "-Drmq.logback.configurationFile=$conf/logback.xml" \
    -cp "$lib/*" "$2" -c "$data/$1/$1.conf"
}

start_namesrv() {
  { cat "$conf/namesrv.conf"; echo "listenPort=$namesrv_port"; } >"$data/namesrv/namesrv.conf"
  launch_java namesrv org.apache.rocketmq.namesrv.NamesrvStartup 128m
}

start_broker() {
  { cat "$conf/broker.conf"; printf 'listenPort=%s\nnamesrvAddr=127.0.0.1:%s\n' "$broker_port" "$namesrv_port"; } \
    >"$data/broker/broker.conf"
  launch_java broker org.apache.rocketmq.broker.BrokerStartup 512m
}

start_redis() {
  launch redis redis-server "$conf/redis.conf" --port "$redis_port" --dir "$data/redis"
}

up() {
  local name
  mkdir -p "$data"/{namesrv,broker,redis}
  exec 9>"$data/lock"
  flock -w 600 9 || die "another 'services.sh up' has been running for ten minutes"
  install_missing
  fetch_jars
  choose_base
  # The broker registers when it starts and then only every ten seconds: the name server goes first.
  for name in redis namesrv broker; do
    alive "$name" || "start_$name"
    await "$name"
  done
  say "up: name server 127.0.0.1:$namesrv_port, broker 127.0.0.1:$broker_port, Redis 127.0.0.1:$redis_port"
}

down() {
  local name
  [ -d "$data" ] || return 0
  exec 9>"$data/lock"
  flock -w 600 9 || die "a 'services.sh up' has been running for ten minutes"
  for name in broker namesrv redis; do stop "$name"; done
}

status() {
  local name port failed=0
  known_base
  for name in namesrv broker redis; do
    port=${name}_port
    if ! alive "$name"; then
      echo "$name: not running"
      failed=1
    elif "works_$name"; then
      echo "$name: works, 127.0.0.1:${!port}, pid $(cut -d ' ' -f 1 "$data/$name/pid")"
    else
      echo "$name: runs but does not answer, see $data/$name"
      failed=1
    fi
  done
  return $failed
}

print_env() {
  known_base
  any_alive || die "nothing runs; start it with scripts/services.sh up"
  echo "export DEDUP_TEST_NAMESRV=127.0.0.1:$namesrv_port"
  echo "export DEDUP_TEST_REDIS=127.0.0.1:$redis_port"
  [ "${1:-}" != strict ] || echo "export DEDUP_TEST_STRICT=1"
}

case ${1:-} in
  up | down | status) "$1" ;;
  env) print_env "${2:-}" ;;
  *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
