/**
 * Load against energy, up to the load at which the cap binds: for each service mix and policy the attainment of the worst service,
 * joules for each request in time, and watts, at parts of the saturation load. Arrivals are steady.
 *
 *   npx tsx --conditions=@pctodl/source scripts/load-curve.ts [--gpu A100] [--policies pctodl,fixed-clock,latency-governor] [--seed 1]
 */
import { parseArgs } from 'node:util'
import { modelOf } from '@pctodl/perf-model/node'
import { parseAlgorithms } from '../packages/bench-runner/src/algorithms.js'
import { steadyMix } from '../packages/bench-runner/src/services/most-load.js'
import { runServerLoad } from '../packages/bench-runner/src/services/serve.js'
import { createServerPolicy, type ServerPolicyName } from '../packages/bench-runner/src/services/service-policies.js'
import { serverTasksOf } from '../packages/bench-runner/src/services/service-tasks.js'
import { bestFixedClocks } from '../packages/bench-runner/src/services/services-oracle.js'
import { borne, plannedShares } from '../packages/bench-runner/src/services/share-plans.js'
import { printUsage } from './evaluation/print-usage.js'

const { values } = parseArgs({
  options: {
    gpu: { type: 'string', default: 'A100' },
    policies: { type: 'string', default: 'pctodl,fixed-clock,latency-governor' },
    tasks: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) printUsage(import.meta.filename)
/** Parts of the load that the planned tenants are predicted to bear under the cap. */
const PARTS = [0.25, 0.5, 0.75, 1, 1.25]
const model = modelOf(values.gpu, undefined)
const seed = Number(values.seed)
const ids = values.tasks === '' ? undefined : values.tasks.split(',').map(Number)
const seen = new Set<string>()
for (const task of serverTasksOf(values.gpu, ids)) {
  const mix = { ...task, ...steadyMix(task) }
  const names = mix.services.map(({ service }) => service.name).join('+')
  if (seen.has(names)) continue
  seen.add(names)
  const { powerCapW } = mix.caps[0]!
  const load = {
    services: mix.services.map(({ service }) => service),
    ratesPerS: mix.services.map(({ meanPerS }) => meanPerS),
    powerCapW,
  }
  const { loadFactor: saturation } = borne(model, plannedShares(model, load).tenants, load)
  for (const part of PARTS) {
    const loadFactor = part * saturation
    const cells: string[] = []
    for (const name of parseAlgorithms(values.policies, true)) {
      if (name === 'oracle') continue
      const load = { ...mix, boardName: values.gpu, seed, loadFactor }
      const own = name === 'fixed-clock' ? { fixedClocks: await bestFixedClocks(mix, load, model) } : {}
      const policy = createServerPolicy(name as ServerPolicyName, mix, { model, loadFactor, ...own })
      const run = await runServerLoad(load, policy)
      const worst = Math.min(...run.services.map(({ attainment }) => attainment ?? 0))
      cells.push(
        `${name} ${(100 * worst).toFixed(2)} % ${run.energyPerRequestJ?.toFixed(4) ?? '-'} J ${run.meanPowerW.toFixed(0)} W${run.capHolds ? '' : ' EXCEEDS'}`,
      )
    }
    console.log(`${names} ${powerCapW} W x${loadFactor.toFixed(2)} (${100 * part} %) | ${cells.join(' | ')}`)
  }
}
