import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** A number in a cell of a table. What makes no sense is marked and not taken over. */
export function NumberCell(props: {
  readonly label: string
  readonly value: number
  readonly expected: string
  readonly accepts: (value: number) => boolean
  readonly onChange: (value: number) => void
}): JSX.Element {
  const { label, value, expected, accepts, onChange } = props
  return (
    <TextCell
      label={label}
      value={String(value)}
      expected={expected}
      inputMode="decimal"
      accepts={(text) => text.trim() !== '' && Number.isFinite(Number(text)) && accepts(Number(text))}
      onChange={(text) => onChange(Number(text))}
    />
  )
}

/** A word in a cell of a table. */
export function TextCell(props: {
  readonly label: string
  readonly value: string
  /** What it must be, in words. */
  readonly expected: string
  readonly inputMode?: 'decimal'
  readonly accepts: (text: string) => boolean
  readonly onChange: (text: string) => void
}): JSX.Element {
  const { label, value, expected, inputMode, accepts, onChange } = props
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const isFine = accepts(text)
  return (
    <>
      <input
        type="text"
        inputMode={inputMode}
        class={inputMode === undefined ? 'word' : ''}
        aria-label={label}
        aria-invalid={!isFine}
        title={isFine ? undefined : expected}
        value={text}
        onInput={(event) => {
          const typed = event.currentTarget.value
          setText(typed)
          if (accepts(typed)) onChange(typed)
        }}
      />
      {!isFine && <div class="problem">{expected}</div>}
    </>
  )
}
