#!/bin/sh
# The whole flow of somebody who has just found this repository, from a clone in a folder whose name has blanks: the two commands
# of the README, of which the second runs every test, test/newcomer.test.ts (what is published, installed elsewhere) among them;
# the first once more; once more without a network, where the kernel lets us take it away; and, where this is run by root, the
# first again in a clone that is all a plain user may write to, who has neither a name nor a home, as in containers.
# Takes as long as the tests of the whole repository, so it is run by the release workflow and by hand: test/newcomer.sh [repository]
set -eu
repository=${1:-$(cd "$(dirname "$0")/.." && pwd)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# As in most places: tests with several users need others to come as far as the clone.
chmod 755 "$folder"
clone="$folder/a folder with blanks/pctodl"
git clone --quiet --depth 1 "file://$(cd "$repository" && pwd)" "$clone"
cd "$clone"
npm run demo
npm test
npm run demo
npx pctodl doctor
if unshare --net true 2> /dev/null; then unshare --net npm run demo; fi
[ -z "$(git status --porcelain)" ] || { git status --short; exit 1; }
if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null; then
  git clone --quiet --depth 1 "file://$(cd "$repository" && pwd)" "$folder/of a user"
  chown -R 12345:12345 "$folder/of a user"
  cd "$folder/of a user"
  HOME=/nonexistent setpriv --reuid 12345 --regid 12345 --clear-groups sh -c 'npm run demo && npx pctodl doctor'
fi
