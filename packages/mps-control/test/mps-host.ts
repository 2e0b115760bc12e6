import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { simulator, startHostProcess } from '../../nvml-control/test/simulated-host.js'

export { missingCompiler, simulator } from '../../nvml-control/test/simulated-host.js'

export interface MpsHost {
  readonly environment: Readonly<Record<string, string>>
  readonly libraryPath: string
  /** A folder of this host's own. */
  readonly folder: string
  /** Start an inference process on board 0. */
  worker(environment: Readonly<Record<string, string>>): Worker
  /** Let a fault strike board 0, as gpu-sim's `strike` does. */
  strike(fault: { readonly kind: string; readonly atMs: number }): Promise<void>
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
 * @param options more ones of sim-host's `SimulatedHost`
 */
export async function startMpsHost(options: Readonly<Record<string, unknown>> = {}): Promise<MpsHost> {
  const host = await startHostProcess(options)
  const before = { ...process.env }
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-mps-test-'))
  Object.assign(process.env, host.environment, { PCTODL_LEASE_DIR: path.join(folder, 'leases') })
  return {
    environment: host.environment,
    libraryPath: host.libraryPath,
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
    strike: host.strike,
    async stop() {
      for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
      Object.assign(process.env, before)
      await host.stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
