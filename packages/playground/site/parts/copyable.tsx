import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

/** A text with a button that copies the text. */
export function Copyable({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  const [said, setSaid] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid('copied')
    } catch {
      setSaid('select the text to copy it')
    }
  }
  return (
    <figure class="copyable">
      <figcaption>
        {title}
        <span role="status">{said}</span>
        <button type="button" onClick={copy} aria-label={`Copy: ${title}`}>
          Copy
        </button>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </figure>
  )
}
