import { InvalidInputError } from '@pctodl/platform'

/**
 * Many configurations as arrays. The tenants of configuration c have the indices from `firstTenant[c]` to
 * `firstTenant[c + 1] - 1`.
 */
export interface BatchInput {
  /** For each tenant, the index of its network in the model's `networks`. */
  readonly network: ArrayLike<number>
  readonly mpsPercent: ArrayLike<number>
  readonly batchSize: ArrayLike<number>
  /** One entry per configuration plus one, ascending from 0 to the number of tenants. */
  readonly firstTenant: ArrayLike<number>
  readonly smClockMhz: ArrayLike<number>
  readonly memClockMhz: ArrayLike<number>
}

export interface BatchOutput {
  /** Samples/s. The arrays whose names do not begin with `tenant` have one value per configuration. */
  readonly throughput: Float64Array
  readonly powerW: Float64Array
  readonly smUtilPercent: Float64Array
  readonly memUtilPercent: Float64Array
  /** Leave out the standard deviations to halve the time. */
  readonly throughputSd?: Float64Array
  readonly powerSdW?: Float64Array
  /** Samples/s. */
  readonly tenantThroughput: Float64Array
  readonly tenantLatencyMs: Float64Array
}

const outputs = [
  'throughput',
  'powerW',
  'smUtilPercent',
  'memUtilPercent',
  'throughputSd',
  'powerSdW',
  'tenantThroughput',
  'tenantLatencyMs',
] as const

/**
 * Allocate result arrays for a batch; reuse them for batches of the same size.
 *
 * @throws InvalidInputError for an input that is not an object, or lacks arrays
 */
export function batchOutput(input: BatchInput): BatchOutput {
  const lengthOf = outputLengths(input)
  const arrays = outputs.map((name) => [name, new Float64Array(lengthOf(name))])
  return Object.fromEntries(arrays) as unknown as BatchOutput
}

/** @throws InvalidInputError for arrays whose lengths do not match */
export function assertBatchArrays(input: BatchInput, out: BatchOutput): void {
  const lengthOf = outputLengths(input)
  const configurations = lengthOf('throughput')
  const tenants = lengthOf('tenantThroughput')
  assertLength('memClockMhz', input.memClockMhz, configurations)
  assertLength('firstTenant', input.firstTenant, configurations + 1)
  assertLength('mpsPercent', input.mpsPercent, tenants)
  assertLength('batchSize', input.batchSize, tenants)
  for (const name of outputs) {
    const optional = name === 'throughputSd' || name === 'powerSdW'
    if (!optional || out[name] !== undefined) assertLength(`out.${name}`, out[name], lengthOf(name))
  }
  for (let c = 0; c <= configurations; c++) {
    const first = input.firstTenant[c]!
    const least = c === 0 ? 0 : input.firstTenant[c - 1]! + 1
    const fits = c === configurations ? first === tenants && first >= least : c === 0 ? first === 0 : first >= least
    if (!(Number.isInteger(first) && fits)) {
      throw new InvalidInputError(`firstTenant[${c}]`, first, `ascending integers from 0 to ${tenants}`)
    }
  }
}

/** Returns a function that gives the length of each result array. */
function outputLengths(input: BatchInput): (name: (typeof outputs)[number]) => number {
  if (typeof input !== 'object' || input === null) throw new InvalidInputError('input', input, 'arrays of a batch')
  const { smClockMhz, network } = input
  assertLength('smClockMhz', smClockMhz, smClockMhz?.length ?? Number.NaN)
  assertLength('network', network, network?.length ?? Number.NaN)
  return (name) => (name.startsWith('tenant') ? network : smClockMhz).length
}

function assertLength(name: string, array: ArrayLike<number> | undefined, length: number): void {
  if (array?.length !== length) {
    const expected = Number.isNaN(length) ? 'an array' : `${length}`
    throw new InvalidInputError(`${name}.length`, array?.length, expected)
  }
}
