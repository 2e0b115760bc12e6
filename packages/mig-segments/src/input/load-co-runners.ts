import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import {
  type ColocationPrediction,
  type KeptShareSource,
  type Members,
  readStudy,
  SlowdownModel,
  type Workload,
} from '@pctodl/colocation'
import { InvalidInputError, type MigGeometry, PctodlError } from '@pctodl/platform'
import type { InstanceCoRunners } from '../fleet/shared-points.js'

export interface CoRunnerOptions {
  /** Confidence level of the prediction intervals, 0..1. Plans use their lower ends. Default 0.9. */
  readonly level?: number
  /** Maximum number of models in one instance. Default 2. */
  readonly maxMembers?: number
  /**
   * Idle power of the board, W, which power in the tables includes: one value, or one for each SM clock. Without it,
   * the power of groups is unknown.
   */
  readonly idleW?: number | Readonly<Record<string, number>>
}

/**
 * Reads how models slow each other down in MIG instances. For each profile, the folder contains a study of
 * `@pctodl/colocation` (`workloads.csv`, `colocations2.csv`, ...), in a subfolder that has the profile's name or, if it
 * was measured at several SM clocks, `<profile>@<MHz>`.
 *
 * @throws PctodlError `NO_STUDY` for a folder without any study, or a study without its tables; TableError for a table
 *   that cannot be read
 * @throws InvalidInputError for a level out of range
 */
export function loadCoRunners(
  folder: string,
  { profiles }: MigGeometry,
  { level = 0.9, maxMembers, idleW }: CoRunnerOptions = {},
): InstanceCoRunners[] {
  if (!(level > 0 && level < 1)) throw new InvalidInputError('coRunnerLevel', level, 'a number between 0 and 1')
  const names = existsSync(folder) ? readdirSync(folder).sort() : []
  const coRunners = names.flatMap((name) => {
    const [profile, clock] = name.split('@')
    if (!profiles.some((each) => each.name === profile)) return []
    const study = readStudy(path.join(folder, name))
    const workloads = [...study.catalog]
    const model = SlowdownModel.fit([...study.colocations.values()].flat())
    const predict = remembered((group) => model.predict(group, level))
    const idle = typeof idleW === 'object' ? idleW[String(clock)] : idleW
    const power = idle === undefined ? null : model.power
    return [
      {
        profile: profile!,
        source: minKept(predict, workloads),
        // Power follows from the expected throughput, which is higher than the lower bound that rates follow from.
        ...(power && { powerW: (members) => Math.max(0, power.of(members, predict(members).keptShares) - idle!) }),
        ...(clock !== undefined && { smClockMhz: Number(clock) }),
        ...(maxMembers !== undefined && { maxMembers }),
      } satisfies InstanceCoRunners,
    ]
  })
  if (coRunners.length > 0) return coRunners
  const expected = profiles.map(({ name }) => name).join(', ')
  throw new PctodlError('NO_STUDY', `${folder} has no study of instances: expected folders named ${expected}`)
}

/**
 * Lower bound on the fraction of throughput that each member of a group retains, from the model's intervals; 0 if there
 * is no interval.
 */
function minKept(predict: (members: Members) => ColocationPrediction, workloads: readonly Workload[]): KeptShareSource {
  return {
    workloads,
    keptShares: (members) => {
      if (members.length === 1) return [1]
      const group = members.map((place) => workloads[place]!)
      const { throughputIntervals } = predict(group)
      return group.map(({ exclusiveThroughput }, i) => (throughputIntervals?.[i]?.low ?? 0) / exclusiveThroughput)
    },
  }
}

/** Caches predictions, because a search asks for the same groups again and again. */
function remembered(predict: (members: Members) => ColocationPrediction): (members: Members) => ColocationPrediction {
  const known = new Map<string, ColocationPrediction>()
  return (members) => {
    const key = members.map(({ name }) => name).join()
    const prediction = known.get(key) ?? predict(members)
    known.set(key, prediction)
    return prediction
  }
}
