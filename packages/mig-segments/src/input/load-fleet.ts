import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { geometryOf, PctodlError } from '@pctodl/platform'
import { parse } from 'yaml'
import { z } from 'zod'
import { firstIssue } from '../check.js'
import type { Fleet } from '../fleet/fleet.js'
import { loadCoRunners } from './load-co-runners.js'
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
 *
 * @throws PctodlError `FLEET_FILE` naming the error and its place; also the errors of `loadProfiles`, `loadCoRunners`
 *   and `findMigBoard`
 */
export function loadFleet(file: string, options: ProfileOptions = {}): Fleet {
  const wrong = (what: string) => new PctodlError('FLEET_FILE', `${file}: ${what}`)
  let content: unknown
  try {
    content = parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error))
  }
  const parsed = fleetFile.safeParse(content)
  if (!parsed.success) throw wrong(firstIssue(parsed.error))
  const { powerW, groups } = parsed.data
  return {
    ...present({ powerW }),
    groups: groups.map(({ gpu, profiles, coRunners, coRunnerLevel, maxMembers, ...rest }) => {
      const geometry = geometryOf(gpu)
      if (coRunners === undefined && (coRunnerLevel !== undefined || maxMembers !== undefined)) {
        throw wrong('coRunnerLevel and maxMembers go with coRunners; name its folder')
      }
      const folder = profiles === undefined ? exampleFolder(geometry.key) : path.resolve(path.dirname(file), profiles)
      if (profiles === undefined && !existsSync(folder)) {
        throw wrong(`there are no example profiles of ${geometry.key}; name the folder of yours as profiles`)
      }
      const study = coRunners === undefined ? undefined : path.resolve(path.dirname(file), coRunners)
      const how = present({ level: coRunnerLevel, maxMembers, idleW: rest.idleW })
      return {
        gpu: geometry.key,
        profiles: loadProfiles(folder, { ...options, geometry }),
        ...(study !== undefined && { coRunners: loadCoRunners(study, geometry, how) }),
        ...present(rest),
      }
    }),
  }
}

/** Returns a copy of the object without its undefined values. */
function present<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never
}
