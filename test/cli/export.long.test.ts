/** `export`: the lines satisfy the published rules of each format, and have no text unless it is requested. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { openLedger } from '../../src/index.js'
import { exportedEvents } from '../../src/interfaces/cli/export/exported-events.js'
import { runCli } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { startOpenAiStub, type OpenAiStub } from '../support/openai-stub.js'
import { plantedSecrets } from '../support/planted-secrets.js'
import { longTest } from '../support/length.js'

const [secret = { text: '', kind: '', secret: '' }] = plantedSecrets(1, 21)
const WORDS = 'a text that no export has'
let folder: string

/** The JSON schema of CloudEvents 1.0.2 (cloudevents.json) and the rules for names of attributes. */
const cloudEvent = z
  .looseObject({
    id: z.string().min(1),
    source: z.string().min(1),
    specversion: z.literal('1.0'),
    type: z.string().min(1),
    datacontenttype: z.string().min(1),
    subject: z.string().min(1),
    time: z.iso.datetime({ offset: true }),
  })
  .superRefine((event, context) => {
    for (const [name, value] of Object.entries(event)) {
      if (!/^[a-z0-9]{1,20}$/u.test(name)) context.addIssue(`the attribute ${name}`)
      if (name !== 'data' && !['string', 'boolean'].includes(typeof value)) context.addIssue(`the value of ${name}`)
    }
  })

/** The required attributes of API Activity in OCSF 1.4.0, and of the objects in it. */
const apiActivity = z
  .looseObject({
    activity_id: z.int().min(0).max(99),
    category_uid: z.literal(6),
    class_uid: z.literal(6003),
    type_uid: z.int(),
    severity_id: z.int().min(0).max(6),
    time: z.int().positive(),
    metadata: z.looseObject({
      version: z.literal('1.4.0'),
      product: z.looseObject({ vendor_name: z.string(), name: z.string() }),
    }),
    actor: z.looseObject({ user: z.looseObject({ name: z.string().min(1) }) }),
    api: z.looseObject({
      operation: z.string().min(1),
      request: z.object({ uid: z.string() }),
      service: z.object({ name: z.string() }),
    }),
    src_endpoint: z.looseObject({ svc_name: z.string() }),
    resources: z.array(z.looseObject({ uid: z.string() })),
    unmapped: z.looseObject({}),
  })
  .refine(({ class_uid, activity_id, type_uid }) => type_uid === class_uid * 100 + activity_id)

const attribute = z.object({
  key: z.string().min(1),
  value: z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ intValue: z.string().regex(/^-?\d+$/u) }),
    z.strictObject({ boolValue: z.boolean() }),
    z.strictObject({ doubleValue: z.number() }),
  ]),
})
const ids = { traceId: z.string().regex(/^[0-9a-f]{32}$/u), spanId: z.string().regex(/^[0-9a-f]{16}$/u) }
const nanoseconds = z.string().regex(/^\d{19}$/u)
/** OTLP in JSON: ids are hexadecimal, 64-bit numbers are texts, enumerations are numbers. */
const otlp = z.strictObject({
  resourceSpans: z.tuple([
    z.strictObject({
      resource: z.strictObject({ attributes: z.array(attribute) }),
      scopeSpans: z.tuple([
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          spans: z.tuple([
            z.strictObject({
              ...ids,
              name: z.string().min(1),
              kind: z.int().min(1).max(5),
              startTimeUnixNano: nanoseconds,
              endTimeUnixNano: nanoseconds,
              attributes: z.array(attribute),
              links: z.array(z.strictObject(ids)).optional(),
              status: z.strictObject({ code: z.literal(2), message: z.string() }).or(z.strictObject({})),
            }),
          ]),
        }),
      ]),
    }),
  ]),
})

let stub: OpenAiStub
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'export-'))
  stub = await startOpenAiStub()
  const ledger = await openLedger({
    store: join(folder, 'store'),
    ahead: false,
    policy: SMALL,
    summarizer: { kind: 'openai', model: 'small', baseUrl: stub.baseUrl, apiKey: 'none' },
  })
  await ledger.append('talk', [{ role: 'user', content: WORDS }, ...talk(30)])
  await ledger.compact('talk', { force: true })
  await ledger.append('old', { role: 'user', content: `${WORDS} ${secret.text}` }, { policy: { redaction: 'off' } })
  await ledger.close()
})
afterAll(async () => {
  await stub.close()
  await rm(folder, { recursive: true, force: true })
})

const exported = async (...words: string[]): Promise<readonly unknown[]> => {
  const { status, stdout, stderr } = await runCli(['export', ...words, '--store', join(folder, 'store')], {
    cwd: folder,
  })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.split('\n').flatMap((each): unknown[] => (each === '' ? [] : [JSON.parse(each)]))
}

describe('export', () => {
  it('has lines of CloudEvents, of one conversation or of all, after a position', async () => {
    const all = z.array(cloudEvent).parse(await exported('--format', 'cloudevents'))
    expect(new Set(all.map(({ subject }) => subject))).toEqual(new Set(['talk', 'old']))
    expect(JSON.stringify(all)).not.toContain(WORDS)
    expect(all.find(({ type }) => type.includes('MessageAppended'))?.['data']).toMatchObject({ role: 'user' })
    const one = z.array(cloudEvent).parse(await exported('old', '--format', 'cloudevents'))
    expect(one).toEqual(all.filter(({ subject }) => subject === 'old'))
    const after = String(all.at(-2)?.['sequence'])
    expect(await exported('--format', 'cloudevents', '--after', after)).toEqual(all.slice(-1))
  })

  it('has texts if they are requested, without secrets of older events', async () => {
    const text = JSON.stringify(await exported('--format', 'cloudevents', '--content'))
    expect(text).toContain(WORDS)
    expect(text).toContain(`[secret:${secret.kind}:`)
    expect(text).not.toContain(secret.secret)
  })

  longTest('has API activities of OCSF', async () => {
    const all = z.array(apiActivity).parse(await exported('--format', 'ocsf'))
    expect(JSON.stringify(all)).not.toContain(WORDS)
    expect(all.map(({ api }) => api.operation)).toEqual(
      expect.arrayContaining(['MessageAppended', 'ChunkSummarized', 'MessagesPruned']),
    )
  })

  longTest('has spans of OpenTelemetry: requests to the model, and the cycle that is linked to them', async () => {
    const read = async (...words: string[]) =>
      z
        .array(otlp)
        .parse(await exported('--format', 'otel', ...words))
        .map(
          ({
            resourceSpans: [
              {
                scopeSpans: [
                  {
                    spans: [span],
                  },
                ],
              },
            ],
          }) => span,
        )
    const spans = await read()
    const chats = spans.filter(({ name }) => name === 'chat small')
    const cycle = spans.find(({ name }) => name === 'compact talk')
    expect(chats.length).toBeGreaterThan(0)
    expect(cycle?.links).toEqual(chats.map(({ traceId, spanId }) => ({ traceId, spanId })))
    expect(chats[0]?.attributes).toEqual(
      expect.arrayContaining([
        { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
        { key: 'gen_ai.provider.name', value: { stringValue: 'openai' } },
        { key: 'gen_ai.request.model', value: { stringValue: 'small' } },
        { key: 'gen_ai.conversation.id', value: { stringValue: 'talk' } },
      ]),
    )
    expect(chats.at(-1)?.attributes).toContainEqual({
      key: 'gen_ai.prompt.version',
      value: { stringValue: expect.stringMatching(/^[0-9a-f]{64}$/u) },
    })
    expect(cycle?.attributes).toContainEqual({ key: 'context_ledger.compaction.cycle', value: { intValue: '1' } })
    for (const { startTimeUnixNano, endTimeUnixNano } of spans) expect(startTimeUnixNano <= endTimeUnixNano).toBe(true)
    expect(JSON.stringify(spans)).not.toContain('gen_ai.output.messages')
    expect(JSON.stringify(await read('--content'))).toContain('gen_ai.output.messages')
  })

  longTest('follows new events until it is aborted, of one conversation or of all', async () => {
    const ledger = await openLedger({ store: 'memory', ahead: false })
    await ledger.append('one', { id: 'm1', role: 'user', content: 'x' })
    await ledger.append('two', { id: 'm2', role: 'user', content: 'x' })
    const interrupt = new AbortController()
    const read: string[] = []
    const selection = { after: -1, follows: true, signal: interrupt.signal }
    for await (const event of exportedEvents(ledger, { ...selection, conversationId: 'one' })) {
      if (event.type !== 'MessageAppended') continue
      read.push(event.data.messageId)
      if (read.length === 1) {
        await ledger.append('two', { id: 'm3', role: 'user', content: 'x' })
        await ledger.append('one', { id: 'm4', role: 'user', content: 'x' })
      } else interrupt.abort()
    }
    expect(read).toEqual(['m1', 'm4'])
    await ledger.close()
  })

  it('does not follow a directory, which would be closed to writers', async () => {
    const words = ['export', '--format', 'ocsf', '--follow', '--store', join(folder, 'store')]
    expect(await runCli(words, { cwd: folder })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--after'),
    })
  })

  it('requires a format', async () => {
    expect(await runCli(['export', '--store', join(folder, 'store')], { cwd: folder })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('cloudevents, ocsf, otel'),
    })
  })
})
