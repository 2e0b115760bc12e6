import type { ServiceReading } from '@pctodl/platform'
import { type ComponentChildren, isValidElement, type VNode } from 'preact'
import { describe, expect, it } from 'vitest'
import { Bars } from '../site/parts/bars.js'
import { BoardChoice } from '../site/parts/board-fields.js'
import { Choice } from '../site/parts/fields.js'
import { Lane } from '../site/run/lane.js'
import { ServedNow } from '../site/run-services/served-now.js'
import { ServicesRunForm } from '../site/run-services/services-run-form.js'
import { firstServicesRun, type ServicesRunQuestion } from '../site/run-services/services-run-question.js'
import type { ServicesRunState } from '../site/run-services/services-run-state.js'
import { tasks } from '../site/run-services/task-description.js'

type Props = Record<string, unknown>

/** Properties of every element of a kind, in the order of the page. Components inside are not called. */
function propsOf(node: ComponentChildren, kind: unknown): Props[] {
  if (Array.isArray(node)) return node.flatMap((child) => propsOf(child, kind))
  if (!isValidElement(node)) return []
  const { type, props } = node as VNode<Props>
  return [...(type === kind ? [props] : []), ...propsOf(props['children'] as ComponentChildren, kind)]
}

describe('a comparison', () => {
  it('marks the plan, which is first', () => {
    const bars = ['plan', 'fixed clock', 'equal shares'].map((name) => ({ name, value: 1, text: '1', more: [] }))
    const rows = propsOf(Bars({ label: '', heads: ['score'], bars }), 'tr')
    expect(rows.map((props) => props['class'])).toEqual(['ours', '', ''])
  })
})

describe('the recent outcome of services', () => {
  it('marks an objective as missed below 99 % in time, and not at 99 %', () => {
    const none = { arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, queued: 0 }
    const reading = (service: string, late: number) =>
      ({ ...none, service, arrived: 100, completed: 100, late }) as ServiceReading
    const lane = new Lane('pctodl', '--network-1')
    const of = [reading('kept', 1), reading('missed', 2)]
    lane.add({ readings: [], windows: [], said: [], services: [{ timeMs: 1000, of }] })
    const services = of.map(({ service }) => ({ name: service, p99Ms: 50 }))
    const cells = propsOf(ServedNow({ lanes: [lane], services }), 'td').filter((props) => 'class' in props)
    expect(cells.map((props) => props['class'])).toEqual(['', 'missed'])
  })
})

describe('the form of a run of services', () => {
  /** The form for a question, and the question after the form has changed it. */
  function form(asked: Partial<ServicesRunQuestion>) {
    const question = { value: { ...firstServicesRun, ...asked }, peek: () => question.value }
    const drawn = ServicesRunForm({ state: { question, known: {}, caps: [] } as unknown as ServicesRunState })
    const [choice] = propsOf(drawn, Choice) as { readonly options: readonly { readonly value: string }[] }[]
    const [boards] = propsOf(drawn, BoardChoice) as { readonly onChange: (chosen: { board: string }) => void }[]
    return { question, offered: choice!.options.map(({ value }) => value), boards: boards! }
  }
  const [first] = tasks
  const { board, name } = first!
  const ofBoard = tasks.filter((task) => task.board === board).map((task) => task.name)

  it('offers each task of the board once, own services last, and a task from an address that the board lacks', () => {
    const own = 'your own services'
    expect(form({ board, task: name }).offered).toEqual([...ofBoard, own])
    expect(form({ board, task: null }).offered).toEqual([...ofBoard, own])
    expect(form({ board, task: 'unknown' }).offered).toEqual([...ofBoard, 'unknown', own])
  })

  it('keeps the task on a board that has it too, and takes own services where the board lacks it', () => {
    const other = tasks.find((task) => task.board !== board && task.name === name)!
    const { question, boards } = form({ board, task: name })
    boards.onChange({ board: other.board })
    expect(question.value).toMatchObject({ board: other.board, task: name })
    boards.onChange({ board: 'mine.json' })
    expect(question.value).toMatchObject({ board: 'mine.json', task: null, caps: null })
  })
})
