import { type PlanQuestion, SEARCH_EVALUATIONS } from './plan-question.js'

/** The command that gives the same plan. */
export function planCommand(question: PlanQuestion): string {
  const { networks, powerMarginW, sharePercentStep, latencySloMs, latencyPercentile } = question
  const { risk, maxTenants, memClockMhz } = question
  const models = networks.map(({ model, weight }) => (weight === 1 ? model : `${model}=${weight}`)).join(',')
  return [
    'npx pctodl partition',
    `--gpu ${question.board} --model ${models} --power-cap ${question.powerCapW}`,
    ...(powerMarginW === 0 ? [] : [`--power-margin ${powerMarginW}`]),
    ...(sharePercentStep === 5 ? [] : [`--mps-step ${sharePercentStep}`]),
    ...(latencySloMs === null ? [] : [`--latency-slo ${latencySloMs}`]),
    ...(latencyPercentile === 'mean' ? [] : [`--latency-percentile ${latencyPercentile}`]),
    '--objective throughput',
    ...(risk === null ? [] : [`--risk ${risk}`]),
    ...(maxTenants === null ? [] : [`--max-tenants ${maxTenants}`]),
    ...(memClockMhz === null ? [] : [`--mem-clock ${memClockMhz}`]),
    `--budget-evaluations ${SEARCH_EVALUATIONS}`,
  ].join(' ')
}

/** A program that gives the same plan. */
export function planProgram(question: PlanQuestion): string {
  const { networks, powerMarginW, sharePercentStep, latencySloMs, latencyPercentile } = question
  const { risk, maxTenants, memClockMhz } = question
  const demands = networks.map(({ model, weight }) =>
    weight === 1 ? `{ model: '${model}' }` : `{ model: '${model}', weight: ${weight} }`,
  )
  const [first] = networks
  const models = networks.length === 1 && first!.weight === 1 ? `'${first!.model}'` : `[${demands.join(', ')}]`
  const options = [
    `models: ${models}`,
    `powerCapW: ${question.powerCapW}`,
    ...(powerMarginW === 0 ? [] : [`powerMarginW: ${powerMarginW}`]),
    ...(sharePercentStep === 5 ? [] : [`sharePercentStep: ${sharePercentStep}`]),
    ...(latencySloMs === null ? [] : [`latencySloMs: ${latencySloMs}`]),
    ...(latencyPercentile === 'mean' ? [] : [`latencyPercentile: '${latencyPercentile}'`]),
    ...(risk === null ? [] : [`capExceedanceProbability: ${risk}`]),
    ...(maxTenants === null ? [] : [`maxTenants: ${maxTenants}`]),
    ...(memClockMhz === null ? [] : [`memClocksMhz: [${memClockMhz}]`]),
    `budgetEvaluations: ${SEARCH_EVALUATIONS}`,
  ]
  return `import { partition } from '@pctodl/greedy-partition'
import { loadPerfModel } from '@pctodl/perf-model'

const plan = partition(loadPerfModel('${question.board}'), {
${options.map((option) => `  ${option},`).join('\n')}
})
if (plan.feasible) console.log(plan.configuration, plan.prediction)
else console.log(plan.message)
`
}
