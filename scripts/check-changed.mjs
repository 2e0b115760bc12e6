/**
 * Lint, types and quick tests of what differs from `main`, in seconds: `pnpm check:changed`. The tests are those that only
 * compute, of the packages that changed and of the repository, that use a change themselves or through others (types are for the
 * type-checker), except those that take two seconds each or more (`*.slow.test.ts`); what is left out is said. With
 * `--dependents` all of the packages that changed and of those that stand on them. The three run beside each other; each is told
 * when it ends.
 *
 * A clone of one branch has no `main`, and one without git knows no difference: then everything is checked.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
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
  const changed = changedFiles(base, { removed: true })
  if (changed.length === 0) return 0
  const tests = await testsOf(changed)
  const isQuick = (test) => !test.endsWith('.slow.test.ts') || changed.includes(test)
  const quick = tests.filter(isQuick)
  sayWhatIsLeftOut(tests.filter((test) => !isQuick(test)))
  if (quick.length === 0) return 0
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs')
  // Whole paths: of others any part would do, and `test/readme.test.ts` is part of many.
  const files = quick.map((test) => path.join(root, test))
  return run(vitest, 'run', '--project', 'pure', '--passWithNoTests', '--reporter=dot', ...files)
}

function sayWhatIsLeftOut(slow) {
  const others = 'tests that start programs, and tests of packages that stand on what changed'
  console.log(`Not run: ${[...slow, others].join(', ')} (\`pnpm unit --changed main\` runs them)`)
}

/** What passed before, and depends on nothing that has changed since, comes from turbo's cache. */
function turboUnit(...filter) {
  return run(program('turbo', 'turbo'), 'run', 'unit', ...filter, '--concurrency=1', '--output-logs=new-only')
}

/**
 * Of each package that changed, and of the repository (`test/`), the test files that use or name a change; of a package, those
 * that name a page's file where a page changed, and all where data changed. Slow ones run where they have changed themselves.
 */
async function testsOf(files) {
  const { tsImport } = await import('tsx/esm/api')
  const { RelatedTests } = await tsImport('./related-tests.ts', import.meta.url)
  const related = new RelatedTests(root)
  const tests = ['.', ...new Set(files.flatMap((file) => /^packages\/[^/]+(?=\/)/.exec(file) ?? []))].flatMap(
    (folder) => {
      const own = related.testsIn(folder)
      const inside = folder === '.' ? files : files.filter((file) => file.startsWith(`${folder}/`))
      const isWhole = folder !== '.' && inside.some((file) => !/\.(tsx?|md)$/.test(file))
      if (isWhole) return own
      const pages = inside
        .filter((file) => file.endsWith('.md'))
        .map((file) => (folder === '.' ? file : path.basename(file)))
      const code = files.filter((file) => !file.endsWith('.md')).map((file) => path.join(root, file))
      return [
        ...code.flatMap((file) => related.importersOf(file, own)),
        ...own.filter((test) => pages.some((page) => readFileSync(test, 'utf8').includes(page))),
      ]
    },
  )
  return [...new Set(tests)].map((test) => path.relative(root, test))
}

/** Committed or not; with `removed`, also those that are no longer there, and a renamed one's former name. */
function changedFiles(since, { removed = false } = {}) {
  return [
    ...git('diff', '--name-only', '--no-renames', '-z', ...(removed ? [] : ['--diff-filter=d']), since),
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
