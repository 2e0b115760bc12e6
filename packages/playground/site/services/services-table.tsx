import type { JSX } from 'preact'
import { NumberCell, TextCell } from '../parts/cells.js'
import { colorAt } from '../parts/colors.js'
import { Scrolling } from '../parts/scrolling.js'
import {
  type AskedService,
  anotherService,
  LONGEST_NAME,
  MAX_RATE_PER_S,
  MAX_SERVICES,
  MAX_WEIGHT,
} from './asked-service.js'

/** The services as a table in which everything can be changed. */
export function ServicesTable(props: {
  readonly services: readonly AskedService[]
  /** Networks that the board's predictor knows. */
  readonly models: readonly string[]
  readonly onChange: (services: readonly AskedService[]) => void
}): JSX.Element {
  const { services, models, onChange } = props
  const change = (index: number, part: Partial<AskedService>) =>
    onChange(services.with(index, { ...services[index]!, ...part }))
  return (
    <>
      <Scrolling label="The services">
        <table class="asked-services">
          <thead>
            <tr>
              {['service', 'network', 'requests/s', 'p99, ms', 'worth', 'batch, most', 'waits, ms', ''].map(
                (head, i) => (
                  <th scope="col" key={head} class={i < 2 ? 'text' : ''}>
                    {head === '' ? <span class="unseen">remove</span> : head}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {services.map((service, i) => (
              // By place: names change while they are typed.
              <Row
                key={i}
                index={i}
                service={service}
                models={models}
                isTaken={(name) => services.some((other, k) => k !== i && other.name === name)}
                onChange={(part) => change(i, part)}
                onRemove={services.length > 1 ? () => onChange(services.filter((_, k) => k !== i)) : undefined}
              />
            ))}
          </tbody>
        </table>
      </Scrolling>
      <p class="aside">
        {services.length < MAX_SERVICES && (
          <button type="button" class="quiet" onClick={() => onChange([...services, anotherService(services, models)])}>
            Add a service
          </button>
        )}{' '}
        99 of 100 requests are to be answered within the p99. A free process waits so long at most for others to fill
        its batch.
      </p>
    </>
  )
}

function Row(props: {
  readonly index: number
  readonly service: AskedService
  readonly models: readonly string[]
  readonly isTaken: (name: string) => boolean
  readonly onChange: (part: Partial<AskedService>) => void
  readonly onRemove: (() => void) | undefined
}): JSX.Element {
  const { index, service, models, isTaken, onChange, onRemove } = props
  const { name, model, ratePerS, p99Ms, weight, maxBatchSize, maxQueueDelayMs } = service
  const known = models.includes(model) ? models : [model, ...models]
  return (
    <tr>
      <td class="text">
        <span class="chip" style={{ background: colorAt(index) }} aria-hidden="true" />
        <TextCell
          label={`Name of service ${index + 1}`}
          value={name}
          expected="a name of its own"
          accepts={(text) => text.trim() !== '' && text.length <= LONGEST_NAME && !isTaken(text)}
          onChange={(text) => onChange({ name: text })}
        />
      </td>
      <td class="text">
        <select
          aria-label={`Network of ${name}`}
          value={model}
          onChange={(event) => onChange({ model: event.currentTarget.value })}
        >
          {known.map((value) => (
            <option key={value} value={value} selected={value === model}>
              {value}
            </option>
          ))}
        </select>
      </td>
      <td>
        <NumberCell
          label={`Requests/s of ${name}`}
          value={ratePerS}
          expected={`0 to ${MAX_RATE_PER_S}`}
          accepts={(value) => value >= 0 && value <= MAX_RATE_PER_S}
          onChange={(value) => onChange({ ratePerS: value })}
        />
      </td>
      <td>
        <NumberCell
          label={`p99 objective of ${name}, ms`}
          value={p99Ms}
          expected="above 0"
          accepts={(value) => value > 0}
          onChange={(value) => onChange({ p99Ms: value })}
        />
      </td>
      <td>
        <NumberCell
          label={`Worth of a request of ${name}`}
          value={weight}
          expected="above 0"
          accepts={(value) => value > 0 && value <= MAX_WEIGHT}
          onChange={(value) => onChange({ weight: value })}
        />
      </td>
      <td>
        <NumberCell
          label={`Largest batch of ${name}`}
          value={maxBatchSize}
          expected="whole, from 1"
          accepts={(value) => Number.isSafeInteger(value) && value >= 1}
          onChange={(value) => onChange({ maxBatchSize: value })}
        />
      </td>
      <td>
        <NumberCell
          label={`Longest wait of ${name} for a batch to fill, ms`}
          value={maxQueueDelayMs}
          expected="0 or more"
          accepts={(value) => value >= 0}
          onChange={(value) => onChange({ maxQueueDelayMs: value })}
        />
      </td>
      <td>
        {onRemove && (
          <button type="button" class="quiet" aria-label={`Remove ${name}`} onClick={onRemove}>
            remove
          </button>
        )}
      </td>
    </tr>
  )
}
