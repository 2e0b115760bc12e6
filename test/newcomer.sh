#!/bin/sh
# The whole flow of somebody who has just found this repository, from a clone in an empty folder: the two commands of the README,
# of which the second runs every test, test/newcomer.test.ts (what is published, installed elsewhere) among them.
# Takes as long as the tests of the whole repository, so it is run by the release workflow and by hand: test/newcomer.sh [repository]
set -eu
repository=${1:-$(cd "$(dirname "$0")/.." && pwd)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet --depth 1 "file://$(cd "$repository" && pwd)" "$folder/pctodl"
cd "$folder/pctodl"
npm run demo
npm test
node packages/cli/bin/pctodl.js doctor
