#!/bin/sh
# The main job, offline: build a knowledge source, score 15 answers with the embedded parts, see how far that is from gold.
set -eu
BIN=$1
HERE=$(dirname "$0")
OUT=${2:-runs/demo}
rm -rf "$OUT"
mkdir -p "$OUT"

echo "1. Build a knowledge source from 27 pages of our own"
"$BIN/veridical" knowledge build "$HERE/encyclopaedia.jsonl" --out "$OUT/kb.sqlite" --name examples --words 60

echo
echo "2. Score 15 answers (one of them a refusal): facts, evidence and verdicts without any language model"
"$BIN/veridical" score "$HERE/generations.jsonl" --knowledge "$OUT/kb.sqlite" --out "$OUT/run"

echo
echo "3. The facts of one answer"
"$BIN/veridical" check "$(sed -n '/"id": "mandela"/p' "$HERE/generations.jsonl" | "$BIN/python" -c 'import json, sys; print(json.load(sys.stdin)["text"])')" \
  --topic "Nelson Mandela" --knowledge "$OUT/kb.sqlite"

echo
echo "4. How far is it from people's labels of the same answers?"
"$BIN/veridical" score "$HERE/gold.jsonl" --facts given --knowledge "$OUT/kb.sqlite" --out "$OUT/given" --json > "$OUT/given.json"
"$BIN/python" "$HERE/gold.py" "$OUT/run" "$OUT/given"
