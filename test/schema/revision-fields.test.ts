/** Numbers with the names of revisions are revisions in every schema, and revisions have these names. */
import { expect, it } from '@jest/globals'
import { z } from 'zod'
import { eventTypes } from '../../src/domain/events/index.js'
import { REVISION_FIELDS, REVISION_LISTS, revisionInJson, toWire } from '../../src/domain/values/revision.js'
import { cloudEvent } from '../../src/schema/answers/cloud-event.js'
import { routes } from '../../src/schema/index.js'

interface Field {
  readonly path: string
  readonly name: string
  readonly isRevision: boolean
  readonly isInList: boolean
}

type Children = Readonly<Record<string, unknown>>

const isSchema = (value: unknown): value is z.core.$ZodType =>
  typeof value === 'object' && value !== null && '_zod' in value

/** The schemas directly within a schema, each with the name of its field, or undefined for an item or an alternative. */
function childrenOf(schema: z.core.$ZodType): [name: string | undefined, child: z.core.$ZodType][] {
  const { def } = schema._zod
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the parts of a definition depend on its kind
  const parts = def as unknown as Children
  const shape: [string, unknown][] =
    'shape' in parts ? Object.entries(z.record(z.string(), z.unknown()).parse(parts['shape'])) : []
  const inner = ['innerType', 'element', 'valueType', 'in', 'left', 'right'].map((part) => parts[part])
  const options = Array.isArray(parts['options']) ? parts['options'] : []
  return [
    ...shape.flatMap(([name, child]): [string, z.core.$ZodType][] => (isSchema(child) ? [[name, child]] : [])),
    ...[...inner, ...options].flatMap((child): [undefined, z.core.$ZodType][] =>
      isSchema(child) ? [[undefined, child]] : [],
    ),
  ]
}

/** A revision is the one number that JSON has as digits. */
const isDigits = (schema: z.core.$ZodType): boolean =>
  schema._zod.def.type === 'pipe' && z.safeParse(schema, '12').data === 12 && !z.safeParse(schema, 12).success

function numbersIn(schema: z.core.$ZodType, path: string, name = '', isInList = false): Field[] {
  if (isDigits(schema)) return [{ path, name, isRevision: true, isInList }]
  if (schema._zod.def.type === 'number') return [{ path, name, isRevision: false, isInList }]
  return childrenOf(schema).flatMap(([field, child]) =>
    field === undefined
      ? numbersIn(child, path, name, isInList || schema._zod.def.type === 'array')
      : numbersIn(child, `${path}.${field}`, field),
  )
}

const fields = [
  ...Object.entries(eventTypes).flatMap(([type, { schema }]) => numbersIn(schema, type)),
  ...numbersIn(cloudEvent, 'an event of the stream'),
  ...Object.entries(routes).flatMap(([name, { answer }]) =>
    isSchema(answer) ? numbersIn(answer, `answer of ${name}`) : [],
  ),
]

const namesOf = ({ isInList }: Field): ReadonlySet<string> => (isInList ? REVISION_LISTS : REVISION_FIELDS)

it('finds the numbers of the schemas', () => {
  expect(fields.filter(({ isRevision }) => isRevision).length).toBeGreaterThan(40)
  expect(fields.filter(({ isRevision }) => !isRevision).length).toBeGreaterThan(100)
  expect(numbersIn(z.object({ a: z.array(revisionInJson), b: z.int() }), 'x')).toEqual([
    { path: 'x.a', name: 'a', isRevision: true, isInList: true },
    { path: 'x.b', name: 'b', isRevision: false, isInList: false },
  ])
})

it('a field has the name of a revision exactly if it has one', () => {
  const wrong = fields.filter((field) => namesOf(field).has(field.name) !== field.isRevision)
  expect(wrong.map(({ path, isRevision }) => `${path} ${isRevision ? 'is' : 'is not'} a revision`)).toEqual([])
})

it('JSON has revisions as digits, and the numbers of hosts and models as numbers', () => {
  const message = {
    revision: 7,
    content: [{ revision: 3 }],
    attributes: { position: 4, deep: { since: 5 } },
    tokens: 9,
  }
  expect(JSON.parse(toWire({ messages: [message], leading: [1, 2], chunks: 3 }))).toEqual({
    messages: [{ ...message, revision: '7' }],
    leading: ['1', '2'],
    chunks: 3,
  })
})
