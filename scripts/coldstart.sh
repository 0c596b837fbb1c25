#!/usr/bin/env bash
# Measures the first contact of somebody who has Go and a clone: the quickstart with empty caches, which
# downloads and compiles all it needs, then again; and the disk space that the modules take, among them
# those that are downloaded but not linked. README.md tells the figures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

caches=$(mktemp -d)
trap 'rm -rf "$caches"' EXIT
goflags=$(go env GOFLAGS)
export GOMODCACHE=$caches/mod GOCACHE=$caches/build GOFLAGS="$goflags -modcacherw" # so that rm can remove it

seconds() {
  local began=$EPOCHREALTIME
  go run ./sample/quickstart -json >/dev/null 2>&1
  LC_ALL=C awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.0f s", b - a }'
}

size() { du -sm "$1" | awk '{ print $1 " MB" }'; }

echo "$(go version), $(nproc) processors"
echo "cold $(seconds), warm $(seconds)"
echo "module cache $(size "$GOMODCACHE"), build cache $(size "$GOCACHE")"
