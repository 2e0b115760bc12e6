import { PctodlError } from '@pctodl/platform'

/** No simulator responds: none was started, or it has ended. */
export class BoardUnavailableError extends PctodlError {
  constructor(message: string, options?: ErrorOptions) {
    super('BOARD_UNAVAILABLE', message, options)
  }
}

/** A board of the host fell off the bus. */
export class BoardLostError extends PctodlError {
  readonly busId: string

  constructor(busId: string) {
    super('GPU_LOST', `GPU ${busId} is lost; restart the simulated host`)
    this.busId = busId
  }
}

/** The native library cannot be built on this machine. */
export class CompilerError extends PctodlError {
  constructor(message: string, options?: ErrorOptions) {
    super('NO_COMPILER', message, options)
  }
}

/** A program of this package that host mode starts is missing. */
export class HostProgramError extends PctodlError {
  constructor(message: string, options?: ErrorOptions) {
    super('HOST_PROGRAM_MISSING', message, options)
  }
}
