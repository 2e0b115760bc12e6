import type { PerfModelParameters } from './parameters.js'

/** A parameter file: eight digits are more than any fit knows, and lists of numbers stay on one line. */
export function formatParameters(parameters: PerfModelParameters): string {
  const rounded = (_key: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(8)) : value)
  const text = JSON.stringify(parameters, rounded, 1)
  return `${text.replace(/\[\s+([-\d.e,\s]+?)\s+\]/g, (_, list: string) => `[${list.replace(/\s+/g, '')}]`)}\n`
}
