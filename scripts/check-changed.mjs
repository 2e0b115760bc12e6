/**
 * Lint, types and quick tests of what differs from `main`, in seconds: `pnpm check:changed`. The tests are those that only
 * compute, of the packages that changed, and of those the files that reach a change by their imports; with `--dependents` also
 * those of the packages that stand on them, and those that take seconds each (`*.slow.test.ts`). The three run beside each other; each is told when it ends.
 *
 * A clone of one branch has no `main`, and one without git knows no difference: then everything is checked.
 */
import { spawn, spawnSync } from 'node:child_process'
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

const checks = [checkTests(), checkTypes(), checkLint()]
const codes = await Promise.all(checks)
process.exitCode = codes.find((code) => code !== 0) ?? 0

/** All files, where rules or linter may have changed. */
function checkLint() {
  const files = base === undefined ? ['.'] : changedFiles(base)
  if (files.length === 0) return 0
  const all = files.some((file) => /^(biome\.json|\.gitignore|package\.json)$/.test(file))
  return run(program('@biomejs/biome', 'biome'), 'ci', '--no-errors-on-unmatched', ...(all ? ['.'] : files))
}

function checkTypes() {
  return run(program('typescript-native', 'tsc'), '-p', 'tsconfig.json')
}

async function checkTests() {
  if (base === undefined) return turboUnit()
  if (process.argv.includes('--dependents')) return turboUnit(`--filter=...[${base}]`)
  const tests = await testsOf(changedFiles(base))
  if (tests.length === 0) return 0
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs')
  return run(vitest, 'run', '--project', 'pure', '--passWithNoTests', '--reporter=dot', ...tests)
}

/** What passed before, and depends on nothing that has changed since, comes from turbo's cache. */
function turboUnit(...filter) {
  return run(program('turbo', 'turbo'), 'run', 'unit', ...filter, '--concurrency=1', '--output-logs=new-only')
}

/** Of each package that changed, the test files that import a change; all, where something else than code changed. */
async function testsOf(files) {
  const { tsImport } = await import('tsx/esm/api')
  const { RelatedTests } = await tsImport('./related-tests.ts', import.meta.url)
  const related = new RelatedTests(root)
  const isCode = (file) => /\.tsx?$/.test(file)
  const code = files.filter(isCode).map((file) => path.join(root, file))
  const packages = new Set(files.flatMap((file) => /^packages\/([^/]+)\//.exec(file)?.[1] ?? []))
  const tests = [...packages].flatMap((name) => {
    const own = related.testsOf(name)
    const isWhole = files.some((file) => file.startsWith(`packages/${name}/`) && !isCode(file))
    return isWhole ? own : code.flatMap((file) => related.importersOf(file, own))
  })
  const quick = tests.filter((test) => !test.endsWith('.slow.test.ts'))
  return [...new Set(quick)].map((test) => path.relative(root, test))
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

/** What it says comes out at its end, so that programs that run beside each other do not mix theirs. */
function run(script, ...words) {
  const child = spawn(process.execPath, [script, ...words], {
    cwd: root,
    stdio: ['inherit', 'pipe', 'pipe'],
    env: process.stdout.isTTY ? { FORCE_COLOR: '1', ...process.env } : process.env,
  })
  const said = []
  child.stdout.on('data', (chunk) => said.push([process.stdout, chunk]))
  child.stderr.on('data', (chunk) => said.push([process.stderr, chunk]))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      for (const [stream, chunk] of said) stream.write(chunk)
      resolve(code ?? 1)
    })
  })
}
