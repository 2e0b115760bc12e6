import type { SetterAnswer } from '../board-file.js'
import { ANY_PLACEMENT, type OperationName, operations } from '../board-file-layout.js'
import type { BoardReading } from '../board-file-reader.js'
import { computeName, computeProfileIds, computeSizes } from '../mig-facts.js'
import { nvmlErrorText, nvmlReturn } from '../nvml-return.js'
import { type GpuInstanceReading, gpuInstancesOf, migDevicesOf } from './mig-listing.js'
import {
  computeInstanceTable,
  computePlacementList,
  computeProfileTable,
  gpuInstanceTable,
  gpuPlacementList,
  gpuProfileTable,
  ofBoards,
} from './mig-tables.js'
import { missingValue, optionOf, SmiError } from './smi-error.js'

/** Access to the boards that `nvidia-smi mig` needs. */
export interface MigEnvironment {
  /**
   * Returns the boards of the host.
   *
   * @param ids value of `-i`; undefined for all boards
   */
  boards(ids: string | undefined): readonly BoardReading[]
  set(gpuIndex: number, operation: number, first: number, second: number, third: number): Promise<SetterAnswer>
}

const longOptions: Readonly<Record<string, string>> = {
  '--list-gpu-instance-profiles': '-lgip',
  '--list-gpu-instance-possible-placements': '-lgipp',
  '--list-gpu-instances': '-lgi',
  '--create-gpu-instance': '-cgi',
  '--default-compute-instance': '-C',
  '--destroy-gpu-instance': '-dgi',
  '--list-compute-instance-profiles': '-lcip',
  '--list-compute-instance-possible-placements': '-lcipp',
  '--list-compute-instances': '-lci',
  '--create-compute-instance': '-cci',
  '--destroy-compute-instance': '-dci',
  '--id': '-i',
  '--gpu-instance-id': '-gi',
  '--compute-instance-id': '-ci',
  '--help': '-h',
}
const actions = ['-lgip', '-lgipp', '-lgi', '-cgi', '-dgi', '-lcip', '-lcipp', '-lci', '-cci', '-dci'] as const
type Action = (typeof actions)[number]

interface MigRequest {
  readonly action: Action
  /** Profiles given to `-cgi` or `-cci`; undefined if none are given. */
  readonly profiles: readonly string[] | undefined
  readonly withComputeInstances: boolean
  readonly ids: string | undefined
  readonly gpuInstanceIds: readonly number[] | undefined
  readonly computeInstanceIds: readonly number[] | undefined
}

/**
 * Implements `nvidia-smi mig`, which lists, creates and destroys GPU instances and compute instances.
 *
 * @returns the output
 * @throws SmiError with the messages and exit codes of the real tool
 */
export async function migCommand(args: readonly string[], environment: MigEnvironment): Promise<string> {
  const request = parse(args)
  if (request === 'help') return help
  const present = environment.boards(request.ids)
  const boards = present.filter(({ state }) => state.migCurrent)
  if (boards.length === 0) {
    const able = present.some(({ identity }) => identity.hasMig)
    throw new SmiError(6, `No MIG-${able ? 'enabled' : 'supported'} devices found.\n`)
  }
  switch (request.action) {
    case '-lgip':
      return gpuProfileTable(boards)
    case '-lgipp':
      return gpuPlacementList(boards)
    case '-lgi':
      return gpuInstanceTable(gpuInstances(boards, request))
    case '-lcip':
      return computeProfileTable(gpuInstances(boards, request))
    case '-lcipp':
      return computePlacementList(gpuInstances(boards, request))
    case '-lci':
      return computeInstanceTable(computeInstances(boards, request))
    case '-cgi':
      return createGpuInstances(boards, request, new Changes(environment, 'create GPU instances'))
    case '-cci':
      return createComputeInstances(boards, request, new Changes(environment, 'create compute instances'))
    case '-dgi': {
      const changes = new Changes(environment, 'destroy GPU instances')
      for (const [board, { state }] of gpuInstances(boards, request)) {
        const what = `GPU instance ID ${two(state.id)} from GPU ${two(board.header.gpuIndex)}`
        await changes.destroy(board, 'destroyGpuInstance', [state.id], what)
      }
      return changes.output
    }
    case '-dci': {
      const changes = new Changes(environment, 'destroy compute instances')
      for (const [board, { computeInstance }] of computeInstances(boards, request)) {
        const { id, gpuInstanceId } = computeInstance
        const what = `compute instance ID ${two(id)} from ${placeOf(board, gpuInstanceId)}`
        await changes.destroy(board, 'destroyComputeInstance', [gpuInstanceId, id], what)
      }
      return changes.output
    }
  }
}

function parse(args: readonly string[]): MigRequest | 'help' {
  const wrong = () =>
    new SmiError(2, `Invalid combination of input arguments. Please run 'nvidia-smi mig -h' for help.\n\n`)
  let action: Action | undefined
  let profiles: string[] | undefined
  let withComputeInstances = false
  const values: Record<string, string | undefined> = {}
  for (let i = 0; i < args.length; i++) {
    const { written, option, attached } = optionOf(args[i]!, longOptions)
    const next = args[i + 1]
    const optional = () => attached ?? (next && !next.startsWith('-') ? args[++i]! : undefined)
    if (option === '-h') return 'help'
    if (option === '-C') withComputeInstances = true
    else if (option === '-i' || option === '-gi' || option === '-ci') {
      const value = optional()
      if (value === undefined) throw missingValue(written)
      values[option] = value
    } else if ((actions as readonly string[]).includes(option)) {
      if (action) throw wrong()
      action = option as Action
      if (action !== '-cgi' && action !== '-cci') continue
      profiles = optional()
        ?.split(',')
        .map((each) => each.trim())
      if (action === '-cgi' && !profiles) throw missingValue(written)
    } else throw wrong()
  }
  if (!action || (withComputeInstances && action !== '-cgi')) throw wrong()
  const numbers = (text: string | undefined) =>
    text?.split(',').map((each) => {
      if (!/^\d+$/.test(each.trim())) throw new SmiError(2, `Invalid argument "${each}".\n`)
      return Number(each)
    })
  return {
    action,
    profiles,
    withComputeInstances,
    ids: values['-i'],
    gpuInstanceIds: numbers(values['-gi']),
    computeInstanceIds: numbers(values['-ci']),
  }
}

function gpuInstances(boards: readonly BoardReading[], { gpuInstanceIds }: MigRequest) {
  const found = ofBoards(boards, gpuInstancesOf).filter(
    ([, { state }]) => !gpuInstanceIds || gpuInstanceIds.includes(state.id),
  )
  if (found.length === 0) throw new SmiError(nvmlReturn.notFound, 'No GPU instances found: Not Found\n')
  return found
}

function computeInstances(boards: readonly BoardReading[], { gpuInstanceIds, computeInstanceIds }: MigRequest) {
  const found = ofBoards(boards, migDevicesOf).filter(
    ([, { computeInstance }]) =>
      (!gpuInstanceIds || gpuInstanceIds.includes(computeInstance.gpuInstanceId)) &&
      (!computeInstanceIds || computeInstanceIds.includes(computeInstance.id)),
  )
  if (found.length === 0) throw new SmiError(nvmlReturn.notFound, 'No compute instances found: Not Found\n')
  return found
}

const two = (value: number) => String(value).padStart(2)
const placeOf = ({ header }: BoardReading, gpuInstanceId: number) =>
  `GPU ${two(header.gpuIndex)} GPU instance ID ${two(gpuInstanceId)}`

/** Makes changes one after the other. If one fails, the earlier ones remain and the message lists them. */
class Changes {
  readonly #environment: MigEnvironment
  readonly #what: string
  output = ''

  constructor(environment: MigEnvironment, what: string) {
    this.#environment = environment
    this.#what = what
  }

  /**
   * Makes one change.
   *
   * @returns the simulator's answer: the id of a created instance
   */
  async make(
    board: BoardReading,
    operation: OperationName,
    numbers: readonly number[],
    describe: { readonly failure: string; success(id: number): string },
  ): Promise<number> {
    const [first = 0, second = 0, third = 0] = numbers
    const index = board.header.gpuIndex
    const { result: code, value } = await this.#environment.set(index, operations[operation], first, second, third)
    if (code !== nvmlReturn.success) this.fail(describe.failure, code)
    this.output += `${describe.success(value)}\n`
    return value
  }

  async destroy(board: BoardReading, operation: OperationName, numbers: readonly number[], what: string) {
    const success = () => `Successfully destroyed ${what}`
    await this.make(board, operation, numbers, { failure: `Unable to destroy ${what}`, success })
  }

  fail(failure: string, code: number): never {
    const reason = nvmlErrorText(code)
    throw new SmiError(code, `${this.output}${failure}: ${reason}\nFailed to ${this.#what}: ${reason}\n`)
  }
}

async function createGpuInstances(
  boards: readonly BoardReading[],
  { profiles = [], withComputeInstances }: MigRequest,
  changes: Changes,
): Promise<string> {
  for (const board of boards) {
    const on = `on GPU ${two(board.header.gpuIndex)}`
    for (const wanted of profiles) {
      // A profile is given as `9`, `3g.20gb` or `MIG 3g.20gb`, optionally followed by `:start`.
      const [name = '', start] = wanted.replace(/^MIG /i, '').split(':')
      const profile = board.identity.migProfiles.find((each) => each.name === name || String(each.id) === name)
      const failure = `Unable to create a GPU instance ${on} using profile ${wanted}`
      if (!profile || (start !== undefined && !/^\d+$/.test(start))) {
        changes.fail(failure, nvmlReturn.invalidArgument)
      }
      const id = await changes.make(
        board,
        'createGpuInstance',
        [profile.id, start === undefined ? ANY_PLACEMENT : Number(start)],
        {
          failure,
          success: (made) =>
            `Successfully created GPU instance ID ${two(made)} ${on} using profile MIG ${profile.name} (ID ${two(profile.id)})`,
        },
      )
      if (withComputeInstances) await createComputeInstance(changes, board, id, profile, profile.sliceCount)
    }
  }
  return changes.output
}

async function createComputeInstance(
  changes: Changes,
  board: BoardReading,
  gpuInstanceId: number,
  profile: GpuInstanceReading['profile'],
  slices: number,
): Promise<void> {
  const where = `on ${placeOf(board, gpuInstanceId)}`
  const using = `using profile MIG ${computeName(profile, slices)} (ID ${two(computeProfileIds[slices]!)})`
  await changes.make(board, 'createComputeInstance', [gpuInstanceId, slices, ANY_PLACEMENT], {
    failure: `Unable to create a compute instance ${where} ${using}`,
    success: (made) => `Successfully created compute instance ID ${two(made)} ${where} ${using}`,
  })
}

async function createComputeInstances(
  boards: readonly BoardReading[],
  request: MigRequest,
  changes: Changes,
): Promise<string> {
  for (const [board, { state, profile }] of gpuInstances(boards, request)) {
    // By default, one compute instance fills the GPU instance.
    for (const wanted of request.profiles ?? [computeName(profile, profile.sliceCount)]) {
      const name = wanted.replace(/^MIG /i, '')
      const slices = computeSizes(profile.sliceCount).find(
        (each) => computeName(profile, each) === name || String(computeProfileIds[each]) === name,
      )
      if (slices === undefined) {
        const failure = `Unable to create a compute instance on ${placeOf(board, state.id)} using profile ${wanted}`
        changes.fail(failure, nvmlReturn.invalidArgument)
      }
      await createComputeInstance(changes, board, state.id, profile, slices)
    }
  }
  return changes.output
}

const help = `nvidia-smi mig of @pctodl/sim-host
    -lgip | -lgipp              list GPU instance profiles, their possible placements
    -lgi                        list GPU instances
    -cgi <profiles> [-C]        create GPU instances, by id (9), name (3g.20gb), either with a start (9:4); -C: with a
                                compute instance each
    -dgi [-gi <ids>]            destroy GPU instances
    -lcip | -lcipp [-gi <ids>]  list compute instance profiles, their possible placements
    -lci [-gi <ids>]            list compute instances
    -cci [<profiles>] [-gi <ids>]
                                create compute instances, by id (0) or name (1c.3g.20gb); without, one as large as each GPU
                                instance
    -dci [-gi <ids>] [-ci <ids>]
                                destroy compute instances
    -i <ids>                    boards, by index, UUID or bus id; default: all in MIG mode
`
