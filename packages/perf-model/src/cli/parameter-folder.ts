import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError, UnknownNameError } from '@pctodl/platform'
import type { PerfModelParameters } from '../parameters.js'
import { PerfModel } from '../perf-model.js'
import { keyOf, loadPerfModel, shippedParameters } from '../shipped-parameters.js'

/** Thrown if a parameter file cannot be read, or if its content is invalid. */
export class ParameterFileError extends PctodlError {
  readonly file: string

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super('PARAMETER_FILE', `${file}: ${problem}`, options)
    this.file = file
  }
}

/**
 * Load the model of a board from `<folder>/<board>.json`, or the shipped model if no folder is given.
 *
 * @throws PctodlError `UNKNOWN_NAME` that lists the existing parameter sets
 * @throws ParameterFileError for a file that cannot be used
 */
export function modelOf(board: string, folder: string | undefined): PerfModel {
  const key = keyOf(board)
  if (folder === undefined) {
    if (!Object.hasOwn(shippedParameters, key)) {
      const shipped = Object.keys(shippedParameters).join(', ')
      throw new PctodlError(
        'UNKNOWN_NAME',
        `unknown parameter set '${board}'; known: ${shipped}; for another board: pctodl profile, pctodl fit, then --params`,
      )
    }
    return loadPerfModel(key)
  }
  const file = path.join(folder, `${key}.json`)
  if (!existsSync(file)) {
    const known = setsIn(folder)
    if (known.includes('index'))
      throw new ParameterFileError(folder, 'holds parameters of the published program: use pctodl published')
    if (known.length === 0)
      throw new ParameterFileError(folder, 'holds no parameter set (<board>.json); write one with pctodl fit')
    throw new UnknownNameError('parameter set', board, known)
  }
  try {
    return PerfModel.load(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new ParameterFileError(file, cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** Path to which `pctodl fit` writes the parameters of a board. */
export function parameterFile(folder: string, board: string): string {
  return path.join(folder, `${keyOf(board)}.json`)
}

function setsIn(folder: string): string[] {
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (cause) {
    throw new ParameterFileError(folder, 'cannot be read; name a folder that holds <board>.json', { cause })
  }
  return names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length))
}

/** Serialise parameters with eight digits (more than any fit can determine) and each list of numbers on one line. */
export function formatParameters(parameters: PerfModelParameters): string {
  const rounded = (_key: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(8)) : value)
  const text = JSON.stringify(parameters, rounded, 1)
  return `${text.replace(/\[\s+([-\d.e,\s]+?)\s+\]/g, (_, list: string) => `[${list.replace(/\s+/g, '')}]`)}\n`
}
