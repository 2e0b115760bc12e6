import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { build, type Options } from 'tsup'

/** Undefined, or why tests on a simulated host cannot run. */
export const missingCompiler = (() => {
  try {
    execFileSync(process.env['CC'] || 'cc', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'no C compiler on this machine'
  }
})()

export interface BuiltPrograms {
  /** Folder with what answers as `nvidia-smi` and `nvidia-cuda-mps-control`. */
  readonly programs: string
  /** The simulator's command line, for its stand-in of an inference process. */
  readonly cli: string
  readonly cacheFolder: string
  remove(): void
}

/** The simulator's programs from its sources, so that no test depends on an earlier build. */
export async function buildHostPrograms(): Promise<BuiltPrograms> {
  const scratch = path.resolve(import.meta.dirname, '..', 'node_modules')
  mkdirSync(scratch, { recursive: true })
  const folder = mkdtempSync(path.join(scratch, '.host-test-'))
  const source = path.resolve(import.meta.dirname, '..', '..', 'gpu-sim', 'src', 'host')
  const common: Options = {
    config: false,
    silent: true,
    platform: 'node',
    target: 'node20',
    noExternal: [/.*/],
    esbuildOptions(options) {
      options.conditions = ['@pctodl/source']
    },
  }
  const programs = path.join(folder, 'programs')
  await build({
    ...common,
    entry: ['nvidia-smi.ts', 'nvidia-cuda-mps-control.ts'].map((name) => path.join(source, 'programs', name)),
    format: ['cjs'],
    outDir: programs,
    outExtension: () => ({ js: '.cjs' }),
  })
  await build({
    ...common,
    entry: [path.join(source, 'cli.ts')],
    format: ['esm'],
    outDir: folder,
    splitting: false,
    outExtension: () => ({ js: '.mjs' }),
  })
  return {
    programs,
    cli: path.join(folder, 'cli.mjs'),
    cacheFolder: path.join(folder, 'cache'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
