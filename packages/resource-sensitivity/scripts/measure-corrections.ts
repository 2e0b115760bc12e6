/**
 * What each correction of the published simulator is worth in mean completion time.
 *
 *   tsx --conditions=@pctodl/source scripts/measure-corrections.ts <folder with model_profiles.json and traces/>
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type PublishedOptions, simulatePublished } from '@pctodl/published/scheduling'
import { type MechanismName, policyNames } from '../src/engine/scheduling-options.js'
import { parseReplayCsv, simulate } from '../src/index.js'
import { parseSynergyTables } from '../src/job-profile.js'

const folder = process.argv[2]
if (folder === undefined) throw new Error('name the folder that has model_profiles.json and traces/')
const profiles = parseSynergyTables(readFileSync(path.join(folder, 'model_profiles.json'), 'utf8'), 3)
const cluster = { servers: [{ count: 4, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }] }
const mean = (values: readonly { readonly completionS: number }[]) =>
  Math.round(values.reduce((sum, { completionS }) => sum + completionS, 0) / values.length)

for (const trace of ['static100', 'dyn40multi']) {
  const jobs = parseReplayCsv(readFileSync(path.join(folder, `traces/${trace}.csv`), 'utf8'))
  const rows = policyNames.flatMap((policy) =>
    (['fair', 'greedy', 'tune'] as const satisfies readonly MechanismName[]).map((mechanism) => {
      const reference = (corrections: NonNullable<PublishedOptions['corrections']>) =>
        mean(
          simulatePublished({ cluster, jobs, profiles, policy, mechanism, static: trace === 'static100', corrections })
            .finished,
        )
      const now = mean(simulate({ cluster, jobs, profiles, policy, mechanism }).jobs)
      const before = reference({})
      return {
        trace,
        policy,
        mechanism,
        'compat, s': before,
        'FTF turned round, s': policy === 'ftf' ? reference({ ftfLargestFirst: true }) : before,
        'default, s': now,
        change: `${((now / before - 1) * 100).toFixed(1)} %`,
      }
    }),
  )
  console.table(rows)
}
