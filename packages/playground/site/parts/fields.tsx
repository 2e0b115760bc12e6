import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'

export interface NumberFieldProps {
  readonly label: string
  readonly unit?: string
  readonly value: number | null
  readonly min?: number
  readonly max?: number
  readonly step?: number
  /** What stands there while nothing is asked for; with it the field may be empty. */
  readonly placeholder?: string
  readonly onChange: (value: number | null) => void
}

/** A number with its unit. What is no number, or not within its bounds, is said and not taken over. */
export function NumberField({
  label,
  unit,
  value,
  min,
  max,
  step,
  placeholder,
  onChange,
}: NumberFieldProps): JSX.Element {
  const id = useId()
  const [text, setText] = useState(value === null ? '' : String(value))
  const [problem, setProblem] = useState('')
  useEffect(() => {
    setText(value === null ? '' : String(value))
    setProblem('')
  }, [value])
  const take = (typed: string) => {
    setText(typed)
    if (typed.trim() === '' && placeholder !== undefined) {
      setProblem('')
      onChange(null)
      return
    }
    const number = Number(typed)
    const bounds = [...(min === undefined ? [] : [`at least ${min}`]), ...(max === undefined ? [] : [`at most ${max}`])]
    if (typed.trim() === '' || !(number >= (min ?? -Infinity) && number <= (max ?? Infinity))) {
      setProblem(`a number${bounds.length > 0 ? `, ${bounds.join(' and ')}` : ''}`)
      return
    }
    setProblem('')
    onChange(number)
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <span class="input">
        <input
          id={id}
          type="text"
          inputMode="decimal"
          value={text}
          step={step}
          placeholder={placeholder}
          aria-invalid={problem !== ''}
          aria-describedby={problem === '' ? undefined : `${id}-problem`}
          onInput={(event) => take(event.currentTarget.value)}
        />
        {unit && <span class="unit">{unit}</span>}
      </span>
      {problem && (
        <span class="problem" id={`${id}-problem`}>
          {problem}
        </span>
      )}
    </div>
  )
}

export interface ChoiceProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly { readonly value: Value; readonly text: string }[]
  readonly onChange: (value: Value) => void
}

/** One of a few. */
export function Choice<Value extends string>({ label, value, options, onChange }: ChoiceProps<Value>): JSX.Element {
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

export interface SliderProps {
  readonly label: string
  readonly unit: string
  readonly value: number
  readonly min: number
  readonly max: number
  readonly step?: number
  readonly onChange: (value: number) => void
  readonly children?: ComponentChildren
}

/** A number to be moved, or typed. */
export function Slider({ label, unit, value, min, max, step = 1, onChange, children }: SliderProps): JSX.Element {
  const id = useId()
  return (
    <div class="slider">
      <label for={id}>{label}</label>
      <span class="input">
        <input
          type="number"
          aria-label={`${label}, ${unit}`}
          value={value}
          min={min}
          max={max}
          step={step}
          onInput={(event) => {
            const { valueAsNumber } = event.currentTarget
            if (valueAsNumber > 0 && Number.isFinite(valueAsNumber)) onChange(valueAsNumber)
          }}
        />
        <span class="unit">{unit}</span>
      </span>
      <input
        id={id}
        type="range"
        value={value}
        min={min}
        max={max}
        step={step}
        aria-valuetext={`${value} ${unit}`}
        onInput={(event) => onChange(event.currentTarget.valueAsNumber)}
      />
      {children}
    </div>
  )
}
