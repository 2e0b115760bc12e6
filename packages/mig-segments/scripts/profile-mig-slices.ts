import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findMigBoard, networkNames, segmentSizes } from '@pctodl/platform'
import { formatProfileCsv, type ProfilePoint } from '../src/index.js'
import { measureSlice } from './measure-slice.js'

// Makes the example profiles that ship with this package: every network on every size of instance of a simulated board, with
// batches of 1 to 128 and one to three processes, in virtual time. The SM clock is locked at the board's base clock, which it
// holds with all its instances busy, and the rest of the board is busy too: a profile taken on an otherwise idle board promises
// what neighbours take away.
//
//   tsx --conditions=@pctodl/source scripts/profile-mig-slices.ts A100-80GB H100

const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128]
const processCounts = [1, 2, 3]

for (const board of process.argv.slice(2)) {
  const folder = join(import.meta.dirname, '..', 'profiles', findMigBoard(board).key)
  mkdirSync(folder, { recursive: true })
  for (const model of networkNames) {
    const points: ProfilePoint[] = []
    for (const sizeGpcs of segmentSizes) {
      for (const batchSize of batchSizes) {
        for (const processes of processCounts)
          points.push(await measureSlice(board, model, sizeGpcs, batchSize, processes))
      }
    }
    writeFileSync(join(folder, `${model}.csv`), formatProfileCsv({ model, points }))
    process.stderr.write(`${board} ${model}: ${points.length} points\n`)
  }
}
