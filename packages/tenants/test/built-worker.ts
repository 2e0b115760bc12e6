import { mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { build } from 'tsup'

/** A worker as a program, from the sources: a test must not depend on an earlier build. */
export async function buildWorker(name = 'onnx-worker'): Promise<{ readonly program: string; remove(): void }> {
  const packageFolder = path.resolve(import.meta.dirname, '..')
  // Within the package, so that the program finds onnxruntime-node.
  const folder = mkdtempSync(path.join(packageFolder, 'node_modules', '.test-worker-'))
  await build({
    config: false,
    silent: true,
    platform: 'node',
    target: 'node20',
    entry: [path.join(packageFolder, 'src', 'worker', `${name}.ts`)],
    format: ['esm'],
    outDir: folder,
    splitting: false,
    esbuildOptions(options) {
      options.conditions = ['@pctodl/source']
      options.external = ['onnxruntime-node', 'zod']
    },
    noExternal: [/^@pctodl\//],
    outExtension: () => ({ js: '.mjs' }),
  })
  return {
    program: path.join(folder, `${name}.mjs`),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}
