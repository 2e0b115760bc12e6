import path from 'node:path'
import { z } from 'zod'
import { assertInput, repeated } from '../input-checks.js'
import { readFile } from '../json-file.js'
import { assertProfile, averageRepeats, type GpuProfile, type ProfileRow } from './gpu-profile.js'
import { settingText } from './setting.js'

/** Format marker of the files written by this package. */
export const PROFILE_FORMAT = 'pctodl-hetero-profile'
export const PROFILE_VERSION = 1

const positive = z.number().positive()

/** The published layout maps a batch size to measurements of windows. Their number of steps is not stated. */
const publishedSchema = z.record(
  z.string(),
  z.array(z.object({ power_limit: positive, energy: positive, time: positive })).min(1),
)

/**
 * This package's own format: a profile and its origin. Each row gives the time and energy of a whole measuring window,
 * and the number of steps in the window.
 */
export interface ProfileFile {
  format: typeof PROFILE_FORMAT
  version: typeof PROFILE_VERSION
  gpu: { name: string; uuid: string | null; driverVersion: string | null }
  model: string | null
  idlePowerW: number | null
  rows: (ProfileRow & { readonly steps: number; readonly repeat: number })[]
}

const ownSchema = z.strictObject({
  format: z.literal(PROFILE_FORMAT),
  version: z.literal(PROFILE_VERSION),
  gpu: z.strictObject({ name: z.string().min(1), uuid: z.string().nullable(), driverVersion: z.string().nullable() }),
  model: z.string().nullable(),
  idlePowerW: z.number().nonnegative().nullable(),
  rows: z
    .array(
      z.strictObject({
        batchSize: z.number().int().positive(),
        powerLimitW: positive,
        smClockMhz: positive.nullish(),
        steps: z.number().int().positive(),
        timeS: positive,
        energyJ: positive,
        repeat: z.number().int().nonnegative(),
      }),
    )
    .min(1),
})

/**
 * Read the profile of one GPU: JSON as written by `collectProfile` or by the published tools.
 *
 * @param options.name name of the GPU in plans. Default: the name in the file, else the file's name
 * @param options.idlePowerW replaces the value in the file, W
 * @throws InvalidInputError naming the file and the field
 */
export function readProfile(
  file: string,
  options: { readonly name?: string; readonly idlePowerW?: number } = {},
): GpuProfile {
  const found = readFile<ProfileFile | z.infer<typeof publishedSchema>>(file, 'a profile in JSON', (json) =>
    typeof json === 'object' && json !== null && 'format' in json ? ownSchema : publishedSchema,
  )
  const profile = isOwn(found) ? fromOwnFile(found, file) : fromPublishedFile(found, file)
  assertProfile(profile, file)
  return { ...profile, ...options }
}

const isOwn = (found: object): found is ProfileFile => 'format' in found

function fromOwnFile({ gpu, idlePowerW, rows }: ProfileFile, file: string): GpuProfile {
  const twice = repeated(rows.map((row) => `batch ${row.batchSize}, ${settingText(row)}, repeat ${row.repeat}`))
  assertInput(twice === undefined, `${file}: rows`, `${twice} twice`, 'each window once; number repeats from 0')
  const perStep = rows.map(({ steps, timeS, energyJ, repeat: _, ...setting }) => ({
    ...setting,
    timeS: timeS / steps,
    energyJ: energyJ / steps,
  }))
  return { name: gpu.name, unit: 'step', idlePowerW, rows: averageRepeats(perStep) }
}

function fromPublishedFile(trace: z.infer<typeof publishedSchema>, file: string): GpuProfile {
  const rows = Object.entries(trace).flatMap(([batch, measurements]) => {
    const isWhole = /^[1-9]\d*$/.test(batch)
    assertInput(isWhole, `${file}: batch size`, batch, 'a positive integer as the key of its measurements')
    const twice = repeated(measurements.map(({ power_limit }) => power_limit))
    const expected = 'each limit once; this layout does not allow repeats'
    assertInput(twice === undefined, `${file}, batch ${batch}: power_limit`, `${twice} twice`, expected)
    return measurements.map(({ power_limit: powerLimitW, time: timeS, energy: energyJ }) => ({
      batchSize: Number(batch),
      ...{ powerLimitW, timeS, energyJ },
    }))
  })
  return { name: path.basename(file, '.json'), unit: 'window', idlePowerW: null, rows }
}
