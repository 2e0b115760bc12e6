import path from 'node:path'
import { buildFromSources, programsFolder } from '../../../test/build-from-sources.js'

/** A command line as a program, from the sources: a test must not depend on an earlier build. */
export async function buildProgram(
  name: 'profile-program' | 'prove-program' = 'profile-program',
): Promise<{ readonly program: string; remove(): void }> {
  const packageFolder = path.resolve(import.meta.dirname, '..')
  // Where koffi is found, on which of these packages nvml-control alone depends.
  const { folder, remove } = programsFolder(path.resolve(packageFolder, '../nvml-control'), 'test-program')
  await buildFromSources(folder, {
    entries: { [name]: path.join(packageFolder, 'src', `${name}.ts`) },
    format: 'cjs',
    extension: '.cjs',
    // Optional parts stay outside, and what comes with a binary.
    external: ['@pctodl/report', 'koffi', 'onnxruntime-node', 'sharp'],
    logOverride: { 'empty-import-meta': 'silent' },
  })
  return { program: path.join(folder, `${name}.cjs`), remove }
}
