/** When reconfigurations began, from what samples say; that of the start is not one of them. */
export class Restarts {
  readonly beganMs: number[] = []
  #reconfiguring = true

  add(timeMs: number, reconfiguring: boolean): void {
    if (reconfiguring && !this.#reconfiguring) this.beganMs.push(timeMs)
    this.#reconfiguring = reconfiguring
  }
}
