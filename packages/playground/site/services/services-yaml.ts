import { type AskedService, ownFields } from './asked-service.js'

/** Returns the services file for `pctodl partition --services`. JSON strings are valid YAML. */
export function servicesYaml(services: readonly AskedService[]): string {
  return services.map(entryOf).join('')
}

function entryOf(service: AskedService): string {
  const { name, model, ratePerS, p99Ms } = service
  const fields: (readonly [string, string | number])[] = [
    ['name', word(name)],
    ['model', word(model)],
    ['rate', ratePerS],
    ['p99Ms', p99Ms],
    ...ownFields(service),
  ]
  return fields.map(([field, value], i) => `${i === 0 ? '- ' : '  '}${field}: ${value}\n`).join('')
}

/** Returns the text without quotes if every YAML parser reads it as a string. */
function word(text: string): string {
  const isPlain = /^[a-z][a-z0-9_-]*$/i.test(text) && !/^(y|n|yes|no|on|off|true|false|null)$/i.test(text)
  return isPlain ? text : JSON.stringify(text)
}
