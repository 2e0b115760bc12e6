import { createServer } from 'node:http'
import { PctodlError } from '@pctodl/platform'
import { Gauge, Registry } from 'prom-client'
import type { GovernStep, ServiceStep } from './governor.js'

const states = ['serving', 'idle', 'draining', 'gone', 'reset'] as const

export interface MetricsServer {
  show(step: GovernStep): void
  close(): void
}

/**
 * Starts a server with `/metrics` for Prometheus.
 *
 * @throws PctodlError `CANNOT_LISTEN`
 */
export async function startMetricsServer(host: string, port: number): Promise<MetricsServer> {
  const registry = new Registry()
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name: `pctodl_govern_${name}`, help, labelNames, registers: [registry] })
  const clock = gauge('sm_clock_mhz', 'Clock that is held; 0 while the operator decides.')
  const power = gauge('power_watts', 'Power of the board.')
  const busy = gauge('busy_share', 'Share of the time in which the board was busy.')
  const state = gauge('service_state', 'Which state the server of a service is in.', 'service', 'state')
  const of = (name: string, help: string, read: (service: ServiceStep) => number) => {
    const each = gauge(name, help, 'service')
    return (service: ServiceStep) => each.set({ service: service.name }, read(service))
  }
  const ofServices = [
    of('service_requests_per_second', 'Arrivals.', ({ ratePerS }) => ratePerS),
    of('service_late_share', 'Share of the last requests beyond the objective.', ({ lateShare }) => lateShare),
    of('service_queued', 'Requests that wait.', ({ queued }) => queued),
    of('service_requests_total', 'Requests answered since the start.', ({ requests }) => requests),
    of('service_energy_joules_total', 'Energy since the start.', ({ joules }) => joules),
  ]
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end('see /metrics\n')
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new PctodlError('CANNOT_LISTEN', `cannot listen on ${host}:${port}: ${cause.message}`, { cause })),
    )
    server.listen(port, host, resolve)
  })
  return {
    show(step) {
      clock.set(step.smClockMhz ?? 0)
      if (step.powerW !== null) power.set(step.powerW)
      busy.set(step.busyShare)
      for (const service of step.services) {
        for (const set of ofServices) set(service)
        for (const name of states) state.set({ service: service.name, state: name }, name === service.state ? 1 : 0)
      }
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
