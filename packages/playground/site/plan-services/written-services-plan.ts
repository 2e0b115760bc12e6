import { usualService } from '../services/asked-service.js'
import { layoutBudgets, type ServicesQuestion } from './services-question.js'

export const SERVICES_FILE = 'services.yaml'

/** The command that gives the same plan of the file. */
export function servicesCommand(question: ServicesQuestion): string {
  const { board, powerCapW, objective, powerMarginW, rateMargin, latencyMargin, burstiness, sharePercentStep } =
    question
  const { maxTenants, memClockMhz } = question
  return [
    `npx pctodl partition --services ${SERVICES_FILE} --gpu ${board} --power-cap ${powerCapW}`,
    ...(objective === 'min-power' ? [] : [`--objective ${objective}`]),
    ...(powerMarginW === 0 ? [] : [`--power-margin ${powerMarginW}`]),
    ...(rateMargin === 1.1 ? [] : [`--rate-margin ${rateMargin}`]),
    ...(latencyMargin === 0.1 ? [] : [`--latency-margin ${latencyMargin}`]),
    ...(burstiness === 1 ? [] : [`--burstiness ${burstiness}`]),
    ...(sharePercentStep === 5 ? [] : [`--mps-step ${sharePercentStep}`]),
    ...(maxTenants === null ? [] : [`--max-tenants ${maxTenants}`]),
    ...(memClockMhz === null ? [] : [`--mem-clock ${memClockMhz}`]),
    `--budget-evaluations ${layoutBudgets[objective]}`,
  ].join(' ')
}

/** A program that gives the same plan. */
export function servicesProgram(question: ServicesQuestion): string {
  const { board, services, powerCapW, objective, powerMarginW, rateMargin, latencyMargin, burstiness } = question
  const { sharePercentStep, maxTenants, memClockMhz } = question
  const options = [
    `objective: '${objective}'`,
    `powerCapW: ${powerCapW}`,
    ...(powerMarginW === 0 ? [] : [`powerMarginW: ${powerMarginW}`]),
    ...(rateMargin === 1.1 ? [] : [`rateMargin: ${rateMargin}`]),
    ...(latencyMargin === 0.1 ? [] : [`latencyMargin: ${latencyMargin}`]),
    ...(burstiness === 1 ? [] : [`burstiness: ${burstiness}`]),
    ...(sharePercentStep === 5 ? [] : [`sharePercentStep: ${sharePercentStep}`]),
    ...(maxTenants === null ? [] : [`maxTenants: ${maxTenants}`]),
    ...(memClockMhz === null ? [] : [`memClocksMhz: [${memClockMhz}]`]),
    `budgetEvaluations: ${layoutBudgets[objective]}`,
  ]
  const usual = Object.entries(usualService)
    .map(([field, value]) => `${field}: ${value}`)
    .join(', ')
  const list = services.map(({ name, model, p99Ms, ...rest }) => {
    const own = (Object.keys(usualService) as (keyof typeof usualService)[])
      .filter((field) => rest[field] !== usualService[field])
      .map((field) => `, ${field}: ${rest[field]}`)
    return `  { ...usual, name: ${JSON.stringify(name)}, model: ${JSON.stringify(model)}, objective: { p99Ms: ${p99Ms} }${own.join('')} },`
  })
  return `import { planServices } from '@pctodl/greedy-partition/services'
import { loadPerfModel } from '@pctodl/perf-model'

const usual = { ${usual} }
const services = [
${list.join('\n')}
]
const ratesPerS = [${services.map(({ ratePerS }) => ratePerS).join(', ')}]
const plan = planServices(loadPerfModel(${JSON.stringify(board)}), services, ratesPerS, {
${options.map((option) => `  ${option},`).join('\n')}
})
if (plan.feasible) console.log(plan.configuration, plan.prediction)
else console.log(plan.message)
`
}
