import { readFileSync } from 'node:fs'
import { InvalidInputError, PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { isSameSetting, type Setting, settingText } from '../profile/setting.js'
import type { ReplanState } from '../replan.js'
import { prepareJob } from '../training-job.js'

const FORMAT = 'pctodl-hetero-replan'

/** What is ours alone is checked for its shape; the job by `prepareJob`. */
const schema = z.object({
  format: z.literal(FORMAT),
  version: z.literal(1),
  job: z.looseObject({ gpus: z.array(z.looseObject({ profile: z.looseObject({ name: z.string() }) })) }),
  budgets: z.looseObject({}),
  plan: z.looseObject({
    gpus: z.array(
      z.looseObject({
        name: z.string(),
        share: z.number(),
        powerLimitW: z.number().nullable(),
        // States of before had none.
        smClockMhz: z.number().nullish(),
      }),
    ),
  }),
  slowdowns: z.record(z.string(), z.number().positive()),
  promising: z.number().int().nonnegative(),
})

/** The state between two calls of `replan`, as a file. */
export function replanStateText({ slowdowns, ...state }: ReplanState): string {
  return `${JSON.stringify({ format: FORMAT, version: 1, ...state, slowdowns: Object.fromEntries(slowdowns) }, null, 2)}\n`
}

/** @throws InvalidInputError naming file and field */
export function readReplanState(file: string): ReplanState {
  const what = "a state, as 'pctodl-hetero replan --state' writes it"
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new InvalidInputError('--state', file, `${what} (${(error as Error).message})`)
  }
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw new InvalidInputError(`${file}: ${path.join('.') || 'content'}`, message, what)
  }
  const { job, budgets, plan, slowdowns, promising } = parsed.data as unknown as Omit<ReplanState, 'slowdowns'> & {
    readonly slowdowns: Readonly<Record<string, number>>
  }
  const { curves } = ofFile(file, () => prepareJob(job))
  assertFits(file, plan, curves)
  for (const name of Object.keys(slowdowns)) {
    if (curves.some((each) => each.name === name)) continue
    throw new InvalidInputError(`${file}: slowdowns`, name, `GPUs of its job: ${namesOf(curves)}`)
  }
  return { job, budgets, plan, slowdowns: new Map(Object.entries(slowdowns)), promising }
}

/** What is wrong with the job is wrong with the file. */
function ofFile<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof PctodlError)) throw error
    throw new PctodlError(error.code, `${file}: ${error.message}`, { cause: error })
  }
}

type Curves = readonly { readonly name: string; readonly settings: readonly Setting[] }[]

function assertFits(file: string, { gpus }: ReplanState['plan'], curves: Curves): void {
  const names = gpus.map(({ name }) => name)
  if (
    [...names].sort().join() !==
    curves
      .map(({ name }) => name)
      .sort()
      .join()
  ) {
    throw new InvalidInputError(`${file}: plan.gpus`, names.join(', '), `the GPUs of its job: ${namesOf(curves)}`)
  }
  for (const { name, share, powerLimitW, smClockMhz } of gpus) {
    if (!(Number.isInteger(share) && share >= 0)) {
      throw new InvalidInputError(`${file}: plan.gpus, ${name}: share`, share, 'an integer of at least 0')
    }
    const { settings } = curves.find((each) => each.name === name)!
    if (
      share === 0
        ? powerLimitW === null
        : settings.some((each) => isSameSetting(each, { powerLimitW: powerLimitW!, smClockMhz }))
    )
      continue
    const known = settings.map(settingText).join(', ')
    const expected = share === 0 ? 'null, as it has no share' : `a limit or locked clock of its profile: ${known}`
    throw new InvalidInputError(`${file}: plan.gpus, ${name}: powerLimitW`, powerLimitW, expected)
  }
}

function namesOf(curves: Curves): string {
  return curves.map(({ name }) => name).join(', ')
}
