import type { JSX } from 'preact'
import { Copyable } from '../parts/copyable.js'
import { Readings, RunsRoom, saveRecord } from '../run/run-room.js'
import { ServicesTable } from '../services/services-table.js'
import { servicesYaml } from '../services/services-yaml.js'
import { ServedNow, ServedTable } from './served-tables.js'
import { ServicesRunForm } from './services-run-form.js'
import type { ServicesRunState } from './services-run-state.js'
import { taskOf } from './task-of.js'
import { servicesRunCommand, servicesRunProgram } from './written-services-run.js'

/** Policies that serve requests on a simulated board, side by side on the same arrivals. */
export function ServicesRunRoom({ state }: { readonly state: ServicesRunState }): JSX.Element {
  const question = state.question.value
  const tasks = state.tasks.value
  const task = taskOf(question, tasks)
  const board = state.known.find(question.board)
  const services = question.task === null ? question.services : (task?.services ?? [])
  const command = servicesRunCommand(question, tasks)
  const isDisturbed = question.disturbances.length > 0 || question.bursts.length > 0
  return (
    <RunsRoom
      state={state}
      form={<ServicesRunForm state={state} />}
      title={`${question.task ?? 'your own services'}: ${task?.what ?? serviceNames(services)}, on ${board?.name ?? question.board}`}
      readings={
        <>
          {question.task === null && (
            <ServicesTable
              services={question.services}
              models={board?.networks ?? []}
              onChange={(changed) => {
                state.question.value = { ...state.question.peek(), services: changed }
              }}
            />
          )}
          <Readings
            state={state}
            durationS={task?.durationS ?? question.durationS}
            markers={[...question.disturbances.map(({ atS }) => atS), ...question.bursts]}
          >
            {(lanes) => (
              <>
                <h3 class="apart">In time and waiting, of the last 5 s</h3>
                <ServedNow lanes={lanes} services={services} />
                <h3 class="apart">How it came out, when a run is over</h3>
                <ServedTable
                  lanes={lanes}
                  onRecord={(lane) => void saveRecord(state, lane, question.task ?? 'services')}
                />
              </>
            )}
          </Readings>
        </>
      }
      judged="All policies meet the same arrivals. Who has waited as long as his objective leaves, and counts as not in time. Counted from 10 s on, when processes have loaded; the cap holds where the one-second average of the true power is more than 1 % above it for at most 2 % of the time."
    >
      {isDisturbed && (
        <p class="lead">
          Programs and commands know no bursts and do nothing to the board: without them, runs come out as these do.
        </p>
      )}
      {command && <Copyable title="As a command" text={command} />}
      {question.task === null && <Copyable title="services.yaml" text={servicesYaml(question.services)} />}
      <Copyable title="As a program" text={servicesRunProgram(question, tasks)} />
    </RunsRoom>
  )
}

function serviceNames(services: readonly { readonly name: string }[]): string {
  return services.map(({ name }) => name).join(', ')
}
