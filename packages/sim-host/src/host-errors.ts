import { PctodlError } from '@pctodl/platform'

/** Thrown if no simulator responds, because none was started or it has ended. */
export class BoardUnavailableError extends PctodlError {
  constructor(message: string, options?: ErrorOptions) {
    super('BOARD_UNAVAILABLE', message, options)
  }
}

/** Thrown if a board of the host has fallen off the bus. */
export class BoardLostError extends PctodlError {
  readonly busId: string

  constructor(busId: string) {
    super('GPU_LOST', `GPU ${busId} is lost; restart the simulated host`)
    this.busId = busId
  }
}
