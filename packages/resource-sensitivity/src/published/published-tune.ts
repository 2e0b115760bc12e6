import { PctodlError } from '@pctodl/platform'
import type { PublishedJob, Vector } from './published-job.js'
import type { PublishedPlacement } from './published-placement.js'

export interface Progress {
  advance(job: PublishedJob, speedup: number): void
  undo(job: PublishedJob): void
}

/**
 * Upstream's TUNE for one job: its demand, else its fair share, else its fair share after peers gave back what they hold
 * beyond theirs.
 *
 * @throws PctodlError `REFERENCE_ABORTED` where upstream aborts the simulation
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
          `upstream's TUNE cannot place job ${job.job.id} and aborts here; the default mode has no such dead end`,
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
      // GPUs and network are never short, so upstream's test for skipping a peer never holds.
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
