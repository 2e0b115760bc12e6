import { execFileSync, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./fixtures/host-process.mjs', import.meta.url))
export const simulator = path.join(
  path.dirname(createRequire(import.meta.url).resolve('@pctodl/gpu-sim/package.json')),
  'bin',
  'pctodl-gpu-sim.js',
)

/** Undefined, or why tests that need the simulated host cannot run. */
export const missingCompiler = (() => {
  try {
    execFileSync(process.env['CC'] || 'cc', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'no C compiler on this machine'
  }
})()

export interface MpsHost {
  readonly environment: Readonly<Record<string, string>>
  readonly libraryPath: string
  /** A folder of this host's own. */
  readonly folder: string
  /** Start an inference process on board 0. */
  worker(environment: Readonly<Record<string, string>>): Worker
  stop(): Promise<void>
}

export interface Worker {
  readonly pid: number
  /** Resolves with its exit code and what it said on standard error. */
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>
  end(): void
  /** Hold it, so that it neither works nor notices anything, and let it go on. */
  freeze(): void
  thaw(): void
}

/**
 * A simulated host in a process of its own; its programs and boards are put into this process's environment.
 *
 * @param options more ones of gpu-sim's `SimulatedHost`
 */
export async function startMpsHost(options: Readonly<Record<string, unknown>> = {}): Promise<MpsHost> {
  const child = fork(program, [JSON.stringify({ board: '3080Ti', privilege: 'everyone', ...options })], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const host = await new Promise<{ environment: Record<string, string>; folder: string }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as never))
    child.once('exit', (code) => reject(new Error(`the simulated host ended with ${code}; is gpu-sim built?`)))
  })
  const before = { ...process.env }
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-mps-test-'))
  Object.assign(process.env, host.environment, { PCTODL_LEASE_DIR: path.join(folder, 'leases') })
  return {
    environment: host.environment,
    libraryPath: path.join(host.folder, 'lib', 'libnvidia-ml.so.1'),
    folder,
    worker(environment) {
      const worker = spawn(process.execPath, [simulator, 'tenant', '--network', 'mobilenet_v2', '--batch', '8'], {
        env: { ...process.env, ...environment },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let stderr = ''
      worker.stderr.on('data', (chunk) => {
        stderr += chunk
      })
      const ended = new Promise<{ code: number | null; stderr: string }>((resolve) =>
        worker.once('close', (code) => resolve({ code, stderr })),
      )
      return {
        pid: worker.pid!,
        ended,
        end: () => void worker.kill('SIGTERM'),
        freeze: () => void worker.kill('SIGSTOP'),
        thaw: () => void worker.kill('SIGCONT'),
      }
    },
    async stop() {
      for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
      Object.assign(process.env, before)
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
