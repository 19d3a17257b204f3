# Configures and builds the presets.
# shellcheck shell=bash

# Compilers at once: as many as there are cores, but no more than 1.5 GB of memory can feed.
job_count() {
  if [[ -n ${WICK_JOBS:-} ]]; then
    echo "$WICK_JOBS"
    return
  fi
  local cores memory limit
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  if [[ -r /sys/fs/cgroup/memory.max ]] && read -r limit </sys/fs/cgroup/memory.max && [[ $limit != max ]]; then
    limit=$((limit / 1048576))
    ((limit < memory)) && memory=$limit
  fi
  local fed=$((memory / 1500))
  ((fed < 1)) && fed=1
  echo $((cores < fed ? cores : fed))
}

# Shows ninja's output as one line that changes on a terminal, and as a line every five seconds elsewhere.
show_progress() {
  local label=$1 line last=-5 shown="" width=${COLUMNS:-}
  [[ -t 2 ]] && shown=terminal && [[ -z $width ]] && width=$( (tput cols || echo 80) 2>/dev/null)
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*)$ ]] || continue
    local text="$label: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    if [[ $shown == terminal ]]; then
      text+="  ${BASH_REMATCH[3]##*/}"
      printf '\r\033[K%s' "${text:0:width-1}" >&2
    elif ((SECONDS - last >= 5)); then
      say "$text"
      last=$SECONDS
    fi
  done
  if [[ $shown == terminal ]]; then printf '\r\033[K' >&2; fi
}

# configure PRESET: runs cmake if the build folder is new, was copied from elsewhere, or is older than the presets.
configure() {
  local preset=$1 folder=build/$1
  local stamp=$folder/configured_for
  if [[ -f $stamp && $(<"$stamp") != "$root" ]]; then rm -rf "$folder"; fi
  [[ -f $folder/build.ninja && -f $stamp && ! CMakePresets.json -nt $stamp ]] && return 0
  mkdir -p "$folder"
  say "$preset: configuring"
  if ! cmake --preset "$preset" >"$folder/configure.log" 2>&1 </dev/null; then
    cat "$folder/configure.log" >&2
    say "dev: $preset: configuring failed"
    return 1
  fi
  printf '%s\n' "$root" >"$stamp"
}

# build PRESET [TARGET…]: configures and builds; prints the compiler's words only if it fails.
build() {
  local preset=$1 folder=build/$1
  shift
  configure "$preset" || return 1
  local log=$folder/build.log
  if ! ninja -C "$folder" -j "$(job_count)" "$@" 2>&1 </dev/null | tee "$log" | show_progress "$preset"; then
    # From the first failure on; all of it if cmake failed within ninja.
    if grep -q '^FAILED:' "$log"; then sed -n '/^FAILED:/,$p' "$log" >&2; else cat "$log" >&2; fi
    say "dev: $preset: the build failed"
    return 1
  fi
}
