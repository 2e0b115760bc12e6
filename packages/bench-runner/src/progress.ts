/** Says how far a matrix is: one line that rewrites itself on a terminal, plain lines elsewhere. */
export class Progress {
  readonly #stream: NodeJS.WriteStream
  readonly #total: number
  #done = 0

  constructor(stream: NodeJS.WriteStream, total: number) {
    this.#stream = stream
    this.#total = total
  }

  begin(label: string): void {
    if (this.#stream.isTTY) this.#stream.write(`\r\u001b[2K[${this.#done}/${this.#total}] ${label} ...`)
  }

  end(label: string, outcome: string): void {
    this.#done++
    const line = `[${this.#done}/${this.#total}] ${label}: ${outcome}\n`
    this.#stream.write(this.#stream.isTTY ? `\r\u001b[2K${line}` : line)
  }
}
