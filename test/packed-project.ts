import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { packAll, workspacePackages } from '../scripts/pack-packages.js'

/** An empty project somewhere else on this machine, with every package installed from what would be published. */
export interface PackedProject {
  readonly folder: string
  /** Run a program in it. @throws with its output where it ends with another code than 0 */
  run(program: string, ...args: string[]): string
  /** Path of an installed command. */
  bin(name: string): string
  write(file: string, content: string): void
  remove(): void
}

/** Undefined, or why nothing can be installed: the packages' own dependencies come from the registry. */
export const missingRegistry: string | undefined =
  spawnSync('npm', ['view', 'commander', 'version'], { stdio: 'ignore', timeout: 20_000 }).status === 0
    ? undefined
    : 'the package registry cannot be reached'

/** Pack and install; the packages must be built. Takes about half a minute. */
export function packedProject(): PackedProject {
  // A user's project knows nothing of the condition by which the workspace finds its sources.
  const { NODE_OPTIONS: _, ...env } = process.env
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-newcomer-'))
  const runWithin = (timeout: number, program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout })
  const project: PackedProject = {
    folder,
    run: (program, ...args) => runWithin(240_000, program, ...args),
    bin: (name) => path.join(folder, 'node_modules', '.bin', name),
    write: (file, content) => {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
      writeFileSync(path.join(folder, file), content)
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
  try {
    const tarballs = packAll(path.join(folder, 'tarballs'))
    const dependencies = Object.fromEntries([...tarballs].map(([name, file]) => [name, `file:${file}`]))
    project.write('package.json', JSON.stringify({ name: 'newcomer', private: true, dependencies }))
    const quietly = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--loglevel=error']
    runWithin(900_000, 'npm', 'install', ...quietly)
  } catch (error) {
    project.remove()
    throw error
  }
  return project
}

/** Every way into every package: `@pctodl/perf-model`, `@pctodl/perf-model/commands`, ... */
export const entryPoints: readonly string[] = workspacePackages().flatMap(({ name, manifest }) =>
  Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([subpath]) => path.posix.join(name, subpath)),
)
