import { PageServer } from '@pctodl/nvml-control'
import { Gauge, Registry } from 'prom-client'
import type { GovernStep, ServiceStep } from './governor.js'
import { endpointStates } from './metrics/service-sample.js'

type Label = 'service' | 'state'
type Sample = readonly [Partial<Record<Label, string>>, number | null]

/** Serves `/metrics` for Prometheus. `last` returns null before the first step. @throws PctodlError `CANNOT_LISTEN` */
export function startMetricsServer(host: string, port: number, last: () => GovernStep | null): Promise<PageServer> {
  const registry = new Registry()
  const gauge = (name: string, help: string, samplesOf: (step: GovernStep) => readonly Sample[]) =>
    new Gauge<Label>({
      name: `pctodl_govern_${name}`,
      help,
      labelNames: ['service', 'state'],
      registers: [registry],
      collect() {
        const step = last()
        this.reset()
        for (const [labels, value] of step === null ? [] : samplesOf(step)) if (value !== null) this.set(labels, value)
      },
    })
  const ofServices = (name: string, help: string, of: (service: ServiceStep) => number) =>
    gauge(name, help, ({ services }) => services.map((service) => [{ service: service.name }, of(service)]))
  gauge('sm_clock_mhz', 'Clock that is held; 0 while the operator decides.', (step) => [[{}, step.smClockMhz ?? 0]])
  gauge('power_watts', 'Power of the board.', (step) => [[{}, step.powerW]])
  gauge('busy_share', 'Share of the time in which the board was busy.', (step) => [[{}, step.busyShare]])
  gauge('service_state', 'Which state the server of a service is in.', ({ services }) =>
    services.flatMap(({ name, state }) =>
      endpointStates.map((each): Sample => [{ service: name, state: each }, each === state ? 1 : 0]),
    ),
  )
  ofServices('service_requests_per_second', 'Arrivals.', ({ ratePerS }) => ratePerS)
  ofServices('service_late_share', 'Share of the last requests beyond the objective.', ({ lateShare }) => lateShare)
  ofServices('service_queued', 'Requests that wait.', ({ queued }) => queued)
  ofServices('service_requests_total', 'Requests answered since the start.', ({ requests }) => requests)
  ofServices('service_energy_joules_total', 'Energy since the start.', ({ joules }) => joules)
  return PageServer.start({ host, port }, { '/metrics': async () => ({ text: await registry.metrics() }) })
}
