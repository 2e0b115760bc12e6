import type { TextOutput } from './terminal.js'

/** Shows the progress of long work: on a terminal one line that is rewritten, otherwise separate lines. */
export class Progress {
  readonly #output: TextOutput
  readonly #total: number
  #done = 0

  constructor(output: TextOutput, total: number) {
    this.#output = output
    this.#total = total
  }

  begin(label: string): void {
    if (this.#output.isTTY) this.#output.write(`\r\u001b[2K[${this.#done}/${this.#total}] ${label} ...`)
  }

  end(label: string, outcome: string): void {
    this.#done++
    const line = `[${this.#done}/${this.#total}] ${label}: ${outcome}\n`
    this.#output.write(this.#output.isTTY ? `\r\u001b[2K${line}` : line)
  }
}
