import { type Command, InvalidArgumentError } from 'commander'
import type { BoardOptions } from '../carry-out/board.js'

export interface RawBoardOptions {
  readonly library?: string
  readonly leaseDir?: string
}

/** Options of every subcommand that holds a GPU. */
export function withBoardOptions(command: Command): Command {
  return command
    .option('--library <path>', "NVML's library (default: where drivers put it)")
    .option('--lease-dir <folder>', 'where leases are kept (default: $PCTODL_LEASE_DIR, or /var/lib/pctodl/leases)')
}

export function boardOptions({ library, leaseDir }: RawBoardOptions): BoardOptions {
  return {
    ...(library === undefined ? {} : { libraryPath: library }),
    ...(leaseDir === undefined ? {} : { leaseFolder: leaseDir }),
  }
}

/** A regular expression without regard to case. */
export function stepPattern(text: string): RegExp {
  try {
    return new RegExp(text, 'i')
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}
