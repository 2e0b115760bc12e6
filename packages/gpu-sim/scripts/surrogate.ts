import { readFileSync } from 'node:fs'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type Configuration, networkName } from '@pctodl/platform'

/** One row of the surrogate of measurements: a homogeneous configuration at the anchor clock of its board. */
export interface SurrogateRow {
  readonly board: '3080Ti' | 'A100'
  readonly network: string
  readonly configuration: Configuration
  readonly throughput: number
  readonly powerW: number
  readonly doubtful: boolean
  readonly heldOut: boolean
}

/** Reads `surrogate_anchor.csv`; a seeded half of the configurations of each set is held out. */
export function readSurrogate(file: string): SurrogateRow[] {
  const [header, ...lines] = readFileSync(file, 'utf8').trim().split('\n')
  const columns = header!.split(',')
  return lines.map((line) => {
    const cells = line.split(',')
    const cell = (name: string) => cells[columns.indexOf(name)]!
    const board = cell('board') === '3080ti' ? '3080Ti' : 'A100'
    const network = networkName(cell('model'))
    const share = Number(cell('share'))
    const count = Number(cell('n'))
    const batchSize = Number(cell('batch'))
    const memClockMhz = Number(cell('mem_mhz'))
    const draw = new SeededRandom(seedFrom(board, network, memClockMhz, share, count, batchSize)).uniform()
    return {
      board,
      network,
      configuration: {
        tenants: Array.from({ length: count }, () => ({ model: network, mpsPercent: share, batchSize })),
        smClockMhz: Number(cell('anchor_mhz')),
        memClockMhz,
      },
      throughput: Number(cell('throughput')),
      powerW: Number(cell('power')),
      doubtful: cell('doubtful') !== '0',
      heldOut: draw < 0.5,
    }
  })
}
