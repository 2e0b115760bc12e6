import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'

/** What a user types into a field. Only what is accepted is taken over; the rest stays in the field, marked. */
export function useTyped(value: string, accepts: (text: string) => boolean, onChange: (text: string) => void) {
  const [text, setText] = useState(value)
  // Not over another spelling of the same number, nor over a text that is no number at all.
  useEffect(() => setText((old) => (Number(old) === Number(value) || value === 'NaN' ? old || value : value)), [value])
  return {
    text,
    isFine: accepts(text),
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => {
      const typed = event.currentTarget.value
      setText(typed)
      if (accepts(typed)) onChange(typed)
    },
  }
}

/** A number with its unit. */
export function NumberField(props: {
  readonly label: string
  readonly unit?: string
  readonly value: number | null
  readonly min: number
  readonly max?: number
  /** Stands in an empty field; without it the field may not be empty. */
  readonly placeholder?: string
  readonly onChange: (value: number | null) => void
}): JSX.Element {
  const { label, unit, value, min, max = Infinity, placeholder, onChange } = props
  const id = useId()
  const isEmpty = (text: string) => text.trim() === ''
  const accepts = (text: string) =>
    isEmpty(text) ? placeholder !== undefined : Number(text) >= min && Number(text) <= max
  const { text, isFine, onInput } = useTyped(value === null ? '' : String(value), accepts, (typed) =>
    onChange(isEmpty(typed) ? null : Number(typed)),
  )
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <span class="input">
        <input
          id={id}
          type="text"
          inputMode="decimal"
          value={text}
          placeholder={placeholder}
          aria-invalid={!isFine}
          aria-describedby={isFine ? undefined : `${id}-problem`}
          onInput={onInput}
        />
        {unit && <span class="unit">{unit}</span>}
      </span>
      {!isFine && (
        <span class="problem" id={`${id}-problem`}>
          a number, at least {min}
          {max < Infinity && ` and at most ${max}`}
        </span>
      )}
    </div>
  )
}

/** One of a few. */
export function Choice<Value extends string>(props: {
  readonly label: string
  readonly value: Value
  readonly options: readonly { readonly value: Value; readonly text: string }[]
  readonly onChange: (value: Value) => void
}): JSX.Element {
  const { label, value, options, onChange } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.text}
          </option>
        ))}
      </select>
    </div>
  )
}

/** The power cap, to be moved or typed. What makes no sense is passed on too, and marked: no old answer may stand beside it. */
export function CapSlider(props: {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly onChange: (powerCapW: number) => void
  readonly children?: ComponentChildren
}): JSX.Element {
  const { label, value, max, onChange, children } = props
  const id = useId()
  const { text, onInput } = useTyped(
    String(value),
    () => true,
    (typed) => onChange(typed.trim() === '' ? Number.NaN : Number(typed)),
  )
  const isFine = Number(text) > 0 && Number.isFinite(Number(text))
  return (
    <div class="slider">
      <label for={id}>{label}</label>
      <span class="input">
        <input
          type="text"
          inputMode="decimal"
          aria-label={`${label}, W`}
          aria-invalid={!isFine}
          value={text}
          onInput={onInput}
        />
        <span class="unit">W</span>
      </span>
      <input
        id={id}
        type="range"
        value={value}
        min={LOWEST_CAP_W}
        max={max}
        aria-valuetext={`${value} W`}
        onInput={(event) => onChange(event.currentTarget.valueAsNumber)}
      />
      {!isFine && <span class="problem">watts above 0</span>}
      {children}
    </div>
  )
}

/** The slider ends where no board of ours could keep a lower cap; a lower one can be typed. */
const LOWEST_CAP_W = 40
