import { type PolicyName, policyNames, type RunQuestion } from './run-question.js'
import type { RunKind } from './run-room-state.js'

const colors = ['--network-1', '--network-4', '--network-5', '--network-7', '--network-3', '--network-2', '--network-6']

export function colorOfPolicy(policy: PolicyName): string {
  return colors[policyNames.indexOf(policy)]!
}

/** Defines how runs of one network, whose processes always have work, are started and shown. */
export const policyRuns: RunKind<RunQuestion> = {
  begin: (worker, question, policy, { pace, ...how }) => worker.call('run', { question, policy, pace }, how),
  capsOf: ({ caps }) => caps,
  settingOf: ({ caps: _, disturbances: __, ...rest }) => rest,
  cleared: (question) => ({ ...question, caps: [{ ...question.caps[0]!, atS: 0 }], disturbances: [] }),
  colorOf: colorOfPolicy,
}
