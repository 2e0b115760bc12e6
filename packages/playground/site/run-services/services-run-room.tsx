import type { JSX } from 'preact'
import { Copyable } from '../parts/copyable.js'
import { servedFigures } from '../run/lane-table.js'
import { RunsRoom } from '../run/run-room.js'
import { ServicesTable } from '../services/services-table.js'
import { servicesYaml } from '../services/services-yaml.js'
import { ServedNow } from './served-now.js'
import { ServicesRunForm } from './services-run-form.js'
import type { ServicesRunState } from './services-run-state.js'
import { taskOf } from './task-of.js'
import { servicesRunCommand, servicesRunProgram } from './written-services-run.js'

/** The room in which policies serve the same requests, each on its own simulated board. */
export function ServicesRunRoom({ state }: { readonly state: ServicesRunState }): JSX.Element {
  const question = state.question.value
  const task = taskOf(question)
  const isOwn = question.task === null
  const services = isOwn ? question.services : (task?.services ?? [])
  const command = servicesRunCommand(question)
  return (
    <RunsRoom
      state={state}
      form={<ServicesRunForm state={state} />}
      title={`How much power is needed to serve ${services.map(({ name }) => name).join(', ') || question.task} on`}
      subject={question.task ?? 'services'}
      durationS={task?.durationS ?? question.durationS}
      markers={[...question.disturbances.map(({ atS }) => atS), ...question.bursts]}
      figuresOf={servedFigures}
      judged="All policies get the same arrivals. Measurement starts at 10 s, when the processes have loaded. A request that has waited for its whole objective is shed and counts as a miss. The cap holds if the one-second average of true power exceeds it by more than 1 % for at most 2 % of the time."
      more={(lanes) => (
        <>
          <h3>Attainment in the last 5 s, and queues</h3>
          <ServedNow lanes={lanes} services={services} />
        </>
      )}
      takeAlong={
        <>
          {question.disturbances.length + question.bursts.length > 0 && (
            <p class="lead">The command and the program repeat the runs without bursts and disturbances.</p>
          )}
          {command && <Copyable title="As a command" text={command} />}
          {isOwn && <Copyable title="services.yaml" text={servicesYaml(question.services)} />}
          <Copyable title="As a program" text={servicesRunProgram(question)} />
        </>
      }
    >
      {isOwn && (
        <ServicesTable
          services={question.services}
          models={state.known.find(question.board)?.networks ?? []}
          onChange={(changed) => {
            state.question.value = { ...state.question.peek(), services: changed }
          }}
        />
      )}
    </RunsRoom>
  )
}
