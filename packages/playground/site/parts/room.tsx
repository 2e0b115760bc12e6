import type { ComponentChildren, JSX } from 'preact'

/** A room: on its first screen a question, the slider that changes the answer, and a picture of the answer. */
export function Room(props: {
  readonly title: ComponentChildren
  readonly slider: ComponentChildren
  readonly picture: ComponentChildren
  readonly form: ComponentChildren
  /** Marks of what has come in, for tests. */
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

/** What a user can copy to make the same outside of the page. */
export function TakeAlong(props: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <section aria-labelledby="take-title">
      <h2 id="take-title">Take it along</h2>
      {props.children}
    </section>
  )
}
