import { quantile } from '@pctodl/numerics'
import { type FittedProfile, mixes } from '../parameters.js'
import type { RowErrors } from './fit-report.js'
import type { TraceTable } from './trace-table.js'

/** Quantile of the standard deviations at the rows. It is the unit of `Prediction.distance`. */
const COVERED = 0.99

/** Ranges that the rows of a table cover, and the uncertainty of their fit at these rows. */
export function profileOf(
  { networkNames, memClocksMhz, rows }: TraceTable,
  fitted: readonly RowErrors[],
): FittedProfile {
  const covered = (sds: readonly number[]) => Number(quantile(sds, COVERED).toPrecision(4))
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
    unknownSd: {
      throughput: covered(fitted.map(({ features }) => features.speedSd)),
      power: covered(fitted.map(({ features }) => features.powerSd)),
    },
  }
}

function range(values: readonly number[]): [number, number] {
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))]
}
