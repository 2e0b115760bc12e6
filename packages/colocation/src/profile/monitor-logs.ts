import { mean } from '@pctodl/numerics'
import { TableError } from '../tables/csv-table.js'

export interface MeanUtilization {
  readonly smUtilPercent: number
  readonly memUtilPercent: number
}

/** Samples dropped at the start of a log, while the process is still loading. */
const WARM_UP_SAMPLES = 10

/**
 * Read a log of `nvidia-smi pmon`: means of the columns `sm` and `mem`. The first ten samples and samples without a
 * number (`-`) are dropped.
 *
 * @throws TableError without a header or remaining samples
 */
export function parseProcessMonitorLog(text: string, file = 'pmon log'): MeanUtilization {
  const lines = text.split(/\r?\n/)
  const header = lines.find((line) => /^#\s*gpu\s/.test(line))
  if (!header) throw new TableError(file, undefined, undefined, "no header '# gpu pid type sm mem ...'")
  const names = header.replace('#', '').trim().split(/\s+/)
  const samples = lines
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .slice(WARM_UP_SAMPLES)
    .map((line) => line.trim().split(/\s+/))
  const meanOf = (name: string) => {
    const index = names.indexOf(name)
    if (index < 0) throw new TableError(file, undefined, name, `missing; the columns are ${names.join(', ')}`)
    const values = samples.map((cells) => cells[index] ?? '-').filter((cell) => /^\d+(\.\d+)?$/.test(cell))
    if (values.length === 0) throw new TableError(file, undefined, name, `no number after ${WARM_UP_SAMPLES} samples`)
    return mean(values.map(Number))
  }
  return { smUtilPercent: meanOf('sm'), memUtilPercent: meanOf('mem') }
}

/**
 * Read a log of `nvidia-smi --query-gpu=memory.used --format=csv`, with or without header and units.
 *
 * @returns the highest memory use, GiB rounded to a tenth as in the published tables
 * @throws TableError
 */
export function parseMemoryLog(text: string, file = 'memory log'): number {
  let maxMib = -Infinity
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const cell = line.trim()
    if (cell === '' || /^memory\.used/.test(cell)) continue
    const match = /^(\d+(?:\.\d+)?)(?: MiB)?$/.exec(cell)
    if (!match) throw new TableError(file, i + 1, 'memory.used', `got '${cell}', expected MiB`)
    maxMib = Math.max(maxMib, Number(match[1]))
  }
  if (maxMib < 0) throw new TableError(file, undefined, 'memory.used', 'no sample')
  return Math.round((maxMib / 1024) * 10) / 10
}
