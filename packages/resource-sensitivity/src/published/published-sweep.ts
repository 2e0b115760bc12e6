/** One run of upstream's CPU sweep. */
export interface PublishedSweepPoint {
  /** Not always whole: upstream halves without rounding. */
  readonly cpus: number
  readonly iterationS: number
}

/**
 * Upstream's sweep, kept for comparison: halve while the last step changed the epoch by less than 10 %, else step down by
 * one core a GPU. The first run is a warm-up, repeated; a slow one makes the next step small.
 *
 * @param run seconds per iteration with so many cores
 * @returns the calls in their order, the warm-up first
 */
export async function publishedSweep(
  run: (cpus: number) => Promise<number>,
  { maxCpus, gpus, batchPerGpu, samples }: { maxCpus: number; gpus: number; batchPerGpu: number; samples: number },
): Promise<PublishedSweepPoint[]> {
  const iterationsPerEpoch = Math.floor(samples / gpus / batchPerGpu)
  const calls: PublishedSweepPoint[] = []
  let cpus = maxCpus
  let before = 0
  while (cpus >= 1) {
    const iterationS = await run(cpus)
    const epochS = iterationS * iterationsPerEpoch
    if (calls.length === 0) before = epochS
    calls.push({ cpus, iterationS })
    const flat = before <= 0 || (Math.abs(before - epochS) / before) * 100 < 10
    before = epochS
    cpus = calls.length === 1 ? maxCpus : flat ? cpus / 2 : cpus - gpus
  }
  return calls
}
