# Sourced by the scripts beside it: runs steps, goes on after a failure, and says at the end what ran, what did not, and how
# long each took. `report` ends the script; its exit code is 1 if any step failed.
summary=()
failures=0
# Test files that failed beside others and passed alone.
CAPSTAN_UNSTEADY=$(mktemp)
export CAPSTAN_UNSTEADY

# step TITLE COMMAND...
step() {
  local title=$1 started=$SECONDS result='ok'
  shift
  printf '\n== %s\n' "$title"
  "$@" || { result="NOT OK (exit code $?)"; failures=$((failures + 1)); }
  last_took=$((SECONDS - started))
  summary+=("$(printf '%-28s %5d s  %s' "$title" $((SECONDS - started)) "$result")")
}

# bring NAME [SECONDS]: fetches a real peer for the tests. What this machine cannot fetch, or not within a quarter of an hour (or the given
# time), is no failure: its tests are left out, and the summary says so.
bring() {
  local title="setup:real -- $1" started=$SECONDS
  printf '\n== %s\n' "$title"
  if timeout "${2:-900}" npm run --silent setup:real -- "$1"; then
    summary+=("$(printf '%-28s %5d s  %s' "$title" $((SECONDS - started)) 'ok')")
  else
    left_out "$title" 'it could not be fetched; its tests are left out'
    return 1
  fi
}

# with_peer NAME [OPTION...]: fetches the peer, and runs the tests that need it.
with_peer() {
  local peer=$1
  shift
  bring "$peer" && step "npm test, $peer" npm test --silent -- --peer="$peer" "$@"
}

# within_budget SECONDS NAME [OPTION...]: the same, if the tests of the peer, which usually take so long, still fit into BUDGET. The time of
# the last step before the first call, against USUAL, shows how slow this machine is.
within_budget() {
  SLOW=${SLOW:-$((last_took > USUAL ? last_took : USUAL))}
  local takes=$(($1 * SLOW / USUAL)) peer=$2
  local left=$((BUDGET - SECONDS - takes))
  shift 2
  if [ "$left" -lt 5 ]; then
    left_out "npm test, $peer" "no time is left for its $takes s; another commit, or .ci/full, runs it"
    return
  fi
  bring "$peer" "$((left < 900 ? left : 900))" && step "npm test, $peer" npm test --silent -- --peer="$peer" "$@"
}

# left_out TITLE REASON
left_out() {
  summary+=("$(printf '%-28s %7s  left out: %s' "$1" '-' "$2")")
}

report() {
  printf '\n== summary: node %s, npm %s, %s processors\n' "$(node --version)" "$(npm --version)" "$(getconf _NPROCESSORS_ONLN)"
  printf '%s\n' "${summary[@]}"
  if [ -s "$CAPSTAN_UNSTEADY" ]; then
    printf '\nThese test files failed beside others and passed alone. Add the lines to .ci/unsteady.md, with the reason:\n'
    cat "$CAPSTAN_UNSTEADY"
  fi
  printf '%-28s %5d s  %s\n' 'all of it' "$SECONDS" "$([ "$failures" -eq 0 ] && echo ok || echo "$failures NOT OK")"
  [ "$failures" -eq 0 ]
  exit
}
