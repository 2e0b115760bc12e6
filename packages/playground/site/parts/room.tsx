import type { ComponentChildren, JSX } from 'preact'

/**
 * Layout of a room. The first screen shows the question, the slider that changes the answer, and a chart of the answer.
 */
export function Room(props: {
  readonly title: ComponentChildren
  readonly slider: ComponentChildren
  readonly picture: ComponentChildren
  readonly form: ComponentChildren
  /** Data attributes by which tests see the room's progress. */
  readonly marks: Readonly<Record<`data-${string}`, unknown>>
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div class="room" {...props.marks}>
      <section class="front" aria-labelledby="question">
        <h2 id="question">{props.title}</h2>
        <div>{props.slider}</div>
        <div>{props.picture}</div>
      </section>
      {props.form}
      <div class="results">{props.children}</div>
    </div>
  )
}

/** Text to copy that reproduces the result outside the page. */
export function TakeAlong(props: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <section aria-labelledby="take-title">
      <h2 id="take-title">Reproduce it</h2>
      {props.children}
    </section>
  )
}
