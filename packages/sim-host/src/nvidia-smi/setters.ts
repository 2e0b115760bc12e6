import type { SetterAnswer } from '../board-file.js'
import { type OperationName, operations } from '../board-file-layout.js'
import type { BoardReading } from '../board-file-reader.js'
import { settersSocket } from '../host-folder-layout.js'
import { MessageClient } from '../message-socket.js'
import { computeModes, nvmlErrorText, nvmlReturn } from '../nvml-return.js'
import { SmiError } from './smi-error.js'

/** A change of one setting of a board, and the messages that report its result. */
export interface Setter {
  readonly operation: OperationName
  readonly first: number
  readonly second: number
  /** Name of the setting in the message about missing permission. */
  readonly subject: string
  readonly supported?: (board: BoardReading) => boolean
  /**
   * Returns the message of a successful change.
   *
   * @param value the simulator's answer, e.g. the NVML code of a MIG activation
   */
  readonly done: (board: BoardReading, value: number) => string
  readonly invalid: (board: BoardReading) => string
}

/**
 * Parses an option that changes a setting.
 *
 * @returns undefined if the option changes no setting
 * @throws SmiError if the argument is invalid
 */
export function parseSetter(option: string, argument: string): Setter | undefined {
  const badArgument = () => new SmiError(2, `Invalid argument "${argument}" for option "${option}".\n`)
  const range = () => {
    const numbers = argument.split(',').map(Number)
    const [min = Number.NaN, max = min] = numbers
    if (argument === '' || numbers.length > 2 || !Number.isInteger(min) || !Number.isInteger(max)) throw badArgument()
    return [min, max] as const
  }
  const base = { first: 0, second: 0, done: () => '', invalid: () => `"${argument}" is not valid` }
  const clocks = { ...base, subject: 'clocks' }
  const ofMemory = { supported: ({ identity }: BoardReading) => identity.architecture >= 7 }
  const ofApplications = { supported: ({ identity }: BoardReading) => identity.hasApplicationClocks === 1 }
  const locked = (operation: OperationName, what: 'GPU' | 'Memory', unit: 'gpu' | 'mem'): Setter => {
    const [first, second] = range()
    const done = ({ identity }: BoardReading) =>
      `${what} clocks set to "(${unit}ClkMin ${first}, ${unit}ClkMax ${second})" for GPU ${identity.busId}`
    return { ...clocks, operation, first, second, done }
  }
  const reset = (operation: OperationName, what: string): Setter => {
    return { ...clocks, operation, done: ({ identity }) => `${what} clocks reset for GPU ${identity.busId}` }
  }
  const onOrOff = () => {
    const first = ({ '0': 0, DISABLED: 0, '1': 1, ENABLED: 1 } as Record<string, number>)[argument.toUpperCase()]
    if (first === undefined) throw badArgument()
    return [first, first ? 'Enabled' : 'Disabled'] as const
  }
  switch (option) {
    case '-pl': {
      const limitW = Number(argument)
      if (argument === '' || !Number.isFinite(limitW)) throw badArgument()
      return {
        ...base,
        operation: 'setPowerLimit',
        first: Math.round(limitW * 1000),
        subject: 'power management limit',
        done: ({ identity, state }) =>
          `Power limit for GPU ${identity.busId} was set to ${limitW.toFixed(2)} W from ${(state.powerLimitMw / 1000).toFixed(2)} W.`,
        invalid: ({ identity }) =>
          `Provided power limit ${limitW.toFixed(2)} W is not a valid power limit which should be between ` +
          `${(identity.powerMinMw / 1000).toFixed(2)} W and ${(identity.powerMaxMw / 1000).toFixed(2)} W for GPU ${identity.busId}`,
      }
    }
    case '-lgc':
      return locked('lockSmClock', 'GPU', 'gpu')
    case '-lmc':
      return { ...locked('lockMemClock', 'Memory', 'mem'), ...ofMemory }
    case '-rgc':
      return reset('resetSmClock', 'GPU')
    case '-rmc':
      return { ...reset('resetMemClock', 'Memory'), ...ofMemory }
    case '-ac': {
      const [first, second] = range()
      const done = ({ identity }: BoardReading) =>
        `Applications clocks set to "(MEM ${first}, SM ${second})" for GPU ${identity.busId}`
      const invalid = ({ identity }: BoardReading) =>
        `Specified clock combination "(MEM ${first}, SM ${second})" is not supported for GPU ${identity.busId}. ` +
        'Run "nvidia-smi -q -d SUPPORTED_CLOCKS" to see list of supported clock combinations'
      return { ...clocks, ...ofApplications, operation: 'setApplicationClocks', first, second, done, invalid }
    }
    case '-rac':
      return { ...reset('resetApplicationClocks', 'Applications'), ...ofApplications }
    case '-pm': {
      const [first, name] = onOrOff()
      const done = ({ identity, state }: BoardReading) =>
        state.persistenceMode === first
          ? `Persistence mode is already ${name} for GPU ${identity.busId}.`
          : `${name} persistence mode for GPU ${identity.busId}.`
      return { ...base, operation: 'setPersistenceMode', first, subject: 'persistence mode', done }
    }
    case '-c': {
      const wanted = argument.toUpperCase()
      const first = /^\d$/.test(wanted) ? Number(wanted) : computeModes[wanted as keyof typeof computeModes]
      if (first === undefined || first === computeModes.EXCLUSIVE_THREAD || first > 3) throw badArgument()
      const name = Object.entries(computeModes).find(([, code]) => code === first)![0]
      const done = ({ identity, state }: BoardReading) =>
        state.computeMode === first
          ? `Compute mode is already set to ${name} for GPU ${identity.busId}.`
          : `Set compute mode to ${name} for GPU ${identity.busId}.`
      return { ...base, operation: 'setComputeMode', first, subject: 'compute mode', done }
    }
    case '-mig': {
      const [first, name] = onOrOff()
      const done = ({ identity: { busId } }: BoardReading, activation: number) =>
        activation === nvmlReturn.success
          ? `${name} MIG Mode for GPU ${busId}`
          : `Warning: MIG mode is in pending ${first ? 'enable' : 'disable'} state for GPU ${busId}:${nvmlErrorText(activation)}\n` +
            `${busId} is currently being used by one or more other processes (e.g. CUDA application or a monitoring application such as another instance of nvidia-smi), ` +
            'or is still divided. End them, destroy its instances, and retry the command.'
      return {
        ...base,
        operation: 'setMigMode',
        first,
        subject: 'MIG mode',
        supported: ({ identity }) => identity.hasMig === 1,
        done,
      }
    }
    default:
      return undefined
  }
}

/** Sends a request for a change to the simulator, with the privileges of this process. */
export async function requestSet(
  folder: string,
  change: { gpuIndex: number; operation: number; first: number; second: number; third?: number },
): Promise<SetterAnswer> {
  const simulator = await MessageClient.open(settersSocket(folder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES') throw error
    return null
  })
  if (!simulator) return { result: nvmlReturn.noPermission, value: 0 }
  try {
    return await simulator.request<SetterAnswer>({ kind: 'set', ...change, uid: process.geteuid?.() ?? 0 })
  } finally {
    simulator.close()
  }
}

/**
 * Applies a change to the boards one after the other.
 *
 * @returns the messages to print
 * @throws SmiError with the message and the exit code of the real tool
 */
export async function applySetter(setter: Setter, boards: readonly BoardReading[], folder: string): Promise<string> {
  const ending = 'Terminating early due to previous errors.\n'
  let output = ''
  for (const board of boards) {
    const { busId } = board.identity
    if (setter.supported && !setter.supported(board)) {
      throw new SmiError(3, `${output}Setting ${setter.subject} is not supported for GPU ${busId}.\n${ending}`)
    }
    const { result: code, value } = await requestSet(folder, {
      gpuIndex: board.header.gpuIndex,
      operation: operations[setter.operation],
      first: setter.first,
      second: setter.second,
    })
    if (code === nvmlReturn.noPermission) {
      throw new SmiError(
        4,
        `${output}The current user does not have permission to change ${setter.subject} for GPU ${busId}.\n${ending}`,
      )
    }
    if (code === nvmlReturn.invalidArgument) throw new SmiError(2, `${output}${setter.invalid(board)}\n${ending}`)
    if (code !== nvmlReturn.success) {
      throw new SmiError(
        code,
        `${output}Unable to set ${setter.subject} for GPU ${busId}: ${nvmlErrorText(code)}\n${ending}`,
      )
    }
    output += `${setter.done(board, value)}\n`
  }
  return output
}
