import type { Story, StoryName, StorySubject } from '../learn/story.js'
import type { SweepPoint } from '../plan/cap-sweep.js'
import type { PlanAnswer } from '../plan/plan-answer.js'
import type { PlanQuestion } from '../plan/plan-question.js'
import type { PlainAnswer, ServicesAnswer } from '../plan-services/services-answer.js'
import type { ServicesQuestion } from '../plan-services/services-question.js'
import type { OpenedRecord } from '../run/read-record.js'
import type { RunFrame, RunOutcome } from '../run/run-frame.js'
import type { PolicyName, RunQuestion } from '../run/run-question.js'
import type { RunControl } from '../run/serve-run.js'
import type { ServicePolicyName, ServicesRunQuestion } from '../run-services/services-run-question.js'
import type { BoardDescription } from './models.js'

/** The calls from the page to its worker. For each, its question, its progress messages and its answer. */
export interface Calls {
  boards: { question: null; progress: never; answer: readonly BoardDescription[] }
  openParameters: { question: { name: string; json: string }; progress: never; answer: BoardDescription }
  plan: { question: PlanQuestion; progress: never; answer: PlanAnswer }
  planServices: { question: ServicesQuestion; progress: never; answer: ServicesAnswer }
  plainServices: { question: ServicesQuestion; progress: never; answer: readonly PlainAnswer[] }
  /** A run has the worker to itself; a later run replaces it. */
  run: {
    question: { question: RunQuestion; policy: PolicyName; pace: number }
    progress: RunFrame
    answer: RunOutcome
  }
  runServices: {
    question: { question: ServicesRunQuestion; policy: ServicePolicyName; pace: number }
    progress: RunFrame
    answer: RunOutcome
  }
  control: { question: RunControl; progress: never; answer: number }
  record: { question: null; progress: never; answer: string }
  openRecord: { question: { name: string; text: string }; progress: never; answer: OpenedRecord }
  story: { question: StorySubject & { name: StoryName }; progress: never; answer: Story }
  sweep: { question: PlanQuestion; progress: SweepPoint; answer: number }
}

export type CallName = keyof Calls

/** A message to the worker. It starts a call, or cancels the call with the same id. */
export type CallMessage =
  | {
      readonly [Name in CallName]: {
        readonly id: number
        readonly call: Name
        readonly question: Calls[Name]['question']
      }
    }[CallName]
  | { readonly id: number; readonly call: 'cancel' }

/** A message from the worker. Messages arrive in order; the last one of a call is an answer or an error. */
export type ReplyMessage =
  | { readonly id: number; readonly kind: 'progress' | 'answer'; readonly value: unknown }
  | { readonly id: number; readonly kind: 'error'; readonly message: string }
