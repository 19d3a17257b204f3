# ./dev test: builds the preset dev and runs ctest.
# shellcheck shell=bash

# Tests counted so far, over ./dev test or the legs of one ./dev check.
passed=0 failed=0 skipped=0

print_count() { printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"; }

# run_ctest PRESET [CTEST ARGUMENTS…]: runs the tests of a build folder and counts them.
run_ctest() {
  local folder=build/$1 log=build/$1/ctest.log status=0 unwanted='_NOT_BUILT$'
  shift
  # Of a program that is not built ctest lists one test, which fails. What the caller excludes comes to it: ctest takes one -E.
  local -a options=()
  while (($#)); do
    if [[ $1 == -E ]]; then
      unwanted+="|$2"
      shift
    else
      options+=("$1")
    fi
    shift
  done
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(job_count)" "${options[@]}" -E "$unwanted" </dev/null 2>&1 | tee "$log" |
    sed -u '/^[0-9]*% tests passed, /d' || status=1
  local summary bad=0 all=0 left
  summary=$(grep -E '^[0-9]+% tests passed, ' "$log" | tail -n 1) || true
  if [[ $summary =~ passed,\ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
    bad=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
  fi
  left=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#.*\*\*\*Skipped' "$log") || true
  if ((status && !bad)); then bad=1 all=$((all + 1)); fi
  failed=$((failed + bad)) skipped=$((skipped + left)) passed=$((passed + all - bad - left))
  return $status
}

# Options of ctest with an argument and without.
ctest_with='-R|-E|-L|-LE|-I|-j|--repeat|--timeout|--tests-regex|--label-regex|--label-exclude'
ctest_without='-N|-V|-VV|-Q|-U|--rerun-failed|--stop-on-failure|--progress|--schedule-random|--verbose|--extra-verbose|--show-only'

# Refuses what ctest does not know: it would take no notice of it.
check_ctest_options() {
  while (($#)); do
    if [[ $1 =~ ^($ctest_with)$ ]]; then
      (($# > 1)) || die "test: $1 needs a value"
      shift
    elif ! [[ $1 =~ ^($ctest_without)$ || $1 =~ ^--(tests-regex|repeat|timeout)=. || $1 =~ ^-j[0-9]+$ ]]; then
      die "test: no option '$1'; see ./dev test --help"
    fi
    shift
  done
}

# The value of -R among ctest's options, if it is there.
wanted_tests() {
  while (($#)); do
    case $1 in
      -R | --tests-regex) printf '%s' "$2" ;;
      --tests-regex=*) printf '%s' "${1#*=}" ;;
    esac
    shift
  done
}

command_test() {
  check_ctest_options "$@"
  need build test python-dev
  need_python python-bindings pypi-bindings
  local wanted
  local -a targets=()
  wanted=$(wanted_tests "$@")
  if [[ -n $wanted ]]; then
    configure dev
    mapfile -t targets < <(scripts/test_programs build/dev "$wanted")
  fi
  build dev "${targets[@]}"
  local status=0
  # A test of a leg has its label; by its name it can be run here too.
  if [[ -n $wanted ]]; then run_ctest dev "$@" || status=1; else run_ctest dev -LE '^leg\.' "$@" || status=1; fi
  print_count
  return $status
}
