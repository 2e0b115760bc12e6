import { segmentSizes } from '@pctodl/platform'
import fc from 'fast-check'
import type { ProfilePoint, ServiceObjective, ServiceProfile } from '../src/index.js'

export interface Services {
  readonly profiles: readonly ServiceProfile[]
  readonly objectives: readonly ServiceObjective[]
}

/** Up to seven services with profiles of all shapes: sizes missing, larger instances worse than small ones, nothing that runs. */
export const arbitraryServices: fc.Arbitrary<Services> = fc
  .array(
    fc.record({
      sizes: fc.subarray([...segmentSizes]),
      perGpc: fc.double({ min: 30, max: 500, noNaN: true }),
      factors: fc.array(fc.double({ min: 0.5, max: 1.6, noNaN: true }), { minLength: 5, maxLength: 5 }),
      latencyMs: fc.double({ min: 1, max: 200, noNaN: true }),
      ratePerS: fc.double({ min: 0.5, max: 4000, noNaN: true }),
      sloMs: fc.double({ min: 50, max: 1000, noNaN: true }),
    }),
    { minLength: 1, maxLength: 7 },
  )
  .map((drawn) => ({
    profiles: drawn.map(({ sizes, perGpc, factors, latencyMs }, m) => ({
      model: `model${m}`,
      points: sizes.map(
        (sizeGpcs): ProfilePoint => ({
          sizeGpcs,
          batchSize: 8,
          processes: 1,
          processThroughput: perGpc * sizeGpcs * factors[segmentSizes.indexOf(sizeGpcs)]!,
          latencyMs,
        }),
      ),
    })),
    objectives: drawn.map(({ ratePerS, sloMs }, m) => ({ model: `model${m}`, ratePerS, latencyMs: sloMs })),
  }))
