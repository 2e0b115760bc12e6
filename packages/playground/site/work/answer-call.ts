import { tellStory } from '../learn/stories.js'
import { sweepCaps, sweepPoint } from '../plan/cap-sweep.js'
import { answerPlan } from '../plan/plan-answer.js'
import { answerServices, plainServices } from '../plan-services/services-answer.js'
import { readRecord } from '../run/read-record.js'
import { controlRun, recordOfRun, serveRun } from '../run/serve-run.js'
import { SimulatedRun } from '../run/simulated-run.js'
import { ServedRun } from '../run-services/served-run.js'
import type { CallName, Calls } from './calls.js'
import { describeBoard, modelNamed, openModel, shippedBoards } from './models.js'
import { nextTurn } from './next-turn.js'

/** Lets a running call check for cancellation and report progress. */
export interface Working<Name extends CallName> {
  readonly signal: AbortSignal
  progress(value: Calls[Name]['progress']): void
}

type Answerer = {
  readonly [Name in CallName]: (
    question: Calls[Name]['question'],
    working: Working<Name>,
  ) => Calls[Name]['answer'] | Promise<Calls[Name]['answer']>
}

/** State of the worker. */
export const answers: Answerer = {
  boards: () => shippedBoards.map((board) => describeBoard(board, modelNamed(board))),
  openParameters: ({ name, json }) => describeBoard(name, openModel(name, json)),
  plan: (question) => answerPlan(modelNamed(question.board), question),
  planServices: (question) => answerServices(modelNamed(question.board), question),
  plainServices: (question) => plainServices(modelNamed(question.board), question),
  story: tellStory,
  run: ({ question, policy, pace }, working) =>
    serveRun(new SimulatedRun(question, policy, modelNamed(question.board)), pace, working),
  runServices: ({ question, policy, pace }, working) =>
    serveRun(new ServedRun(question, policy, modelNamed(question.board)), pace, working),
  control: controlRun,
  record: recordOfRun,
  openRecord: ({ name, text }) => readRecord(name, text),
  async sweep(question, { signal, progress }) {
    const model = modelNamed(question.board)
    const caps = sweepCaps(model, question)
    for (const powerCapW of caps) {
      await nextTurn()
      signal.throwIfAborted()
      const point = sweepPoint(model, question, powerCapW)
      if (point) progress(point)
    }
    return caps.length
  },
}
