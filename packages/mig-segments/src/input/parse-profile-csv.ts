import { isSegmentSize, type MigGeometry, segmentSizes } from '@pctodl/platform'
import { type CsvRow, csvRows, quoted, SegmentFileError, toNumber } from '../map/csv-rows.js'
import type { ProfilePoint, ServiceProfile } from '../profile.js'

/** Header of ParvaGPU's profile files. Columns are read by position, whatever their names are. */
export const profileColumns = ['Mig instance', 'Batch size', 'Workload Number', 'Throughput', 'Latency'] as const

/** Optional sixth column: power that the instance adds to an idle board while all its processes run, W. */
export const POWER_COLUMN = 'Power'

/** Optional seventh column: SM clock of the measurement, MHz. Only fleets support rows at several clocks. */
export const CLOCK_COLUMN = 'Clock'

export interface ProfileOptions {
  /** Maximum number of MPS processes in an instance; rows with more are left out. Default 3, as in ParvaGPU. */
  readonly maxProcesses?: number
  /**
   * Board whose MIG profiles the file may name. Default: instances have sizes in GPCs, each meaning the profile of this
   * size with the least memory.
   */
  readonly geometry?: MigGeometry
}

/** Default maximum of MPS processes in an instance. */
export const DEFAULT_MAX_PROCESSES = 3

/**
 * Reads a profile in ParvaGPU's format: a header, then rows of instance size in GPCs, batch size, processes, items/s of
 * one process, seconds per batch, and optionally watts and MHz. Throughput 0 marks a point that did not run.
 *
 * @param model the profiled network
 * @param file name for messages
 * @throws SegmentFileError naming file, row and column
 */
export function parseProfileCsv(
  text: string,
  model: string,
  file: string,
  { maxProcesses = DEFAULT_MAX_PROCESSES, geometry }: ProfileOptions = {},
): ServiceProfile {
  return { model, points: parsePoints(text, file, maxProcesses, (cell) => instanceOf(cell, geometry)) }
}

/** Returns the instance that a row's first cell names, or a description of what the cell should contain. */
function instanceOf(
  cell: string,
  geometry: MigGeometry | undefined,
): Pick<ProfilePoint, 'sizeGpcs' | 'profile'> | string {
  const size = toNumber(cell)
  if (!geometry) return isSegmentSize(size) ? { sizeGpcs: size } : `a size of ${segmentSizes.join(', ')} GPCs`
  const { profiles } = geometry
  const slot =
    profiles.find(({ name }) => name === cell) ?? profiles.find(({ computeSlices }) => computeSlices === size)
  return slot ? { profile: slot.name } : `a size or a profile of ${profiles.map(({ name }) => name).join(', ')}`
}

type Measured = Omit<ProfilePoint, 'sizeGpcs' | 'profile'>

function parsePoints(
  text: string,
  file: string,
  maxProcesses: number,
  named: (cell: string) => ReturnType<typeof instanceOf>,
): ProfilePoint[] {
  const [header, ...rows] = csvRows(text, file)
  if (!header || header.cells.every((cell) => !Number.isNaN(toNumber(cell)))) {
    throw new SegmentFileError(
      file,
      1,
      null,
      header ? 'numbers' : 'an empty file',
      `the header ${profileColumns.join()}`,
    )
  }
  const more = [POWER_COLUMN, CLOCK_COLUMN].slice(0, Math.max(0, header.cells.length - profileColumns.length))
  more.forEach((name, i) => {
    const found = header.cells[profileColumns.length + i]!
    if (found.toLowerCase() === name.toLowerCase()) return
    const nth = i === 0 ? 'sixth' : 'seventh'
    throw header.error(null, name, `a ${nth} column ${quoted(found)}`)
  })
  const points: ProfilePoint[] = []
  const seen = new Map<string, number>()
  for (const row of rows.map((each) => each.named([...profileColumns, ...more]))) {
    const instance = named(row.cells[0]!)
    if (typeof instance === 'string') throw row.error(0, instance)
    const point = { ...instance, ...parsePoint(row) }
    const at = point.smClockMhz === undefined ? '' : ` at ${point.smClockMhz} MHz`
    const key = `${Object.values(instance).join()} GPCs, batch ${point.batchSize}, ${point.processes} processes${at}`
    const before = seen.get(key)
    if (before !== undefined) throw row.error(null, `it once (it is in row ${before} already)`, `${key} again`)
    seen.set(key, row.row)
    if (point.processes <= maxProcesses) points.push(point)
  }
  if (rows.length === 0) throw header.error(null, 'at least one measured row', 'no rows')
  return points
}

function parsePoint(row: CsvRow): Measured {
  const batchSize = row.integer(1, 1)
  const processes = row.integer(2, 1)
  const processThroughput = row.number(3, 'items/s, or 0 for what did not run', (value) => value >= 0)
  const ran = processThroughput > 0
  const latencyS = row.number(4, ran ? 'seconds above 0' : 'seconds', (value) => (ran ? value > 0 : value >= 0))
  const clock = row.cells.length > 6 ? { smClockMhz: row.integer(6, 1) } : {}
  const point = { batchSize, processes, processThroughput, latencyMs: latencyS * 1000, ...clock }
  if (row.cells.length === profileColumns.length || !ran) return point
  return { ...point, powerW: row.number(5, 'watts of at least 0', (value) => value >= 0) }
}

/** Formats a profile in ParvaGPU's format. */
export function formatProfileCsv({ points }: ServiceProfile): string {
  const withPower = points.some(({ powerW }) => powerW !== undefined)
  const withClock = points.some(({ smClockMhz }) => smClockMhz !== undefined)
  const columns: readonly string[] = [
    ...profileColumns,
    ...(withPower || withClock ? [POWER_COLUMN] : []),
    ...(withClock ? [CLOCK_COLUMN] : []),
  ]
  const rows = points.map(
    ({ sizeGpcs, profile, batchSize, processes, processThroughput, latencyMs, powerW, smClockMhz }) =>
      [
        ...[profile ?? sizeGpcs, batchSize, processes, significant(processThroughput), significant(latencyMs / 1000)],
        ...(withPower || withClock ? [powerW ?? 0] : []),
        ...(withClock ? [smClockMhz ?? 0] : []),
      ].join(','),
  )
  return `${[columns.join(','), ...rows].join('\n')}\n`
}

function significant(value: number): number {
  return Number(value.toPrecision(8))
}
