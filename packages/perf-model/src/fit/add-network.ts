import { levenbergMarquardt, mean, sampleVariance } from '@pctodl/numerics'
import {
  assertKnownOptions,
  InvalidInputError,
  type NetworkWork,
  type TraceRow,
  UnknownNameError,
} from '@pctodl/platform'
import { CORRECTION_NODES, HOST_NODES } from '../correction-grid.js'
import { each, type FieldCheck, numberThat } from '../field-checks.js'
import {
  type FittedProfile,
  type NetworkCorrection,
  type NetworkParameters,
  nonNegative,
  positive,
} from '../parameters.js'
import { assertModel, PerfModel } from '../perf-model.js'
import { uncorrectedSd } from './fit-corrections.js'
import { powerParameters, throughputParameters } from './free-parameters.js'
import { ModelObjective, type StageResiduals } from './model-objective.js'
import { powerResiduals, throughputResiduals } from './stage-residuals.js'
import { type TraceTable, traceTable } from './trace-table.js'
import { type KnownNetwork, workLaw } from './work-law.js'

export interface AddNetworkOptions {
  /**
   * Work of at least three networks of the model, by name. The estimate improves with the number and diversity of these
   * networks.
   */
  readonly known: Readonly<Record<string, NetworkWork>>
  /**
   * Measured rows of the new network on this board, alone or with co-runners. Optional, but ten rows reduce the errors
   * a lot.
   */
  readonly rows?: readonly TraceRow[]
}

const MIN_KNOWN = 3
/** Largest share of unknown elements for which a graph is accepted without rows. */
const MAX_UNKNOWN = 0.5
const HUBER = 2
const MAX_ITERATIONS = 15
/** Prior standard deviation of the logarithm of a network's parameters about the work law. */
const LAW_SD = 0.4
/** Exceptions to `LAW_SD`, by parameter. */
const lawSds: Readonly<Record<string, number>> = { launchMs: 0.05, hostPerSampleMs: 0.1, gapMs: 0.2 }
/** Prior standard deviation of the other networks' parameters, small enough to keep them practically fixed. */
const HELD_SD = 1e-4

const workChecks: Readonly<Record<string, FieldCheck>> = {
  ...each(nonNegative, 'denseGflops', 'depthwiseMelements', 'computedMelements', 'weightMelements'),
  ...each(positive, 'movedMelements', 'kernels', 'peakMelements'),
}
const unknownPart = numberThat('a number from 0 to 1', (value) => value >= 0 && value <= 1)

/**
 * Add one network to a model, from its work and any number of measured rows. `networkWork` of `@pctodl/model-zoo` gives
 * the work of any ONNX file. The board's cost per unit of work is learnt from the networks that the model knows. The
 * rows then refine the new network's parameters (maximum a posteriori under a normal prior). Its corrections are the
 * mean of the known networks' corrections. The remaining uncertainty appears in the predictions' standard deviations
 * and in their `distance`. A search uses the network only if `maxDistance` permits that distance. The given model is
 * not changed.
 *
 * @param name name of the network for tenants, not yet in the model
 * @throws InvalidInputError for a name that the model already has, invalid work, work that is more than half unknown
 * (without rows), fewer than three known networks, or rows without any usable row or without the new network
 * @throws UnknownNameError for a known network, or a network in the rows, that the model does not have
 */
export function addNetwork(model: PerfModel, name: string, work: NetworkWork, options: AddNetworkOptions): PerfModel {
  assertKnownOptions('options', options, ['known', 'rows'])
  assertModel(model)
  const { known, rows = [] } = options
  if (!Array.isArray(rows)) throw new InvalidInputError('rows', rows, 'a list of trace rows')
  const { parameters, spec } = model
  if (typeof name !== 'string' || name.trim() === '') throw new InvalidInputError('name', name, 'the name of a network')
  if (model.networks.includes(name)) {
    throw new InvalidInputError(
      'name',
      name,
      `none of those that the model knows (refit takes their rows): ${model.networks.join(', ')}`,
    )
  }
  assertWork('work', work)
  const { unknownShare = 0 } = work
  if (unknownShare > MAX_UNKNOWN && rows.length === 0) {
    const expected = `at most ${MAX_UNKNOWN}, or measured rows: the graph hides what its unknown operators do`
    throw new InvalidInputError('work.unknownShare', unknownShare, expected)
  }
  const teachers = knownNetworks(model, known)
  const { memClocksMhz } = model
  const table: TraceTable =
    rows.length === 0
      ? { networkNames: [name], memClocksMhz, kinds: [], rows: [], failedRows: 0 }
      : traceTable(rows, spec, { memClocksMhz })
  if (!table.networkNames.includes(name)) {
    throw new InvalidInputError('rows', rows.length, `at least one that did not fail with a tenant of ${name}`)
  }
  const others = teachers.map((teacher) => parameters.networks.find((network) => network.name === teacher.name)!)
  const network: NetworkParameters = {
    ...workLaw(model, teachers)(work),
    name,
    hostSpeed: meanGrid(
      others.map(({ hostSpeed }) => hostSpeed),
      HOST_NODES,
    ),
    corrections: model.memClocksMhz.map((memClockMhz) => meanCorrection(others, memClockMhz)),
  }
  assertWithinReach(network)
  // Assume that the unknown operators may cost as much as their share of the elements.
  const unseenSd = rows.length === 0 ? -Math.log(1 - unknownShare) : 0
  learn(model, table, network, unseenSd)
  return new PerfModel(
    {
      ...parameters,
      networks: [...parameters.networks, network],
      profile: {
        ...parameters.profile,
        networks: [...parameters.profile.networks, rangesOf(name, parameters.profile)],
      },
    },
    spec,
  )
}

/**
 * Fit a network's parameters to the rows, with the work law as prior, and write the remaining uncertainty into the
 * network's corrections.
 */
function learn(model: PerfModel, table: TraceTable, network: NetworkParameters, unseenSd: number): void {
  const { parameters, spec } = model
  const networks = table.networkNames.map((name) => {
    if (name === network.name) return network
    const found = parameters.networks.find((other) => other.name === name)
    if (found === undefined) throw new UnknownNameError('network', name, [...model.networks, network.name])
    return { ...found }
  })
  const index = networks.indexOf(network)
  const board = structuredClone(parameters.boardParameters)
  for (const quantity of ['speed', 'power'] as const) {
    const speed = quantity === 'speed'
    const free = { board: [], network: (speed ? throughputParameters : powerParameters).network }
    const residuals: StageResiduals = speed ? throughputResiduals : powerResiduals
    const objective = new ModelObjective(
      spec,
      table,
      table.rows,
      board,
      networks,
      free,
      residuals,
      ({ network: of, key }) => 1 / (of === index ? (lawSds[key] ?? LAW_SD) : HELD_SD),
      Number.POSITIVE_INFINITY,
    )
    const limits = { lower: objective.lower(), upper: objective.upper() }
    const options = { ...limits, huber: HUBER, maxIterations: MAX_ITERATIONS, costTolerance: 1e-4 }
    const result = levenbergMarquardt(objective, objective.pack(), options)
    objective.settle(result.parameters)
    const knownSd = uncorrectedSd(quantity, table.rows.filter((row) => row.networks.includes(index)).length)
    // At least the uncertainty of the fitted networks at their own rows.
    const { unknownSd } = parameters.profile
    const fittedSd = speed ? unknownSd.throughput : unknownSd.power
    for (const correction of network.corrections) {
      const sds = speed ? correction.speedSd : correction.powerSd
      sds.forEach((scatter, i) => {
        sds[i] = Number(Math.hypot(fittedSd, scatter, knownSd, unseenSd).toPrecision(4))
      })
    }
  }
}

function knownNetworks(model: PerfModel, known: Readonly<Record<string, NetworkWork>>): KnownNetwork[] {
  if (typeof known !== 'object' || known === null) throw new InvalidInputError('known', known, 'works by network')
  const list = Object.entries(known).map(([name, work]) => {
    if (!model.networks.includes(name)) throw new UnknownNameError('known network', name, model.networks)
    assertWork(`known.${name}`, work)
    return { name, work }
  })
  if (list.length >= MIN_KNOWN) return list
  throw new InvalidInputError(
    'known',
    Object.keys(known).join(', '),
    `the works of at least ${MIN_KNOWN} of ${model.networks.join(', ')}`,
  )
}

function assertWork(field: string, work: NetworkWork): void {
  if (typeof work !== 'object' || work === null) {
    throw new InvalidInputError(field, work, 'what networkWork of @pctodl/model-zoo gives')
  }
  for (const [name, check] of Object.entries(workChecks)) check(work[name as keyof NetworkWork], `${field}.${name}`)
  unknownPart(work.unknownShare ?? 0, `${field}.unknownShare`)
}

/**
 * @throws InvalidInputError if the work requires a parameter beyond its bound, where predictions would stop growing
 * with the work
 */
function assertWithinReach(network: NetworkParameters): void {
  for (const { key, upper } of [...throughputParameters.network, ...powerParameters.network]) {
    if (network[key] <= upper) continue
    const found = `${key} of ${network[key].toPrecision(3)}`
    throw new InvalidInputError('work', found, `work of one sample that a board can do: at most ${upper}`)
  }
}

/** Mean of the networks' corrections. The scatter between networks becomes the standard deviations. */
function meanCorrection(networks: readonly NetworkParameters[], memClockMhz: number): NetworkCorrection {
  const found = networks.flatMap(({ corrections }) => corrections.filter((entry) => entry.memClockMhz === memClockMhz))
  const speeds = found.map(({ speed }) => speed)
  const powers = found.map(({ dynamicPower }) => dynamicPower)
  return {
    memClockMhz,
    speed: meanGrid(speeds, CORRECTION_NODES),
    dynamicPower: meanGrid(powers, CORRECTION_NODES),
    speedSd: scatterOf(speeds),
    powerSd: scatterOf(powers),
  }
}

/** Mean of the grids, value by value. Empty (no correction) if all grids are empty. */
function meanGrid(grids: readonly (readonly number[])[], nodes: number): number[] {
  if (grids.every((grid) => grid.length === 0)) return []
  return Array.from({ length: nodes }, (_, i) => Number(mean(grids.map((grid) => grid[i] ?? 0)).toFixed(5)))
}

/** Standard deviation of the grids, value by value. */
function scatterOf(grids: readonly (readonly number[])[]): number[] {
  return Array.from({ length: CORRECTION_NODES }, (_, i) => {
    const values = grids.map((grid) => grid[i] ?? 0)
    return values.length < 2 ? 0 : Math.sqrt(sampleVariance(values))
  })
}

/** Profile of the new network: its ranges are the union of the fitted networks' ranges. */
function rangesOf(name: string, { networks }: FittedProfile): FittedProfile['networks'][number] {
  const widest = (of: 'mpsPercent' | 'batchSize' | 'tenants'): [number, number] => [
    Math.min(...networks.map((network) => network[of][0])),
    Math.max(...networks.map((network) => network[of][1])),
  ]
  return { name, mpsPercent: widest('mpsPercent'), batchSize: widest('batchSize'), tenants: widest('tenants') }
}
