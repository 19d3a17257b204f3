# Packages of Debian and PyPI that a command needs: which are missing, and their installation.
# shellcheck shell=bash

# first_known PACKAGE | PACKAGE …: the first of them that is installed or that apt can install; else the first one.
first_known() {
  local -a names
  IFS=' |' read -ra names <<<"$1"
  local name
  for name in "${names[@]}"; do
    if [[ $(apt-cache policy "$name" 2>/dev/null) =~ Candidate:\ [^\(] ]]; then
      printf '%s\n' "$name"
      return
    fi
  done
  printf '%s\n' "${names[0]}"
}

# packages_of GROUP…: the packages that packages.txt lists under [GROUP].
packages_of() {
  local line wanted="" group
  while read -r line; do
    case $line in
      '' | '#'*) ;;
      '['*']')
        wanted=""
        for group in "$@"; do [[ $line == "[$group]" ]] && wanted=1; done
        ;;
      *'|'*) if [[ -n $wanted ]]; then first_known "$line"; fi ;;
      *) [[ -n $wanted ]] && printf '%s\n' "$line" ;;
    esac
  done <packages.txt
  return 0
}

missing_packages() {
  local -a wanted
  mapfile -t wanted < <(packages_of "$@")
  # dpkg-query fails if it does not know a package: that one is missing too.
  comm -23 <(printf '%s\n' "${wanted[@]}" | LC_ALL=C sort -u) \
    <({ dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true; } |
      sed -n 's/^installed //p' | LC_ALL=C sort -u)
}

# agreed QUESTION: asks on a terminal. Elsewhere, with --yes and in continuous integration the answer is yes.
agreed() {
  if [[ -n $assume_yes || ${CI:-} == true || ! -t 0 || ! -t 2 ]]; then return 0; fi
  local answer
  read -r -p "dev: $1 [Y/n] " answer || return 1
  [[ -z $answer || ${answer,,} == y || ${answer,,} == yes ]]
}

# need GROUP…: installs what is missing of these groups. Asks apt nothing if everything is there.
need() {
  if ! command -v dpkg-query >/dev/null; then
    [[ -n ${told_about_packages:-} ]] || say "dev: no dpkg here: install what packages.txt lists by your system's own means"
    told_about_packages=1
    return 0
  fi
  local -a missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  local -a as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "these packages are missing: ${missing[*]}; run this as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "dev: these ${#missing[@]} packages are missing: ${missing[*]}"
  agreed "install them with ${as_root[*]:+sudo }apt-get?" || die "nothing installed"
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  mkdir -p build
  local log=build/packages.log
  say "dev: installing ${#missing[@]} packages"
  "${apt[@]}" update >"$log" 2>&1 </dev/null || say "dev: apt-get update failed (see $log); trying with the package lists at hand"
  mapfile -t missing < <(missing_packages "$@")  # only now does apt know all alternatives
  if ! "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    die "apt-get could not install: ${missing[*]}; the whole output is in $log"
  fi
}

# need_python FOLDER GROUP…: Python's packages of these groups, in build/FOLDER. Without PyPI their tests are skipped.
need_python() {
  local folder=build/$1
  local stamp=$folder/installed log=build/$1.log
  local -a wanted
  mapfile -t wanted < <(packages_of "${@:2}")
  [[ -f $stamp && $(<"$stamp") == "$root ${wanted[*]}" ]] && return 0
  say "dev: installing from PyPI, into $folder: ${wanted[*]}"
  mkdir -p build
  rm -rf "$folder"
  if ! { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check "${wanted[@]}"; } \
    >"$log" 2>&1 </dev/null; then
    rm -rf "$folder"
    say "dev: PyPI's packages could not be installed (see $log): tests that need them are skipped"
    return 0
  fi
  printf '%s\n' "$root ${wanted[*]}" >"$stamp"
}
