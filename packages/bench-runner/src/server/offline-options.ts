import { UsageError } from '@pctodl/command-line'

/** Options of saturated tenants, by their names in camel case: they mean nothing where requests come by themselves. */
const offlineOptions = [
  'startFrom',
  'latencyObjective',
  'powerCap',
  'powerMargin',
  'enableShadow',
  'interleave',
  'datasetPath',
  'worker',
  'set',
  'iterations',
  'repeat',
  'timeout',
  'jobs',
  'slurmElements',
  'slurmGres',
  'slurmPartition',
  'slurmAccount',
  'slurmArgument',
]

/**
 * @param given whether an option stands in the call, by its name in camel case
 * @throws UsageError for the first option that would be left unheeded
 */
export function refuseOfflineOptions(given: (option: string) => boolean): void {
  const stray = offlineOptions.find(given)
  if (stray === undefined) return
  const spelled = stray.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw new UsageError(`--${spelled} has no meaning with --scenario server`)
}
