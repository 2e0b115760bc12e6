/**
 * Measures the predictor's errors on a network to which it was not fitted. Each network of the shipped boards is
 * removed and added again, from its graph alone and from its graph and ten rows. Truth is the simulator at the clock
 * that really ran, for random configurations of the network, alone or with other tenants of the same network.
 *
 *   pnpm evaluate-new-networks [--rows 6000] [board ...]
 */
import { parseArgs } from 'node:util'
import { calibratedBoards } from '@pctodl/gpu-sim'
import { layerGraph, networkWork } from '@pctodl/model-zoo'
import { addNetwork, loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { freshConfigurations } from './evaluation/fresh-configurations.js'
import { measuredRows } from './evaluation/measured-rows.js'
import { errorText, fits, judged } from './evaluation/prediction-errors.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '6000' } },
})
const boards = positionals.length > 0 ? positionals : calibratedBoards

/** Number of random configurations that are measured for a new network. */
const ROWS = 10

for (const board of boards) {
  const whole = loadPerfModel(board)
  const { parameters, spec } = whole
  const fresh = freshConfigurations(whole, Number(values.rows))
  const table = whole.networks.map((name) => {
    const others = new PerfModel(
      {
        ...parameters,
        networks: parameters.networks.filter((network) => network.name !== name),
        profile: {
          ...parameters.profile,
          networks: parameters.profile.networks.filter((network) => network.name !== name),
        },
      },
      spec,
    )
    const known = Object.fromEntries(others.networks.map((other) => [other, networkWork(layerGraph(other))]))
    const work = networkWork(layerGraph(name))
    const fitting = fresh.filter(
      (wanted) => wanted.tenants.every((tenant) => tenant.model === name) && fits(whole, wanted),
    )
    const design = fitting.slice(0, ROWS)
    const held = fitting.slice(ROWS)
    const errors = (model: PerfModel) => {
      const each = judged(board, model, held)
      const within = each.filter(
        ({ ran, predicted: { throughput, powerW, throughputSd, powerSdW } }) =>
          Math.abs(ran.throughput - throughput) <= 2 * throughputSd! && Math.abs(ran.powerW - powerW) <= 2 * powerSdW!,
      )
      return {
        throughput: errorText(each.map(({ throughput }) => throughput)),
        power: errorText(each.map(({ power }) => power)),
        within: (100 * within.length) / each.length,
      }
    }
    const graph = errors(addNetwork(others, name, work, { known }))
    const ten = errors(addNetwork(others, name, work, { known, rows: measuredRows(board, design) }))
    const own = errors(whole)
    return {
      network: name,
      configurations: held.length,
      'throughput from its graph': graph.throughput,
      power: graph.power,
      'within 2 sd, %': graph.within.toFixed(0),
      'with ten rows': ten.throughput,
      'power ': ten.power,
      'within 2 sd, % ': ten.within.toFixed(0),
      'fitted to it': own.throughput,
      'power  ': own.power,
    }
  })
  console.log(`\n${board}: median / 95th percentile of errors, %`)
  console.table(table)
}
