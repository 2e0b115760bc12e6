/**
 * All policies for tenants that run batch after batch, in the order of tables. A published baseline has up to three
 * forms: without ending, without the mistakes of the Python code; `-tuned`, with all means that pctodl has;
 * `-published`, with the configuration and the mistakes of the Python code.
 */
export const policyNames = [
  'pctodl',
  'plan-limit-step',
  'plan-limit',
  'plan-locked',
  'equal-split-step',
  'equal-split',
  'measured-60s',
  'morak-tuned',
  'batchdvfs-tuned',
  'powercap-tuned',
  'morak',
  'batchdvfs',
  'batchdvfs-original',
  'directcap',
  'powercap',
  'morak-published',
  'batchdvfs-published',
  'directcap-published',
  'reference',
  'static-best',
] as const

export type PolicyName = (typeof policyNames)[number]

/** Policies that need data from a benchmark: tenants to measure, or the simulator's true model. */
const ofBenchmarks = ['measured-60s', 'static-best'] as const

export type ExperimentAlgorithm = Exclude<PolicyName, (typeof ofBenchmarks)[number]>

export const experimentAlgorithms: readonly ExperimentAlgorithm[] = policyNames.filter(
  (name): name is ExperimentAlgorithm => !ofBenchmarks.some((other) => other === name),
)
