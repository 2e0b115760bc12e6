import type { JSX } from 'preact'

/** The heads of a table's columns; the first one is words, the others are figures. */
export function TableHead({ columns }: { readonly columns: readonly string[] }): JSX.Element {
  return (
    <thead>
      <tr>
        {columns.map((head, i) => (
          <th scope="col" key={head} class={i === 0 ? 'text' : ''}>
            {head}
          </th>
        ))}
      </tr>
    </thead>
  )
}
