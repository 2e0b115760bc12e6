import { createInterface } from 'node:readline/promises'
import type { Terminal } from '@pctodl/command-line'
import { algorithmGroups, everyAlgorithm } from './algorithms.js'
import type { RawBenchOptions } from './matrix-options.js'

/** The algorithms that the call names; on a terminal they are asked for, elsewhere those of the group `tuned` run. */
export async function settleAlgorithm(raw: RawBenchOptions, terminal: Terminal): Promise<string> {
  if (raw.algorithm !== undefined) return raw.algorithm
  if (!terminal.stdout.isTTY || !process.stdin.isTTY || raw.json || raw.dryRun) return 'tuned'
  const questions = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const names: readonly string[] = [...everyAlgorithm, ...Object.keys(algorithmGroups)]
    const menu = names.map((name, i) => `  ${i + 1}  ${name}`).join('\n')
    for (;;) {
      const answer = await questions.question(`${menu}\nWhich algorithms (number, names, Enter for tuned)? `, {
        signal: terminal.signal,
      })
      const chosen = answer.trim() === '' ? 'tuned' : (names[Number(answer) - 1] ?? answer.trim())
      if (chosen.split(',').every((name) => names.includes(name.trim()))) return chosen
      terminal.stdout.write(`not one of ${names.join(', ')}\n`)
    }
  } finally {
    questions.close()
  }
}
