import { type Configuration, type GpuSpec, memoryBandwidth, smsOfShare } from '@pctodl/platform'
import { type BoardPhysics, hostOfBoard } from '../src/index.js'
import { networkWork } from '../src/network-work.js'
import { tenantLoad } from '../src/tenant-load.js'
import { SHELTERED } from '../src/tenant-mix.js'

/**
 * The steady state as its formulas read: every tenant by itself, every operator in turn, plain half steps until nothing
 * moves. Slow and obvious; the solver must agree with it.
 */
export function referenceThroughputs(spec: GpuSpec, { work }: BoardPhysics, configuration: Configuration): number[] {
  const { tenants, smClockMhz, memClockMhz } = configuration
  const host = hostOfBoard(spec)
  const capacity = work.dramEfficiency * memoryBandwidth(spec, memClockMhz)
  const runs = tenants.map(({ model, batchSize, mpsPercent }) => {
    const sms = smsOfShare(spec, mpsPercent)
    const load = tenantLoad(spec, work, host, networkWork(model), batchSize, sms)
    const requested = work.smBandwidthGBs * 1e9 * sms * (smClockMhz / spec.boostClockMhz)
    const times = { device: 1, memory: 1, launch: 1, image: 1, batch: 1 }
    return { load, sms, request: Math.min(requested, capacity), presence: 1, ...times }
  })
  const everybody = runs.reduce((sum, { load }) => sum + load.meanWorkingBytes, 0)
  const reuse = (everybody + runs.reduce((sum, { load }) => sum + load.totalWeightBytes, 0)) / spec.l2Bytes
  const weightsMissed = reuse ** 2 / (1 + reuse ** 2)
  const root4 = (a: number, b: number) => (a ** 4 + b ** 4) ** 0.25
  const share = (part: number, whole: number) => Math.min(1, part / whole)
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  const kernels = ({ load }: (typeof runs)[number], request: number, bandwidth: number, overlap: number) => {
    let device = 0
    let memory = 0
    for (let k = 0; k < load.work.size; k++) {
      const pressure =
        (load.workingBytes[k]! + everybody - load.meanWorkingBytes) / (work.l2CapacityFactor * spec.l2Bytes)
      const weights = k < load.work.computing ? load.weightBytes[k]! : 0
      const missed = (load.bytes[k]! - weights) * (1 - work.l2HitShare / (1 + pressure ** 2)) + weights * weightsMissed
      const dram = missed / bandwidth
      const l2 = load.bytes[k]! / (work.l2BandwidthFactor * request)
      const compute = (load.cycles[k]! * overlap) / (smClockMhz * 1e6)
      device += load.work.occurrences[k]! * (root4(compute, Math.max(dram, l2)) + host.kernelFloorUs * 1e-6)
      memory += load.work.occurrences[k]! * dram
    }
    return { device, memory }
  }
  if (work.neighbourLaw === 'compute') {
    for (const run of runs) {
      const unhindered = kernels(run, run.request, run.request, 1).device
      run.presence = run.load.computingCycles / (smClockMhz * 1e6) / unhindered
    }
  }
  for (let iteration = 0; iteration < 2000; iteration++) {
    const felt = runs.map((run) => share(run.memory, run.batch) ** work.contentionExponent)
    const launching = runs.map((run) => share(run.launch, run.batch))
    const preparing = runs.map((run) => share(run.image, run.batch))
    const resident = runs.map((run) => run.sms * share(run.device, run.batch))
    const present = runs.map((run, i) => run.presence * resident[i]!)
    const overlap = Math.max(1, sum(resident) / spec.smCount)
    let change = 0
    runs.forEach((run, i) => {
      const { load, request } = run
      const others = sum(runs.map((other, j) => (j === i ? 0 : other.request * felt[j]!)))
      const waiting = ((1 + (request / capacity) ** 3) / (1 + ((request + others) / capacity) ** 3)) ** (1 / 3)
      const queued = work.contention === 'queue' ? waiting : 1
      const bandwidth = request * Math.min(queued, capacity / (request + others), 1)
      Object.assign(run, kernels(run, request, bandwidth, overlap))
      const exposure = work.neighbourLaw === 'compute' ? 1 - SHELTERED * run.presence : 1
      run.device *= 1 + work.neighbourCost * exposure * Math.min(1, (sum(present) - present[i]!) / spec.smCount)
      const perLaunch = (1 + sum(launching) - launching[i]!) / host.launchCapacityPerS
      const perImage = (1 + sum(preparing) - preparing[i]!) / host.imageCapacityPerS
      run.launch = load.work.operators * root4(host.launchUs * 1e-6, perLaunch)
      run.image = root4(load.hostS, load.batchSize * perImage)
      const batch = (run.device ** 6 + run.launch ** 6) ** (1 / 6) + run.image
      change = Math.max(change, Math.abs(batch / run.batch - 1))
      run.batch = 0.5 * (run.batch + batch)
    })
    if (change < 1e-13) break
  }
  return runs.map(({ load, batch }) => load.batchSize / batch)
}
