import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'

/** A board that is not of the page: a file of parameters, read and kept here. */
export function OwnParameters(props: {
  /** @returns what is wrong with the file, if anything is */
  readonly onParameters: (file: File) => Promise<string | undefined>
}): JSX.Element {
  const input = useRef<HTMLInputElement>(null)
  const [said, setSaid] = useState('')
  return (
    <details>
      <summary>A board of your own</summary>
      <p class="aside">
        Parameters that <code>pctodl fit</code> wrote from your traces. The file stays on this machine, and is not part
        of the address.
      </p>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        aria-label="Parameter file"
        onChange={async (event) => {
          const file = event.currentTarget.files?.[0]
          if (file) setSaid((await props.onParameters(file)) ?? `${file.name} is open`)
        }}
      />
      <p role="status" class="aside">
        {said}
      </p>
    </details>
  )
}
