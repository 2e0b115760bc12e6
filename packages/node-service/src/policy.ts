import { readOwnFile } from '@pctodl/command-line'
import {
  type BoardChange,
  changeBack,
  checked,
  describeChange,
  type FoundState,
  isSameChange,
  reasonOf,
  trustedFile,
} from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import type { Ceiling } from './kept-board.js'
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

/** Ranges of power limit and clocks. In a rule, a setting without a range may not be changed. */
const spans = {
  powerLimitW: span(watts).optional(),
  smClockMhz: span(mhz).optional(),
  memClockMhz: span(mhz).optional(),
}

const ceilingSchema = z.strictObject({
  // Only a whole board has a power limit and clocks; a MIG instance has none of its own.
  boards: z.array(z.string().regex(/^(\*|GPU-[\w-]+)$/, 'the UUID of a board (GPU-...), or *')).min(1),
  ...spans,
  powerLimitW: watts.optional(),
})

const rule = z
  .strictObject({
    /** Names or numeric ids. A rule applies to each user that it lists and to each member of a group that it lists. */
    users: z.array(z.union([id, name])).default([]),
    groups: z.array(z.union([id, name])).default([]),
    /** UUIDs of boards (their MIG instances are included) or of single instances; `*` for all boards of the node. */
    boards,
    ...spans,
    computeMode: z.boolean().default(false),
    persistence: z.boolean().default(false),
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

/** If several ceilings apply to a board, the lowest counts. */
type CeilingRule = z.infer<typeof ceilingSchema>
type Span = z.infer<ReturnType<typeof span>>

interface Members {
  readonly uids: ReadonlySet<number>
  readonly gids: ReadonlySet<number>
  readonly unknown: readonly string[]
}

type Rule = Omit<z.infer<typeof rule>, 'users' | 'groups'> & Members

const MAX_POLICY_BYTES = 256 * 1024

/** Says who may change which settings. An action that no rule allows is forbidden, even to root. */
export class Policy {
  static readonly nothing: Policy = new Policy([], [])
  readonly #rules: readonly Rule[]
  readonly #ceilings: readonly CeilingRule[]

  private constructor(rules: readonly Rule[], ceilings: readonly CeilingRule[]) {
    this.#rules = rules
    this.#ceilings = ceilings
  }

  /**
   * Reads the policy. A user who can write this file can grant every permission, so only root and the service's user
   * may be able to write the file, the folders that contain it, and links to it.
   * @throws PctodlError `POLICY`; the message names the invalid field, or who else can write the file
   */
  static load(file: string, idOf?: IdOf): Policy {
    try {
      // Symbolic links are followed only if no other user can change any of them. ConfigMaps are mounted through links.
      const text = readOwnFile(trustedFile(file), MAX_POLICY_BYTES)
      if (text !== null) return Policy.parse(text, file, idOf)
      throw new Error('there is no such file')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'POLICY') throw error
      throw policyError(file, code === 'ENOENT' ? new Error('there is no such file') : error)
    }
  }

  static parse(text: string, file = 'the policy', idOf: IdOf = () => undefined): Policy {
    try {
      const { rules, ceilings } = checked(policySchema, parseOnce(text))
      const members = ({ users, groups }: z.infer<typeof rule>): Members => {
        const unknown: string[] = []
        const ids = (database: 'passwd' | 'group', wanted: readonly (string | number)[]) =>
          new Set(
            wanted.flatMap((each) => {
              const id = typeof each === 'number' ? each : idOf(database, each)
              if (id === undefined) unknown.push(`${database === 'passwd' ? 'user' : 'group'} '${each}'`)
              return id ?? []
            }),
          )
        return { uids: ids('passwd', users), gids: ids('group', groups), unknown }
      }
      return new Policy(
        rules.map((each) => ({ ...each, ...members(each) })),
        ceilings,
      )
    } catch (error) {
      throw policyError(file, error)
    }
  }

  get rules(): readonly Members[] {
    return this.#rules
  }

  /** Names of users and groups that this machine does not know. The rules ignore them until they are known. */
  get unknownNames(): string[] {
    return [...new Set(this.#rules.flatMap(({ unknown }) => unknown))]
  }

  ceilingOf(board: string): Ceiling {
    const meant = this.#ceilings.filter(({ boards }) => boards.includes('*') || boards.includes(board))
    const limits = meant.flatMap(({ powerLimitW }) => powerLimitW ?? [])
    const lock = (spans: readonly Span[]) => {
      const [tightest] = spans.toSorted((a, b) => a.max - b.max)
      return tightest ? { minMhz: tightest.min, maxMhz: tightest.max } : null
    }
    return {
      powerLimitW: limits.length > 0 ? Math.min(...limits) : null,
      smClock: lock(meant.flatMap(({ smClockMhz }) => smClockMhz ?? [])),
      memClock: lock(meant.flatMap(({ memClockMhz }) => memClockMhz ?? [])),
    }
  }

  /** @param target UUID of the board or of one of its MIG instances */
  assertMayLease(peer: Peer, board: string, target: string = board): void {
    if (this.#rulesFor(peer, board, target).length > 0) return
    throw notAllowed(peer, `lease ${target}`, 'no rule is for this user')
  }

  knows(peer: Peer): boolean {
    return this.#rules.some((each) => isMember(peer, each))
  }

  /** Returns why a lease of this age must end; null if it may continue. The longest duration of its rules counts. */
  whyLeaseEnds(peer: Peer, board: string, leasedMs: number, target: string = board): string | null {
    const rules = this.#rulesFor(peer, board, target)
    if (rules.length === 0) return 'the policy has no rule for it any more'
    const longest = Math.max(...rules.map(({ leaseSeconds }) => leaseSeconds ?? Number.POSITIVE_INFINITY))
    return leasedMs < 1000 * longest ? null : `it has lasted ${longest} s, as long as the policy allows`
  }

  assertMayStartMps(peer: Peer, board: string, target: string = board): void {
    if (!this.#rulesFor(peer, board, target).some(({ mps }) => mps))
      throw notAllowed(peer, `have MPS on ${target}`, 'no rule allows it')
  }

  /**
   * Checks a change against the rules and ceilings.
   * @param found if the lease has already changed this setting, the settings that it will restore; otherwise null.
   * Every user with a rule for the board may set the found value again, unless it exceeds a ceiling.
   * @throws PctodlError `NOT_ALLOWED`; the message states the allowed values
   */
  assertMayChange(peer: Peer, board: string, change: BoardChange, found: FoundState | null): void {
    const rules = this.#rulesFor(peer, board)
    if (isAbove(change, this.ceilingOf(board)))
      throw notAllowed(peer, `set ${describeChange(change)} on ${board}`, "the operator's ceiling is lower")
    if (rules.length > 0 && found && isSameChange(changeBack(change.kind, found), change)) return
    if (rules.some((each) => allows(each, change))) return
    const unit = change.kind === 'power-limit' ? 'W' : 'MHz'
    const spans = rules.map((each) => allowanceOf(each, change.kind)).filter((each) => typeof each === 'object')
    const texts = spans.map(({ min, max }) => `${min} to ${max} ${unit}`)
    const allowed = texts.length > 0 ? `the policy allows ${texts.join(', or ')}` : 'no rule allows any'
    throw notAllowed(peer, `set ${describeChange(change)} on ${board}`, allowed)
  }

  /**
   * Returns the change that replaces an earlier one under a new policy: the same if it is still allowed; for a power
   * limit the nearest allowed limit (of several rules, the highest); otherwise the found value, or null if that is
   * unknown.
   */
  nearest(peer: Peer, board: string, change: BoardChange, found: FoundState): BoardChange | null {
    try {
      this.assertMayChange(peer, board, change, found)
      return change
    } catch {
      if (change.kind !== 'power-limit') return changeBack(change.kind, found)
      const { powerLimitW: ceilingW } = this.ceilingOf(board)
      const tops = this.#rulesFor(peer, board)
        .flatMap(({ powerLimitW }) => powerLimitW ?? [])
        .map(({ min, max }) => ({ min, max: Math.min(max, ceilingW ?? max) }))
        .filter(({ min, max }) => min <= max)
        .map(({ min, max }) => Math.min(Math.max(change.powerLimitW, min), max))
      if (tops.length === 0) return changeBack(change.kind, found)
      return { kind: 'power-limit', powerLimitW: Math.max(...tops) }
    }
  }

  #rulesFor(peer: Peer, board: string, target: string = board): Rule[] {
    const meant = ['*', board, target]
    return this.#rules.filter((each) => isMember(peer, each) && each.boards.some((uuid) => meant.includes(uuid)))
  }
}

function isMember({ uid, groups }: Peer, { uids, gids }: Members): boolean {
  return uids.has(uid) || groups.some((gid) => gids.has(gid))
}

/** Parses JSON. Rejects an object with a duplicate key, because one of its values would be ignored without notice. */
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

/** Returns whether a rule allows a change or, for a setting with a range, the range that the rule allows. */
function allowanceOf(rule: Rule, kind: BoardChange['kind']): Span | boolean | undefined {
  const { computeMode, persistence, powerLimitW, smClockMhz, memClockMhz } = rule
  const clocks = { 'sm-clock': smClockMhz, 'mem-clock': memClockMhz }
  return { 'compute-mode': computeMode, persistence, 'power-limit': powerLimitW, ...clocks }[kind]
}

/** Returns the numbers of a change that must be within a rule's range; null if the change removes a lock. */
function numbersOf(change: BoardChange): number[] | null {
  if (change.kind === 'power-limit') return [change.powerLimitW]
  if (!('range' in change)) return []
  return change.range && [change.range.minMhz, change.range.maxMhz]
}

function allows(rule: Rule, change: BoardChange): boolean {
  const allowed = allowanceOf(rule, change.kind)
  if (typeof allowed !== 'object') return allowed === true
  // Without a lock, the board may run at its maximum clock, so no range allows the removal of a lock. It is allowed
  // only to restore the value that the lease found.
  return numbersOf(change)?.every((each) => each >= allowed.min && each <= allowed.max) ?? false
}

function isAbove(change: BoardChange, { powerLimitW, smClock, memClock }: Ceiling): boolean {
  const max = { 'power-limit': powerLimitW, 'sm-clock': smClock?.maxMhz, 'mem-clock': memClock?.maxMhz }
  const most = change.kind in max ? max[change.kind as keyof typeof max] : null
  return typeof most === 'number' && (numbersOf(change)?.some((each) => each > most) ?? true)
}

function notAllowed({ uid }: Peer, what: string, why: string): PctodlError {
  return new PctodlError(
    'NOT_ALLOWED',
    `user ${uid} may not ${what}: ${why}; ask the operator of this node (the policy of pctodld)`,
  )
}

function policyError(file: string, error: unknown): PctodlError {
  return new PctodlError('POLICY', `${file}: ${reasonOf(error)}; until it is right, nobody may change anything`, {
    cause: error,
  })
}
