import { type FittedProfile, mixes } from '../parameters.js'
import type { TraceTable } from './trace-table.js'

/** Ranges that the rows of a table cover. */
export function profileOf({ networkNames, memClocksMhz, rows }: TraceTable): Omit<FittedProfile, 'unknownSd'> {
  return {
    networks: networkNames.map((name, k) => {
      const own = rows.filter((row) => row.networks.includes(k))
      const tenants = own.flatMap((row) => row.row.tenants.filter((tenant) => tenant.model === name))
      return {
        name,
        mpsPercent: range(tenants.map((tenant) => tenant.mpsPercent)),
        batchSize: range(tenants.map((tenant) => tenant.batchSize)),
        tenants: range(own.map((row) => row.kinds.length)),
      }
    }),
    smClockMhz: memClocksMhz.map((memClockMhz, m) => ({
      memClockMhz,
      range: range(rows.filter((row) => row.memIndex === m).map((row) => row.row.smClockMhz)),
    })),
    mixes: mixes.filter((mix) => rows.some((row) => row.mix === mix)),
  }
}

function range(values: readonly number[]): [number, number] {
  let least = Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  for (const value of values) {
    least = Math.min(least, value)
    most = Math.max(most, value)
  }
  return [least, most]
}
