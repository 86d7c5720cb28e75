#!/usr/bin/env bash
# The action's one step: asks `haloscope check` and `haloscope diagnose`, writes what they say into the summary of the job and into one
# comment on the pull request, and ends with the exit code of the check. What it is told stands in CHECK_*, see action.yml.
set -euo pipefail

haloscope=${CHECK_HALOSCOPE:-haloscope}
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/haloscope-check.XXXXXX")
json=$folder/check.json
junit=$folder/check.xml

if ! command -v "$haloscope" >/dev/null; then
  echo "::error::there is no program $haloscope: install it in a step before, or name it by the input \`haloscope\`"
  exit 2
fi

# each FLAG LINES: the flag before each line that is not empty, into `arguments`.
arguments=()
each() {
  local line
  while IFS= read -r line; do
    line=${line%$'\r'}
    [ -z "$line" ] && continue
    if [ -n "$1" ]; then arguments+=("$1" "$line"); else arguments+=("$line"); fi
  done <<< "$2"
}
each --baseline "${CHECK_BASELINE:-}"
each --budget "${CHECK_BUDGET:-}"
each --claim "${CHECK_CLAIMS:-}"
each "" "${CHECK_ARGUMENTS:-}"

# A run that the check cannot read is told by it; the cause may still be asked of one that fails.
code=0
"$haloscope" diagnose --format markdown --brief -- "$CHECK_RUN" > "$folder/diagnose.md" 2> "$folder/diagnose.err" || code=$?
if [ "${#arguments[@]}" -gt 0 ]; then
  code=0
  "$haloscope" check "${arguments[@]}" --format markdown --also "json=$json" --also "junit=$junit" -- "$CHECK_RUN" \
    > "$folder/check.md" 2> "$folder/check.err" || code=$?
  cat "$folder/check.err" >&2
else
  # Nothing that could hold or not was asked for.
  cat "$folder/diagnose.err" >&2
  json="" junit=""
fi

gate=none
if [ -s "$json" ]; then
  gate=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get("gate") or "none")' "$json")
fi
case $gate,$code,$json in
  passed,*) word="passed" ;;
  failed,*) word="failed" ;;
  not_comparable,*) word="not comparable with its baseline" ;;
  none,0,) word="nothing was checked" ;;
  *) word="no verdict (exit code $code)" ;;
esac

# fenced FILE: as it is, whatever stands in it.
fenced() { sed 's/^/    /' "$1"; }

# The mark comes first: by it the comment is found again. The name is reduced to what cannot end the mark.
name=$(printf '%s' "${CHECK_NAME:-run}" | tr -c 'A-Za-z0-9._/ -' '_' | sed 's/--*/-/g' | cut -c 1-100)
mark="<!-- haloscope-check: $name -->"
body=$folder/body.md
{
  printf '%s\n### Haloscope, %s: %s\n\n' "$mark" "$name" "$word"
  if [ -s "$folder/diagnose.md" ]; then cat "$folder/diagnose.md"; else fenced "$folder/diagnose.err"; fi
  if [ -n "$json" ]; then
    printf '\n<details><summary>Check: %s</summary>\n\n' "$word"
    if [ -s "$folder/check.md" ]; then cat "$folder/check.md"; else fenced "$folder/check.err"; fi
    printf '\n</details>\n'
  fi
} > "$folder/whole.md"
# GitHub takes 65,536 characters; whole lines are kept.
python3 - "$folder/whole.md" "$body" <<'PYTHON'
import sys

text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
MOST = 60_000
if len(text) > MOST:
    text = text[: text.rindex("\n", 0, MOST)] + "\n\n(cut here: the rest is in the summary of the job)\n\n</details>\n"
open(sys.argv[2], "w", encoding="utf-8").write(text)
PYTHON

[ -n "${GITHUB_STEP_SUMMARY:-}" ] && cat "$folder/whole.md" >> "$GITHUB_STEP_SUMMARY"
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'code=%s\ngate=%s\njson=%s\njunit=%s\n' "$code" "$gate" "$json" "$junit" >> "$GITHUB_OUTPUT"
fi

# comment NUMBER: replaces our comment of this name, or writes one.
comment() {
  local issue=repos/$GITHUB_REPOSITORY/issues old
  # Comments of others stay, whatever they begin with.
  old=$(MARK=$mark AUTHOR=${CHECK_AUTHOR:-github-actions[bot]} gh api --paginate "$issue/$1/comments?per_page=100" \
    --jq '.[] | select(.user.login == env.AUTHOR and (.body | startswith(env.MARK))) | .id') || return 1
  old=${old%%$'\n'*}
  if [ -n "$old" ]; then
    gh api --method PATCH "$issue/comments/$old" --field "body=@$body" --silent
  else
    gh api --method POST "$issue/$1/comments" --field "body=@$body" --silent
  fi
}

if [ "${CHECK_COMMENT:-true}" = true ]; then
  number=""
  if [ -s "${GITHUB_EVENT_PATH:-}" ]; then
    number=$(python3 -c 'import json, sys
event = json.load(open(sys.argv[1]))
found = event.get("pull_request") or (event.get("issue") or {}).get("pull_request") and event["issue"] or {}
print(int(found["number"]) if found else "")' "$GITHUB_EVENT_PATH")
  fi
  if [ -z "$number" ]; then
    echo "::notice::no comment: the event ${GITHUB_EVENT_NAME:-of this run} is about no pull request"
  elif ! comment "$number"; then
    # A pull request from a fork has a token that may only read.
    echo "::warning::no comment could be written: the token needs pull-requests: write, which forks do not have; see the summary"
  fi
fi

case $code in
  0) ;;
  1) echo "::error::the run does not keep what was asked of it: see the summary" ;;
  5) echo "::error::the run and its baseline are not comparable: profile the baseline again" ;;
  *) echo "::error::no verdict (exit code $code): the profile or the arguments are not right" ;;
esac
[ "${CHECK_FAIL:-true}" = true ] || code=0
exit "$code"
