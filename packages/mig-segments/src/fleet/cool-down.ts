import type { MigPlacement } from '@pctodl/platform'
import type { FleetRow } from './fleet-rows.js'
import type { RunningInstance } from './program.js'

/** A board while it is being filled. */
export interface OpenBoard {
  /** Index among the running boards; absent for a board that was not in use. */
  readonly at?: number
  readonly lane: number
  /** Places for new instances. */
  readonly layout: readonly MigPlacement[]
  /** Number of free places of each profile. */
  readonly free: number[]
  /** New instances. */
  readonly rows: FleetRow[]
  /** Running instances that stay. */
  readonly kept: readonly Required<RunningInstance>[]
  drawnW: number
}

/** A swap is first searched with this many boards of the lowest power, then with the others. */
const COOLEST = 32

interface Swap {
  readonly gain: number
  readonly other: OpenBoard
  readonly mine: number
  /** Index of the instance on the other board; -1 for a free place there. */
  readonly theirs: number
}

/**
 * Reduces the power of the board with the highest power, repeatedly, by swapping instances of one profile with boards
 * of lower power. The boards with the lowest power are searched first, so that a round is fast even in a large fleet.
 *
 * @returns whether all boards are within the cap
 */
export function coolDown(boards: readonly OpenBoard[], capW: number): boolean {
  if (boards.length === 0 || capW === Infinity) return true
  const byWatts = [...boards].sort((a, b) => a.drawnW - b.drawnW)
  for (let round = 0; round <= 20 * boards.length; round++) {
    const hottest = byWatts.at(-1)!
    if (hottest.drawnW <= capW * (1 + 1e-9)) return true
    const others = byWatts.slice(0, -1)
    const swap = bestSwap(hottest, others.slice(0, COOLEST)) ?? bestSwap(hottest, others.slice(COOLEST))
    if (!swap) return false
    for (const board of [hottest, swap.other]) byWatts.splice(byWatts.indexOf(board), 1)
    exchange(hottest, swap)
    // Sorting again takes too long in a large fleet.
    for (const board of [hottest, swap.other]) {
      const place = byWatts.findIndex(({ drawnW }) => drawnW >= board.drawnW)
      byWatts.splice(place < 0 ? byWatts.length : place, 0, board)
    }
  }
  return false
}

function bestSwap(hottest: OpenBoard, others: readonly OpenBoard[]): Swap | undefined {
  let best: Swap | undefined
  for (const other of others) {
    hottest.rows.forEach((row, mine) => {
      const consider = (theirs: number, theirsW: number) => {
        const less = watts(row) - theirsW
        if (less <= 1e-9) return
        const gain = hottest.drawnW - Math.max(hottest.drawnW - less, other.drawnW + less)
        if (gain > (best?.gain ?? 1e-9)) best = { gain, other, mine, theirs }
      }
      if (other.free[row.profile]! > 0) consider(-1, 0)
      other.rows.forEach((their, theirs) => {
        if (their.profile === row.profile) consider(theirs, watts(their))
      })
    })
  }
  return best
}

function exchange(hottest: OpenBoard, { other, mine, theirs }: Swap): void {
  const row = hottest.rows[mine]!
  const their = other.rows[theirs]
  if (their) {
    hottest.rows[mine] = their
    other.rows[theirs] = row
  } else {
    hottest.rows.splice(mine, 1)
    other.rows.push(row)
    hottest.free[row.profile]!++
    other.free[row.profile]!--
  }
  const less = watts(row) - (their ? watts(their) : 0)
  hottest.drawnW -= less
  other.drawnW += less
}

const watts = ({ powerW = 0 }: FleetRow) => powerW
