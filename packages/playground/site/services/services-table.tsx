import type { JSX } from 'preact'
import { NumberCell, TextCell } from '../parts/cells.js'
import { Chip, colorAt, Table } from '../parts/table.js'
import { type AskedService, anotherService, LONGEST_NAME, MAX_SERVICES, serviceNumbers } from './asked-service.js'

/** Table in which the services can be edited. */
export function ServicesTable(props: {
  readonly services: readonly AskedService[]
  /** Networks for which the board's predictor has parameters. */
  readonly models: readonly string[]
  readonly onChange: (services: readonly AskedService[]) => void
}): JSX.Element {
  const { services, models, onChange } = props
  return (
    <>
      <Table
        label="The services"
        class="asked-services"
        heads={['service', 'network', ...serviceNumbers.map(({ head }) => head), <span class="unseen">remove</span>]}
      >
        {services.map((service, i) => {
          const { name, model } = service
          const change = (part: Partial<AskedService>) => onChange(services.with(i, { ...service, ...part }))
          const isTaken = (text: string) => services.some((other, k) => k !== i && other.name === text)
          return (
            // The key is the row number, because a name changes while it is typed.
            <tr key={i}>
              <td class="text">
                <Chip color={colorAt(i)} />
                <TextCell
                  label={`Name of service ${i + 1}`}
                  value={name}
                  expected="a unique name"
                  accepts={(text) => text.trim() !== '' && text.length <= LONGEST_NAME && !isTaken(text)}
                  onChange={(text) => change({ name: text })}
                />
              </td>
              <td class="text">
                <select
                  aria-label={`Network of ${name}`}
                  value={model}
                  onChange={(event) => change({ model: event.currentTarget.value })}
                >
                  {(models.includes(model) ? models : [model, ...models]).map((value) => (
                    <option key={value} value={value} selected={value === model}>
                      {value}
                    </option>
                  ))}
                </select>
              </td>
              {serviceNumbers.map(({ field, head, expected, accepts }) => (
                <td key={field}>
                  <NumberCell
                    label={`${head[0]!.toUpperCase()}${head.slice(1)} of ${name}`}
                    value={service[field]}
                    expected={expected}
                    accepts={accepts}
                    onChange={(value) => change({ [field]: value })}
                  />
                </td>
              ))}
              <td>
                {services.length > 1 && (
                  <button
                    type="button"
                    class="quiet"
                    aria-label={`Remove ${name}`}
                    onClick={() => onChange(services.filter((_, k) => k !== i))}
                  >
                    remove
                  </button>
                )}
              </td>
            </tr>
          )
        })}
      </Table>
      <p class="aside">
        {services.length < MAX_SERVICES && (
          <button type="button" class="quiet" onClick={() => onChange([...services, anotherService(services, models)])}>
            Add a service
          </button>
        )}{' '}
        p99: the latency that 99 % of the requests must not exceed. Batch delay: how long a free process waits for its
        batch to fill.
      </p>
    </>
  )
}
