import { networkName, networkNames } from '@pctodl/platform'
import { firstSubject, type StorySubject } from '../learn/story.js'
import { firstPlan, type PlanQuestion } from '../plan/plan-question.js'
import { firstServicesQuestion, goals, type ServicesQuestion } from '../plan-services/services-question.js'
import {
  type CapFrom,
  type Disturbance,
  disturbanceKinds,
  firstRun,
  policyNames,
  type RunQuestion,
  WINDOW_S,
} from '../run/run-question.js'
import {
  firstServicesRun,
  type ServicesRunQuestion,
  servicePolicyNames,
} from '../run-services/services-run-question.js'
import { tasks } from '../run-services/task-description.js'
import { servicesOfWord, wordOfServices } from '../services/service-words.js'
import {
  between,
  field,
  isPositive,
  type Kind,
  LARGEST,
  list,
  numberOf,
  oneOf,
  positive,
  someOf,
  text,
  timed,
  type Vocabulary,
  whole,
} from './words.js'

const boards = [...new Set(tasks.map(({ board }) => board))]
/** Only the user's page knows which parameter files are open. */
const board: Kind<string> = {
  expected: `one of ${boards.join(', ')}, or an opened parameter file (.json)`,
  read: (word) => (boards.includes(word) || /.\.json$/i.test(word) ? word : undefined),
  write: String,
}
const network = text('the name of a network')
const shippedNetwork: Kind<string> = {
  expected: `one of ${networkNames.join(', ')}`,
  read: (word) => {
    try {
      return networkName(word)
    } catch {
      return undefined
    }
  },
  write: String,
}
const seed = whole(0, Number.MAX_SAFE_INTEGER)

const networks = list<PlanQuestion['networks'][number]>('networks, as resnet50,vgg19:2 with weights', {
  read: (word) => {
    const [model = '', weightText = '1', ...rest] = word.split(':')
    const weight = numberOf(weightText)
    return model !== '' && rest.length === 0 && isPositive(weight) ? { model, weight } : undefined
  },
  write: ({ model, weight }) => (weight === 1 ? model : `${model}:${weight}`),
  keyOf: ({ model }) => model,
})

/** Highest accepted probability that power exceeds the cap; `mean` requires only that mean power is within the cap. */
const risk: Kind<number | 'mean'> = {
  expected: "a probability from 1e-9 to 0.5, or 'mean'",
  read: (word) => (word === 'mean' ? word : between(1e-9, 0.5).read(word)),
  write: String,
}

const capList = list<CapFrom>('', {
  read: (word) => {
    const entry = timed.read(word)
    const powerCapW = positive.read(entry?.what ?? '')
    return entry && powerCapW !== undefined ? { powerCapW, atS: entry.atS } : undefined
  },
  write: ({ powerCapW, atS }) => timed.write(powerCapW, atS),
})
const caps: Kind<readonly CapFrom[]> = {
  expected: 'caps in W, the later ones with their times, as 200,150@40',
  read: (word) => {
    const read = capList.read(word)
    return read?.every(({ atS }, i) => (i === 0 ? atS === 0 : atS > read[i - 1]!.atS)) ? read : undefined
  },
  write: capList.write,
}

const seconds: Kind<number> = {
  expected: 'seconds from 1 to 3600',
  read: (word) => {
    const read = whole(1, 3600).read(word)
    return read && Math.ceil(read / WINDOW_S) * WINDOW_S
  },
  write: String,
}

function events<What extends string>(kinds: readonly What[]): Kind<readonly { kind: What; atS: number }[]> {
  return list(`what@seconds, of ${kinds.join(', ')}`, {
    read: (word) => {
      const entry = timed.read(word)
      const kind = kinds.find((known) => known === entry?.what)
      return entry && kind ? { kind, atS: entry.atS } : undefined
    },
    write: ({ kind, atS }) => `${kind}@${atS}`,
  })
}

const services = {
  expected: 'services as name:network:rate:p99, each by a name of its own',
  read: servicesOfWord,
  write: wordOfServices,
}

export const planWords: Vocabulary<PlanQuestion> = {
  gpu: field(firstPlan, 'board', board, true),
  model: field(firstPlan, 'networks', networks, true),
  cap: field(firstPlan, 'powerCapW', positive, true),
  margin: field(firstPlan, 'powerMarginW', between(0, LARGEST)),
  step: field(firstPlan, 'sharePercentStep', whole(1, 100)),
  latency: field(firstPlan, 'latencySloMs', positive),
  percentile: field(firstPlan, 'latencyPercentile', oneOf(['mean', 'p99'])),
  risk: field(firstPlan, 'risk', risk),
  tenants: field(firstPlan, 'maxTenants', whole(1, 48)),
  memory: field(firstPlan, 'memClockMhz', positive),
}

export const servicesPlanWords: Vocabulary<ServicesQuestion> = {
  gpu: field(firstServicesQuestion, 'board', board, true),
  services: field(firstServicesQuestion, 'services', services, true),
  cap: field(firstServicesQuestion, 'powerCapW', positive, true),
  objective: field(firstServicesQuestion, 'objective', oneOf(goals)),
  margin: field(firstServicesQuestion, 'powerMarginW', between(0, 1e4)),
  'rate-margin': field(firstServicesQuestion, 'rateMargin', between(1, 10)),
  'latency-margin': field(firstServicesQuestion, 'latencyMargin', between(0, 0.9)),
  burstiness: field(firstServicesQuestion, 'burstiness', between(1, 1000)),
  step: field(firstServicesQuestion, 'sharePercentStep', whole(1, 100)),
  tenants: field(firstServicesQuestion, 'maxTenants', whole(1, 48)),
  memory: field(firstServicesQuestion, 'memClockMhz', positive),
}

export const runWords: Vocabulary<RunQuestion> = {
  gpu: field(firstRun, 'board', board, true),
  model: field(firstRun, 'model', shippedNetwork, true),
  caps: field(firstRun, 'caps', caps, true),
  policies: field(firstRun, 'policies', someOf(policyNames), true),
  seed: field(firstRun, 'seed', seed),
  seconds: field(firstRun, 'durationS', seconds),
  events: field(firstRun, 'disturbances', events(disturbanceKinds)),
}

const servicesEvents = events([...disturbanceKinds, 'burst'])
const ownServices = field(firstServicesRun, 'services', services, true)
const ofOwn = <Key extends keyof ServicesRunQuestion>(
  key: Key,
  kind: Kind<NonNullable<ServicesRunQuestion[Key]>>,
): Vocabulary<ServicesRunQuestion>[string] => {
  const word = field(firstServicesRun, key, kind)
  return { ...word, write: (question) => (question.task === null ? word.write(question) : undefined) }
}

export const servicesRunWords: Vocabulary<ServicesRunQuestion> = {
  gpu: field(firstServicesRun, 'board', board, true),
  services: {
    ...ownServices,
    read: (word) => {
      const read = ownServices.read(word)
      return read && { ...read, task: null }
    },
    write: (question) => (question.task === null ? ownServices.write(question) : undefined),
  },
  // The task comes after the services, so that it wins if an address contains both.
  task: {
    ...field(firstServicesRun, 'task', oneOf([...new Set(tasks.map(({ name }) => name))])),
    write: ({ task }) => task ?? undefined,
  },
  burstiness: ofOwn('burstiness', between(0.01, 100)),
  seconds: ofOwn('durationS', seconds),
  caps: field(firstServicesRun, 'caps', caps),
  policies: field(firstServicesRun, 'policies', someOf(servicePolicyNames), true),
  load: field(firstServicesRun, 'loadFactor', between(0.001, 100)),
  seed: field(firstServicesRun, 'seed', seed),
  events: {
    expected: servicesEvents.expected,
    read: (word) => {
      const read = servicesEvents.read(word)
      return (
        read && {
          disturbances: read.filter((event): event is Disturbance => event.kind !== 'burst'),
          bursts: read.filter(({ kind }) => kind === 'burst').map(({ atS }) => atS),
        }
      )
    },
    write: ({ disturbances, bursts }) =>
      disturbances.length + bursts.length === 0
        ? undefined
        : servicesEvents.write([...disturbances, ...bursts.map((atS) => ({ kind: 'burst' as const, atS }))]),
  },
}

export const learnWords: Vocabulary<StorySubject> = {
  gpu: field(firstSubject, 'board', board, true),
  model: field(firstSubject, 'model', network, true),
}
