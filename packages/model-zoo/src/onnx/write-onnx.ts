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
 * Exports a network to `<folder>/<network>.onnx`, and its weights to `<network>.onnx.data` beside it when they are external.
 * The folder is made where it is missing. A file appears whole or not at all, the model last.
 *
 * @returns the files written; the model is the last.
 * @throws what `exportOnnx` throws, and the system's error where a file cannot be written.
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

/** A new neighbour, of a name that nobody can guess and plant a link under, is written first and then takes the file's place. */
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
