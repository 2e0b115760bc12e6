/**
 * Prepares the workspace from nothing but Node and npm, then runs one job in it:
 *
 *   node scripts/with-workspace.mjs demo | check-all | bench
 *
 * It brings the pinned pnpm into .tools/ (no global install), installs what the lock file says, and builds. Each step is
 * quick when there is nothing to do, so it can be run any number of times and in any order.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const tools = path.join(root, '.tools')
const job = process.argv[2]

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const [, pnpmVersion] = manifest.packageManager.split('@')

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  fail(`Node ${process.versions.node} is too old: this workspace needs ${manifest.engines.node}`)
}

const jobs = {
  demo: () => pnpm('--silent', 'run', 'demo:run'),
  'check-all': () => pnpm('run', 'check-all'),
  bench: () => pnpm('run', 'run-bench'),
}
if (!Object.hasOwn(jobs, job)) fail(`unknown job '${job}'; known: ${Object.keys(jobs).join(', ')}`)

bringPnpm()
step('Installing packages', () => pnpm('install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only'))
if (job !== 'check-all') step('Building', () => pnpm('run', 'build', '--output-logs=errors-only'))
jobs[job]()

function bringPnpm() {
  const installed = path.join(tools, 'node_modules', 'pnpm', 'package.json')
  if (existsSync(installed) && JSON.parse(readFileSync(installed, 'utf8')).version === pnpmVersion) return
  step(`Fetching pnpm ${pnpmVersion}`, () =>
    run(
      'npm',
      ['install', '--prefix', tools, '--no-save', '--no-audit', '--no-fund', '--loglevel=error', `pnpm@${pnpmVersion}`],
      { quiet: true },
    ),
  )
}

function step(title, work) {
  const started = performance.now()
  process.stderr.write(`${title} ...\n`)
  work()
  process.stderr.write(`${title} took ${((performance.now() - started) / 1000).toFixed(1)} s\n`)
}

function pnpm(...args) {
  // A build is worth its output only when it fails; a job speaks for itself.
  run(process.execPath, [path.join(tools, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs'), ...args], {
    quiet: args[0] === 'install' || args[1] === 'build',
  })
}

function run(command, args, { quiet }) {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    maxBuffer: 1 << 28,
    env: {
      ...process.env,
      // turbo runs the first pnpm on PATH: it must be this one.
      PATH: `${path.join(tools, 'node_modules', '.bin')}${path.delimiter}${process.env.PATH}`,
      TURBO_TELEMETRY_DISABLED: '1',
      DO_NOT_TRACK: '1',
      ONNXRUNTIME_NODE_INSTALL: 'skip',
    },
  })
  if (status === 0) return
  if (quiet) process.stderr.write(`${stdout ?? ''}${stderr ?? ''}`)
  if (error) fail(`could not start ${command}: ${error.message}`)
  fail(`'${command} ${args.join(' ')}' ended with ${signal ?? `exit code ${status}`}`, status ?? 1)
}

function fail(message, code = 1) {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}
