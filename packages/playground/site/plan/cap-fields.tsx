import type { JSX } from 'preact'
import { NumberField, Slider } from '../parts/fields.js'
import type { BoardDescription } from './board-description.js'

/** Below, no board of ours could be kept: the slider ends there; what is typed may be less. */
const LOWEST_CAP_W = 40

/** The cap that a plan is to keep; nothing while the board is not known. */
export function CapField(props: {
  readonly board: BoardDescription | undefined
  readonly question: { readonly powerCapW: number }
  readonly onChange: (change: { readonly powerCapW: number }) => void
}): JSX.Element | undefined {
  const { board, question, onChange } = props
  return (
    board && (
      <Slider
        label="Power cap"
        unit="W"
        value={question.powerCapW}
        min={LOWEST_CAP_W}
        max={board.powerLimitW.max}
        onChange={(powerCapW) => onChange({ powerCapW })}
      />
    )
  )
}

/** How far below its cap a plan stays. */
export function CapMarginField(props: {
  readonly question: { readonly powerMarginW: number }
  readonly onChange: (change: { readonly powerMarginW: number }) => void
}): JSX.Element {
  const { question, onChange } = props
  return (
    <NumberField
      label="Stay below the cap by"
      unit="W"
      min={0}
      value={question.powerMarginW}
      onChange={(value) => onChange({ powerMarginW: value ?? 0 })}
    />
  )
}
