import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { physicsOfBoard } from '@pctodl/gpu-sim'
import { buildFromSources, programsFolder } from '../../../test/build-from-sources.js'
import { SimulatedHost, type SimulatedHostOptions } from '../src/simulated-host.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))

/** The compiled library is kept between runs; it is named after its sources. */
export const cacheFolder: string = join(packageFolder, 'node_modules', '.host-test-cache')

export const run: typeof execFile.__promisify__ = promisify(execFile)

/** Only for programs that hang: one that starts in 0.1 s has taken 46 s beside twenty busy processes, ms. */
const ONE_PROGRAM_MS = 240_000

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Run a program to its end, whatever its exit code. */
export async function outcome(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input = '',
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = execFile(file, [...args], { env, timeout: ONE_PROGRAM_MS }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') return reject(error)
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
    // A program that reads no input may be gone before it gets any.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** `cc`, or why the tests that need it cannot run. */
export const missingCompiler: string | undefined = await run(process.env['CC'] || 'cc', ['--version']).then(
  () => undefined,
  () => 'no C compiler on this machine',
)

export interface BuiltPrograms {
  readonly folder: string
  readonly cli: string
  readonly programs: string
  remove(): void
}

/** The sources as the programs that host mode starts; a test must not depend on an earlier build. */
export async function buildPrograms(): Promise<BuiltPrograms> {
  const { folder, remove } = programsFolder(packageFolder, 'host-test')
  const source = (name: string) => join(packageFolder, 'src', `${name}.ts`)
  const programs = join(folder, 'programs')
  const ofHost = ['nvidia-smi', 'nvidia-cuda-mps-control'].map((name) => [name, source(join('programs', name))])
  await buildFromSources(programs, { entries: Object.fromEntries(ofHost), format: 'cjs', extension: '.cjs' })
  // What is bundled of CommonJS asks for Node's own modules.
  const banner = { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" }
  const entries = { sim: join(packageFolder, 'test', 'fixtures', 'sim.ts') }
  await buildFromSources(folder, { entries, format: 'esm', extension: '.mjs', splitting: false, banner })
  return { folder, cli: join(folder, 'sim.mjs'), programs, remove }
}

/** A host whose programs come from the sources, and the environment in which they see its boards. */
export async function startHost(
  programs: string,
  options: Partial<SimulatedHostOptions> = {},
): Promise<{ readonly host: SimulatedHost; readonly env: NodeJS.ProcessEnv }> {
  const host = await SimulatedHost.start({ board: '3080Ti', cacheFolder, programsFolder: programs, ...options })
  return { host, env: { ...process.env, ...host.environment } }
}

/** A board whose processes start in a moment, so that tests need not wait for them. */
export function quickStart(board: string): Pick<SimulatedHostOptions, 'board' | 'physics'> {
  const physics = physicsOfBoard(board)
  return { board, physics: { ...physics, process: { ...physics.process, startMs: 300 } } }
}

/** Wait for a condition of a board that lives in real time; programs that start beside others' work take their time. */
export async function eventually(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + ONE_PROGRAM_MS
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`this did not come true: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
