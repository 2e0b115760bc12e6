import { totals } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import type { CheckedEngineOptions } from '../engine/scheduling-options.js'
import { GreedyMechanism } from './greedy.js'
import { FairMechanism, type Mechanism } from './mechanism.js'
import { OptimalMechanism } from './optimal.js'
import { Placer } from './placer.js'
import type { ShareRules } from './share-rules.js'
import { TuneMechanism } from './tune.js'

export function createMechanism(options: CheckedEngineOptions, running: RunningJobs, rules: ShareRules): Mechanism {
  const { mechanism, cluster, solver } = options
  switch (mechanism) {
    case 'fair':
      return new FairMechanism(running, rules, new Placer(running, false))
    case 'greedy':
      return new GreedyMechanism(running, rules)
    case 'tune':
      return new TuneMechanism(running, rules, new Placer(running, true))
    case 'optimal':
      return new OptimalMechanism(running, rules, new Placer(running, false), solver!, totals(cluster))
  }
}
