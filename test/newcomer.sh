#!/bin/sh
# The whole flow of somebody who has just found this repository, from a clone in a folder whose name has blanks: the two commands
# of the README; every test, test/newcomer.slow.test.ts (what is published, installed elsewhere) among them; the first once more;
# once more without a network, where the kernel lets us take it away; and, where this is run by root, the first again in a clone that is all a plain user may write to, who has neither a name nor a home, as in containers. Besides: twice
# at once, with another pnpm first on PATH, with settings of one's own that forbid a lock file; and a folder for temporary files
# that is not there is told in a line.
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
npm run test:all
npm run demo
npx pctodl doctor
npm run demo > /dev/null 2>&1 & another=$!
npm run demo
wait "$another"
mkdir "$folder/bin" "$folder/home"
printf '#!/bin/sh\nexit 99\n' > "$folder/bin/pnpm"
chmod +x "$folder/bin/pnpm"
printf 'lockfile=false\n' > "$folder/home/.npmrc"
PATH="$folder/bin:$PATH" npm run demo
HOME="$folder/home" npm run demo
if TMPDIR=/nonexistent npm run demo 2> "$folder/said"; then exit 1; fi
grep '(TMPDIR), /nonexistent, must be a folder' "$folder/said"
if unshare --net true 2> /dev/null; then unshare --net npm run demo; fi
[ -z "$(git status --porcelain)" ] || { git status --short; exit 1; }
if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null; then
  git clone --quiet --depth 1 "file://$(cd "$repository" && pwd)" "$folder/of a user"
  chown -R 12345:12345 "$folder/of a user"
  cd "$folder/of a user"
  HOME=/nonexistent setpriv --reuid 12345 --regid 12345 --clear-groups sh -c 'npm run demo && npx pctodl doctor'
fi
