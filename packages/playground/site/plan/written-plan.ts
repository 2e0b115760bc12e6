import { layoutBudgets, type ServicesQuestion } from '../plan-services/services-question.js'
import { serviceText, usualText } from '../services/service-words.js'
import { type PlanQuestion, SEARCH_EVALUATIONS } from './plan-question.js'
import { shellWord } from './shell-word.js'

export const SERVICES_FILE = 'services.yaml'

/** One option: its command-line flag, its name in the library, its value, and the default value. */
type Option = readonly [flag: string, name: string, value: string | number | null, byDefault?: unknown]

const asked = (options: readonly Option[]) => options.filter(([, , value, byDefault = null]) => value !== byDefault)

const flags = (options: readonly Option[]) =>
  asked(options)
    .map(([flag, , value]) => ` --${flag} ${value}`)
    .join('')

const fields = (options: readonly Option[]) =>
  asked(options)
    .map(([, name, value]) => {
      const literal = typeof value === 'string' ? `'${value}'` : value
      return `  ${name}: ${name === 'memClocksMhz' ? `[${literal}]` : literal},\n`
    })
    .join('')

const limits = (question: PlanQuestion | ServicesQuestion, evaluations: number): readonly Option[] => [
  ['power-margin', 'powerMarginW', question.powerMarginW, 0],
  ['mps-step', 'sharePercentStep', question.sharePercentStep, 5],
  ['max-tenants', 'maxTenants', question.maxTenants],
  ['mem-clock', 'memClocksMhz', question.memClockMhz],
  ['budget-evaluations', 'budgetEvaluations', evaluations],
]

const planOptions = (question: PlanQuestion): readonly Option[] => [
  ['power-cap', 'powerCapW', question.powerCapW],
  ['latency-slo', 'latencySloMs', question.latencySloMs],
  ['latency-percentile', 'latencyPercentile', question.latencyPercentile, 'mean'],
  ['risk', 'capExceedanceProbability', question.risk, 'mean'],
  ...limits(question, SEARCH_EVALUATIONS),
]

const servicesOptions = (question: ServicesQuestion): readonly Option[] => [
  ['power-cap', 'powerCapW', question.powerCapW],
  ['objective', 'objective', question.objective, 'min-power'],
  ['rate-margin', 'rateMargin', question.rateMargin, 1.1],
  ['latency-margin', 'latencyMargin', question.latencyMargin, 0.1],
  ['burstiness', 'burstiness', question.burstiness, 1],
  ...limits(question, layoutBudgets[question.objective]),
]

/** Returns the command that produces the same plan. */
export function planCommand(question: PlanQuestion): string {
  const models = question.networks.map(({ model, weight }) => (weight === 1 ? model : `${model}=${weight}`)).join(',')
  const searched = '--objective throughput'
  return `npx pctodl partition --gpu ${shellWord(question.board)} --model ${shellWord(models)}${flags(planOptions(question))} ${searched}`
}

/** Returns the command that produces the same plan from the services file. */
export function servicesCommand(question: ServicesQuestion): string {
  return `npx pctodl partition --services ${SERVICES_FILE} --gpu ${shellWord(question.board)}${flags(servicesOptions(question))}`
}

/** Returns a program that produces the same plan. */
export function planProgram(question: PlanQuestion): string {
  const demands = question.networks.map(
    ({ model, weight }) => `{ model: ${JSON.stringify(model)}${weight === 1 ? '' : `, weight: ${weight}`} }`,
  )
  return `import { partition } from '@pctodl/greedy-partition'
import { loadPerfModel } from '@pctodl/perf-model'

const plan = partition(loadPerfModel(${JSON.stringify(question.board)}), {
  models: [${demands.join(', ')}],
${fields(planOptions(question))}})
${PRINT}`
}

/** Returns a program that produces the same plan for services. */
export function servicesProgram(question: ServicesQuestion): string {
  const { board, services, objective } = question
  return `import { planServices } from '@pctodl/greedy-partition/services'
import { loadPerfModel } from '@pctodl/perf-model'

${usualText}
const services = [
${services.map((service) => `  ${serviceText(service)},`).join('\n')}
]
const ratesPerS = [${services.map(({ ratePerS }) => ratePerS).join(', ')}]
const plan = planServices(loadPerfModel(${JSON.stringify(board)}), services, ratesPerS, {
${objective === 'min-power' ? "  objective: 'min-power',\n" : ''}${fields(servicesOptions(question))}})
${PRINT}`
}

const PRINT = `if (plan.feasible) console.log(plan.configuration, plan.prediction)
else console.log(plan.message)
`
