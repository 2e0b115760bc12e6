import type { RunKind } from '../run/run-room-state.js'
import { type ServicePolicyName, type ServicesRunQuestion, servicePolicyNames } from './services-run-question.js'
import { capsOfServices } from './task-of.js'

const colors = ['--network-1', '--network-7', '--network-3', '--network-5', '--network-6', '--network-2', '--network-4']

export function colorOfServicePolicy(policy: ServicePolicyName): string {
  return colors[servicePolicyNames.indexOf(policy)]!
}

/** Defines how runs of services are started and shown. */
export const servicesRuns: RunKind<ServicesRunQuestion> = {
  begin: (worker, question, policy, { pace, ...how }) => worker.call('runServices', { question, policy, pace }, how),
  capsOf: capsOfServices,
  settingOf: ({ caps: _, disturbances: __, bursts: ___, ...rest }) => rest,
  cleared: (question) => ({
    ...question,
    caps: question.task === null ? [{ ...capsOfServices(question)[0]!, atS: 0 }] : null,
    disturbances: [],
    bursts: [],
  }),
  colorOf: colorOfServicePolicy,
}
