import type { Service } from '@pctodl/platform'
import type { SampleObservation } from '@pctodl/scheduler'

/** A service with so many of its largest batches in the queue gets all there is, at once. */
const LONG_QUEUE = 2

/** Whether requests of any service have piled up, whatever its latency and the board's utilisation say. */
export function anyQueueIsLong(
  services: readonly Service[],
  readings: NonNullable<SampleObservation['services']>,
): boolean {
  return readings.some(({ service: name, queued }) => {
    const service = services.find((candidate) => candidate.name === name)
    return service !== undefined && queued > LONG_QUEUE * service.maxBatchSize
  })
}
