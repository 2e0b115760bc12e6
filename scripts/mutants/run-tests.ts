import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Function that a marked source calls with the index of a mutant. */
export const MARK = 'globalThis.pctodlReached'

/** A source file, with the text that replaces its content. */
export interface ChangedSource {
  readonly file: string
  readonly text: string
}

export interface TestAnswer {
  readonly ending: 'passed' | 'failed' | 'timeout'
  /** CPU time of the tests, with that of starting vitest, s. */
  readonly cpuS: number
  /** Marks (see `markedSource`) that ran. */
  readonly reached: readonly number[]
}

/** Most tests need 0.6 GiB. */
const MAX_BYTES = 4 * 2 ** 30

const VITEST = path.join(path.dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const CONFIG = path.join(import.meta.dirname, 'vitest.config.ts')

/**
 * Runs test files against changed sources, in a process of its own. Only the imports of the tests see the changes. A
 * mutant may loop forever or fill the memory, so both are limited. The limit is CPU time, because wall time depends on
 * the load of the machine.
 *
 * @param sources absolute paths, with the texts
 * @param tests absolute paths, in the order in which they run; the first failure ends the run
 * @param limitBytes memory of the process above which it is ended
 */
export async function runTests(
  sources: readonly ChangedSource[],
  tests: readonly string[],
  limitCpuS: number,
  limitBytes: number = MAX_BYTES,
): Promise<TestAnswer> {
  // A folder that is removed with the process, because killed or skipped tests do not remove their temporary files.
  const folder = mkdtempSync(path.join(tmpdir(), 'mutants-'))
  const report = path.join(folder, 'report.json')
  try {
    writeFileSync(path.join(folder, 'request.json'), JSON.stringify({ sources, tests, limitBytes }))
    const limited = ['-c', `ulimit -t ${Math.ceil(limitCpuS)}; exec "$0" "$@"`]
    const child = spawn('sh', [...limited, process.execPath, VITEST, 'run', '--config', CONFIG], {
      stdio: 'ignore',
      env: { ...process.env, PCTODL_MUTANT: folder, TMPDIR: folder, TEMP: folder, TMP: folder },
    })
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    const told = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { cpuS: limitCpuS, reached: [] }
    const isOver = signal === 'SIGXCPU' || signal === 'SIGKILL'
    return { ...told, ending: isOver ? 'timeout' : code === 0 ? 'passed' : 'failed' }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
