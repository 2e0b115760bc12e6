import { FairMechanism } from './fair-mechanism.js'
import { GreedyMechanism } from './greedy-mechanism.js'
import { totals } from './job-table.js'
import type { Mechanism } from './mechanism.js'
import { OptimalMechanism } from './optimal-mechanism.js'
import { Placer } from './placer.js'
import type { RunningJobs } from './running-jobs.js'
import type { CheckedEngineOptions } from './scheduling-options.js'
import type { ShareRules } from './share-rules.js'
import { TuneMechanism } from './tune-mechanism.js'

export function createMechanism(options: CheckedEngineOptions, running: RunningJobs, rules: ShareRules): Mechanism {
  const { profiles, mechanism, cluster, weight, solver } = options
  switch (mechanism) {
    case 'fair':
      return new FairMechanism(running, new Placer(running, profiles, false), rules)
    case 'greedy':
      return new GreedyMechanism(running, profiles, rules)
    case 'tune':
      return new TuneMechanism(running, new Placer(running, profiles, true), rules, weight)
    case 'optimal':
      return new OptimalMechanism(
        running,
        new Placer(running, profiles, false),
        rules,
        solver!,
        weight,
        totals(cluster),
      )
  }
}
