import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { networkName } from '@pctodl/platform'
import { exportOnnx, type OnnxOptions } from './export-onnx.js'

/** A file that was written. */
export interface WrittenFile {
  readonly path: string
  readonly byteLength: number
}

/**
 * Exports a network to `<folder>/<network>.onnx`, and external weights to `<network>.onnx.data` beside it. Creates the
 * folder if needed. Each file appears only when it is complete, the model last.
 *
 * @returns the files written; the model is the last.
 * @throws the errors of `exportOnnx`, and the system's error if a file cannot be written.
 */
export function writeOnnx(name: string, folder: string, options: OnnxOptions = {}): readonly WrittenFile[] {
  const { model, externalData } = exportOnnx(name, options)
  mkdirSync(folder, { recursive: true })
  const files = [
    ...(externalData === undefined ? [] : [externalData]),
    { fileName: `${networkName(name)}.onnx`, bytes: model },
  ]
  return files.map(({ fileName, bytes }) => {
    const file = path.join(folder, fileName)
    writeAtomically(file, bytes)
    return { path: file, byteLength: bytes.byteLength }
  })
}

/**
 * Writes to a new file and moves it into place. The new file's name is unpredictable, so nobody can plant a link there.
 */
function writeAtomically(file: string, bytes: Uint8Array): void {
  const unfinished = `${file}.${randomBytes(8).toString('hex')}.${process.pid}.unfinished`
  try {
    writeFileSync(unfinished, bytes, { flag: 'wx' })
    renameSync(unfinished, file)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}
