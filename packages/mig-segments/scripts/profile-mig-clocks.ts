import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findGpuSpec, findMigBoard, networkNames, segmentSizes } from '@pctodl/platform'
import { formatProfileCsv, type ProfilePoint } from '../src/index.js'
import { measureSlice, sustainedClock } from './measure-slice.js'

// Makes example profiles at several SM clocks, for fleets whose boards may run slower: the base clock and two that are lower, otherwise as
// `profile-mig-slices.ts` does, with one or two processes.
//
//   tsx --conditions=@pctodl/source scripts/profile-mig-clocks.ts H100

const SHARES = [1, 0.8, 0.6]
const batchSizes = [1, 2, 4, 8, 16, 32, 64]
const processCounts = [1, 2]

for (const board of process.argv.slice(2)) {
  const { key } = findMigBoard(board)
  const folder = join(import.meta.dirname, '..', 'profiles', `${key}-clocks`)
  mkdirSync(folder, { recursive: true })
  const supported = findGpuSpec(board).clockStates.at(-1)!.smClocksMhz
  const clocks = SHARES.map((share) => supported.filter((clock) => clock <= share * sustainedClock(board)).at(-1)!)
  for (const model of networkNames) {
    const points: ProfilePoint[] = []
    for (const smClockMhz of clocks) {
      for (const sizeGpcs of segmentSizes) {
        for (const batchSize of batchSizes) {
          for (const processes of processCounts) {
            points.push(await measureSlice(board, model, sizeGpcs, batchSize, processes, smClockMhz))
          }
        }
      }
    }
    writeFileSync(join(folder, `${model}.csv`), formatProfileCsv({ model, points }))
    process.stderr.write(`${board} ${model}: ${points.length} points at ${clocks.join(', ')} MHz\n`)
  }
}
