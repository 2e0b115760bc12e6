import { InvalidInputError } from '@pctodl/platform'
import type { MappedFleetSegment } from './map/fleet-map.js'

/**
 * Splits a command into words like a shell: at blanks outside single or double quotes. No other character is special.
 *
 * @throws InvalidInputError for a missing closing quote
 */
export function splitWords(text: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (const letter of text) {
    if (quote !== '') {
      if (letter === quote) quote = ''
      else word += letter
    } else if (letter === '"' || letter === "'") {
      quote = letter
      word ??= ''
    } else if (/\s/.test(letter)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      word = (word ?? '') + letter
    }
  }
  if (quote !== '') throw new InvalidInputError('command', text, `a closing ${quote}`)
  return word === undefined ? words : [...words, word]
}

/**
 * Returns the command of a segment's worker, with `{model}`, `{batch}`, `{processes}` and, if it has one, `{port}`
 * replaced.
 */
export function workerCommand(
  command: readonly string[],
  {
    model,
    batchSize,
    processes,
    port,
  }: Omit<MappedFleetSegment, 'profile' | 'start'> & { readonly port?: number | undefined },
): string[] {
  const values: Record<string, string | number> = { model, batch: batchSize, processes, port: port ?? '{port}' }
  return command.map((word) => word.replace(/\{(model|batch|processes|port)\}/g, (_, name) => String(values[name])))
}
