import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { KnownBoards } from '../work/known-boards.js'
import type { BoardDescription } from '../work/models.js'
import { Choice } from './fields.js'

const shortName = (name: string) => name.replace(/^NVIDIA (GeForce )?/, '')

/** Selects the board. An opened parameter file is listed by its file name. */
export function BoardChoice(props: {
  readonly known: KnownBoards
  readonly value: string
  readonly onChange: (board: BoardDescription) => void
}): JSX.Element {
  const { known, value, onChange } = props
  return (
    <Choice
      label="Board"
      value={value}
      options={known.all.value.map(({ board, name }) => ({
        value: board,
        text: board.endsWith('.json') ? `${board}: ${shortName(name)}` : shortName(name),
      }))}
      onChange={(board) => onChange(known.find(board)!)}
    />
  )
}

/** Opens a parameter file for the user's own board. The file stays in the browser. */
export function OwnParameters(props: {
  readonly known: KnownBoards
  readonly onBoard: (board: BoardDescription) => void
}): JSX.Element {
  const [status, setStatus] = useState('')
  const open = async (file: File) => {
    try {
      props.onBoard(await props.known.open(file))
      setStatus(`${file.name} is open`)
    } catch (error) {
      setStatus((error as Error).message)
    }
  }
  return (
    <details>
      <summary>Your own board</summary>
      <p class="aside">
        Parameters that <code>pctodl fit</code> wrote from your traces. The file stays on this machine and is not part
        of the address.
      </p>
      <input
        type="file"
        accept=".json,application/json"
        aria-label="Parameter file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0]
          if (file) void open(file)
        }}
      />
      <p role="status" class="aside">
        {status}
      </p>
    </details>
  )
}
