import path from 'node:path'
import { z } from 'zod'
import { assertInput, repeated } from '../input-checks.js'
import { checked, readJson } from '../json-file.js'
import { assertProfile, averageRepeats, type GpuProfile } from './gpu-profile.js'
import { settingText } from './setting.js'

/** Format marker of the files written by this package. */
export const PROFILE_FORMAT = 'pctodl-hetero-profile'
export const PROFILE_VERSION = 1

const positive = z.number().positive()

/** The published layout maps a batch size to measurements of windows, whose number of steps is not stated. */
const publishedSchema = z.record(
  z.string(),
  z.array(z.object({ power_limit: positive, energy: positive, time: positive })).min(1),
)

/**
 * This package's own format: a profile and its origin. Times and energies are those of whole windows, with their
 * numbers of steps.
 */
export interface ProfileFile {
  format: typeof PROFILE_FORMAT
  version: typeof PROFILE_VERSION
  gpu: { name: string; uuid: string | null; driverVersion: string | null }
  model: string | null
  idlePowerW: number | null
  rows: {
    batchSize: number
    powerLimitW: number
    /** Locked clock; absent or null if the firmware chose it. */
    smClockMhz?: number | null | undefined
    steps: number
    timeS: number
    energyJ: number
    repeat: number
  }[]
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
  const what = 'a profile in JSON'
  const json = readJson(file, what)
  const profile =
    typeof json === 'object' && json !== null && 'format' in json
      ? fromOwnFile(checked(ownSchema, json, file, what), file)
      : fromPublishedFile(checked(publishedSchema, json, file, what), file)
  assertProfile(profile, file)
  return { ...profile, ...options }
}

function fromOwnFile({ gpu, idlePowerW, rows }: ProfileFile, file: string): GpuProfile {
  const windows = rows.map((row) => `batch ${row.batchSize}, ${settingText(row)}, repeat ${row.repeat}`)
  const twice = repeated(windows)
  assertInput(twice === undefined, `${file}: rows`, `${twice} twice`, 'each window once; number repeats from 0')
  return {
    name: gpu.name,
    unit: 'step',
    idlePowerW,
    rows: averageRepeats(
      rows.map(({ batchSize, powerLimitW, smClockMhz = null, steps, timeS, energyJ }) => ({
        batchSize,
        powerLimitW,
        ...(smClockMhz === null ? {} : { smClockMhz }),
        timeS: timeS / steps,
        energyJ: energyJ / steps,
      })),
    ),
  }
}

function fromPublishedFile(trace: z.infer<typeof publishedSchema>, file: string): GpuProfile {
  const rows = Object.entries(trace).flatMap(([batch, measurements]) => {
    const isWhole = /^[1-9]\d*$/.test(batch)
    assertInput(isWhole, `${file}: batch size`, batch, 'a positive integer as the key of its measurements')
    const twice = repeated(measurements.map(({ power_limit }) => power_limit))
    assertInput(
      twice === undefined,
      `${file}, batch ${batch}: power_limit`,
      `${twice} twice`,
      'each limit once; this layout does not allow repeats',
    )
    return measurements.map((row) => ({
      batchSize: Number(batch),
      powerLimitW: row.power_limit,
      timeS: row.time,
      energyJ: row.energy,
    }))
  })
  return { name: path.basename(file, '.json'), unit: 'window', idlePowerW: null, rows }
}
