import { PctodlError } from '@pctodl/platform'

/** Codes of this package's errors, with the situation that each stands for. */
export type MpsErrorCode =
  /** `nvidia-cuda-mps-control` is not installed. */
  | 'MPS_NO_PROGRAM'
  /** Root was to run a program that others could have put there. */
  | 'MPS_UNTRUSTED_PROGRAM'
  /** No daemon answers at the pipe directory. */
  | 'MPS_NO_DAEMON'
  /** The daemon did not answer, start, or end in time. */
  | 'MPS_TIMEOUT'
  /** The daemon refused a command, or did not do what it accepted. */
  | 'MPS_REFUSED'
  /** This daemon's version has no such command. */
  | 'NOT_SUPPORTED'
  /** A daemon runs at this place already: ours. */
  | 'MPS_ALREADY_RUNNING'
  /** A daemon runs at this place already, and somebody else started it. */
  | 'MPS_FOREIGN_DAEMON'
  /** The folders are not usable. */
  | 'MPS_FOLDER'
  /** A worker that should be a client is none. */
  | 'MPS_NOT_A_CLIENT'
  /** A worker is a client, but on another board than the daemon's. */
  | 'MPS_WRONG_BOARD'
  /** A server is in FAULT, or the daemon has vanished. */
  | 'MPS_FAULT'
  /** The daemon is not in a state for this. */
  | 'MPS_STATE'

/** Something about MPS went wrong. `code` says what kind of thing, `message` also what to do. */
export class MpsError extends PctodlError {
  declare readonly code: MpsErrorCode

  constructor(code: MpsErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}
