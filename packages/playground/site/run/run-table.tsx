import type { JSX } from 'preact'
import type { Lane } from './lane.js'
import { LaneTable } from './lane-table.js'

/** How each policy kept its cap and what it got done, in the figures of `pctodl run`. */
export function RunTable(props: {
  readonly lanes: readonly Lane[]
  readonly onRecord: (lane: Lane) => void
}): JSX.Element {
  return (
    <LaneTable
      {...props}
      columns={['throughput', 'above the cap', 'longest', 'cap used', 'a sample costs']}
      figuresOf={(lane) => <Figures lane={lane} />}
    />
  )
}

function Figures({ lane }: { readonly lane: Lane }): JSX.Element {
  const evaluation = lane.outcome?.evaluation
  const digits = (value: number | null | undefined, count: number, unit: string) =>
    value === null || value === undefined ? '–' : `${value.toFixed(count)} ${unit}`
  return (
    <>
      <td data-figure="throughput">{digits(evaluation?.whole.throughput?.value, 1, 'samples/s')}</td>
      <td data-figure="violation">{digits(evaluation?.whole.violationPercent?.value, 2, '%')}</td>
      <td data-figure="longest">{digits(evaluation && evaluation.whole.longestExcessMs / 1000, 1, 's')}</td>
      <td data-figure="used">{digits(evaluation?.steady.capUtilisationPercent?.value, 1, '%')}</td>
      <td data-figure="energy">{digits(evaluation?.whole.energyPerSampleJ, 4, 'J')}</td>
    </>
  )
}
