import type { JSX } from 'preact'
import { RowHead, Table } from '../parts/table.js'
import type { Lane } from './lane.js'

/** The figures of a lane by name. The name sets the `data-figure` attribute of the cell. */
export type Figures = Readonly<Record<string, readonly [head: string, text: string | undefined]>>

/** A table with one row for each policy: its status, its figures, and a button that saves its record. */
export function LaneTable(props: {
  readonly lanes: readonly Lane[]
  readonly figuresOf: (lane: Lane | undefined) => Figures
  readonly onRecord: (lane: Lane) => void
}): JSX.Element {
  const { lanes, figuresOf, onRecord } = props
  const heads = Object.values(figuresOf(undefined)).map(([head]) => head)
  return (
    <Table label="The policies side by side" class="policies" heads={['policy', ...heads, 'record']}>
      {lanes.map((lane) => {
        const { name, color, source, outcome, problem, timeS, tenants } = lane
        return (
          <tr key={`${name} ${source}`} data-policy={name} data-over={outcome !== undefined}>
            <RowHead color={`var(${color})`}>
              <strong>{name}</strong>
              <div class="aside tenants-now">
                {problem ?? source ?? (tenants === '' ? `at ${timeS.toFixed(0)} s: processes load` : tenants)}
              </div>
            </RowHead>
            {Object.entries(figuresOf(lane)).map(([id, [, text]]) => (
              <td key={id} data-figure={id}>
                {text ?? '–'}
              </td>
            ))}
            <td>
              {source === null && timeS > 0 && (
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Save the record of ${name}`}
                  onClick={() => onRecord(lane)}
                >
                  save
                </button>
              )}
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

/** Returns how well a policy kept its cap, and its throughput and energy: the figures of `pctodl run`. */
export function runFigures(lane: Lane | undefined): Figures {
  const evaluation = lane?.outcome?.evaluation
  const text = (value: number | null | undefined, digits: number, unit: string) =>
    value === null || value === undefined ? undefined : `${value.toFixed(digits)} ${unit}`
  return {
    throughput: ['throughput', text(evaluation?.whole.throughput, 1, 'samples/s')],
    violation: ['above the cap', text(evaluation?.whole.violationPercent, 2, '%')],
    longest: ['longest above', text(evaluation && evaluation.whole.longestExcessMs / 1000, 1, 's')],
    used: ['cap used', text(evaluation?.steady.capUtilisationPercent, 1, '%')],
    energy: ['energy/sample', text(evaluation?.whole.energyPerSampleJ, 4, 'J')],
  }
}

/** Returns how well a policy served its requests and kept its cap: the columns of `bench-runner --set services`. */
export function servedFigures(lane: Lane | undefined): Figures {
  const served = lane?.outcome?.served
  const services = served?.services ?? []
  const [worst] = services.toSorted((a, b) => (a.attainment ?? 1) - (b.attainment ?? 1))
  const [slowest] = services.toSorted((a, b) => (b.p99Ms ?? 0) - (a.p99Ms ?? 0))
  const text = (value: number | null | undefined, digits: number) => value?.toFixed(digits) ?? '-'
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const attainment = worst?.attainment === null ? '-' : `${text(worst && 100 * worst.attainment!, 2)} %`
  const energyJ = served?.energyPerRequestJ
  return {
    attainment: ['worst attainment', worst && `${attainment} ${worst.service}`],
    'in-time': ['goodput/s', served && text(sum(services.map(({ goodputPerS }) => goodputPerS)), 0)],
    p99: ['worst p99', slowest && `${text(slowest.p99Ms, 0)} ms ${slowest.service}`],
    power: ['mean W', served && text(served.meanPowerW, 1)],
    energy: ['mJ/request', served && text(energyJ == null ? null : 1000 * energyJ, 1)],
    shed: ['shed', served && text(sum(services.map(({ shed, failed }) => shed + failed)), 0)],
    cap: ['cap', served && (served.capHolds ? 'holds' : '! VIOLATES')],
  }
}
