import { readFileSync } from 'node:fs'
import { freePlacements, InvalidInputError, MAX_MPS_CLIENTS, type MigGeometry, migGeometries } from '@pctodl/platform'
import { csvLine, csvTable } from './csv-rows.js'

/** Columns of a fleet's map. If boards are locked to an SM clock, there is a last column `Clock`, MHz. */
export const fleetMapColumns: readonly string[] = 'Board,Node,GPU,Profile,Placement,Model,Batch size,Num proc'.split(
  ',',
)

const CLOCK_COLUMN = 'Clock'

/** A board in a fleet's map. */
export interface MappedBoard {
  /** Key of the board in `@pctodl/platform`. */
  readonly gpu: string
  /** Index among the nodes with boards of this type, from 0. */
  readonly node: number
  /** Index on its node, from 0. */
  readonly index: number
  /** SM clock to lock the board at, MHz. */
  readonly smClockMhz?: number
  /** Segments in the order of their start slots. Models that share an instance have the same start slot. */
  readonly segments: readonly MappedFleetSegment[]
}

/** One model in an instance of a fleet. */
export interface MappedFleetSegment {
  /** Name of the GPU instance profile, such as `1g.20gb`. */
  readonly profile: string
  /** First memory slice. */
  readonly start: number
  readonly model: string
  readonly batchSize: number
  /** MPS processes. */
  readonly processes: number
}

export function formatFleetMap(boards: readonly MappedBoard[]): string {
  const clocked = boards.some(({ smClockMhz }) => smClockMhz !== undefined)
  const lines = boards.flatMap(({ gpu, node, index, smClockMhz, segments }) =>
    segments.map(({ profile, start, model, batchSize, processes }) =>
      csvLine([gpu, node, index, profile, start, model, batchSize, processes, ...(clocked ? [smClockMhz ?? ''] : [])]),
    ),
  )
  const header = [...fleetMapColumns, ...(clocked ? [CLOCK_COLUMN] : [])]
  return `${[header.join(','), ...lines].join('\n')}\n`
}

/** @throws InvalidInputError for a file that cannot be read, naming the option `field` */
export function readMap(file: string, field: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const expected = `a map that can be read, as 'pctodl segments' writes it: plan first, or name another (${(error as Error).message})`
    throw new InvalidInputError(field, file, expected, { cause: error })
  }
}

/** Whether a text is a fleet's map, and not a map of one type of board. */
export function isFleetMap(text: string): boolean {
  return /^\uFEFF?Board,/.test(text)
}

/** @throws SegmentFileError naming file, row and column, also for overlapping instances */
export function parseFleetMap(text: string, file: string): MappedBoard[] {
  const boards = new Map<string, MappedBoard & { segments: MappedFleetSegment[] }>()
  for (const row of csvTable(text, file, [fleetMapColumns, [...fleetMapColumns, CLOCK_COLUMN]])) {
    const geometry = Object.values(migGeometries).find(({ key }) => key === row.cells[0])
    if (!geometry) throw row.error(0, `a board with MIG: ${Object.keys(migGeometries).join(', ')}`)
    const [node, index, start] = [row.integer(1, 0), row.integer(2, 0), row.integer(4, 0)]
    const clock = (row.cells[8] ?? '') === '' ? {} : { smClockMhz: row.integer(8, 1) }
    const key = `${geometry.key} ${node} ${index}`
    const board = boards.get(key) ?? { gpu: geometry.key, node, index, ...clock, segments: [] }
    if (board.smClockMhz !== clock.smClockMhz) throw row.error(8, 'one clock for all instances of a board')
    const segment = {
      ...{ profile: row.cells[3]!, start, model: row.text(5, 'the name of a model') },
      ...{ batchSize: row.integer(6, 1), processes: row.integer(7, 1, MAX_MPS_CLIENTS) },
    }
    const conflict = segmentConflict(geometry, segment, board.segments)
    if (conflict) throw row.error({ profile: 3, start: 4, model: 5 }[conflict.field], conflict.expected)
    board.segments.push(segment)
    boards.set(key, board)
  }
  return [...boards.values()]
}

type Placed = Pick<MappedFleetSegment, 'profile' | 'start' | 'model'>

/** Returns why a segment does not fit on a board beside others; null if it fits. Models may share an instance. */
export function segmentConflict(
  { key, profiles, computeSlices }: MigGeometry,
  { profile, start, model }: Placed,
  others: readonly Placed[],
): { readonly field: keyof Placed; readonly expected: string } | null {
  const slotOf = (profile: string) => profiles.find(({ name }) => name === profile)
  const slot = slotOf(profile)
  if (!slot) {
    return { field: 'profile', expected: `a profile of ${key}: ${profiles.map(({ name }) => name).join(', ')}` }
  }
  const taken = instancesOf(others)
  const there = taken.find((other) => other.start === start)
  if (there) {
    if (there.profile !== profile) {
      return { field: 'start', expected: `a free slot: ${there.profile} begins there` }
    }
    const again = there.members.some((other) => other.model === model)
    return again ? { field: 'model', expected: 'each model once in an instance' } : null
  }
  const placed = taken.map((other) => ({ profile: slotOf(other.profile)!, start: other.start }))
  const slices = placed.reduce((sum, other) => sum + other.profile.computeSlices, slot.computeSlices)
  return freePlacements(slot, placed).includes(start) && slices <= computeSlices
    ? null
    : { field: 'start', expected: `a slot that is free for ${profile}` }
}

/** An instance and its segments: one, or one for each model that shares it. */
export interface MappedInstance<T = MappedFleetSegment> {
  readonly profile: string
  readonly start: number
  readonly members: readonly T[]
}

/** Groups segments of a board by instance. */
export function instancesOf<T extends Pick<MappedFleetSegment, 'profile' | 'start'>>(
  segments: readonly T[],
): MappedInstance<T>[] {
  const starts = new Set(segments.map(({ start }) => start))
  return [...starts].map((start) => {
    const members = segments.filter((segment) => segment.start === start)
    return { start, profile: members[0]!.profile, members }
  })
}
