import { execFileSync, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadNvml } from '../src/nvml/nvml-library.js'

const program = fileURLToPath(new URL('./fixtures/host-process.mjs', import.meta.url))

/** Undefined, or why tests that need the compiled NVML stand-in cannot run. */
export const missingCompiler = (() => {
  try {
    execFileSync(process.env['CC'] || 'cc', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'no C compiler on this machine'
  }
})()

export interface RunningHost {
  readonly environment: Readonly<Record<string, string>>
  /** Path of the stand-in of libnvidia-ml.so.1. */
  readonly libraryPath: string
  /** A folder for leases that nobody else uses. */
  readonly leaseFolder: string
  stop(): Promise<void>
}

/** @param options of gpu-sim's `SimulatedHost`, and `tenants`: work that runs on a board without being a process */
export async function startHost(options: Readonly<Record<string, unknown>> = {}): Promise<RunningHost> {
  const child = fork(program, [JSON.stringify({ board: '3080Ti', privilege: 'everyone', ...options })], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const { environment, folder } = await new Promise<{ environment: Record<string, string>; folder: string }>(
    (resolve, reject) => {
      child.once('message', (message) => resolve(message as never))
      child.once('exit', (code) => reject(new Error(`the simulated host ended with ${code}; is gpu-sim built?`)))
    },
  )
  const leaseFolder = mkdtempSync(path.join(tmpdir(), 'pctodl-leases-'))
  const libraryPath = path.join(folder, 'lib', 'libnvidia-ml.so.1')
  return {
    environment,
    libraryPath,
    leaseFolder,
    async stop() {
      loadedClose(libraryPath)
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      await ended
      rmSync(leaseFolder, { recursive: true, force: true })
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
  what: string,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`this did not come true: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
