import { mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { build } from 'tsup'

/** The command line as a program, from the sources: a test must not depend on an earlier build. */
export async function buildProgram(): Promise<{ readonly program: string; remove(): void }> {
  const packageFolder = path.resolve(import.meta.dirname, '..')
  const folder = mkdtempSync(path.join(packageFolder, 'node_modules', '.test-program-'))
  await build({
    config: false,
    silent: true,
    platform: 'node',
    target: 'node20',
    entry: [path.join(packageFolder, 'src', 'pctodl-profile.ts')],
    format: ['cjs'],
    outDir: folder,
    noExternal: [/.*/],
    esbuildOptions(options) {
      options.conditions = ['@pctodl/source']
      // Optional parts stay outside, and what comes with a binary.
      options.external = ['@pctodl/charts', 'koffi', 'onnxruntime-node', 'sharp']
      options.logLevel = 'error'
      options.logOverride = { 'empty-import-meta': 'silent' }
    },
    outExtension: () => ({ js: '.cjs' }),
  })
  return {
    program: path.join(folder, 'pctodl-profile.cjs'),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}
