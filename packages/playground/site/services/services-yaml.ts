import { type AskedService, usualService } from './asked-service.js'

/** The file that `pctodl partition --services` reads. Strings are those of JSON, which YAML knows. */
export function servicesYaml(services: readonly AskedService[]): string {
  return services.map(entryOf).join('')
}

function entryOf({ name, model, ratePerS, p99Ms, ...rest }: AskedService): string {
  const fields: (readonly [string, string | number])[] = [
    ['name', word(name)],
    ['model', word(model)],
    ['rate', ratePerS],
    ['p99Ms', p99Ms],
    ...(Object.keys(usualService) as (keyof typeof usualService)[])
      .filter((field) => rest[field] !== usualService[field])
      .map((field) => [field, rest[field]] as const),
  ]
  return fields.map(([field, value], i) => `${i === 0 ? '- ' : '  '}${field}: ${value}\n`).join('')
}

/** Plain where YAML takes it for a string whatever it is. */
function word(text: string): string {
  const isPlain = /^[a-z][a-z0-9_-]*$/i.test(text) && !/^(y|n|yes|no|on|off|true|false|null)$/i.test(text)
  return isPlain ? text : JSON.stringify(text)
}
