import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type KeptShareSource, type Members, readStudy, SlowdownModel } from '@pctodl/colocation'
import { geometryOf, given, type MigGeometry, PctodlError, reasonOf } from '@pctodl/platform'
import { parse } from 'yaml'
import { z } from 'zod'
import { firstIssue } from '../check.js'
import type { BoardGroup, Fleet, InstanceCoRunners } from '../fleet/fleet.js'
import { exampleFolder, loadProfiles } from './load-inputs.js'
import type { ProfileOptions } from './parse-profile-csv.js'

const watts = z.number().positive()
const count = z.int().min(1)

const fleetFile = z.strictObject({
  powerW: watts.optional(),
  groups: z
    .array(
      z.strictObject({
        gpu: z.string().min(1),
        profiles: z.string().min(1).optional(),
        coRunners: z.string().min(1).optional(),
        coRunnerLevel: z.number().gt(0).lt(1).optional(),
        maxMembers: z.int().min(2).max(4).optional(),
        boards: count.optional(),
        price: z.number().positive().optional(),
        boardsPerNode: count.optional(),
        idleW: z
          .union([z.number().min(0), z.record(z.string().regex(/^\d+$/, 'an SM clock, MHz'), z.number().min(0))])
          .optional(),
        boardCapW: watts.optional(),
        nodeCapW: watts.optional(),
      }),
    )
    .min(1),
})

/**
 * Reads a fleet from a YAML (or JSON) file with groups as in `BoardGroup`. `profiles` is the folder of a board's
 * profiles (default: its examples) and `coRunners` a folder for `loadCoRunners`; both are relative to the file.
 * @throws PctodlError `FLEET_FILE` naming the error and its place; also the errors of `loadProfiles`
 */
export function loadFleet(file: string, options: ProfileOptions = {}): Fleet {
  const wrong = (what: string) => new PctodlError('FLEET_FILE', `${file}: ${what}`)
  let content: unknown
  try {
    content = parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw wrong(reasonOf(error))
  }
  const parsed = fleetFile.safeParse(content)
  if (!parsed.success) throw wrong(firstIssue(parsed.error))
  const { powerW, groups } = parsed.data
  return {
    ...given({ powerW }),
    groups: groups.map(({ gpu, profiles, coRunners, coRunnerLevel, maxMembers, ...rest }) => {
      const geometry = geometryOf(gpu)
      if (coRunners === undefined && (coRunnerLevel !== undefined || maxMembers !== undefined)) {
        throw wrong('coRunnerLevel and maxMembers go with coRunners; name its folder')
      }
      const folder = profiles === undefined ? exampleFolder(geometry.key) : path.resolve(path.dirname(file), profiles)
      if (profiles === undefined && !existsSync(folder)) {
        throw wrong(`there are no example profiles of ${geometry.key}; name the folder of yours as profiles`)
      }
      const how = given({ level: coRunnerLevel, maxMembers, idleW: rest.idleW })
      return {
        gpu: geometry.key,
        profiles: loadProfiles(folder, { ...options, geometry }),
        ...(coRunners !== undefined && {
          coRunners: loadCoRunners(path.resolve(path.dirname(file), coRunners), geometry, how),
        }),
        ...given(rest),
      }
    }),
  }
}

/**
 * Reads how models slow each other down in MIG instances. For each profile, the folder contains a study of
 * `@pctodl/colocation` (`workloads.csv`, `colocations2.csv`, ...), in a subfolder that has the profile's name or, if it
 * was measured at several SM clocks, `<profile>@<MHz>`.
 *
 * @param options `level`: confidence level of the prediction intervals, whose lower ends plans use. `idleW`: idle power
 *   of the board, which power in the tables includes; without it, the power of groups is unknown
 * @throws PctodlError `NO_STUDY` for a folder without any study; TableError for a table that cannot be read
 */
export function loadCoRunners(
  folder: string,
  { profiles }: MigGeometry,
  { level = 0.9, maxMembers, idleW }: Pick<BoardGroup, 'idleW'> & { level?: number; maxMembers?: number } = {},
): InstanceCoRunners[] {
  const folders = existsSync(folder) ? readdirSync(folder).sort() : []
  const coRunners = folders.flatMap((name): InstanceCoRunners[] => {
    const [profile, clock] = name.split('@') as [string, string?]
    if (!profiles.some((each) => each.name === profile)) return []
    const study = readStudy(path.join(folder, name))
    const workloads = [...study.catalog]
    const model = SlowdownModel.fit([...study.colocations.values()].flat())
    // A search asks for the same groups again and again.
    const known = new Map<string, ReturnType<typeof model.predict>>()
    const predict = (members: Members) => {
      const key = members.map((member) => member.name).join()
      const prediction = known.get(key) ?? model.predict(members, level)
      known.set(key, prediction)
      return prediction
    }
    const source: KeptShareSource = {
      workloads,
      keptShares: (members) => {
        if (members.length === 1) return [1]
        const group = members.map((place) => workloads[place]!)
        const { throughputIntervals } = predict(group)
        return group.map(({ exclusiveThroughput }, i) => (throughputIntervals?.[i]?.low ?? 0) / exclusiveThroughput)
      },
    }
    const idle = typeof idleW === 'object' ? idleW[String(clock)] : idleW
    const power = idle === undefined ? null : model.power
    return [
      {
        ...{ profile, source },
        // Power follows from the expected throughput, which is higher than the lower bound that rates follow from.
        ...(power && { powerW: (members) => Math.max(0, power.of(members, predict(members).keptShares) - idle!) }),
        ...(clock !== undefined && { smClockMhz: Number(clock) }),
        ...(maxMembers !== undefined && { maxMembers }),
      },
    ]
  })
  if (coRunners.length > 0) return coRunners
  const expected = profiles.map(({ name }) => name).join(', ')
  throw new PctodlError('NO_STUDY', `${folder} has no study of instances: expected folders named ${expected}`)
}
