import { type Clock, InvalidInputError, systemClock } from '@pctodl/platform'
import type { RunSlurm } from './slurm-command.js'
import { SlurmPatience, type SlurmPatienceOptions } from './slurm-patience.js'

/** A node whose Slurm state has changed. */
export interface SlurmNodeChange {
  readonly node: string
  /** Whether Slurm starts jobs on the node. */
  readonly isUsable: boolean
  /**
   * Whether the jobs on the node are lost. On a draining node they are not: they run on until they end or are moved.
   */
  readonly isLost: boolean
  /** Slurm's state, e.g. `idle`, `drained` or `down*`; `removed` if Slurm no longer lists the node. */
  readonly state: string
}

export interface SlurmNodesOptions extends SlurmPatienceOptions {
  readonly nodes: readonly string[]
  /** Time between polls, ms; at least 1. */
  readonly pollMs: number
}

/** Prefixes of the Slurm states in which a node starts no jobs. Its running jobs must be moved, or are lost. */
const UNUSABLE = /^(down|drain|drng|fail|err|unk|inval|maint|reboot)/i

/** Those of these states in which no job runs any more; a `failing` node still has jobs. */
const LOST = /^(down|fail(?!ing|g)|err|unk)/i

/** State of a node that Slurm no longer lists, because it was removed from the cluster or from every partition. */
const REMOVED = 'removed'

/** Watches the nodes of a cluster, and reports nodes that go down, drain or come back. */
export class SlurmNodes {
  readonly #nodes: readonly string[]
  readonly #pollMs: number
  readonly #clock: Clock
  readonly #patience: SlurmPatience
  /** Unusable nodes; the value says whether their jobs are lost. */
  readonly #unusable = new Map<string, boolean>()
  #lookAtMs = Number.NEGATIVE_INFINITY
  #allSeen = false

  /**
   * Assumes that all nodes are usable until the first poll.
   *
   * @throws InvalidInputError
   */
  constructor(options: SlurmNodesOptions) {
    const { nodes, pollMs, clock = systemClock } = options
    // A zero interval would keep the waiting process polling without pause.
    if (!(pollMs >= 1)) throw new InvalidInputError('nodePollMs', pollMs, 'milliseconds of at least 1')
    this.#nodes = nodes
    this.#pollMs = pollMs
    this.#clock = clock
    this.#patience = new SlurmPatience(options)
  }

  /** Time of the next poll on the clock, ms. */
  get lookAtMs(): number {
    return this.#lookAtMs
  }

  /** Whether any node is unusable. Such a node may come back even if no job is running. */
  get anyUnusable(): boolean {
    return this.#unusable.size > 0
  }

  /**
   * Sets the state of a node as an earlier process knew it: whether its jobs are lost, or null if the node is usable.
   */
  assume(node: string, isLost: boolean | null): void {
    if (isLost === null) this.#unusable.delete(node)
    else this.#unusable.set(node, isLost)
  }

  /** Lets the next call of `look` query Slurm, even if it is not due. */
  lookSoon(): void {
    this.#lookAtMs = Number.NEGATIVE_INFINITY
  }

  /**
   * Queries Slurm if a poll is due.
   *
   * @returns changes since the last poll; an empty list if Slurm did not answer (the next poll tries again)
   * @throws InvalidInputError for a node that Slurm has never listed; PctodlError `SLURM` if `sinfo` is missing,
   * `SLURM_UNREACHABLE` if Slurm does not answer for too long
   */
  async look(signal?: AbortSignal): Promise<SlurmNodeChange[]> {
    if (this.#clock.now() < this.#lookAtMs) return []
    this.#lookAtMs = this.#clock.now() + this.#pollMs
    const states = await this.#patience.ask(statesOfNodes, signal)
    if (states === null) return []
    const unknown = this.#nodes.find((node) => !states.has(node))
    if (unknown !== undefined && !this.#allSeen) {
      throw new InvalidInputError('nodes', unknown, 'node names as listed by sinfo --Node')
    }
    this.#allSeen = true
    return this.#nodes.flatMap((node): SlurmNodeChange[] => {
      const state = states.get(node) ?? REMOVED
      const isUsable = state !== REMOVED && !UNUSABLE.test(state)
      const isLost = state === REMOVED || LOST.test(state)
      if (this.#unusable.get(node) === (isUsable ? undefined : isLost)) return []
      if (isUsable) this.#unusable.delete(node)
      else this.#unusable.set(node, isLost)
      return [{ node, isUsable, isLost, state }]
    })
  }
}

/** Slurm's state of each node, by name. */
async function statesOfNodes(run: RunSlurm): Promise<ReadonlyMap<string, string>> {
  const said = await run('sinfo', ['--noheader', '--all', '--Node', '--format=%N %T'])
  return new Map(
    said.split('\n').flatMap((line) => [/^(\S+) +(\S+)/.exec(line)].flatMap((m) => (m ? [[m[1]!, m[2]!]] : []))),
  )
}
