import type { TextOutput } from '@pctodl/command-line'
import type { RateValidity } from '@pctodl/platform'
import type { RunEvent, WindowObservation } from '@pctodl/scheduler'

const BAR = 30
const MAX_TENANTS = 24

/**
 * Shows a run while it runs: power and cap, clocks, and the throughput of each tenant. On a terminal the view is
 * redrawn; otherwise it prints a line for each window and each change of tenants or cap.
 */
export class LiveView {
  readonly #output: TextOutput
  readonly #durationMs: number
  #lines = 0
  #window: WindowObservation | undefined
  #note = ''
  #drawnMs = Number.NEGATIVE_INFINITY

  constructor(output: TextOutput, durationMs: number) {
    this.#output = output
    this.#durationMs = durationMs
  }

  show(event: RunEvent): void {
    const time = `${(event.timeMs / 1000).toFixed(0).padStart(5)} s  `
    if (event.type === 'window') {
      this.#window = event.window
      this.#line(`${time}${windowLine(event.window)}`)
    } else if (event.type === 'cap') this.#say(`${time}cap ${event.powerCapW} W`)
    else if (event.type === 'action' && (event.action.tenants || event.action.memClockMhz)) {
      this.#say(`${time}${event.action.reason ?? 'new tenants'}`)
    } else if (event.type === 'decision' && event.decision.kind !== 'clock-status') {
      this.#say(`${time}${event.decision.kind}: ${event.decision.reason}`)
    } else if (event.type === 'refused') this.#say(`${time}refused: ${event.message}`)
    else if (event.type === 'tenant' && event.state === 'failed') this.#say(`${time}tenant failed: ${event.failure}`)
    else if (event.type === 'sample' && this.#output.isTTY && event.timeMs - this.#drawnMs >= 200) this.#draw(event)
  }

  /** Ends redrawing, so that later output does not overwrite the view. */
  end(): void {
    this.#lines = 0
  }

  #say(text: string): void {
    this.#note = text
    this.#line(text)
  }

  #line(text: string): void {
    if (!this.#output.isTTY) this.#output.write(`${text}\n`)
  }

  #draw({ timeMs, telemetry, powerCapW }: Extract<RunEvent, { readonly type: 'sample' }>): void {
    this.#drawnMs = timeMs
    const powerW = telemetry.powerAverageW
    const share = powerW === null ? 0 : Math.min(1.1, powerW / powerCapW)
    const filled = Math.round(share * BAR)
    const bar = `${'#'.repeat(Math.min(BAR, filled))}${filled > BAR ? '!' : ''}`.padEnd(BAR + 1, '.')
    const tenants = this.#window?.tenants ?? []
    const rows = [
      `${(timeMs / 1000).toFixed(1)} of ${(this.#durationMs / 1000).toFixed(0)} s`,
      `power  [${bar}] ${powerW === null ? 'not read' : `${powerW.toFixed(1)} W`} of ${powerCapW} W`,
      `clocks ${telemetry.smClockMhz ?? '?'} MHz SM, ${telemetry.memClockMhz ?? '?'} MHz memory, ${telemetry.temperatureC ?? '?'} C`,
      `total  ${this.#window ? rateText(this.#window.throughput, this.#window.validity) : 'no window yet'}`,
      ...tenants
        .slice(0, MAX_TENANTS)
        .map(
          ({ tenant, throughput, validity, failure }) =>
            `  ${tenant.model} ${tenant.mpsPercent} % batch ${tenant.batchSize}: ${failure ?? rateText(throughput, validity)}`,
        ),
      ...(tenants.length > MAX_TENANTS ? [`  and ${tenants.length - MAX_TENANTS} more`] : []),
      this.#note,
    ]
    const width = Math.max(20, (this.#output.columns ?? 100) - 1)
    const up = this.#lines > 0 ? `\u001b[${this.#lines}A\r\u001b[J` : ''
    this.#output.write(`${up}${rows.map((row) => row.slice(0, width)).join('\n')}\n`)
    this.#lines = rows.length
  }
}

function windowLine({
  powerAverageW,
  powerCapW,
  smClockMhz,
  memClockMhz,
  throughput,
  validity,
  tenants,
  reconfigured,
}: WindowObservation): string {
  const power = powerAverageW === null ? 'power not read' : `${powerAverageW.toFixed(1)} W`
  const clocks = `${smClockMhz?.toFixed(0) ?? '?'}/${memClockMhz?.toFixed(0) ?? '?'} MHz`
  const loading = reconfigured ? ', tenants loading' : ''
  return `${power} of ${powerCapW} W, ${clocks}, ${rateText(throughput, validity)}, ${tenants.length} tenants${loading}`
}

/** Text of a throughput. If it is a lower bound or unknown, the text says so with the reason. */
function rateText(throughput: number | null, validity: RateValidity = 'ok'): string {
  if (throughput === null) return `rate not known (${validity})`
  return validity === 'ok'
    ? `${throughput.toFixed(0)} samples/s`
    : `>= ${throughput.toFixed(0)} samples/s (${validity})`
}
