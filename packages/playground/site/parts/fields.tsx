import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'

/**
 * State of a text field. Accepted text is passed to `onChange`; other text stays in the field and is marked as invalid.
 */
export function useTyped(value: string, accepts: (text: string) => boolean, onChange: (text: string) => void) {
  const [text, setText] = useState(value)
  // Keeps the user's text if it is another spelling of the same number, or if the new value is not a number.
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
  /** Shown in an empty field. Without a placeholder, the field must not be empty. */
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

/** Selects one of a few values. */
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

/**
 * The power cap as a slider and a number field. An invalid cap is also passed on and marked, so that the page does not
 * show an old answer next to the new cap.
 */
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

/** Lower end of the slider: no supported board can keep a lower cap. A lower cap can still be typed, W. */
const LOWEST_CAP_W = 40
