import { PctodlError } from '@pctodl/platform'
import { fairVector, type PublishedJob, type ServerKind, type Vector } from './published-job.js'

/** The servers of the published simulator: their free resources, and the jobs that run on each in this round. */
export class PublishedPlacement {
  readonly fair: Vector
  readonly #kind: ServerKind
  readonly #count: number
  readonly #free: Float64Array
  readonly #residents: PublishedJob[][]
  freeGpus: number

  constructor(kind: ServerKind) {
    this.#kind = kind
    this.#count = kind.count
    this.fair = fairVector(kind)
    this.#free = new Float64Array(kind.count * 5)
    this.#residents = Array.from({ length: kind.count }, () => [])
    this.freeGpus = 0
    this.clear()
  }

  /** Empties all servers. A lease lasts one round, so every round starts this way. */
  clear(): void {
    const { gpus, cpus, memoryGb, storageMBps } = this.#kind
    for (let s = 0; s < this.#count; s++) {
      this.#free.set([gpus, cpus, memoryGb, storageMBps, this.fair[4] * gpus], s * 5)
      this.#residents[s]!.length = 0
    }
    this.freeGpus = this.#kind.count * gpus
  }

  allocatedShare(): { gpu: number; cpu: number; memory: number } {
    const { gpus, cpus, memoryGb } = this.#kind
    let [gpu, cpu, memory] = [0, 0, 0]
    for (let s = 0; s < this.#count; s++) {
      gpu += 1 - this.#free[s * 5]! / gpus
      cpu += 1 - this.#free[s * 5 + 1]! / cpus
      memory += 1 - this.#free[s * 5 + 2]! / memoryGb
    }
    return { gpu: gpu / this.#count, cpu: cpu / this.#count, memory: memory / this.#count }
  }

  /**
   * Places a job and returns true, or returns false and changes nothing. GPUs are tried in the order of their numbers.
   * A GPU is taken if its server has enough free CPU cores, memory, storage and network for one of the job's GPUs. The
   * job may spread over several servers.
   */
  place(job: PublishedJob, vector: Vector): boolean {
    const gpus = job.job.gpus
    const [, cpu, memory, storage, net] = vector.map((component) => component / gpus) as unknown as Vector
    const free = this.#free
    const servers: number[] = []
    const gpusOn: number[] = []
    let missing = gpus
    for (let s = 0; s < this.#count && missing > 0; s++) {
      const at = s * 5
      let taken = 0
      while (
        taken < missing &&
        taken < free[at]! &&
        free[at + 1]! - taken * cpu >= cpu &&
        free[at + 2]! - taken * memory >= memory &&
        free[at + 3]! - taken * storage >= storage &&
        free[at + 4]! >= net
      ) {
        taken++
      }
      if (taken === 0) continue
      servers.push(s)
      gpusOn.push(taken)
      missing -= taken
    }
    if (missing > 0) return false
    job.servers = servers
    job.gpusOn = gpusOn
    this.hold(job, vector)
    return true
  }

  /** Takes `vector` from the servers that the job runs on, in proportion to its GPUs on each. */
  hold(job: PublishedJob, vector: Vector): void {
    job.held = vector
    this.#change(job, -1)
    for (const s of job.servers) this.#residents[s]!.push(job)
  }

  release(job: PublishedJob): void {
    this.#change(job, 1)
    for (const s of job.servers) {
      const residents = this.#residents[s]!
      residents.splice(residents.indexOf(job), 1)
    }
  }

  residents(server: number): readonly PublishedJob[] {
    return this.#residents[server]!
  }

  free(server: number, component: number): number {
    return this.#free[server * 5 + component]!
  }

  /**
   * Servers on which TUNE frees resources for a job, with the number of GPUs to use on each. A job of several GPUs gets
   * the first server with enough free GPUs. Otherwise GPUs are taken from servers in ascending order of free GPUs.
   */
  targets(gpus: number): [server: number, gpus: number][] {
    const all = Array.from({ length: this.#count }, (_, s) => s)
    if (gpus > 1) {
      const whole = all.find((s) => this.free(s, 0) >= gpus)
      if (whole !== undefined) return [[whole, gpus]]
    }
    const targets: [number, number][] = []
    let missing = gpus
    for (const s of all.sort((a, b) => this.free(a, 0) - this.free(b, 0) || a - b)) {
      const taken = Math.min(this.free(s, 0), missing)
      if (taken > 0) targets.push([s, taken])
      missing -= taken
      if (missing === 0) break
    }
    return targets
  }

  #change(job: PublishedJob, sign: 1 | -1): void {
    const gpus = job.job.gpus
    for (let i = 0; i < job.servers.length; i++) {
      const at = job.servers[i]! * 5
      const part = job.gpusOn[i]! / gpus
      this.#free[at]! += sign * job.gpusOn[i]!
      for (let r = 1; r < 4; r++) this.#free[at + r]! += sign * job.held[r]! * part
    }
    this.freeGpus += sign * gpus
  }
}

export interface Progress {
  advance(job: PublishedJob, speedup: number): void
  undo(job: PublishedJob): void
}

/**
 * The Python code's TUNE for one job. It tries to place the job with its demand, then with its fair share of resources.
 * If both fail, it takes back what other jobs have above their fair shares, and tries again.
 *
 * @throws PctodlError `REFERENCE_ABORTED` if the job still cannot be placed; the Python code aborts the simulation then
 */
export function tunePublishedJob(job: PublishedJob, placement: PublishedPlacement, progress: Progress): void {
  let vector = job.demand
  if (!placement.place(job, vector)) {
    const fair = scaled(placement.fair, job.job.gpus)
    if (exceeds(vector, fair)) {
      vector = fair
      job.speedup = 1
    }
    if (!placement.place(job, vector)) {
      shrinkPeers(job, vector, placement, progress)
      if (!placement.place(job, vector)) {
        throw new PctodlError(
          'REFERENCE_ABORTED',
          `the Python code's TUNE cannot place job ${job.job.id} and aborts here; the default mode has no such dead end`,
        )
      }
    }
  }
  progress.advance(job, job.speedup)
}

function shrinkPeers(job: PublishedJob, vector: Vector, placement: PublishedPlacement, progress: Progress): void {
  const gpus = job.job.gpus
  for (const [server, taken] of placement.targets(gpus)) {
    let need = vector.map((component, r) => Math.max(0, (component * taken) / gpus - placement.free(server, r)))
    if (need.every((component) => component === 0)) continue
    const peers = [...placement.residents(server)].sort(
      (a, b) =>
        a.servers.length - b.servers.length ||
        b.held[1] / b.job.gpus - a.held[1] / a.job.gpus ||
        b.held[2] / b.job.gpus - a.held[2] / a.job.gpus,
    )
    const chosen: PublishedJob[] = []
    for (const peer of peers) {
      const gpusHere = peer.gpusOn[peer.servers.indexOf(server)]!
      const rest = need.map((component, r) => {
        const share = (peer.held[r]! * gpusHere) / peer.job.gpus
        return Math.max(0, component - Math.max(0, share - placement.fair[r]! * gpusHere))
      })
      // The Python code would skip a peer that frees only GPUs or network bandwidth, but neither is ever short here.
      chosen.push(peer)
      if (rest.every((component) => component === 0)) break
      need = rest
    }
    for (const peer of chosen) {
      progress.undo(peer)
      placement.release(peer)
      const fair = scaled(placement.fair, peer.job.gpus)
      placement.hold(peer, exceeds(peer.demand, fair) ? fair : peer.demand)
      peer.speedup = 1
      progress.advance(peer, 1)
    }
  }
}

function scaled(vector: Vector, factor: number): Vector {
  return vector.map((component) => component * factor) as unknown as Vector
}

function exceeds(vector: Vector, fair: Vector): boolean {
  return vector.some((component, r) => component > fair[r]!)
}
