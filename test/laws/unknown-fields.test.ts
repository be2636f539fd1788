/**
 * Unknown parts, calls and fields are returned byte for byte, including the order of their keys, because cached prefixes
 * and signatures depend on bytes.
 */
import { describe, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { openLedger, type MessageInput } from '../../src/index.js'
import type { ChatMessage } from '../../src/domain/values/message.js'
import { createHarness } from '../support/harness.js'
import { jsonAs } from '../support/json.js'
import { longTest, runsOf } from '../support/length.js'

// Names of known fields, names that JavaScript treats specially, and others.
const keys = fc.oneof(
  fc.constantFrom(
    'type',
    'text',
    'id',
    'function',
    'name',
    'arguments',
    'role',
    'content',
    '__proto__',
    'constructor',
    'toString',
    '10',
    '2',
    '-1',
    'source',
    'signature',
  ),
  fc.string({ maxLength: 6 }),
)
const texts = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('\u0000', '\ud83d', 'é', '\u2028', '\\', '0'.repeat(70_000)),
)

/**
 * JSON texts with their keys in any order. JavaScript itself sorts keys that are whole numbers.
 */
const { value: values } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    texts.map((text) => JSON.stringify(text)),
    fc.constantFrom('0', '-0.5', '1e21', 'null', 'true', '[]', '{}'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    tie('object'),
  ),
  object: fc
    .uniqueArray(fc.tuple(keys, tie('value')), { selector: ([key]) => key, maxLength: 5 })
    .map((fields) => `{${fields.map(([key, item]) => `${JSON.stringify(key)}:${item}`).join(',')}}`),
}))

/** An object with these fields, and others, in any order. */
const objectsWith = (known: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.record(known),
      fc.uniqueArray(
        fc.tuple(
          keys.filter((key) => !(key in known) || key === '__proto__' || key === 'constructor' || key === 'toString'),
          values,
        ),
        { selector: ([key]) => key, maxLength: 4 },
      ),
    )
    .chain(([fields, further]) =>
      fc.shuffledSubarray([...Object.entries(fields), ...further], {
        minLength: Object.keys(fields).length + further.length,
      }),
    )
    .map((fields) => `{${fields.map(([key, item]) => `${JSON.stringify(key)}:${item}`).join(',')}}`)

const json = (value: unknown): fc.Arbitrary<string> => fc.constant(JSON.stringify(value))
const typed = (...types: readonly string[]): fc.Arbitrary<string> =>
  fc.constantFrom(...types).map((type) => JSON.stringify(type))
const parts = fc.oneof(
  objectsWith({ type: typed('thinking', 'reasoning', 'image_url', 'hologram', 'file') }),
  objectsWith({ type: json('text'), text: texts.map((text) => JSON.stringify(text)) }),
)
const calls = fc.oneof(
  objectsWith({
    id: json('call_1'),
    type: json('function'),
    function: objectsWith({
      name: json('run'),
      arguments: texts.map((text) => JSON.stringify(JSON.stringify({ text }))),
    }),
  }),
  objectsWith({ id: json('call_1'), type: typed('custom', 'hologram') }).filter(
    (call) => jsonAs<{ readonly function?: unknown }>(call).function === undefined,
  ),
)

interface MessageFields {
  readonly parts: readonly string[]
  readonly call: string | undefined
  readonly extra: string
}
const messageFields: fc.Arbitrary<MessageFields> = fc.record({
  parts: fc.array(parts, { minLength: 1, maxLength: 3 }),
  call: fc.option(calls, { nil: undefined }),
  extra: values,
})

const messageFrom = ({ parts: content, call, extra }: MessageFields, id: string): MessageInput =>
  jsonAs<MessageInput>(
    `{"x_extra":${extra},"id":${JSON.stringify(id)},"content":[${content.join(',')}],"role":"assistant"${call === undefined ? '' : `,"tool_calls":[${call}]`}}`,
  )

/** The unknown fields of a message as JSON text. */
const fieldsText = ({
  content,
  tool_calls,
  x_extra,
}: {
  readonly content?: unknown
  readonly tool_calls?: unknown
  readonly x_extra?: unknown
}): string => JSON.stringify([content, tool_calls, x_extra])

describe('unknown fields are returned unchanged', () => {
  // Other shapes omit blank texts, which their APIs reject.
  it('by a process that has read them from the store', async () => {
    await fc.assert(
      fc.asyncProperty(messageFields, async (fields) => {
        const message = messageFrom(fields, 'm1')
        const harness = createHarness({ policy: { modelMaxTokens: 1_000_000, shape: 'openai' } })
        await harness.appended(message)
        const { messages, messageIds } = await harness.restart().context()
        expect(messages.filter((_message, at) => messageIds[at] === 'm1').map(fieldsText)).toEqual([
          fieldsText(message),
        ])
      }),
      { numRuns: runsOf(200) },
    )
  })

  longTest('from a directory that was closed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'context-ledger-as-they-came-'))
    try {
      const history = fc
        .sample(messageFields, { numRuns: 30, seed: 12 })
        .map((fields, at) =>
          messageFrom({ ...fields, call: fields.call?.replaceAll('call_1', `call_${String(at)}`) }, `m${String(at)}`),
        )
      const options = { store: folder, policy: { modelMaxTokens: 2_000_000, shape: 'openai' } } as const
      const first = await openLedger(options)
      await first.append('a', history)
      await first.close()
      const second = await openLedger(options)
      const messages: readonly ChatMessage[] = (await second.context('a')).messages
      expect(messages.filter(({ role }) => role === 'assistant').map(fieldsText)).toEqual(history.map(fieldsText))
      await second.close()
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
