/**
 * Prepares the workspace with only Node and npm, then runs one job in it:
 *
 *   node scripts/with-workspace.mjs demo | check | check-all | check-portable | bench
 *
 * It installs the required pnpm into .tools/ (nothing global), installs the dependencies of the lock file, and builds.
 * A step with nothing to do is quick, so the script can be run any number of times and in any order.
 */
import { spawn } from 'node:child_process'
import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { bringPnpm, pnpmBin, pnpmProgram, pnpmVersion, spareHome } from './bring-pnpm.mjs'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const job = process.argv[2]
/** The name is `Path` on Windows. A second variable `PATH` would be ignored there. */
const pathName = Object.keys(process.env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'

const environment = {
  // The tests of `check` are those that take little time: vitest.config.ts.
  ...(job === 'check' && { PCTODL_QUICK: '1' }),
  ...process.env,
  // turbo runs the first pnpm on PATH, which must be this one.
  [pathName]: `${pnpmBin}${path.delimiter}${process.env[pathName]}`,
  TURBO_TELEMETRY_DISABLED: '1',
  DO_NOT_TRACK: '1',
  ONNXRUNTIME_NODE_INSTALL: 'skip',
  // Fewer garbage collections of the type checker, which take a third of its time.
  GOGC: '800',
}

/** A failed step. Only its message is shown, without a stack. */
class StepError extends Error {
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

const jobs = {
  demo: () => pnpm('--silent', 'run', 'demo:run'),
  check: () => pnpm('--silent', 'run', 'check'),
  'check-all': () => pnpm('--silent', 'run', 'check-all'),
  // The checks that run on every platform of Node.js.
  'check-portable': () => pnpm('--silent', 'run', 'unit:portable'),
  bench: () => pnpm('run', 'run-bench'),
}

// Ctrl-C reaches all processes of the job. This process ends last, so that nothing writes into the clone after the
// prompt is back.
let interruption
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (interruption ??= signal))

try {
  requireNode()
  requireWritable('this clone', root)
  requireWritable('the folder for temporary files (TMPDIR)', tmpdir())
  Object.assign(environment, homeVariables())
  if (!Object.hasOwn(jobs, job)) throw new StepError(`unknown job '${job}'; known: ${Object.keys(jobs).join(', ')}`)
  await bringPnpm((folder) => step(`Fetching pnpm ${pnpmVersion}`, () => npmInstall(folder)))
  await step('Installing packages', () =>
    pnpm(
      'install',
      '--frozen-lockfile',
      '--prefer-offline',
      '--reporter=append-only',
      '--config.confirm-modules-purge=false',
      // Overrides the user's own .npmrc.
      '--config.lockfile=true',
    ),
  )
  // Builds only what the job runs. A check builds by itself, after checks that fail faster.
  const built = { demo: ['--filter=@pctodl/bench-runner...'], bench: [] }[job]
  if (built) await step('Building', () => pnpm('run', 'build', '--output-logs=errors-only', ...built))
  await jobs[job]()
  // After the demo, users try other commands.
  if (job === 'demo') await step('Building the other commands', () => pnpm('run', 'build', '--output-logs=errors-only'))
} catch (error) {
  if (!(error instanceof StepError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = error.exitCode
}

function requireNode() {
  const { engines } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  throw new StepError(`Node ${process.versions.node} is too old: this workspace needs ${engines.node}`)
}

/** Checks early that a folder is writable: one line here instead of another program's stack later. */
function requireWritable(what, folder) {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StepError(`${what}, ${folder}, must be a folder that can be written: ${error.message}`)
  }
}

/**
 * Variables for a writable home, in which npm and pnpm store downloads. A container's user without a name often has no
 * home, or one that only root can write to; such a user gets a home in the clone.
 */
function homeVariables() {
  if (process.platform === 'win32') return {}
  try {
    const home = homedir()
    mkdirSync(home, { recursive: true })
    accessSync(home, constants.W_OK)
    return {}
  } catch {
    mkdirSync(spareHome, { recursive: true })
    process.stderr.write(`No home that can be written; what is fetched is kept in ${path.relative(root, spareHome)}\n`)
    // `npm run` has set the cache to the home that cannot be written.
    return { HOME: spareHome, npm_config_cache: path.join(spareHome, '.npm') }
  }
}

function npmInstall(folder) {
  // With npm's default retries, a missing network would go unnoticed for a minute.
  const patience = ['--fetch-retries=3', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=2000']
  const options = ['--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline', ...patience]
  return run('npm', ['install', ...options, `pnpm@${pnpmVersion}`], { quiet: true })
}

async function step(title, work) {
  const started = performance.now()
  process.stderr.write(`${title} ...\n`)
  await work()
  process.stderr.write(`${title} took ${((performance.now() - started) / 1000).toFixed(1)} s\n`)
}

function pnpm(...args) {
  // The output of a build is shown only if it fails; a job's output is always shown.
  return run(process.execPath, [pnpmProgram, ...args], { quiet: args[0] === 'install' || args[1] === 'build' })
}

async function run(command, args, { quiet }) {
  const call = `'${[command, ...args].map((word) => path.basename(word)).join(' ')}'`
  const child = spawn(command, args, {
    cwd: root,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    // On Windows, npm is a script, which only a shell can start.
    shell: process.platform === 'win32' && command === 'npm',
    env: environment,
  })
  const said = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => said.push(chunk))
  const { error, code, signal } = await new Promise((resolve) => {
    child.on('error', (error) => resolve({ error }))
    // 'close' instead of 'exit', because the process's own children have then closed their output, too.
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
  if (interruption !== undefined) throw new StepError(`interrupted; the next run goes on from here`, 130)
  if (code === 0) return
  for (const chunk of said) process.stderr.write(chunk)
  if (error) throw new StepError(`could not start ${call}: ${error.message}`)
  throw new StepError(`${call} ended with ${signal ?? `exit code ${code}`}`, code ?? 1)
}
