// A scheduler in a process of its own: `killed-schedule.ts <folder> <iterations>`. It prints what became of every job.
import path from 'node:path'
import { executeSchedule, SlurmScheduleExecutor } from '../src/node.js'
import { cluster, pacedJobs, profiles } from './one-node-schedule.js'

const folder = process.argv[2]!
const jobs = [0, 1, 2].map((id) => ({
  id,
  model: 'modest',
  gpus: 4,
  arrivalS: id,
  iterations: Number(process.argv[3]),
}))
const rules = { cluster, profiles, jobs, policy: 'srtf', mechanism: 'tune', roundS: 2, resizeCostS: 1 } as const
const journal = path.join(folder, 'work', 'journal.jsonl')
const results = await executeSchedule({ ...rules, journal }, new SlurmScheduleExecutor(pacedJobs(folder)))
console.log(JSON.stringify(results))
