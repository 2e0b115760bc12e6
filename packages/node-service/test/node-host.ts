import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { loadNvml, type NvmlDevice, ServiceClient } from '@pctodl/nvml-control'
import { buildFromSources, programsFolder } from '../../../test/build-from-sources.js'
import { othersReach } from '../../../test/others-reach.js'
import {
  type HostProcess,
  missingCompiler,
  simulator,
  startHostProcess,
} from '../../nvml-control/test/simulated-host.js'
import { NodeService } from '../src/index.js'
import type { NodeServiceOptions } from '../src/node-service.js'
import type { ControlGroup } from './control-group.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))

export { eventually, missingCompiler, simulator } from '../../nvml-control/test/simulated-host.js'

/** Undefined, or why tests with several users cannot run. Numbers need no account. */
export const missingUsers: string | undefined =
  missingCompiler ??
  (process.geteuid?.() !== 0
    ? 'needs root, to become other users with setpriv'
    : othersReach(packageFolder)
      ? undefined
      : 'other users cannot enter the folder of this clone, so they could not run its programs')

/** A node with simulated boards, and a folder for all that its service writes. */
export interface Node {
  readonly environment: Readonly<Record<string, string>>
  readonly libraryPath: string
  readonly folder: string
  readonly devices: readonly NvmlDevice[]
  readonly options: NodeServiceOptions
  allow(...rules: readonly object[]): void
  readonly call: HostProcess['call']
  stop(): Promise<void>
}

export async function startNode(options: Readonly<Record<string, unknown>> = {}): Promise<Node> {
  const host = await startHostProcess({ privilege: 'root', ...options })
  const before = { ...process.env }
  Object.assign(process.env, host.environment)
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-node-'))
  chmodSync(folder, 0o755)
  const { libraryPath } = host
  const policyFile = path.join(folder, 'etc', 'policy.json')
  mkdirSync(path.dirname(policyFile))
  const nvml = loadNvml({ libraryPath })
  const allow = (...rules: readonly object[]) =>
    writeFileSync(policyFile, JSON.stringify({ format: 'pctodl-policy', version: 1, rules }), { mode: 0o600 })
  allow()
  return {
    environment: host.environment,
    libraryPath,
    folder,
    devices: nvml.devices(),
    options: {
      libraryPath,
      policyFile,
      socket: path.join(folder, 'run', 'pctodld.sock'),
      stateFolder: path.join(folder, 'state'),
      mpsFolder: path.join(folder, 'mps'),
      http: { host: '127.0.0.1', port: 0 },
    },
    allow,
    call: host.call,
    async stop() {
      for (const name of Object.keys(host.environment)) if (!(name in before)) delete process.env[name]
      Object.assign(process.env, before)
      nvml.close()
      await host.stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Whether a service has no lease soon. Then the next test can use it: to start one takes a process for each board. */
export async function isFree(service: NodeService): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < 1000; waitedMs += 20) {
    const { ready, boards } = service.status()
    if (ready && boards.every(({ lease }) => lease === null)) return true
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return false
}

/** All boards, all settings. */
export function everything(users: readonly (number | string)[]): object {
  const clocks = { min: 1, max: 100_000 }
  const rest = { computeMode: true, persistence: true, mps: true }
  return { users, boards: ['*'], powerLimitW: { min: 100, max: 400 }, smClockMhz: clocks, memClockMhz: clocks, ...rest }
}

/**
 * The programs of this package and of its tests, built from the sources, in a folder that every user can read.
 *
 * @param more other programs, by name
 */
export async function buildPrograms(
  more: Readonly<Record<string, string>> = {},
): Promise<{ file(name: string): string; remove(): void }> {
  const { folder, remove } = programsFolder(packageFolder, 'programs')
  await buildFromSources(folder, {
    entries: {
      pctodld: path.join(packageFolder, 'src', 'pctodld.ts'),
      'board-worker': path.join(packageFolder, 'src', 'board-worker.ts'),
      client: path.join(packageFolder, 'test', 'fixtures', 'client.ts'),
      'restore-journal': path.join(packageFolder, '..', 'nvml-control', 'src', 'restore-journal.ts'),
      ...more,
    },
    format: 'esm',
    extension: '.js',
    external: ['koffi', 'prom-client'],
    // What is bundled of CommonJS asks for Node's own modules.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  })
  return { file: (name) => path.join(folder, `${name}.js`), remove }
}

/** What a client says first: what it found, or why it got nothing. */
export interface ClientWord {
  readonly code?: string
  readonly message?: string
  readonly access?: { readonly kind: string }
  readonly found?: { readonly powerLimitW: number }
  readonly tenants?: readonly number[]
}

export interface StartedClient {
  readonly child: ChildProcess
  readonly word: ClientWord
  readonly ended: Promise<void>
}

export interface ClientOptions {
  readonly uid?: number
  readonly mode?: string
  readonly group?: ControlGroup | undefined
}

/** A client process, as another user where one is named. Resolves with what it says first. */
export async function startClient(...words: Parameters<typeof spawnClient>): Promise<StartedClient> {
  const { child, word, ended } = spawnClient(...words)
  return { child, word: await word, ended: ended.then(() => {}) }
}

export interface SpawnedClient {
  readonly child: ChildProcess
  /** What it says first; rejected where it ends before. */
  readonly word: Promise<ClientWord>
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

/** The same, without waiting for what it says. */
export function spawnClient(
  node: Node,
  file: string,
  index: number,
  { uid, mode = '', group }: ClientOptions = {},
): SpawnedClient {
  const words = [file, node.libraryPath, String(index), mode, simulator]
  const env = { ...process.env, PCTODL_SERVICE_SOCKET: node.options.socket, HOME: '/nonexistent' }
  const identity = uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--']
  const command = [...identity, process.execPath, ...words]
  const [program, ...args] = group ? group.command(command) : command
  // A process group of its own: it can be killed with all that it has started, as a control group is.
  const child = spawn(program!, args, { env, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const ended: SpawnedClient['ended'] = new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  const word = new Promise<ClientWord>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', (line) => resolve(JSON.parse(line)))
    child.once('exit', (code, signal) => reject(new Error(`the client ended with ${code ?? signal} and said nothing`)))
  })
  return { child, word, ended }
}

export { NodeService, ServiceClient }
