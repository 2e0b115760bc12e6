import type { JSX } from 'preact'
import type { BoardDescription } from '../plan/board-description.js'
import { Choice } from './fields.js'

/** Which board; parameter files go by their own names. */
export function BoardChoice(props: {
  readonly boards: readonly BoardDescription[]
  readonly value: string
  readonly onChange: (board: string) => void
}): JSX.Element {
  const { boards, value, onChange } = props
  return (
    <Choice
      label="Board"
      value={value}
      options={boards.map(({ board, name }) => ({
        value: board,
        text: board.endsWith('.json') ? `${board}: ${shortName(name)}` : shortName(name),
      }))}
      onChange={onChange}
    />
  )
}

const shortName = (name: string) => name.replace(/^NVIDIA (GeForce )?/, '')
