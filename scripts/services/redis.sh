# shellcheck shell=bash disable=SC2154 # services.sh sets what is not set here
# The Redis servers of services.sh, which reads this file: how each is started and what "works" means.
#
# A set, cluster or sentinel, is built anew when none of it runs, so that it always begins the same:
# slots in thirds, the master on its port. A member that ended alone starts with what it had, and
# "works" then waits until the others have taken it back.

master_name=records

cli() { timeout 3 redis-cli -p "$@" 2>/dev/null; }

# redis_conf MEMBER PORT writes the configuration of a server, which is its own to rewrite: what a
# sentinel changes must not end up in the repository.
redis_conf() {
  { cat "$conf/redis.conf"; printf 'port %s\ndir %s\n' "$2" "$data/$1"; } >"$data/$1/redis.conf"
}

start_redis() {
  redis_conf redis "$redis_port"
  launch redis redis-server "$data/redis/redis.conf"
}

works_redis() { [ "$(cli "$redis_port" ping)" = PONG ]; }

# forget_set SERVICE removes what a set that is down has left.
forget_set() {
  local member
  case $1 in
    cluster | sentinel) ! any_alive "$1" || return 0 ;;
    *) return 0 ;;
  esac
  for member in $(members "$1"); do rm -rf "${data:?}/$member"; done
}

# start_cluster MEMBER: each node is told the whole cluster at its first start, as if it had been part
# of it before.
start_cluster() {
  local n=${1#cluster-} i line slots=('' 0-5460 5461-10922 10923-16383)
  if [ ! -e "$data/$1/redis.conf" ]; then
    redis_conf "$1" $((base + 29 + n))
    printf 'cluster-enabled yes\ncluster-port %s\ncluster-node-timeout 5000\n' $((base + 32 + n)) \
      >>"$data/$1/redis.conf"
    for i in 1 2 3; do
      line=master
      [ "$i" != "$n" ] || line=myself,master
      printf '%040d 127.0.0.1:%s@%s %s - 0 0 %s connected %s\n' \
        "$i" $((base + 29 + i)) $((base + 32 + i)) "$line" "$i" "${slots[i]}"
    done >"$data/$1/nodes.conf"
    echo 'vars currentEpoch 3 lastVoteEpoch 0' >>"$data/$1/nodes.conf"
  fi
  launch "$1" redis-server "$data/$1/redis.conf"
}

works_cluster() {
  local port
  for port in $(ports cluster); do
    [[ $(cli "$port" cluster info) == *cluster_state:ok* ]] || return 1
  done
}

start_sentinel() {
  local master=$((base + 40)) replica=$((base + 41)) file=$data/$1/redis.conf
  if [ ! -e "$file" ]; then
    case $1 in
      master) redis_conf "$1" $master ;;
      replica) redis_conf "$1" $replica && echo "replicaof 127.0.0.1 $master" >>"$file" ;;
      *) sentinel_conf $((base + 41 + ${1#sentinel-})) $master $replica >"$file" ;;
    esac
  fi
  case $1 in
    master | replica) launch "$1" redis-server "$file" ;;
    *) launch "$1" redis-server "$file" --sentinel ;;
  esac
}

# sentinel_conf PORT MASTER REPLICA names the replica, too: asking the master for it takes a while.
sentinel_conf() {
  cat <<END
bind 127.0.0.1
port $1
sentinel monitor $master_name 127.0.0.1 $2 2
sentinel known-replica $master_name 127.0.0.1 $3
sentinel down-after-milliseconds $master_name 5000
sentinel failover-timeout $master_name 10000
END
}

# works_sentinel wants every sentinel to see the others, and a replica that follows the master.
works_sentinel() {
  local port master
  for port in $(ports sentinel); do
    [[ $(cli "$port" sentinel ckquorum $master_name) == 'OK 3 '* ]] || return 1
    master=$(cli "$port" sentinel get-master-addr-by-name $master_name | tail -n 1)
    [[ $(cli "$master" info replication) == *role:master*state=online* ]] || return 1
  done
}
