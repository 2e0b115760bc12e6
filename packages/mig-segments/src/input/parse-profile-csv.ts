import { isSegmentSize, MAX_MPS_CLIENTS, type MigGeometry, segmentSizes } from '@pctodl/platform'
import { type CsvRow, csvRows, quoted, SegmentFileError, toNumber } from '../map/csv-rows.js'
import { MAX_BATCH_SIZE, type ProfilePoint, type ServiceProfile } from '../profile.js'

/** Header of ParvaGPU's profile files. Columns are read by position, whatever their names are. */
const profileColumns = ['Mig instance', 'Batch size', 'Workload Number', 'Throughput', 'Latency']
/** Columns that may follow: watts that the instance adds to an idle board, and the SM clock, MHz. */
const optionalColumns = ['Power', 'Clock']

export interface ProfileOptions {
  /** Maximum number of MPS processes in an instance; rows with more are left out. Default 3, as in ParvaGPU. */
  readonly maxProcesses?: number
  /**
   * Board whose MIG profiles the file may name. Default: instances have sizes in GPCs, each meaning the profile of this
   * size with the least memory.
   */
  readonly geometry?: MigGeometry
}

export const DEFAULT_MAX_PROCESSES = 3

/**
 * Reads a profile in ParvaGPU's format: a header, then rows of instance size in GPCs, batch size, processes, items/s of
 * one process, seconds per batch, and optionally watts and MHz. Throughput 0 marks a point that did not run.
 *
 * @throws SegmentFileError naming the file, row and column
 */
export function parseProfileCsv(
  text: string,
  model: string,
  file: string,
  { maxProcesses = DEFAULT_MAX_PROCESSES, geometry }: ProfileOptions = {},
): ServiceProfile {
  const [header, ...rows] = csvRows(text, file)
  if (!header || header.cells.every((cell) => !Number.isNaN(toNumber(cell)))) {
    const found = header ? 'numbers' : 'an empty file'
    throw new SegmentFileError(file, 1, null, found, `the header ${profileColumns.join()}`)
  }
  const more = optionalColumns.slice(0, Math.max(0, header.cells.length - profileColumns.length))
  more.forEach((name, i) => {
    const found = header.cells[profileColumns.length + i]!
    if (found.toLowerCase() === name.toLowerCase()) return
    throw header.error(null, name, `a ${i === 0 ? 'sixth' : 'seventh'} column ${quoted(found)}`)
  })
  if (rows.length === 0) throw header.error(null, 'at least one measured row', 'no rows')
  const seen = new Map<string, number>()
  const points = rows.map((each) => {
    const row = each.named([...profileColumns, ...more])
    const point = { ...instanceOf(row, geometry), ...measuredIn(row) }
    const { batchSize, processes, smClockMhz } = point
    const at = smClockMhz === undefined ? '' : ` at ${smClockMhz} MHz`
    const key = `${point.sizeGpcs ?? point.profile} GPCs, batch ${batchSize}, ${processes} processes${at}`
    const before = seen.get(key)
    if (before !== undefined) throw row.error(null, `it once (it is in row ${before} already)`, `${key} again`)
    seen.set(key, row.row)
    return point
  })
  return { model, points: points.filter(({ processes }) => processes <= maxProcesses) }
}

/** The instance that a row's first cell names, by size or by profile. */
function instanceOf(row: CsvRow, geometry: MigGeometry | undefined): Pick<ProfilePoint, 'sizeGpcs' | 'profile'> {
  const [cell] = row.cells as [string]
  const size = toNumber(cell)
  if (!geometry) {
    if (isSegmentSize(size)) return { sizeGpcs: size }
    throw row.error(0, `a size of ${segmentSizes.join(', ')} GPCs`)
  }
  const { profiles } = geometry
  const slot =
    profiles.find(({ name }) => name === cell) ?? profiles.find(({ computeSlices }) => computeSlices === size)
  if (slot) return { profile: slot.name }
  throw row.error(0, `a size or a profile of ${profiles.map(({ name }) => name).join(', ')}`)
}

function measuredIn(row: CsvRow): Omit<ProfilePoint, 'sizeGpcs' | 'profile'> {
  const notNegative = (value: number) => value >= 0
  const batchSize = row.integer(1, 1, MAX_BATCH_SIZE)
  const processes = row.integer(2, 1, MAX_MPS_CLIENTS)
  const processThroughput = row.number(3, 'items/s, or 0 for what did not run', notNegative)
  const ran = processThroughput > 0
  const latencyS = row.number(4, ran ? 'seconds above 0' : 'seconds', (value) => (ran ? value > 0 : value >= 0))
  const clock = row.cells.length > 6 ? { smClockMhz: row.integer(6, 1) } : {}
  const isMeasured = ran && row.cells.length > profileColumns.length
  const power = isMeasured ? { powerW: row.number(5, 'watts of at least 0', notNegative) } : {}
  return { batchSize, processes, processThroughput, latencyMs: latencyS * 1000, ...clock, ...power }
}

/** Formats a profile in ParvaGPU's format. */
export function formatProfileCsv({ points }: ServiceProfile): string {
  const withPower = points.some(({ powerW }) => powerW !== undefined)
  const withClock = points.some(({ smClockMhz }) => smClockMhz !== undefined)
  const optional = optionalColumns.slice(0, withClock ? 2 : withPower ? 1 : 0)
  const rows = points.map((point) => {
    const { sizeGpcs, profile, batchSize, processes, processThroughput, latencyMs, powerW = 0, smClockMhz = 0 } = point
    const measured = [profile ?? sizeGpcs, batchSize, processes, significant(processThroughput)]
    return [...measured, significant(latencyMs / 1000), ...[powerW, smClockMhz].slice(0, optional.length)].join()
  })
  return `${[[...profileColumns, ...optional].join(), ...rows].join('\n')}\n`
}

function significant(value: number): number {
  return Number(value.toPrecision(8))
}
