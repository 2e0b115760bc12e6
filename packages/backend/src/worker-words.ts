import { InvalidInputError } from '@pctodl/platform'
import { split } from 'shlex'

/**
 * Splits a worker's command into words. The text is a JSON array of strings (`["python", "my worker.py"]`) or a line
 * quoted as for a shell (`python 'my worker.py'`). No shell runs and nothing is expanded: `$HOME` and `*` stay literal.
 *
 * @throws InvalidInputError for an array with an element that is not a string, for an unclosed quote, and for an empty
 *   command
 */
export function workerWords(text: string): [program: string, ...args: string[]] {
  let words: unknown
  try {
    words = text.trimStart().startsWith('[') ? JSON.parse(text) : split(text)
  } catch {
    words = null
  }
  const [program, ...args] = Array.isArray(words) && words.every((word) => typeof word === 'string') ? words : []
  if (program) return [program, ...args]
  throw new InvalidInputError(
    'worker',
    text,
    'torch, onnx, a JSON array of words, or a command line with its quotes closed',
  )
}
