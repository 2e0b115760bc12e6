/**
 * `pnpm check:changed`, in the root folder: lints what differs from `main`, then checks all types beside the quickest tests that use
 * it. A signal ends everything that was started.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { pure } from '../vitest.config.js'
import { testsOfChanges } from './tests-of-changes.js'

/** With this time of tests per core, the whole check takes less than ten seconds on two cores. */
const TESTS_S_PER_CORE = 3

const root = process.cwd()
const running = new Set<ChildProcess>()
let interruption: NodeJS.Signals | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interruption ??= signal
    for (const { pid } of running) process.kill(-pid!, 'SIGTERM')
  })
}

const changed = [
  ...filesOf('diff', '--name-only', '--diff-filter=d', '--merge-base', 'main'),
  ...filesOf('ls-files', '--others', '--exclude-standard'),
]
await run('biome', ['check', '--no-errors-on-unmatched', '--files-ignore-unknown=true', 'package.json', ...changed])
if (process.exitCode === undefined) await Promise.all([run('pnpm', ['--silent', 'typecheck']), runTests()])

async function runTests(): Promise<void> {
  const { chosen, left, unused, seconds } = testsOfChanges(
    root,
    changed,
    storedDurations(),
    TESTS_S_PER_CORE * availableParallelism(),
    (test) => pure.some((glob) => path.matchesGlob(test, glob)),
  )
  console.log(
    `${chosen.length} test files, about ${seconds.toFixed(1)} s; ${left.length} more that use the changes run in \`npm run test:all\``,
  )
  if (unused.length > 0) console.log(`no test imports, but other tests may read: ${unused.join(', ')}`)
  if (chosen.length === 0) return
  await run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'pure', ...chosen])
}

/** Durations that vitest has stored after its runs, s. */
function storedDurations(): Map<string, number> {
  const folder = path.join(root, 'node_modules', '.vite', 'vitest')
  try {
    const files = readdirSync(folder).map((name) => readFileSync(path.join(folder, name, 'results.json'), 'utf8'))
    const results: [string, { duration: number }][] = files.flatMap((text) => JSON.parse(text).results)
    return new Map(results.map(([place, { duration }]) => [place.split(':')[1]!, duration / 1000]))
  } catch {
    return new Map()
  }
}

/** Without `-z`, git quotes names that are not plain ASCII. */
function filesOf(command: string, ...words: string[]): string[] {
  const names = execFileSync('git', [command, '-z', ...words], { cwd: root, encoding: 'utf8' })
  return [...new Set(names.split('\0').filter(Boolean))]
}

/** A failed command sets the exit code. */
async function run(command: string, words: readonly string[]): Promise<void> {
  if (interruption !== undefined) return
  // A group of its own, because a signal to this process must also end what the command has started.
  const child = spawn(command, words, {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    // Fewer garbage collections of the type checker.
    env: { ...process.env, GOGC: '800' },
  })
  running.add(child)
  const [code] = await once(child, 'exit')
  running.delete(child)
  if (code !== 0) process.exitCode = code ?? 1
}
