import type { JSX } from 'preact'
import { useTyped } from './fields.js'

/** Table cell in which a number can be edited. */
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

/** Table cell in which a text can be edited. */
export function TextCell(props: {
  readonly label: string
  readonly value: string
  /** Description of the accepted text. */
  readonly expected: string
  readonly inputMode?: 'decimal'
  readonly accepts: (text: string) => boolean
  readonly onChange: (text: string) => void
}): JSX.Element {
  const { label, value, expected, inputMode, accepts, onChange } = props
  const { text, isFine, onInput } = useTyped(value, accepts, onChange)
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
        onInput={onInput}
      />
      {!isFine && <div class="problem">{expected}</div>}
    </>
  )
}
