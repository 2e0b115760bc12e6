import { serviceText, usualText } from '../services/service-words.js'
import type { ServicesRunQuestion } from './services-run-question.js'
import { capsOfServices, taskOf } from './task-of.js'

/**
 * Returns the command that repeats the runs; undefined for custom services, caps or bursts, which no command supports.
 */
export function servicesRunCommand(question: ServicesRunQuestion): string | undefined {
  const { board, caps, policies, loadFactor, seed, bursts } = question
  const task = taskOf(question)
  if (!task || caps !== null || bursts.length > 0) return undefined
  return [
    `npx pctodl bench --gpu ${board} --task-id ${task.id} --algorithm ${policies.join(',')}`,
    ...(loadFactor === 1 ? [] : [`--load-factor ${loadFactor}`]),
    ...(seed === 1 ? [] : [`--seed ${seed}`]),
  ].join(' ')
}

/** Returns a program that repeats the runs, without bursts and disturbances. */
export function servicesRunProgram(question: ServicesRunQuestion): string {
  const { board, task, policies, loadFactor, seed } = question
  const options = [
    `boardName: ${JSON.stringify(board)}`,
    `seed: ${seed}`,
    ...(loadFactor === 1 ? [] : [`loadFactor: ${loadFactor}`]),
  ]
  const create = `{ model, loadFactor: ${loadFactor} }`
  const imports = ['createServerPolicy', 'runServerLoad', ...(task === null ? [] : ['serverTasksOf'])]
  return `import { ${imports.join(', ')} } from '@pctodl/bench-runner/server'
import { loadPerfModel } from '@pctodl/perf-model'
${task === null ? "import { poissonArrivals, gammaArrivals } from '@pctodl/traffic'\n".replace(question.burstiness === 1 ? ', gammaArrivals' : 'poissonArrivals, ', '') : ''}
const model = loadPerfModel(${JSON.stringify(board)})
${loadText(question)}
for (const policy of [${policies.map((name) => `'${name}'`).join(', ')}]) {
  const created = createServerPolicy(policy, load, ${create})
  const run = await runServerLoad({ ...load, ${options.join(', ')} }, created)
  console.log(policy, run.objectivesMet, run.capHolds, run.meanPowerW, run.services)
}
`
}

function loadText(question: ServicesRunQuestion): string {
  const caps = capsOfServices(question).map(({ powerCapW, atS }) => `{ atMs: ${1000 * atS}, powerCapW: ${powerCapW} }`)
  const task = taskOf(question)
  if (question.task !== null) {
    const load = `serverTasksOf(${JSON.stringify(question.board)}, [${task?.id ?? ''}])[0]`
    return question.caps === null ? `const load = ${load}` : `const load = { ...${load}, caps: [${caps.join(', ')}] }`
  }
  const { burstiness } = question
  const traffic =
    burstiness === 1
      ? '(ratePerS) => poissonArrivals({ ratePerS })'
      : `(ratePerS) => gammaArrivals({ ratePerS, burstiness: ${burstiness} })`
  const services = question.services.map(
    (service) => `    { meanPerS: ${service.ratePerS}, traffic, service: ${serviceText(service)} },`,
  )
  return `${usualText}
const traffic = ${traffic}
const load = {
  services: [
${services.join('\n')}
  ],
  caps: [${caps.join(', ')}],
  durationS: ${question.durationS},
}`
}
