import { type ServerLoad, serverTasks, type TaskService } from '@pctodl/bench-runner/server'
import { capSchedule, InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { gammaArrivals, poissonArrivals } from '@pctodl/traffic'
import { WINDOW_S } from '../run/run-question.js'
import { serviceOf } from '../services/asked-service.js'
import { type ServicesRunQuestion, USUAL_CAP_W } from './services-run-question.js'

/**
 * Returns the load of a question: services with their traffic, caps and duration. @throws UnknownNameError,
 * InvalidInputError
 */
export function loadOf(question: ServicesRunQuestion): Pick<ServerLoad, 'services' | 'caps' | 'durationS'> {
  const asked =
    question.caps && capSchedule(question.caps.map(({ powerCapW, atS }) => ({ atMs: 1000 * atS, powerCapW })))
  if (question.task !== null) {
    const { services, caps, durationS } = taskNamed(question.board, question.task)
    return { services, caps: asked ?? caps, durationS }
  }
  const { services, burstiness, durationS } = question
  const idle = services.find(({ ratePerS }) => ratePerS === 0)
  if (idle) throw new InvalidInputError(`requests/s of ${idle.name}`, 0, 'a rate above 0: a run needs requests')
  const traffic: TaskService['traffic'] = (ratePerS) =>
    burstiness === 1 ? poissonArrivals({ ratePerS }) : gammaArrivals({ ratePerS, burstiness })
  return {
    services: services.map((service) => ({ service: serviceOf(service), meanPerS: service.ratePerS, traffic })),
    caps: asked ?? [{ atMs: 0, powerCapW: USUAL_CAP_W }],
    durationS: Math.ceil(durationS / WINDOW_S) * WINDOW_S,
  }
}

function taskNamed(board: string, name: string) {
  const tasks = serverTasks.filter((task) => task.board === board)
  const found = tasks.find((task) => task.name === name)
  if (found) return found
  const names = tasks.map((task) => task.name)
  throw new UnknownNameError(`task of services on ${board}`, name, names.length > 0 ? names : ['your own services'])
}
