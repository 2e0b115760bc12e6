import { InvalidInputError } from '@pctodl/platform'
import type { MappedFleetSegment } from './map/fleet-map.js'

const QUOTED = /"([^"]*)"|'([^']*)'/g

/**
 * Splits a command into words like a shell: at blanks outside single or double quotes. No other character is special.
 *
 * @throws InvalidInputError for a missing closing quote
 */
export function splitWords(text: string): string[] {
  const [open] = /["']/.exec(text.replace(QUOTED, '')) ?? []
  if (open) throw new InvalidInputError('command', text, `a closing ${open}`)
  const words = text.match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? []
  return words.map((word) => word.replace(QUOTED, '$1$2'))
}

/** Quotes a word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** The command of a segment's worker: `{model}`, `{batch}`, `{processes}` and, if it has one, `{port}` are replaced. */
export function workerCommand(
  command: readonly string[],
  { model, batchSize, processes }: Pick<MappedFleetSegment, 'model' | 'batchSize' | 'processes'>,
  port?: number,
): string[] {
  const values: Record<string, string | number> = { model, batch: batchSize, processes, port: port ?? '{port}' }
  return command.map((word) => word.replace(/\{(model|batch|processes|port)\}/g, (_, name) => String(values[name])))
}
