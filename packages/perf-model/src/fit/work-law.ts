import { leastSquares, levenbergMarquardt, median } from '@pctodl/numerics'
import { type Configuration, type NetworkWork, smClocksAt } from '@pctodl/platform'
import type { NetworkParameters } from '../parameters.js'
import { PerfModel } from '../perf-model.js'
import type { UncorrectedNetwork } from './free-parameters.js'

/** A network of the model, and its work. */
export interface KnownNetwork {
  readonly name: string
  readonly work: NetworkWork
}

/** Parameters that the law predicts. The corrections are handled separately. */
export type LawParameters = Omit<UncorrectedNetwork, 'name'>

/**
 * Starting costs per unit of work. The law is linear with positive coefficients, so a network with twice the work takes
 * twice the time, traffic and energy.
 */
const start = {
  cyclesPerGflop: 1,
  cyclesPerComputed: 0.02,
  cyclesPerDepthwise: 0.2,
  cyclesPerMoved: 0.05,
  cyclesPerWeight: 0.05,
  serialPerKernel: 1e-3,
  mbPerComputed: 1,
  mbPerWeight: 1,
  mbPerMoved: 1,
  gapMsPerKernel: 0.012,
  launchMsPerKernel: 0.03,
  hostMs: 0.2,
  mjPerGflop: 3,
  mjPerElement: 0.2,
  mjPerWeight: 0.1,
  memoryMjPerElement: 0.08,
}
type Coefficients = Readonly<Record<keyof typeof start, number>>
const names = Object.keys(start) as (keyof typeof start)[]
const startLogs = names.map((name) => Math.log(start[name]))
/** Prior standard deviation of ln(coefficient) about its start: wide, because boards differ a lot. */
const START_SD = 1.5
/** Standard deviation of ln(throughput) about the law, because networks of equal work differ. */
const THROUGHPUT_SD = 0.1
/** Standard deviation of ln(power) about the law. */
const POWER_SD = 0.05
const HUBER = 2
const MAX_ITERATIONS = 25
const SERIAL_PER_SAMPLE = 1e-3

const shares = [10, 30, 100]
const batches = [1, 8, 64, 256]
/** Tenant counts of the sample points; counts whose shares would exceed 100 % are skipped. */
const counts = [1, 3]
const clockParts = [0.25, 0.6, 1]

/**
 * Fit a law that gives a network's parameters (cycles, traffic, energies) from its work. It is fitted to the model's
 * predictions for known networks.
 *
 * @param known at least two networks of the model
 */
export function workLaw(model: PerfModel, known: readonly KnownNetwork[]): (work: NetworkWork) => LawParameters {
  const { parameters, spec } = model
  const own = known.map(({ name, work }) => ({
    parameters: parameters.networks.find((network) => network.name === name)!,
    work,
  }))
  const memory = memoryLaw(own)
  const countedPerElement = median(own.map((each) => each.parameters.countedMbPerSample / elements(each.work)))
  const lawOf = (coefficients: Coefficients) => (work: NetworkWork) => ({
    ...timesAndEnergies(coefficients, work),
    countedMbPerSample: countedPerElement * elements(work),
    ...memory(work),
  })
  const points = known.flatMap(({ name }) => pointsOf(model, name))
  const wanted = points.map((configuration) => model.predict(configuration))
  const residuals = (logs: Float64Array, out: Float64Array) => {
    const law = lawOf(coefficientsOf(logs))
    const networks = own.map(({ parameters: { name, hostSpeed, corrections }, work }) => ({
      ...law(work),
      name,
      hostSpeed,
      corrections,
    }))
    const lawful = new PerfModel({ ...parameters, networks }, spec)
    points.forEach((configuration, i) => {
      const { throughput, powerW } = lawful.predict(configuration)
      out[2 * i] = Math.log(throughput / wanted[i]!.throughput) / THROUGHPUT_SD
      out[2 * i + 1] = Math.log(powerW / wanted[i]!.powerW) / POWER_SD
    })
    startLogs.forEach((log, j) => {
      out[2 * points.length + j] = (logs[j]! - log) / START_SD
    })
  }
  const problem = { parameterCount: names.length, residualCount: 2 * points.length + names.length, residuals }
  const options = { huber: HUBER, maxIterations: MAX_ITERATIONS, costTolerance: 1e-3 }
  return lawOf(coefficientsOf(levenbergMarquardt(problem, Float64Array.from(startLogs), options).parameters))
}

function timesAndEnergies(of: Coefficients, work: NetworkWork) {
  const { denseGflops, depthwiseMelements, computedMelements, movedMelements, weightMelements, kernels } = work
  return {
    computePerSample:
      of.cyclesPerGflop * denseGflops +
      of.cyclesPerComputed * computedMelements +
      of.cyclesPerDepthwise * depthwiseMelements +
      of.cyclesPerMoved * movedMelements,
    computePerBatch: of.cyclesPerWeight * weightMelements,
    serialPerBatch: of.serialPerKernel * kernels,
    serialPerSample: SERIAL_PER_SAMPLE,
    mixedMbPerSample: of.mbPerComputed * computedMelements,
    mixedMbPerBatch: of.mbPerWeight * weightMelements,
    streamMbPerSample: of.mbPerMoved * movedMelements,
    gapMs: of.gapMsPerKernel * kernels,
    launchMs: of.launchMsPerKernel * kernels,
    hostPerSampleMs: of.hostMs,
    coreEnergyMj: of.mjPerGflop * denseGflops + of.mjPerElement * elements(work),
    batchEnergyMj: of.mjPerWeight * weightMelements,
    memoryEnergyMj: of.memoryMjPerElement * elements(work),
  }
}

function coefficientsOf(logs: Float64Array): Coefficients {
  return Object.fromEntries(names.map((name, j) => [name, Math.exp(logs[j]!)])) as Coefficients
}

function elements({ computedMelements, movedMelements }: NetworkWork): number {
  return computedMelements + movedMelements
}

/** Configurations at which the law is fitted to the model. */
function pointsOf(model: PerfModel, name: string): Configuration[] {
  return model.memClocksMhz.flatMap((memClockMhz) => {
    const clocks = smClocksAt(model.spec, memClockMhz)!
    return clockParts.flatMap((part) => {
      const smClockMhz = clocks[Math.round(part * (clocks.length - 1))]!
      return shares.flatMap((mpsPercent) =>
        batches.flatMap((batchSize) =>
          counts
            .filter((count) => count * mpsPercent <= 100)
            .map((count) => ({
              tenants: Array.from({ length: count }, () => ({ model: name, mpsPercent, batchSize })),
              smClockMhz,
              memClockMhz,
            })),
        ),
      )
    })
  })
}

/**
 * Law of a process's memory: a base that grows linearly with the weights, and for each sample of the batch a multiple
 * of the peak of the activations.
 */
function memoryLaw(own: readonly { readonly parameters: NetworkParameters; readonly work: NetworkWork }[]) {
  const base = leastSquares(
    own.map(({ work }) => [1, work.weightMelements]),
    own.map(({ parameters }) => parameters.memoryBaseMib),
  )
  const perSample = median(own.map(({ parameters, work }) => parameters.memoryPerSampleMib / work.peakMelements))
  return ({ weightMelements, peakMelements }: NetworkWork) => ({
    memoryBaseMib: Math.max(0, base[0]! + base[1]! * weightMelements),
    memoryPerSampleMib: perSample * peakMelements,
  })
}
