import { InvalidArgumentError } from 'commander'
import type { BoardOptions } from '../carry-out/board.js'

export interface RawBoardOptions {
  readonly library?: string
  readonly leaseDir?: string
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
