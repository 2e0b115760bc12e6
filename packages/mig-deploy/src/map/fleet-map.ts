import { freePlacements, migGeometries } from '@pctodl/platform'
import { csvRows, quoted, toNumber } from './csv-rows.js'
import { SegmentFileError } from './segment-file-error.js'

/**
 * Columns of a fleet's map. Nodes and GPUs are counted from 0 within boards of one type. Models that share an instance
 * have one row each, with the same placement. A last column `Clock` exists where boards are locked to an SM clock
 * (MHz).
 */
export const fleetMapColumns = [
  'Board',
  'Node',
  'GPU',
  'Profile',
  'Placement',
  'Model',
  'Batch size',
  'Num proc',
] as const

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
  /** In order of start slots; models that share an instance have the same slot. */
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
      [gpu, node, index, profile, start, model, batchSize, processes, ...(clocked ? [smClockMhz ?? ''] : [])].join(','),
    ),
  )
  const header = [...fleetMapColumns, ...(clocked ? [CLOCK_COLUMN] : [])]
  return `${[header.join(','), ...lines].join('\n')}\n`
}

/** Whether a text is a fleet's map rather than a map of one type of board. */
export function isFleetMap(text: string): boolean {
  return text.startsWith(`${fleetMapColumns[0]},`)
}

/**
 * Read a fleet's map.
 *
 * @throws SegmentFileError naming file, row and column, also for overlapping instances
 */
export function parseFleetMap(text: string, file: string): MappedBoard[] {
  const [header, ...rows] = csvRows(text, file)
  const columns = header?.cells.join(',') ?? ''
  const plain = fleetMapColumns.join(',')
  const clocked = columns === `${plain},${CLOCK_COLUMN}`
  if (columns !== plain && !clocked) {
    throw new SegmentFileError(file, 1, null, quoted(columns), `the header ${plain}, perhaps with ${CLOCK_COLUMN}`)
  }
  const names = clocked ? [...fleetMapColumns, CLOCK_COLUMN] : fleetMapColumns
  const boards = new Map<string, MappedBoard & { segments: MappedBoard['segments'][number][] }>()
  for (const { row, cells } of rows) {
    const wrong = (at: number, expected: string) =>
      new SegmentFileError(file, row, names[at]!, quoted(cells[at]!), expected)
    if (cells.length !== names.length) {
      throw new SegmentFileError(file, row, null, `${cells.length} cells`, `${names.length}`)
    }
    const integer = (at: number, least: number): number => {
      const value = toNumber(cells[at]!)
      if (!(Number.isSafeInteger(value) && value >= least)) throw wrong(at, `an integer of at least ${least}`)
      return value
    }
    const geometry = Object.values(migGeometries).find(({ key }) => key === cells[0])
    if (!geometry) throw wrong(0, `a board with MIG: ${Object.keys(migGeometries).join(', ')}`)
    const slot = geometry.profiles.find(({ name }) => name === cells[3])
    if (!slot) throw wrong(3, `a profile of ${geometry.key}: ${geometry.profiles.map(({ name }) => name).join(', ')}`)
    if (cells[5] === '') throw wrong(5, 'the name of a model')
    const [node, index, start] = [integer(1, 0), integer(2, 0), integer(4, 0)]
    const smClockMhz = clocked && cells[8] !== '' ? integer(8, 1) : undefined
    const key = `${geometry.key} ${node} ${index}`
    const clock = smClockMhz === undefined ? {} : { smClockMhz }
    const board = boards.get(key) ?? { gpu: geometry.key, node, index, ...clock, segments: [] }
    if (board.smClockMhz !== smClockMhz) throw wrong(8, 'one clock for all instances of a board')
    const segment = { profile: slot.name, start, model: cells[5]!, batchSize: integer(6, 1), processes: integer(7, 1) }
    const instances = board.segments.filter((other, i) => {
      return board.segments.findIndex((each) => each.start === other.start) === i
    })
    const shared = instances.find((other) => other.start === start)
    if (shared) {
      if (shared.profile !== slot.name) throw wrong(4, `a free slot: ${shared.profile} begins there`)
      if (board.segments.some((other) => other.start === start && other.model === segment.model)) {
        throw wrong(5, 'each model once in an instance')
      }
    } else {
      const present = instances.map((other) => ({
        profile: geometry.profiles.find(({ name }) => name === other.profile)!,
        start: other.start,
      }))
      const slices = present.reduce((sum, { profile }) => sum + profile.computeSlices, slot.computeSlices)
      if (!freePlacements(slot, present).includes(start) || slices > geometry.computeSlices) {
        throw wrong(4, `a slot that is free for ${slot.name}`)
      }
    }
    board.segments.push(segment)
    boards.set(key, board)
  }
  return [...boards.values()]
}
