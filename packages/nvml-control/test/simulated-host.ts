import { execFileSync, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadNvml } from '../src/nvml/nvml-library.js'

const program = fileURLToPath(new URL('./fixtures/host-process.mjs', import.meta.url))
export const simulator: string = fileURLToPath(new URL('./fixtures/simulator.mjs', import.meta.url))

/** Undefined, or why tests that need the compiled NVML stand-in cannot run. */
export const missingCompiler: string | undefined = (() => {
  try {
    execFileSync(process.env['CC'] || 'cc', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'no C compiler on this machine'
  }
})()

export interface HostProcess {
  readonly environment: Readonly<Record<string, string>>
  /** Path of the stand-in of libnvidia-ml.so.1. */
  readonly libraryPath: string
  /** Let a fault strike board 0, as gpu-sim's `strike` does. */
  strike(fault: { readonly kind: string; readonly atMs: number }): Promise<void>
  /** Do something to the host: a method of sim-host's `SimulatedHost`, e.g. `loseBoard`. Resolves when it is done. */
  call(
    method: 'loseBoard' | 'findBoard' | 'stopDriver' | 'startDriver' | 'raiseEvent',
    ...args: (number | string)[]
  ): Promise<void>
  stop(): Promise<void>
}

export interface RunningHost extends HostProcess {
  /** A folder for leases that nobody else uses. */
  readonly leaseFolder: string
}

export async function startHost(options: Readonly<Record<string, unknown>> = {}): Promise<RunningHost> {
  const host = await startHostProcess(options)
  const leaseFolder = mkdtempSync(path.join(tmpdir(), 'pctodl-leases-'))
  return {
    ...host,
    leaseFolder,
    async stop() {
      loadedClose(host.libraryPath)
      await host.stop()
      rmSync(leaseFolder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * A simulated host in a process of its own.
 *
 * @param options of sim-host's `SimulatedHost`, and `tenants`: work that runs on a board without being a process
 */
export async function startHostProcess(options: Readonly<Record<string, unknown>> = {}): Promise<HostProcess> {
  const child = fork(program, [JSON.stringify({ board: '3080Ti', privilege: 'everyone', ...options })], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const { environment, folder } = await new Promise<{ environment: Record<string, string>; folder: string }>(
    (resolve, reject) => {
      child.once('message', (message) => resolve(message as never))
      child.once('exit', (code) => reject(new Error(`the simulated host ended with ${code}; is sim-host built?`)))
    },
  )
  const told = async (message: object) => {
    const done = new Promise((resolve) => child.once('message', resolve))
    child.send(message)
    await done
  }
  return {
    environment,
    libraryPath: path.join(folder, 'lib', 'libnvidia-ml.so.1'),
    strike: told,
    call: (method, ...args) => told({ call: method, args }),
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      await ended
    },
  }
}

function loadedClose(libraryPath: string): void {
  try {
    loadNvml({ libraryPath }).close()
  } catch {
    // A board that was lost cannot be initialised again; there is nothing to close then.
  }
}

/** Wait for a condition of a world that lives in real time. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string),
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`this did not come true: ${typeof what === 'string' ? what : what()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
