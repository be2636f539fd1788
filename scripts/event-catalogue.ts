/**
 * `npm run catalogue`: writes docs/reference/events.md from the event definitions, and docs/reference/policy.md from the
 * settings. With `--check` it compares the files with them and writes nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { eventTypes, metadataSchema } from '../src/domain/events/index.js'
import { policyPage } from './policy-page.js'

interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly format?: string
  readonly pattern?: string
}

function shape(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ')
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.anyOf !== undefined) return schema.anyOf.map(shape).join(' or ')
  if (schema.type === 'array') return `list of ${schema.items === undefined ? 'anything' : shape(schema.items)}`
  if (schema.properties !== undefined)
    return `{ ${Object.keys(schema.properties)
      .map((key) => (schema.required?.includes(key) === true ? key : `${key}?`))
      .join(', ')} }`
  if (schema.format === 'date-time') return 'time (ISO 8601, UTC)'
  if (schema.pattern === '^\\d{1,16}$') return 'revision (decimal string)'
  if (schema.pattern?.includes('0-9a-f') === true) return 'SHA-256 (hexadecimal)'
  return String(schema.type ?? 'anything')
}

function table(schema: z.ZodType): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- zod types every JSON Schema that there is; ours is the part that these schemas use
  const json = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
  const rows = Object.entries(json.properties ?? {}).map(
    ([field, of]) =>
      `| \`${field}\` | ${json.required?.includes(field) === true ? 'yes' : ''} | ${shape(of).replaceAll('|', '\\|')} |`,
  )
  return ['| field | always | shape |', '| --- | --- | --- |', ...rows].join('\n')
}

const eventsPage = [
  '# Events',
  '',
  'For developers who read the log. `npm run catalogue` writes this page from `src/domain/events/index.ts`; do not edit it.',
  '',
  'Streams: `conversation-<conversationId>`, `edition-<editionId>-<conversationId>` for a history that is compacted again, `prompt-<SHA-256>` for prompts, and `retention-rules` for retention.',
  'Data above 64 KiB is stored outside the event, under its SHA-256; the event then has `{ claimCheck: { sha256, bytes, preview } }`.',
  '',
  '## Metadata of every event',
  '',
  table(metadataSchema),
  ...Object.entries(eventTypes).flatMap(([type, { description: says, version, schema }]) => [
    '',
    `## ${type} (version ${String(version)})`,
    '',
    `${says}.`,
    '',
    table(schema),
  ]),
  '',
  'Next: [A log in a file](log-file.md).',
  '',
].join('\n')

for (const [name, page] of [
  ['docs/reference/events.md', eventsPage],
  ['docs/reference/policy.md', policyPage],
] as const) {
  const file = new URL(`../${name}`, import.meta.url)
  if (!process.argv.includes('--check')) writeFileSync(file, page)
  else if (readFileSync(file, 'utf8') !== page) {
    console.error(`${name} differs from the program: run npm run catalogue`)
    process.exitCode = 1
  }
}
