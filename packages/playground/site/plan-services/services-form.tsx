import type { ServiceGoal } from '@pctodl/greedy-partition/services'
import type { JSX } from 'preact'
import { BoardChoice } from '../parts/board-choice.js'
import { Choice, NumberField } from '../parts/fields.js'
import { CapField, CapMarginField } from '../plan/cap-fields.js'
import { OwnParameters } from '../plan/own-parameters.js'
import { SearchLimits } from '../plan/search-limits.js'
import type { KnownBoards } from '../work/known-boards.js'
import { goals, type ServicesQuestion } from './services-question.js'

const goalTexts: Readonly<Record<ServiceGoal, string>> = {
  'min-power': 'the fewest watts',
  'max-load': 'the most load of this mix',
  'max-value': 'the most worth in time',
}

/** What is asked of a plan for services, the services aside. */
export function ServicesForm(props: {
  readonly question: ServicesQuestion
  readonly known: KnownBoards
  readonly onChange: (change: Partial<ServicesQuestion>) => void
  readonly onParameters: (file: File) => Promise<string | undefined>
}): JSX.Element {
  const { question, known, onChange, onParameters } = props
  const board = known.find(question.board)
  return (
    <form class="controls" aria-label="What to plan for" onSubmit={(event) => event.preventDefault()}>
      <BoardChoice
        boards={known.all.value}
        value={question.board}
        onChange={(value) => onChange({ board: value, memClockMhz: null })}
      />
      <CapField board={board} question={question} onChange={onChange} />
      <Choice
        label="Look for"
        value={question.objective}
        options={goals.map((value) => ({ value, text: goalTexts[value] }))}
        onChange={(objective) => onChange({ objective })}
      />
      <details>
        <summary>Margins and bounds</summary>
        <NumberField
          label="Plan for so many times the rates"
          min={1}
          max={10}
          value={question.rateMargin}
          onChange={(value) => onChange({ rateMargin: value ?? 1.1 })}
        />
        <NumberField
          label="Of each p99, keep free"
          unit="part"
          min={0}
          max={0.9}
          value={question.latencyMargin}
          onChange={(value) => onChange({ latencyMargin: value ?? 0.1 })}
        />
        <NumberField
          label="Burstiness (1: independent users)"
          min={1}
          max={1000}
          value={question.burstiness}
          onChange={(value) => onChange({ burstiness: value ?? 1 })}
        />
        <CapMarginField question={question} onChange={onChange} />
        <SearchLimits question={question} memClocksMhz={board?.memClocksMhz} onChange={onChange} />
      </details>
      <OwnParameters onParameters={onParameters} />
    </form>
  )
}
