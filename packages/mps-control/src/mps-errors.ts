import { PctodlError } from '@pctodl/platform'

export type MpsErrorCode =
  | 'MPS_NO_PROGRAM'
  /** Root would run a program that other users can write. */
  | 'MPS_UNTRUSTED_PROGRAM'
  /** No daemon answers on the pipe. */
  | 'MPS_NO_DAEMON'
  /** The daemon did not answer, start or end within the time limit. */
  | 'MPS_TIMEOUT'
  /** The daemon refused a command, or did not do what it accepted. */
  | 'MPS_REFUSED'
  | 'NOT_SUPPORTED'
  | 'MPS_ALREADY_RUNNING'
  /** Another program's daemon already runs in this folder. */
  | 'MPS_FOREIGN_DAEMON'
  /** A folder cannot be created, or other users can write to it. */
  | 'MPS_FOLDER'
  | 'MPS_NOT_A_CLIENT'
  | 'MPS_WRONG_BOARD'
  /** A server is in FAULT, or the daemon has vanished. */
  | 'MPS_FAULT'

/** Thrown if an MPS operation fails. `code` says how; `message` also says what to do. */
export class MpsError extends PctodlError {
  declare readonly code: MpsErrorCode

  constructor(code: MpsErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}
