import type { JSX } from 'preact'

const repository = 'https://github.com/pctodl/pctodl/blob/main'

/** What every room says of its figures. */
export function SimulatedNote(): JSX.Element {
  return (
    <aside class="note" aria-label="How far to trust this">
      <strong>Boards here are simulated.</strong> The 3080 Ti and the A100 are calibrated against fitted predictors that
      stand for measurements of real boards: on configurations that no fit had seen, throughput is off by 5 % in the
      median and 13 % at the 90th percentile, power by 3 % and by 7 to 10 %. No GPU of ours has confirmed it.{' '}
      <a href={`${repository}/docs/how-the-simulator-was-validated.md`}>How the simulator was validated</a>. Nothing you
      do here leaves this page.
    </aside>
  )
}
