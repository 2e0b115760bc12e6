/**
 * The README's first command in a clone, ended in the middle of everything it does, and then left to finish:
 *
 *   pnpm tsx test/interrupted.ts [rounds] [seed]
 *
 * Ctrl-C (SIGINT to all of its processes) and the harder end (SIGKILL, as when a machine goes down) fall at random moments of
 * fetching pnpm, of installing, of building and of the run itself. After all that the command must do what it does in a fresh
 * clone; then again without a network; then the linter must be content, and git see nothing. Takes minutes: part of the weekly
 * workflow.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const repository = path.resolve(import.meta.dirname, '..')
const rounds = Number(process.argv[2] ?? 2)
let state = Number(process.argv[3] ?? 1)

/** The line that announces a phase, and about how long it takes at most in a clone that has nothing yet, ms. */
const phases = [
  ['Fetching pnpm', 3_000],
  ['Installing packages', 8_000],
  ['Building', 20_000],
  ['[1/5]', 10_000],
] as const

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl interrupted é '))
const clone = path.join(folder, 'pctodl')
try {
  execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${repository}`, clone])
  for (let round = 0; round < rounds; round++) {
    for (const [phase, longestMs] of phases) {
      for (const signal of ['SIGINT', 'SIGKILL'] as const) await interrupt(phase, random() * longestMs, signal)
    }
  }
  halveTheNewestCacheFile()
  await finish({})
  const nowhere = 'http://127.0.0.1:9/'
  await finish({ npm_config_registry: nowhere, npm_config_fetch_retries: '0' })
  // What is installed is enough without a network, and what was once fetched is enough to install it again.
  rmSync(path.join(clone, 'node_modules'), { recursive: true })
  await finish({ npm_config_registry: nowhere, npm_config_fetch_retries: '0' })
  execFileSync(path.join(clone, 'node_modules', '.bin', 'biome'), ['ci', '.'], { cwd: clone, stdio: 'inherit' })
  const changes = execFileSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' })
  if (changes !== '') throw new Error(`git sees changes:\n${changes}`)
  console.log('interrupted everywhere, and whole at the end')
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Start the demo, wait for a phase (or its end, where there is nothing left to do), and end it so long after. */
async function interrupt(phase: string, afterMs: number, signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
  const demo = start({})
  const began = await Promise.race([demo.says(phase).then(() => true), demo.ended.then(() => false)])
  if (began) await Promise.race([sleep(afterMs), demo.ended])
  // The whole group, as a terminal does.
  if (demo.child.exitCode === null) process.kill(-demo.child.pid!, signal)
  const code = await demo.ended
  console.log(
    `${signal} ${began ? `${Math.round(afterMs)} ms into ${phase}` : `not sent: ${phase} had nothing to do`}: ${code ?? 'killed'}`,
  )
  if (signal === 'SIGINT' && began && ![0, 130, null].includes(code))
    throw new Error(`ended with ${code}:\n${demo.said()}`)
}

async function finish(env: NodeJS.ProcessEnv): Promise<void> {
  rmSync(path.join(clone, 'benchmark_results'), { recursive: true, force: true, maxRetries: 5 })
  const demo = start(env)
  const code = await demo.ended
  if (code !== 0 || !/\| pctodl .*holds/.test(demo.said())) throw new Error(`ended with ${code}:\n${demo.said()}`)
  const results = readdirSync(path.join(clone, 'benchmark_results'), { recursive: true }) as string[]
  const unfinished = results.filter((name) => name.endsWith('.unfinished'))
  if (unfinished.length > 0) throw new Error(`left behind: ${unfinished.join(', ')}`)
  console.log(`finished${env['npm_config_registry'] === undefined ? '' : ' without a registry'}`)
}

interface Demo {
  readonly child: ChildProcess
  /** Its exit code; null where a signal ended it. */
  readonly ended: Promise<number | null>
  /** Resolves when it has written a text. */
  says(text: string): Promise<void>
  said(): string
}

function start(env: NodeJS.ProcessEnv): Demo {
  // Into a file: of a killed group somebody might still hold a pipe.
  const file = path.join(folder, 'said')
  const output = openSync(file, 'w')
  const child = spawn('npm', ['run', 'demo'], {
    cwd: clone,
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...process.env, TURBO_CACHE_DIR: undefined, ...env },
  })
  closeSync(output)
  const said = () => readFileSync(file, 'utf8')
  return {
    child,
    ended: new Promise((resolve) => child.on('exit', resolve)),
    async says(text) {
      while (!said().includes(text)) {
        if (child.exitCode !== null || child.signalCode !== null) return new Promise(() => {})
        await sleep(20)
      }
    },
    said,
  }
}

/** As a machine leaves it that goes down while the cache is written. */
function halveTheNewestCacheFile(): void {
  const cache = path.join(clone, '.turbo', 'cache')
  if (!existsSync(cache)) return
  const [file] = readdirSync(cache).filter((name) => name.endsWith('.tar.zst'))
  if (file !== undefined) truncateSync(path.join(cache, file), 100)
}

/** Park and Miller's generator: in [0, 1). */
function random(): number {
  state = (state * 48_271) % 2_147_483_647
  return state / 2_147_483_647
}
