import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { readOwnFile, trustedPath } from '@pctodl/command-line'
import { type BoardChange, describeChange, type FoundState, systemSearchPath } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import type { Peer } from './peer-credentials.js'

const id = z.int().min(0).max(0xfffffffe)
const name = z.string().regex(/^[a-z_][\w.-]{0,63}$/i, 'a name, or a number')
const watts = z.number().positive().max(100_000)
const mhz = z.int().min(1).max(100_000)

/** Both ends belong to it. */
function span(value: z.ZodNumber) {
  return z.strictObject({ min: value, max: value }).refine(({ min, max }) => min <= max, 'min of at most max')
}

const rule = z
  .strictObject({
    /** Names or numbers; a rule is for whoever is one of the users or in one of the groups. */
    users: z.array(z.union([id, name])).default([]),
    groups: z.array(z.union([id, name])).default([]),
    /** UUIDs of boards, which stand for their MIG instances, too, or of single instances; `*` for all of the node. */
    boards: z
      .array(z.union([z.literal('*'), z.string().regex(/^(GPU|MIG)-[\w-]+$/, 'a UUID (GPU-..., MIG-...), or *')]))
      .min(1),
    /** What may be set; what is not there may not. */
    powerLimitW: span(watts).optional(),
    smClockMhz: span(mhz).optional(),
    memClockMhz: span(mhz).optional(),
    computeMode: z.boolean().default(false),
    persistence: z.boolean().default(false),
    /** Whether an MPS daemon may be had. */
    mps: z.boolean().default(false),
    /** How long a lease may last. Without it, as long as its connection. */
    leaseSeconds: z.int().min(1).max(100_000_000).optional(),
  })
  .refine(({ users, groups }) => users.length + groups.length > 0, 'users or groups: a rule for nobody says nothing')

const policySchema = z.strictObject({ format: z.literal('pctodl-policy'), version: z.literal(1), rules: z.array(rule) })

/** Both ends belong to it. */
export interface Span {
  readonly min: number
  readonly max: number
}

/** One permission: whoever is one of the users, or in one of the groups, may do this on these boards. */
export interface Rule {
  readonly uids: ReadonlySet<number>
  readonly gids: ReadonlySet<number>
  /** UUIDs of boards, which stand for their MIG instances, too, or of single instances; `*` for all of the node. */
  readonly boards: readonly string[]
  /** What may be set; what is not there may not. */
  readonly powerLimitW?: Span | undefined
  readonly smClockMhz?: Span | undefined
  readonly memClockMhz?: Span | undefined
  readonly computeMode: boolean
  readonly persistence: boolean
  /** Whether an MPS daemon may be had. */
  readonly mps: boolean
  /** How long a lease may last; without it, as long as its connection. */
  readonly leaseSeconds?: number | undefined
}

const MOST_POLICY_BYTES = 256 * 1024

/** Who may set what. What no rule allows is forbidden, to root too. */
export class Policy {
  readonly rules: readonly Rule[]

  constructor(rules: readonly Rule[]) {
    this.rules = rules
  }

  /**
   * @param target the board, or a MIG instance of it
   * @throws PctodlError `NOT_ALLOWED` for whom no rule lets lease it
   */
  assertMayLease(peer: Peer, board: string, target: string = board): void {
    if (this.#rulesFor(peer, board, target).length > 0) return
    throw notAllowed(peer, `lease ${target}`, 'no rule is for this user')
  }

  /** Whether there is any rule for somebody. */
  knows({ uid, groups }: Peer): boolean {
    return this.rules.some(({ uids, gids }) => uids.has(uid) || groups.some((gid) => gids.has(gid)))
  }

  /** Why a lease that has lasted for so long ends; null where it goes on. Of several rules the most generous one counts. */
  whyLeaseEnds(peer: Peer, board: string, leasedMs: number, target: string = board): string | null {
    const rules = this.#rulesFor(peer, board, target)
    if (rules.length === 0) return 'the policy has no rule for it any more'
    const longest = Math.max(...rules.map(({ leaseSeconds }) => leaseSeconds ?? Number.POSITIVE_INFINITY))
    return leasedMs < 1000 * longest ? null : `it has lasted ${longest} s, as long as the policy allows`
  }

  /** @throws PctodlError `NOT_ALLOWED` */
  assertMayStartMps(peer: Peer, board: string, target: string = board): void {
    if (!this.#rulesFor(peer, board, target).some(({ mps }) => mps))
      throw notAllowed(peer, `have MPS on ${target}`, 'no rule allows it')
  }

  /**
   * Whether a change is within the rules. Going back to what the lease found always is.
   *
   * @throws PctodlError `NOT_ALLOWED` that says what would be
   */
  assertMayChange(peer: Peer, board: string, change: BoardChange, found: FoundState): void {
    const rules = this.#rulesFor(peer, board)
    if (rules.length > 0 && isBack(change, found)) return
    if (rules.some((each) => allows(each, change))) return
    const spans = rules.map((each) => allowedText(each, change)).filter((text) => text !== null)
    const allowed = spans.length > 0 ? `the policy allows ${spans.join(', or ')}` : 'no rule allows any'
    throw notAllowed(peer, `set ${describeChange(change)} on ${board}`, allowed)
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
 * Read the policy. Whoever can write it can do all that it allows, so it must be in our own hands, like everything that leads to it.
 *
 * @throws PctodlError `POLICY` naming the field, or who has a hand in the file
 */
export function loadPolicy(file: string): Policy {
  let text: string | null
  try {
    trustedPath(path.dirname(path.resolve(file)))
    text = readOwnFile(file, MOST_POLICY_BYTES)
    if (text === null) throw new Error('there is no such file')
  } catch (error) {
    throw policyError(file, error)
  }
  return parsePolicy(text, file)
}

/** @throws PctodlError `POLICY` naming the field */
export function parsePolicy(text: string, file = 'the policy'): Policy {
  try {
    const result = policySchema.safeParse(JSON.parse(text))
    if (!result.success) {
      const { path: at, message } = result.error.issues[0]!
      throw new Error(`${at.join('.') || 'the whole'}: ${message}`)
    }
    return new Policy(
      result.data.rules.map(({ users, groups, ...rest }) => ({
        ...rest,
        uids: new Set(users.map((user) => idOf('passwd', user))),
        gids: new Set(groups.map((group) => idOf('group', group))),
      })),
    )
  } catch (error) {
    throw policyError(file, error)
  }
}

/** A number as it is, a name as the system's databases (files, LDAP, ...) know it. */
function idOf(database: 'passwd' | 'group', wanted: string | number): number {
  if (typeof wanted === 'number') return wanted
  let line: string
  try {
    line = execFileSync('getent', [database, wanted], {
      // Not whatever program of this name somebody's PATH leads to.
      env: { PATH: systemSearchPath },
      encoding: 'utf8',
      timeout: 10_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch (cause) {
    throw new Error(`${database === 'passwd' ? 'users' : 'groups'}: '${wanted}' is not known here`, { cause })
  }
  const found = Number(line.split(':')[2] || Number.NaN)
  if (!Number.isInteger(found)) throw new Error(`${wanted} has no number`)
  return found
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
      // Without a lock the board runs up to its top clock; whether that is allowed, only what the lease found can say.
      return change.range !== null && change.range.minMhz >= allowed.min && change.range.maxMhz <= allowed.max
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

function isBack(change: BoardChange, found: FoundState): boolean {
  switch (change.kind) {
    case 'power-limit':
      return change.powerLimitW === found.powerLimitW
    case 'sm-clock':
    case 'mem-clock': {
      const lock = change.kind === 'sm-clock' ? found.smClockLock : found.memClockLock
      return change.range?.minMhz === lock?.minMhz && change.range?.maxMhz === lock?.maxMhz
    }
    case 'compute-mode':
      return change.mode === found.computeMode
    case 'persistence':
      return change.enabled === found.persistence
  }
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
