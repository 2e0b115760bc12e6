/**
 * Lint, types and quick tests of what differs from `main`, in seconds: `pnpm check:changed`. The tests are those that only
 * compute, of the packages that changed, and of those the files that reach a change by their imports; with `--dependents` also
 * those of the packages that stand on them.
 *
 * A clone of one branch has no `main`, and one without git knows no difference: then everything is checked.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const program = (name, file) => path.join(root, 'node_modules', name, 'bin', file)

if (!existsSync(path.join(root, 'node_modules'))) {
  console.error('nothing is installed yet: run `npm run demo` once, which does')
  process.exit(1)
}

const base = ['main', 'origin/main'].map((name) => git('merge-base', 'HEAD', name)[0]?.trim()).find(Boolean)
if (base === undefined) console.error('no branch main to compare with: all is checked')

const files = filesToLint()
if (files.length > 0) run(program('@biomejs/biome', 'biome'), 'ci', '--no-errors-on-unmatched', ...files)
run(program('typescript-native', 'tsc'), '-p', 'tsconfig.json')
if (base === undefined) turboUnit()
else if (process.argv.includes('--dependents')) turboUnit(`--filter=...[${base}]`)
else runChangedTests(base)

/** What passed before, and depends on nothing that has changed since, comes from turbo's cache. */
function turboUnit(...filter) {
  run(program('turbo', 'turbo'), 'run', 'unit', ...filter, '--concurrency=1', '--output-logs=new-only')
}

function runChangedTests(since) {
  const packages = new Set(changedFiles(since).flatMap((file) => /^packages\/[^/]+\//.exec(file)?.[0] ?? []))
  if (packages.size === 0) return
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs')
  run(vitest, 'run', '--project', 'pure', '--changed', since, '--passWithNoTests', '--reporter=dot', ...packages)
}

/** All of them, where rules or linter may have changed. */
function filesToLint() {
  if (base === undefined) return ['.']
  const files = changedFiles(base)
  return files.some((file) => /^(biome\.json|\.gitignore|package\.json)$/.test(file)) ? ['.'] : files
}

/** Those that are still there, committed or not. */
function changedFiles(since) {
  return [
    ...git('diff', '--name-only', '-z', '--diff-filter=d', since),
    ...git('ls-files', '-z', '--others', '--exclude-standard'),
  ]
}

/** @returns what it answered, taken apart at its zeros; nothing where there is no answer */
function git(...words) {
  const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
  return status === 0 ? stdout.split('\0').filter(Boolean) : []
}

function run(script, ...words) {
  const { status } = spawnSync(process.execPath, [script, ...words], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
