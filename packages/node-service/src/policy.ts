import { readOwnFile } from '@pctodl/command-line'
import {
  type BoardChange,
  changeBack,
  describeChange,
  type FoundState,
  isSameChange,
  trustedFile,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { type Ceiling, noCeiling } from './kept-board.js'
import type { IdOf } from './names.js'
import type { Peer } from './peer-credentials.js'

const id = z.int().min(0).max(0xfffffffe)
const name = z.string().regex(/^[a-z_][\w.-]{0,63}$/i, 'a name, or a number')
const watts = z.number().positive().max(100_000)
const mhz = z.int().min(1).max(100_000)

/** Both bounds are inclusive. */
function span(value: z.ZodNumber) {
  return z.strictObject({ min: value, max: value }).refine(({ min, max }) => min <= max, 'min of at most max')
}

const boards = z
  .array(z.union([z.literal('*'), z.string().regex(/^(GPU|MIG)-[\w-]+$/, 'a UUID (GPU-..., MIG-...), or *')]))
  .min(1)

const ceilingSchema = z.strictObject({
  // Only a whole board has a power limit and clocks; a MIG instance has none of its own.
  boards: z.array(z.string().regex(/^(\*|GPU-[\w-]+)$/, 'the UUID of a board (GPU-...), or *')).min(1),
  powerLimitW: watts.optional(),
  smClockMhz: span(mhz).optional(),
  memClockMhz: span(mhz).optional(),
})

const rule = z
  .strictObject({
    /** Names or numeric ids. A rule applies to each user that it lists and to each member of a group that it lists. */
    users: z.array(z.union([id, name])).default([]),
    groups: z.array(z.union([id, name])).default([]),
    /** UUIDs of boards (their MIG instances are included) or of single instances; `*` for all boards of the node. */
    boards,
    /** Allowed ranges. A setting without a range may not be changed. */
    powerLimitW: span(watts).optional(),
    smClockMhz: span(mhz).optional(),
    memClockMhz: span(mhz).optional(),
    computeMode: z.boolean().default(false),
    persistence: z.boolean().default(false),
    /** Whether these users may start an MPS daemon. */
    mps: z.boolean().default(false),
    /** Maximum duration of a lease, s. Default: no maximum. */
    leaseSeconds: z.int().min(1).max(100_000_000).optional(),
  })
  .refine(({ users, groups }) => users.length + groups.length > 0, 'users or groups: a rule for nobody says nothing')

const policySchema = z.strictObject({
  format: z.literal('pctodl-policy'),
  version: z.literal(1),
  rules: z.array(rule),
  ceilings: z.array(ceilingSchema).default([]),
})

/**
 * The operator's ceilings for some boards, which apply with and without a lease. If several apply to a board, the
 * lowest counts.
 */
interface CeilingRule {
  readonly boards: readonly string[]
  readonly powerLimitW?: number | undefined
  /** The clock lock that is in force while no lease sets another. A lease cannot exceed its maximum. */
  readonly smClockMhz?: Span | undefined
  readonly memClockMhz?: Span | undefined
}

/** Both bounds are inclusive. */
export interface Span {
  readonly min: number
  readonly max: number
}

/** What some users and groups may do on some boards. */
export interface Rule {
  readonly uids: ReadonlySet<number>
  readonly gids: ReadonlySet<number>
  /** Names of users and groups that this machine does not know. */
  readonly unknown: readonly string[]
  /** UUIDs of boards (their MIG instances are included) or of single instances; `*` for all boards of the node. */
  readonly boards: readonly string[]
  /** Allowed ranges. A setting without a range may not be changed. */
  readonly powerLimitW?: Span | undefined
  readonly smClockMhz?: Span | undefined
  readonly memClockMhz?: Span | undefined
  readonly computeMode: boolean
  readonly persistence: boolean
  /** Whether these users may start an MPS daemon. */
  readonly mps: boolean
  /** Maximum duration of a lease, s; undefined for no maximum. */
  readonly leaseSeconds?: number | undefined
}

const MAX_POLICY_BYTES = 256 * 1024

/** Says who may change which settings. An action that no rule allows is forbidden, even to root. */
export class Policy {
  readonly rules: readonly Rule[]
  readonly #ceilings: readonly CeilingRule[]

  constructor(rules: readonly Rule[], ceilings: readonly CeilingRule[] = []) {
    this.rules = rules
    this.#ceilings = ceilings
  }

  /** Names of users and groups that this machine does not know. The rules ignore them until they are known. */
  get unknownNames(): string[] {
    return [...new Set(this.rules.flatMap(({ unknown }) => unknown))]
  }

  ceilingOf(board: string): Ceiling {
    const meant = this.#ceilings.filter(({ boards }) => boards.includes('*') || boards.includes(board))
    const limits = meant.map(({ powerLimitW }) => powerLimitW).filter((limitW) => limitW !== undefined)
    const lock = (spans: readonly (Span | undefined)[]) => {
      const [tightest] = spans.filter((each) => each !== undefined).sort((a, b) => a.max - b.max)
      return tightest ? { minMhz: tightest.min, maxMhz: tightest.max } : null
    }
    return {
      powerLimitW: limits.length > 0 ? Math.min(...limits) : noCeiling.powerLimitW,
      smClock: lock(meant.map(({ smClockMhz }) => smClockMhz)),
      memClock: lock(meant.map(({ memClockMhz }) => memClockMhz)),
    }
  }

  /**
   * Checks whether a user may lease a board or one of its MIG instances.
   * @param target UUID of the board or of one of its MIG instances
   * @throws PctodlError `NOT_ALLOWED` if no rule allows it
   */
  assertMayLease(peer: Peer, board: string, target: string = board): void {
    if (this.#rulesFor(peer, board, target).length > 0) return
    throw notAllowed(peer, `lease ${target}`, 'no rule is for this user')
  }

  /** Whether at least one rule applies to this user. */
  knows({ uid, groups }: Peer): boolean {
    return this.rules.some(({ uids, gids }) => uids.has(uid) || groups.some((gid) => gids.has(gid)))
  }

  /**
   * Returns why a lease of this age must end; null if it may continue. If several rules apply, the longest duration
   * among them counts.
   */
  whyLeaseEnds(peer: Peer, board: string, leasedMs: number, target: string = board): string | null {
    const rules = this.#rulesFor(peer, board, target)
    if (rules.length === 0) return 'the policy has no rule for it any more'
    const longest = Math.max(...rules.map(({ leaseSeconds }) => leaseSeconds ?? Number.POSITIVE_INFINITY))
    return leasedMs < 1000 * longest ? null : `it has lasted ${longest} s, as long as the policy allows`
  }

  /**
   * Checks whether a user may start an MPS daemon.
   * @throws PctodlError `NOT_ALLOWED` if no rule allows it on the target
   */
  assertMayStartMps(peer: Peer, board: string, target: string = board): void {
    if (!this.#rulesFor(peer, board, target).some(({ mps }) => mps))
      throw notAllowed(peer, `have MPS on ${target}`, 'no rule allows it')
  }

  /**
   * Checks a change against the rules and ceilings.
   *
   * @param found if the lease has already changed this setting, the settings that it will restore; otherwise null.
   *   Every user with a rule for the board may set the found value again, unless it exceeds a ceiling.
   * @throws PctodlError `NOT_ALLOWED`; the message states the allowed values
   */
  assertMayChange(peer: Peer, board: string, change: BoardChange, found: FoundState | null): void {
    const rules = this.#rulesFor(peer, board)
    if (isAbove(change, this.ceilingOf(board)))
      throw notAllowed(peer, `set ${describeChange(change)} on ${board}`, "the operator's ceiling is lower")
    if (rules.length > 0 && found && isSameChange(changeBack(change.kind, found), change)) return
    if (rules.some((each) => allows(each, change))) return
    const spans = rules.map((each) => allowedText(each, change)).filter((text) => text !== null)
    const allowed = spans.length > 0 ? `the policy allows ${spans.join(', or ')}` : 'no rule allows any'
    throw notAllowed(peer, `set ${describeChange(change)} on ${board}`, allowed)
  }

  /**
   * Returns the change that replaces an earlier one under a new policy. If the earlier one is still allowed, it is the
   * same. A power limit is otherwise replaced by the nearest allowed limit (if several rules apply, the highest of
   * these). Any other setting is restored to the found value; null if that value is unknown.
   */
  nearest(peer: Peer, board: string, change: BoardChange, found: FoundState): BoardChange | null {
    try {
      this.assertMayChange(peer, board, change, found)
      return change
    } catch {
      if (change.kind !== 'power-limit') return changeBack(change.kind, found)
      const { powerLimitW: ceilingW } = this.ceilingOf(board)
      const tops = this.#rulesFor(peer, board)
        .map(
          ({ powerLimitW }) =>
            powerLimitW && { ...powerLimitW, max: Math.min(powerLimitW.max, ceilingW ?? powerLimitW.max) },
        )
        .filter((each) => each !== undefined && each.min <= each.max)
        .map((each) => Math.min(Math.max(change.powerLimitW, each!.min), each!.max))
      if (tops.length === 0) return changeBack(change.kind, found)
      return { kind: 'power-limit', powerLimitW: Math.max(...tops) }
    }
  }

  #rulesFor({ uid, groups }: Peer, board: string, target: string = board): Rule[] {
    return this.rules.filter(
      ({ uids, gids, boards }) =>
        (uids.has(uid) || groups.some((gid) => gids.has(gid))) &&
        (boards.includes('*') || boards.includes(board) || boards.includes(target)),
    )
  }
}

/**
 * Reads the policy. A user who can write this file can grant every permission, so only root and the service's user may be
 * able to write the file, the folders that contain it, and links to it.
 *
 * @throws PctodlError `POLICY`; the message names the invalid field, or who else can write the file
 */
export function loadPolicy(file: string, idOf?: IdOf): Policy {
  let text: string | null
  try {
    // Symbolic links are followed only if no other user can change any of them. ConfigMaps are mounted through links.
    text = readOwnFile(trustedFile(file), MAX_POLICY_BYTES)
    if (text === null) throw new Error('there is no such file')
  } catch (error) {
    throw policyError(
      file,
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? new Error('there is no such file') : error,
    )
  }
  return parsePolicy(text, file, idOf)
}

/**
 * Parses a policy.
 * @param idOf looks up the numeric id of a name
 * @throws PctodlError `POLICY`; the message names the invalid field
 */
export function parsePolicy(text: string, file = 'the policy', idOf: IdOf = () => undefined): Policy {
  try {
    const result = policySchema.safeParse(parseOnce(text))
    if (!result.success) {
      const { path: at, message } = result.error.issues[0]!
      throw new Error(`${at.join('.') || 'the whole'}: ${message}`)
    }
    return new Policy(
      result.data.rules.map(({ users, groups, ...rest }) => {
        const unknown: string[] = []
        const ids = (database: 'passwd' | 'group', wanted: readonly (string | number)[]) =>
          new Set(
            wanted.flatMap((each) => {
              const id = typeof each === 'number' ? each : idOf(database, each)
              if (id === undefined) unknown.push(`${database === 'passwd' ? 'user' : 'group'} '${each}'`)
              return id ?? []
            }),
          )
        return { ...rest, uids: ids('passwd', users), gids: ids('group', groups), unknown }
      }),
      result.data.ceilings,
    )
  } catch (error) {
    throw policyError(file, error)
  }
}

/**
 * Parses JSON and rejects objects with a duplicate key. Otherwise, of two lists of ceilings, the first would be ignored
 * without notice.
 */
function parseOnce(text: string): unknown {
  let keys = 0
  const value: unknown = JSON.parse(text, function (this: unknown, _, each: unknown) {
    if (!Array.isArray(this)) keys++
    return each
  })
  const written = [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length
  // The count includes one call for the whole document, which has no key.
  if (written > keys - 1) throw new Error('an object has a key twice')
  return value
}

function allows(rule: Rule, change: BoardChange): boolean {
  const { powerLimitW, smClockMhz, memClockMhz } = rule
  switch (change.kind) {
    case 'power-limit':
      return powerLimitW !== undefined && change.powerLimitW >= powerLimitW.min && change.powerLimitW <= powerLimitW.max
    case 'sm-clock':
    case 'mem-clock': {
      const allowed = change.kind === 'sm-clock' ? smClockMhz : memClockMhz
      if (allowed === undefined) return false
      // Without a lock the board may run at its maximum clock, so no range allows to remove the lock. It is allowed
      // only in order to restore the value that the lease found.
      return (
        change.range !== null && Object.values(change.range).every((end) => end >= allowed.min && end <= allowed.max)
      )
    }
    case 'compute-mode':
      return rule.computeMode
    case 'persistence':
      return rule.persistence
  }
}

function allowedText({ powerLimitW, smClockMhz, memClockMhz }: Rule, { kind }: BoardChange): string | null {
  const [allowed, unit] =
    kind === 'power-limit'
      ? [powerLimitW, 'W']
      : [kind === 'sm-clock' ? smClockMhz : kind === 'mem-clock' ? memClockMhz : undefined, 'MHz']
  return allowed === undefined ? null : `${allowed.min} to ${allowed.max} ${unit}`
}

function isAbove(change: BoardChange, { powerLimitW, smClock, memClock }: Ceiling): boolean {
  if (change.kind === 'power-limit') return powerLimitW !== null && change.powerLimitW > powerLimitW
  const lock = change.kind === 'sm-clock' ? smClock : change.kind === 'mem-clock' ? memClock : null
  return lock !== null && 'range' in change && (change.range === null || change.range.maxMhz > lock.maxMhz)
}

function notAllowed({ uid }: Peer, what: string, why: string): PctodlError {
  return new PctodlError(
    'NOT_ALLOWED',
    `user ${uid} may not ${what}: ${why}; ask the operator of this node (the policy of pctodld)`,
  )
}

function policyError(file: string, error: unknown): PctodlError {
  const reason = error instanceof Error ? error.message : String(error)
  return new PctodlError('POLICY', `${file}: ${reason}; until it is right, nobody may change anything`, {
    cause: error,
  })
}
