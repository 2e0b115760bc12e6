import { UsageError } from '@pctodl/command-line'
import { findGpuSpec, type GpuSpec, type Tenant } from '@pctodl/platform'
import { type KnownOfBoard, knownOfBoard } from './active-design.js'
import { anchorGrid } from './plan/anchor-grid.js'
import { makePlan, type PlanRequest, parseMatrix } from './plan/make-plan.js'
import { type ProfilePlan, parsePlan } from './plan/profile-plan.js'
import { type ProfileOptions, readJsonFile } from './profile-options.js'

/**
 * Makes the plan that the command line requests for a board.
 *
 *
 * @throws InvalidInputError or UsageError if the board cannot do what is requested or does not allow it; also the
 *   errors of `knownOfBoard`
 */
export async function requestedPlan(options: ProfileOptions, spec: GpuSpec): Promise<ProfilePlan> {
  const { models, params } = options
  const known = options.modes.includes('active') ? await knownOfBoard(spec, models, params) : undefined
  const plan = options.plan === undefined ? planOf(options, spec, known) : readPlan(options.plan, spec)
  const locked = plan.rows.some((row) => row.smClockMhz !== null || row.memClockMhz !== null)
  if (!options.sudo && locked) {
    throw new UsageError('--no-sudo leaves clocks alone, and this asks for some; drop one of them')
  }
  return plan
}

function readPlan(file: string, spec: GpuSpec): ProfilePlan {
  const plan = parsePlan(readJsonFile(file), file)
  if (findGpuSpec(plan.board).key !== spec.key) {
    throw new UsageError(`${file} is a plan for ${plan.board}, this is ${spec.name}; make one with --write-plan`)
  }
  return plan
}

function planOf(options: ProfileOptions, spec: GpuSpec, known: KnownOfBoard | undefined): ProfilePlan {
  const wants = (mode: ProfileOptions['modes'][number]) => options.modes.includes(mode)
  const { fStart, fEnd, fStep, matrix } = options
  const range = {
    ...(fStart === undefined ? {} : { fromMhz: fStart }),
    ...(fEnd === undefined ? {} : { toMhz: fEnd }),
    ...(fStep === undefined ? {} : { stepMhz: fStep }),
  }
  const smClockMhz = options.smClock ?? null
  const tenants: Tenant[] = options.shares.map((mpsPercent, i) => ({
    model: options.models[0]!,
    mpsPercent,
    batchSize: options.batches[i]!,
  }))
  const grid = matrix === undefined ? anchorGrid : parseMatrix(readJsonFile(matrix), matrix)
  const onlyTenants = options.modes.every((mode) => mode === 'single' || mode === 'sweep')
  const request: PlanRequest = {
    models: onlyTenants ? [] : options.models,
    memClocksMhz: memClocks(options, spec),
    ...(wants('stress') ? { grid } : {}),
    ...(wants('clocks') ? { clocks: range } : {}),
    ...(wants('profile-freq-scaling') ? { scaling: range } : {}),
    ...(wants('static') ? { static: !options.sudo || options.smClock !== undefined ? { smClockMhz } : range } : {}),
    ...(wants('sweep') ? { sweep: { tenants, range } } : {}),
    ...(wants('single') ? { single: { tenants, smClockMhz } } : {}),
    ...(options.mixes === undefined ? {} : { mixes: options.mixes }),
    ...(known ? { active: { ...known, count: options.rows ?? 150 } } : {}),
    repeats: options.repeats,
    seed: options.seed,
    measure: options.measure,
  }
  return makePlan(spec, request)
}

function memClocks(options: ProfileOptions, spec: GpuSpec): readonly (number | null)[] {
  if (options.memClock !== undefined) return options.memClock
  return options.sudo ? [spec.performanceMemClocksMhz[0]!] : [null]
}
