import { type LinearConstraint, loadSolver, type Term, type Variable } from '@pctodl/numerics/programs'
import { parseSynergyTables } from '../src/job-profile.js'
import { allocationOptions } from '../src/mechanisms/allocation.js'
import { placementInstance } from '../test/placement-instances.js'
import { published } from '../test/published-files.js'

// The largest sums of throughputs that any seating could reach, by integer programs: placement-optima.ts <from> <to> [maxIterations].
// Prints `"seed": sum` for each instance of test/placement-instances.ts; where the work ran out, the bound, which no seating exceeds.

const [from = 1, to = 40, maxIterations = 100_000] = process.argv.slice(2).map(Number)
const tables = parseSynergyTables(published('model_profiles.json'), 3)
const solver = await loadSolver()
for (let seed = from; seed <= to; seed++) {
  const { cluster, jobs, profiles } = placementInstance(seed, tables)
  const [server] = cluster.servers
  const fair = { cpus: server!.cpus / server!.gpus, memoryGb: server!.memoryGb / server!.gpus }
  const classes = new Map<string, { model: string; gpus: number; count: number; places: Term[] }>()
  for (const { model, gpus } of jobs) {
    const known = classes.get(`${model} ${gpus}`)
    if (known) known.count++
    else classes.set(`${model} ${gpus}`, { model, gpus, count: 1, places: [] })
  }
  // How many jobs of each class take each option on each server; every job is whole on one.
  const variables: Variable[] = []
  const constraints: LinearConstraint[] = []
  for (let s = 0; s < server!.count; s++) {
    const [cpu, memory, gpu]: [Term[], Term[], Term[]] = [[], [], []]
    for (const { model, gpus, count, places } of classes.values()) {
      const profile = profiles.find((each) => each.model === model)!
      for (const { cpus, memoryGb, throughput } of allocationOptions(profile, fair).options) {
        const place = variables.length
        variables.push({ objective: throughput, atMost: Math.min(count, Math.floor(server!.gpus / gpus)), whole: true })
        cpu.push([place, cpus * gpus])
        memory.push([place, memoryGb * gpus])
        gpu.push([place, gpus])
        places.push([place, 1])
      }
    }
    constraints.push(
      { terms: cpu, atMost: server!.cpus },
      { terms: memory, atMost: server!.memoryGb },
      { terms: gpu, atMost: server!.gpus },
    )
  }
  for (const { count, places } of classes.values()) constraints.push({ terms: places, atLeast: count, atMost: count })
  const answer = solver.solve({ sense: 'maximize', variables, constraints }, { maxIterations })
  const isBound = answer.status !== 'optimal'
  console.log(`"${seed}": ${isBound ? answer.bound : answer.objective},${isBound ? ' // bound' : ''}`)
}
