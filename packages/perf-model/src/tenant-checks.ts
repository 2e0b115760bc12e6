import { InvalidInputError } from '@pctodl/platform'
import { MAX_BATCH_SIZE } from './kind.js'

// Checks of tenants. Each throws an InvalidInputError; `owner` precedes the field's name in the message.

export function assertShare(mpsPercent: number, i: number, owner = ''): void {
  if (typeof mpsPercent === 'number' && mpsPercent > 0 && mpsPercent <= 100) return
  throw new InvalidInputError(`${owner}tenants[${i}].mpsPercent`, mpsPercent, 'a share above 0 and at most 100')
}

export function assertBatch(batchSize: number, i: number, owner = ''): void {
  if (Number.isInteger(batchSize) && batchSize >= 1 && batchSize <= MAX_BATCH_SIZE) return
  throw new InvalidInputError(`${owner}tenants[${i}].batchSize`, batchSize, `an integer from 1 to ${MAX_BATCH_SIZE}`)
}

export function assertShares(shareSum: number, owner = ''): void {
  if (shareSum <= 100 + 1e-9) return
  const expected = 'at most 100; the model knows no time slicing'
  throw new InvalidInputError(`sum of ${owner}tenants[].mpsPercent`, shareSum, expected)
}
