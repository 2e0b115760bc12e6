import { type Clock, InvalidInputError, systemClock } from '@pctodl/platform'
import type { RunSlurm } from './slurm-command.js'
import { SlurmPatience, type SlurmPatienceOptions } from './slurm-patience.js'

/** A node of which Slurm says something else than before. */
export interface SlurmNodeChange {
  readonly node: string
  /** Whether Slurm starts jobs there. */
  readonly isUsable: boolean
  /** Whether nothing runs there any more; on one that drains, what runs may go on until it has left. */
  readonly isLost: boolean
  /** Slurm's word for it, as `idle`, `drained` or `down*`; `removed` where Slurm no longer lists it. */
  readonly state: string
}

export interface SlurmNodesOptions extends SlurmPatienceOptions {
  readonly nodes: readonly string[]
  /** Time between looks, at least 1 ms. */
  readonly pollMs: number
}

/** Beginnings of Slurm's words for nodes on which it starts nothing, and what runs there has to leave or has been lost. */
const UNUSABLE = /^(down|drain|drng|fail|err|unk|inval|maint|reboot)/i

/** Of those, the words for nodes on which nothing runs any more; one that is `failing` still has jobs. */
const LOST = /^(down|fail(?!ing|g)|err|unk)/i

/** Our word for a node that Slurm knew and no longer lists: it was taken out of the cluster, or of every partition. */
const REMOVED = 'removed'

/** What becomes of the nodes of a cluster: those that are down, drained or draining, and those that are back. */
export class SlurmNodes {
  readonly #nodes: readonly string[]
  readonly #pollMs: number
  readonly #clock: Clock
  readonly #patience: SlurmPatience
  /** Whether what ran on them is lost. */
  readonly #unusable = new Map<string, boolean>()
  #lookAtMs = Number.NEGATIVE_INFINITY
  #allSeen = false

  /**
   * All are taken as usable until the first look.
   *
   * @throws InvalidInputError
   */
  constructor(options: SlurmNodesOptions) {
    const { nodes, pollMs, clock = systemClock } = options
    // With none between them looks would be all that whoever waits does.
    if (!(pollMs >= 1)) throw new InvalidInputError('nodePollMs', pollMs, 'milliseconds of at least 1')
    this.#nodes = nodes
    this.#pollMs = pollMs
    this.#clock = clock
    this.#patience = new SlurmPatience(options)
  }

  /** When the next look is due, on the clock. */
  get lookAtMs(): number {
    return this.#lookAtMs
  }

  /** Whether Slurm starts nothing on some node, so that something may happen though nothing runs. */
  get anyUnusable(): boolean {
    return this.#unusable.size > 0
  }

  /** What an earlier process knew of a node: whether what ran there is lost, null where it is usable. */
  assume(node: string, isLost: boolean | null): void {
    if (isLost === null) this.#unusable.delete(node)
    else this.#unusable.set(node, isLost)
  }

  /** Look when asked next, due or not. */
  lookSoon(): void {
    this.#lookAtMs = Number.NEGATIVE_INFINITY
  }

  /**
   * Ask Slurm, where a look is due.
   *
   * @returns what has changed since the last look; nothing where Slurm could not be asked, which is tried again at the next
   * @throws InvalidInputError for a node that Slurm has never listed; PctodlError `SLURM` where there is no `sinfo`,
   *   `SLURM_UNREACHABLE` after too long a silence
   */
  async look(signal?: AbortSignal): Promise<SlurmNodeChange[]> {
    if (this.#clock.now() < this.#lookAtMs) return []
    this.#lookAtMs = this.#clock.now() + this.#pollMs
    const states = await this.#patience.ask(statesOfNodes, signal)
    if (states === null) return []
    const unknown = this.#nodes.find((node) => !states.has(node))
    if (unknown !== undefined && !this.#allSeen) {
      throw new InvalidInputError('nodes', unknown, 'names of nodes as sinfo --Node lists them')
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

/** What Slurm says of its nodes, by their names. */
async function statesOfNodes(run: RunSlurm): Promise<ReadonlyMap<string, string>> {
  const said = await run('sinfo', ['--noheader', '--all', '--Node', '--format=%N %T'])
  return new Map(
    said.split('\n').flatMap((line) => [/^(\S+) +(\S+)/.exec(line)].flatMap((m) => (m ? [[m[1]!, m[2]!]] : []))),
  )
}
