import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { load } from 'koffi'
import { type NvmlCallName, nvmlCallNames } from '../src/nvml/nvml-calls.js'

const source = fileURLToPath(new URL('./native/faulty-nvml.c', import.meta.url))

/** An NVML of which every call can be made to fail. */
export interface FaultyNvml {
  readonly libraryPath: string
  /** Answer `code` instead of calling: `times` times, or for good, on one board. 0 is success without any effect. */
  answer(name: NvmlCallName, code: number, options?: { readonly times?: number; readonly board?: number }): void
  clear(board?: number): void
  /** From now on no call about a board returns, in whatever process, until it is told to go on. */
  hang(board: number): void
  goOn(board: number): void
  instant(on: boolean): void
  remove(): void
}

/** Compile it in front of another NVML. */
export function buildFaultyNvml(behind: string): FaultyNvml {
  const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-faulty-'))
  const libraryPath = path.join(folder, 'libnvidia-ml.so.1')
  writeFileSync(path.join(folder, 'calls.h'), nvmlCallNames.map((name) => `X(${name})\n`).join(''))
  const defined = [`-I${folder}`, `-DBEHIND="${behind}"`, `-DHANG="${path.join(folder, 'hang-')}"`]
  execFileSync(process.env['CC'] || 'cc', [
    '-O2',
    '-shared',
    '-fPIC',
    '-Wall',
    '-Wextra',
    ...defined,
    '-o',
    libraryPath,
    source,
    '-ldl',
  ])
  const library = load(libraryPath)
  const answer = library.func('faulty_answer', 'int', ['str', 'int', 'uint32_t', 'int'])
  const clear = library.func('faulty_clear', 'void', ['int'])
  const instant = library.func('faulty_instant', 'void', ['int'])
  return {
    libraryPath,
    answer: (name, code, { times = -1, board = 0 } = {}) => {
      if (answer(name, board, code, times) !== 0) throw new Error(`no call ${name}`)
    },
    clear: (board = 0) => clear(board),
    hang: (board) => writeFileSync(path.join(folder, `hang-${board}`), ''),
    goOn: (board) => rmSync(path.join(folder, `hang-${board}`), { force: true }),
    instant: (on) => instant(on ? 1 : 0),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}
