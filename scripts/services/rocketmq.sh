# shellcheck shell=bash disable=SC2154 # services.sh sets what is not set here
# The RocketMQ servers of services.sh, which reads this file: how each is started and what "works"
# means.

lib=$data/rocketmq-$(sed -n 's/.*<rocketmq.version>\(.*\)<.*/\1/p' "$conf/pom.xml")

# find_java prints the java of the first JDK that RocketMQ 5 runs on. The tests need more than a
# runtime: they run the source of the Java client's program.
find_java() {
  local java version
  for java in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
    [ -x "$java" ] || continue
    [ -x "${java%/*}/javac" ] || continue
    version=$("$java" -version 2>&1) || continue
    [[ ! $version =~ \"(1[1-9]|[2-9][0-9])[.\"-] ]] || { echo "$java"; return; }
  done
  return 1
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
