import { readFileSync } from 'node:fs'
import path from 'node:path'
import { exampleText, integerFrom, oneOf, type Terminal } from '@pctodl/command-line'
import { hostNames, precisions, resolveBoard, simulateSteadyState, tenantFootprint } from '@pctodl/gpu-sim'
import { graphFromOnnx, type LayerGraph } from '@pctodl/model-zoo'
import { assertTenants, given, InvalidInputError, smClocksAt, type Tenant } from '@pctodl/platform'
import type { Command } from 'commander'
import type { HostTenantLoad } from './simulated-host.js'

export interface SimulateOptions {
  readonly gpu: string
  readonly load: readonly HostTenantLoad[]
  readonly onnx: readonly string[]
  readonly size: readonly string[]
  readonly precision: (typeof precisions)[number]
  readonly host?: (typeof hostNames)[number]
  readonly smClock?: number
  readonly memClock?: number
  readonly powerLimit?: number
  readonly json?: true
}

export function addSimulateOptions(command: Command): Command {
  return command
    .requiredOption('--gpu <board>', 'a board or a variant of one: A100, A100~v3')
    .requiredOption('--load <tenants>', 'network:share:batch, separated by commas', parseLoad)
    .option('--onnx <files...>', "networks in addition to the zoo's, each named after its file, or name=file", [])
    .option('--size <axis=n...>', 'sizes of symbolic axes in the files, e.g. sequence=128', [])
    .option('--precision <name>', precisions.join(', '), oneOf(...precisions), 'fp16')
    .option('--host <name>', `host that feeds the board: ${hostNames.join(', ')}`, oneOf(...hostNames))
    .option('--sm-clock <MHz>', 'default: the boost clock', integerFrom(1))
    .option('--mem-clock <MHz>', 'default: the highest', integerFrom(1))
    .option('--power-limit <watts>', "default: the board's", integerFrom(1))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      exampleText(
        'pctodl sim simulate --gpu A100 --load detector:50:8,resnet50:50:32 --onnx detector.onnx --precision int8',
      ),
    )
}

/**
 * The command `pctodl sim simulate`.
 *
 * @returns the exit code: 0, or 1 if the tenants do not fit into the board's memory
 * @throws InvalidInputError, UnknownNameError for invalid arguments
 */
export function simulate(options: SimulateOptions, { stdout, stderr }: Terminal): number {
  const sizes = Object.fromEntries(options.size.map(sizeOf))
  const networks = options.onnx.map((file) => networkOf(file, sizes))
  const execution = {
    networks,
    precision: options.precision,
    ...given({ host: options.host }),
  }
  for (const network of networks) stderr.write(unknownOperators(network))
  const board = resolveBoard(options.gpu)
  const tenants = options.load.map(({ gpuIndex, ...tenant }): Tenant => {
    if (gpuIndex !== 0) throw new InvalidInputError('--load', gpuIndex, 'no other board than 0')
    return tenant
  })
  assertTenants(tenants)
  const memClockMhz = options.memClock ?? board.spec.performanceMemClocksMhz[0]!
  const clocks = smClocksAt(board.spec, memClockMhz)
  const smClockMhz = options.smClock ?? board.spec.boostClockMhz
  if (!clocks?.includes(smClockMhz)) {
    const known = board.spec.clockStates.map((state) => state.memClockMhz).join(', ')
    const wanted = clocks ? `a state of the board: ${clocks[0]} to ${clocks.at(-1)} MHz` : `with memory at ${known} MHz`
    throw new InvalidInputError(clocks ? '--sm-clock' : '--mem-clock', clocks ? smClockMhz : memClockMhz, wanted)
  }
  const powerLimitW = options.powerLimit ?? board.spec.powerLimitW.default
  const state = simulateSteadyState(options.gpu, { ...execution, powerLimitW })({ tenants, smClockMhz, memClockMhz })
  const footprints = tenants.map((tenant) => tenantFootprint(board, tenant, execution))
  const { reservedBytes } = board.physics.process
  const neededBytes = footprints.reduce((sum, { memoryBytes }) => sum + memoryBytes, reservedBytes)
  const rows = tenants.map((tenant, i) => ({ ...tenant, ...footprints[i]!, ...state.tenants[i]! }))
  if (options.json) {
    const { throughput, powerW, temperatureC, smClockMhz: clock, smUtilPercent, memUtilPercent, host } = state
    const whole = { throughput, powerW, temperatureC, smClockMhz: clock, memClockMhz, smUtilPercent, memUtilPercent }
    const unknown = networks.flatMap(({ name, unknownOperators: each }) =>
      each.map((one) => ({ network: name, ...one })),
    )
    stdout.write(
      `${JSON.stringify({ board: board.name, host, ...whole, neededBytes, tenants: rows, unknownOperators: unknown })}\n`,
    )
  } else {
    stdout.write('network share batch SMs samples/s batch_ms memory_MiB\n')
    for (const row of rows) {
      const cells = [row.model, `${row.mpsPercent}%`, row.batchSize, row.sms, row.throughput.toFixed(1)]
      stdout.write(`${[...cells, row.batchMs.toFixed(2), mebibytes(row.memoryBytes)].join(' ')}\n`)
    }
    stdout.write(
      `${board.name} in host ${state.host}: ${state.throughput.toFixed(1)} samples/s, ${state.powerW.toFixed(1)} W of ${powerLimitW}, ` +
        `SM ${state.smClockMhz.toFixed(0)} MHz, memory ${memClockMhz} MHz, ${state.temperatureC.toFixed(0)} degrees C, ` +
        `${mebibytes(neededBytes)} of ${mebibytes(board.spec.memoryBytes)} MiB\n`,
    )
  }
  if (neededBytes <= board.spec.memoryBytes) return 0
  stderr.write(
    `pctodl sim: the tenants do not fit into the memory of ${board.name}: use smaller batches or fewer tenants\n`,
  )
  return 1
}

/** Reads the network of one `--onnx` argument: `name=file.onnx`, or `file.onnx`, whose network gets the file's name. */
function networkOf(text: string, sizes: Readonly<Record<string, number>>): LayerGraph {
  const [, given, file = text] = /^([\w.-]+)=(.+)$/.exec(text) ?? []
  let bytes: Uint8Array
  try {
    bytes = readFileSync(file)
  } catch (cause) {
    throw new InvalidInputError('--onnx', file, 'a readable ONNX file', { cause })
  }
  return graphFromOnnx(bytes, { name: given ?? path.basename(file, '.onnx'), sizes })
}

function sizeOf(text: string): [axis: string, size: number] {
  const [, axis, size] = /^(.+)=([1-9]\d*)$/.exec(text) ?? []
  if (axis === undefined) throw new InvalidInputError('--size', text, 'axis=n, e.g. sequence=128')
  return [axis, Number(size)]
}

/** Parses `--load`: comma-separated tenants of the form `network:share:batch[:board]`. */
export function parseLoad(text: string): HostTenantLoad[] {
  return text.split(',').map((part) => {
    const [model = '', share, batch, gpuIndex = '0', ...more] = part.trim().split(':')
    const numbers = [share, batch, gpuIndex].map(Number)
    if (more.length > 0 || !model || numbers.some(Number.isNaN)) {
      throw new InvalidInputError('--load', part, 'network:share:batch[:board], e.g. resnet50:50:32')
    }
    return { model, mpsPercent: numbers[0]!, batchSize: numbers[1]!, gpuIndex: numbers[2]! }
  })
}

function unknownOperators({ name, unknownOperators: unknown }: LayerGraph): string {
  return unknown
    .map(({ operator, occurrences, shareOfElements, outputSize }) => {
      const share = `${(100 * shareOfElements).toFixed(1)} % of the elements that the network moves`
      const size = outputSize === 'assumed' ? '; its output is taken to be as large as its input' : ''
      return `pctodl sim: ${name}: operator ${operator} is not known: ${occurrences} times, ${share}, counted without arithmetic${size}\n`
    })
    .join('')
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(0)
}
