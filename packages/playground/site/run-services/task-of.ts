import type { CapFrom } from '../run/run-question.js'
import { type ServicesRunQuestion, USUAL_CAP_W } from './services-run-question.js'
import { type TaskDescription, tasks } from './task-description.js'

/** Returns the task that a question names; undefined for custom services and unknown names. */
export function taskOf({ board, task }: ServicesRunQuestion): TaskDescription | undefined {
  return tasks.find((each) => each.board === board && each.name === task)
}

/** Returns the caps of a question; by default, the caps of its task. */
export function capsOfServices(question: ServicesRunQuestion): readonly CapFrom[] {
  return question.caps ?? taskOf(question)?.caps ?? [{ atS: 0, powerCapW: USUAL_CAP_W }]
}
