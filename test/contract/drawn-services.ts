import type { ProfilePoint, ServiceObjective, ServiceProfile } from '@pctodl/mig-segments'
import { SeededRandom } from '@pctodl/numerics'

const SIZES = [1, 2, 3, 4, 7] as const

export interface Asked {
  readonly profiles: readonly ServiceProfile[]
  readonly objectives: readonly ServiceObjective[]
}

/** Services whose rates take a board or two together. */
export function drawnServices(count: number, seed: number, most = 3, load = 1): Asked[] {
  const random = new SeededRandom(seed)
  return Array.from({ length: count }, () => {
    const number = 1 + random.integer(most)
    const models = Array.from({ length: number }, (_, m) => `model${m}`)
    const perGpc = models.map(() => 60 + 300 * random.uniform())
    const profiles = models.map(
      (model, m): ServiceProfile => ({
        model,
        points: SIZES.flatMap((sizeGpcs) => {
          // Larger instances are not always better by their size, and not each size was measured.
          if (sizeGpcs > 1 && random.uniform() < 0.2) return []
          const speed = perGpc[m]! * sizeGpcs ** (0.75 + 0.3 * random.uniform())
          return [1, 8].flatMap((batchSize) =>
            [1, 2].map(
              (processes): ProfilePoint => ({
                sizeGpcs,
                batchSize,
                processes,
                processThroughput: (speed * (batchSize === 1 ? 0.4 : 1) * (processes === 2 ? 1.15 : 1)) / processes,
                latencyMs: (1000 * batchSize * processes) / speed,
                powerW: 20 + 8 * sizeGpcs,
              }),
            ),
          )
        }),
      }),
    )
    const objectives = models.map((model, m) => ({
      model,
      ratePerS: (load * perGpc[m]! * (0.5 + 9 * random.uniform())) / number,
      latencyMs: 30 + 400 * random.uniform(),
    }))
    return { profiles, objectives }
  })
}

const profileOf: Readonly<Record<number, string>> = {
  1: '1g.10gb',
  2: '2g.20gb',
  3: '3g.40gb',
  4: '4g.40gb',
  7: '7g.80gb',
}

/** The same as measured on boards of 80 GB that are so many times as fast. */
export const fleetProfiles = ({ profiles }: Asked, speed = 1): ServiceProfile[] =>
  profiles.map(({ model, points }) => ({
    model,
    points: points.map(({ sizeGpcs, ...point }) => ({
      ...point,
      processThroughput: speed * point.processThroughput,
      profile: profileOf[sizeGpcs!]!,
    })),
  }))
