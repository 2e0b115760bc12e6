import type { JSX } from 'preact'

/** In the place of a plan: what is wrong with the question, or that it is being worked on. */
export function Unanswered(props: { readonly heading: JSX.Element; readonly problem: string }): JSX.Element {
  const { heading, problem } = props
  if (problem === '') {
    return (
      <section aria-labelledby="plan-title" class="waiting">
        {heading}
        <p class="lead">Looking for a plan …</p>
      </section>
    )
  }
  return (
    <section aria-labelledby="plan-title" data-planned="true">
      {heading}
      <p class="refusal" role="alert">
        {problem}
      </p>
    </section>
  )
}
