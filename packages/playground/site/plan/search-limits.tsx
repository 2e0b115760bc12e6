import type { JSX } from 'preact'
import { Choice, NumberField } from '../parts/fields.js'

interface Limits {
  readonly maxTenants: number | null
  readonly sharePercentStep: number
  readonly memClockMhz: number | null
}

/** Where any search for a plan looks: how many processes, which shares, which memory clock. */
export function SearchLimits(props: {
  readonly question: Limits
  /** Of the board asked for, where it is known. */
  readonly memClocksMhz: readonly number[] | undefined
  readonly onChange: (change: Partial<Limits>) => void
}): JSX.Element {
  const { question, memClocksMhz, onChange } = props
  return (
    <>
      <NumberField
        label="Processes, at most"
        min={1}
        max={48}
        placeholder="48"
        value={question.maxTenants}
        onChange={(value) => onChange({ maxTenants: value === null ? null : Math.round(value) })}
      />
      <NumberField
        label="Shares in steps of"
        unit="%"
        min={1}
        max={100}
        value={question.sharePercentStep}
        onChange={(value) => onChange({ sharePercentStep: Math.round(value ?? 5) })}
      />
      {memClocksMhz && (
        <Choice
          label="Memory clock"
          value={question.memClockMhz === null ? 'best' : String(question.memClockMhz)}
          options={[
            { value: 'best', text: 'the best one' },
            ...memClocksMhz.map((clock) => ({ value: String(clock), text: `${clock} MHz` })),
          ]}
          onChange={(value) => onChange({ memClockMhz: value === 'best' ? null : Number(value) })}
        />
      )}
    </>
  )
}
