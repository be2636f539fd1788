#!/usr/bin/env bash
# Validates docker-compose.yml under each of its profiles, with the values of .env.example and without any. No Docker engine is needed.
# If the machine has no compose plugin, unpacks the one of the next Debian release into a temporary directory (root on Debian).
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch_plugin() {
  [ "$(id -u)" = 0 ] && [ -f /etc/apt/sources.list.d/debian.sources ] || return 1
  mkdir -p "$work"/apt/{lists/partial,cache/archives/partial,parts}
  local uri
  uri=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri trixie main" > "$work/apt/sources.list"
  cat > "$work/apt/apt.conf" << CONF
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "$work/apt/parts";
Dir::State::lists "$work/apt/lists";
Dir::Cache "$work/apt/cache";
APT::Sandbox::User "root";
CONF
  (
    cd "$work"
    export APT_CONFIG=$work/apt/apt.conf
    apt-get -qq update && apt-get -qq download docker-compose
    dpkg -x docker-compose_*.deb plugin
  ) || return 1
  compose=$(find "$work/plugin" -type f -name docker-compose -perm -u+x | head -n 1)
  [ -n "$compose" ]
}

if docker compose version > /dev/null 2>&1; then compose='docker compose'
elif ! fetch_plugin; then
  echo 'docker-compose.yml was not checked: there is no compose plugin here'
  exit 0
fi

for profiles in '' single cluster single,workers cluster,workers workers service workers,service; do
  for file in /dev/null .env.example; do
    COMPOSE_PROFILES=$profiles $compose --env-file "$file" -f docker-compose.yml config -q
  done
done
echo 'docker-compose.yml is sound under every profile'
