import path from 'node:path'
import { buildFromSources, programsFolder } from '../../../test/build-from-sources.js'

/** A worker as a program, from the sources: a test must not depend on an earlier build. */
export async function buildWorker(name = 'onnx-worker'): Promise<{ readonly program: string; remove(): void }> {
  const packageFolder = path.resolve(import.meta.dirname, '..')
  // Within the package, so that the program finds onnxruntime-node.
  const { folder, remove } = programsFolder(packageFolder, 'test-worker')
  await buildFromSources(folder, {
    entries: { [name]: path.join(packageFolder, 'src', 'worker', `${name}.ts`) },
    format: 'esm',
    extension: '.mjs',
    splitting: false,
    external: ['onnxruntime-node', 'zod'],
  })
  return { program: path.join(folder, `${name}.mjs`), remove }
}
