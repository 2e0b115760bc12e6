import { readFileSync } from 'node:fs'
import { UsageError } from '@pctodl/command-line'
import { assertServices, InvalidInputError, networkName, type Service } from '@pctodl/platform'
import { parse, YAMLError } from 'yaml'
import { MAX_RATE_PER_S } from '../services/plan-problem.js'

/** Services and their request rates. */
export interface ServicesFile {
  readonly services: readonly Service[]
  /** Requests/s, in the order of the services. */
  readonly ratesPerS: readonly number[]
  /** Names of the services without `maxBatchSize` in the file. */
  readonly withoutMaxBatchSize: readonly string[]
}

export const DEFAULT_MAX_BATCH_SIZE = 64
const fields = ['name', 'model', 'rate', 'p99Ms', 'weight', 'maxBatchSize', 'maxQueueDelayMs']

/**
 * Read a list of services from YAML or JSON. Each service has `name`, `model`, `rate` (requests/s) and `p99Ms`, and
 * optionally `weight` (1), `maxBatchSize` (64) and `maxQueueDelayMs` (0). YAML merge keys (`<<: *others`) are
 * supported.
 *
 * @throws UsageError that names the file, and the service and field if known
 */
export function readServicesFile(file: string): ServicesFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--services: cannot read ${file}: ${(error as Error).message}`)
  }
  try {
    return parseServices(text)
  } catch (error) {
    if (error instanceof InvalidInputError) throw new UsageError(`${file}: ${error.message}`)
    if (!(error instanceof YAMLError)) throw error
    throw new UsageError(`${file}: neither YAML nor JSON: ${error.message.split('\n')[0]}`)
  }
}

/**
 * Parse the text of a services file.
 *
 * @throws InvalidInputError that names the service and the field
 * @throws YAMLError
 */
export function parseServices(text: string): ServicesFile {
  const list: unknown = parsed(text)
  if (!Array.isArray(list) || list.length === 0) {
    throw new InvalidInputError('services', list, `a list of services, each with ${fields.slice(0, 4).join(', ')}`)
  }
  const ratesPerS: number[] = []
  const withoutMaxBatchSize: string[] = []
  const services = list.map((entry: unknown, i): Service => {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
      throw new InvalidInputError(`services[${i}]`, entry, `an object with ${fields.join(', ')}`)
    }
    const given = entry as Record<string, unknown>
    const stray = Object.keys(given).find((field) => !fields.includes(field))
    if (stray !== undefined) throw new InvalidInputError(`services[${i}].${stray}`, given[stray], fields.join(', '))
    const { rate } = given
    if (typeof rate !== 'number' || !(rate >= 0 && rate <= MAX_RATE_PER_S)) {
      throw new InvalidInputError(`services[${i}].rate`, rate, `requests/s between 0 and ${MAX_RATE_PER_S}`)
    }
    ratesPerS.push(rate)
    if (given['maxBatchSize'] === undefined) withoutMaxBatchSize.push(String(given['name']))
    return {
      name: given['name'] as string,
      model: typeof given['model'] === 'string' ? knownName(given['model']) : (given['model'] as string),
      objective: { p99Ms: given['p99Ms'] as number },
      weight: (given['weight'] ?? 1) as number,
      maxBatchSize: (given['maxBatchSize'] === undefined ? DEFAULT_MAX_BATCH_SIZE : given['maxBatchSize']) as number,
      maxQueueDelayMs: (given['maxQueueDelayMs'] ?? 0) as number,
    }
  })
  assertServices(services)
  return { services, ratesPerS, withoutMaxBatchSize }
}

/** Parse YAML. Cyclic values and an excessive number of aliases are errors. */
function parsed(text: string): unknown {
  try {
    const value: unknown = parse(text, { merge: true })
    JSON.stringify(value)
    return value
  } catch (error) {
    if (error instanceof YAMLError) throw error
    throw new InvalidInputError(
      'services',
      (error as Error).message.split('\n')[0],
      'YAML without values that hold themselves',
    )
  }
}

/**
 * Common name of a network. A name without one is returned unchanged, because custom parameters may contain such
 * networks.
 */
export function knownName(name: string): string {
  try {
    return networkName(name)
  } catch {
    return name
  }
}
