/** Redaction on the write path: nothing of a secret is recorded, and repeated messages are recognized. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { openLedger, type Ledger, type MessageInput, type PolicySettings } from '../../src/index.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { systemClock } from '../../src/ports/clock.js'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { createFoldInSummarizer } from '../../src/application/summarizers/fold-in.js'
import { createPrompt } from '../../src/application/summarizers/prompts.js'
import { SMALL, talk } from '../support/conversations.js'
import { createHarness } from '../support/harness.js'
import { chunkJob } from '../support/summary-jobs.js'
import { MAKERS, plantedSecrets, randomFrom, type Planted } from '../support/planted-secrets.js'
import { repeated } from '../support/length.js'

const OFF: PolicySettings = { redaction: 'off' }
const ON: PolicySettings = { redaction: 'on' }

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', ahead: false })
})
afterAll(() => ledger.close())

async function eventsOf(conversationId: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of ledger.log(conversationId)) events.push(event)
  return events
}
const appendedIn = async (conversationId: string): Promise<number> =>
  (await eventsOf(conversationId)).filter(({ type }) => type === 'MessageAppended').length

const planted = fc.integer({ min: 0, max: 1_000_000 }).map((seed): Planted => {
  const make = MAKERS[seed % MAKERS.length]
  return make === undefined ? { kind: '', text: '', secret: '' } : make(randomFrom(seed))
})
const words = fc.string({ unit: 'grapheme', maxLength: 20 })
const holder = fc.constantFrom('content', 'part', 'argument', 'result', 'attribute', 'extra')

/** Messages with a secret in one of the places that a message has for text. */
function holding(place: string, text: string): MessageInput[] {
  const call = (content: string): MessageInput => ({
    id: 'a',
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'run', arguments: JSON.stringify({ content }) } }],
  })
  if (place === 'part') return [{ id: 'a', role: 'user', content: [{ type: 'text', text }] }]
  if (place === 'argument') return [call(text)]
  if (place === 'result') return [call('ls'), { id: 'b', role: 'tool', tool_call_id: 'c', content: text }]
  if (place === 'attribute') return [{ id: 'a', role: 'user', content: 'x', attributes: { deep: [{ text }] } }]
  return [
    { id: 'a', role: 'user', content: place === 'content' ? text : 'x', ...(place === 'extra' ? { note: text } : {}) },
  ]
}

describe('the write path', () => {
  let number = 0
  it('records no secret, counts those of each event, and knows the message again', async () => {
    await fc.assert(
      fc.asyncProperty(words, planted, words, holder, async (before, { text, secret, kind }, after, place) => {
        number += 1
        const id = `law-${String(number)}`
        const messages = holding(place, `${before} ${text} ${after}`)
        await ledger.append(id, messages)
        const events = await eventsOf(id)
        const data = JSON.stringify(events)
        expect(data).not.toContain(JSON.stringify(secret).slice(1, -1))
        expect(events.flatMap(({ metadata }) => (metadata.redacted === undefined ? [] : [metadata.redacted]))).toEqual([
          expect.objectContaining({ [kind]: 1 }),
        ])
        expect((await ledger.append(id, messages)).recorded).toEqual([])
        expect((await ledger.context(id)).messages.length).toBeGreaterThan(0)
      }),
      { numRuns: repeated(150, 30) },
    )
    expect((await ledger.admin.verify()).problems).toEqual([])
  })

  it('refuses the same id with another secret', async () => {
    const [one, two] = plantedSecrets(2, 5)
    await ledger.append('another', { id: 'm', role: 'user', content: one?.text ?? '' })
    await expect(ledger.append('another', { id: 'm', role: 'user', content: two?.text ?? '' })).rejects.toMatchObject({
      kind: 'MessageIdTaken',
    })
  })

  it('has patterns and allow-lists of the policy, and refuses a pattern that it cannot bound', async () => {
    const [one] = plantedSecrets(1, 6)
    const policy: PolicySettings = {
      secretPatterns: { order: 'ORD-[0-9]{6}' },
      secretAllow: [`${one?.secret.slice(0, 8) ?? ''}.*`],
    }
    await ledger.append('own', { role: 'user', content: `ORD-123456 ${one?.text ?? ''}` }, { policy })
    expect((await ledger.context('own')).messages[0]?.content).toMatch(/^\[secret:order:[0-9a-f]{4}\] AK/u)
  })

  it.each([
    [{ secretPatterns: { mine: '(a+)+' } }, 'secretPatterns'],
    [{ secretPatterns: { 'My kind': 'a' } }, 'secretPatterns'],
    [{ secretAllow: ['a*'] }, 'secretAllow'],
  ])('refuses the policy %j where it is given', async (policy, field) => {
    const refused = { kind: 'BadPolicy', message: expect.stringContaining(field) }
    await expect(openLedger({ store: 'memory', policy })).rejects.toMatchObject(refused)
    await expect(ledger.append('bad', { role: 'user', content: 'x' }, { policy })).rejects.toMatchObject(refused)
  })

  it('redacts ids of messages, actors and correlation ids, and still finds the message', async () => {
    const [one] = plantedSecrets(1, 12)
    const { text, secret } = one ?? { text: '', secret: '' }
    const by = { actor: `by ${text}`, correlationId: `for ${text}` }
    await ledger.append('ids', { id: `of ${text}`, role: 'user', content: 'x' }, by)
    await ledger.append('ids', { id: 'next', role: 'user', content: 'y' })
    await ledger.conversation('ids').pin(`of ${text}`)
    await ledger.conversation('ids').unpin(`of ${text}`)
    await ledger.amend('ids', { withdraw: [`of ${text}`], append: [] })
    const events = await eventsOf('ids')
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['MessagePinned', 'MessageUnpinned', 'MessagesWithdrawn']),
    )
    expect(inspect(events, { depth: 9 })).not.toContain(secret)
  })

  it('refuses a secret in a name that is recorded as it is', async () => {
    const [one] = plantedSecrets(1, 13)
    const { text, secret } = one ?? { text: '', secret: '' }
    const message: MessageInput = { role: 'user', content: 'x' }
    await expect(ledger.append(`run ${text}`, message)).rejects.toMatchObject({ kind: 'BadId' })
    await expect(ledger.append('scoped', message, { scope: text })).rejects.toMatchObject({ kind: 'BadId' })
    await expect(
      ledger.append('scoped', message, { policy: { secretPatterns: { mine: secret } } }),
    ).rejects.toMatchObject({ kind: 'BadId' })
    // The allowed text is no secret.
    await ledger.append('scoped', message, { policy: { secretAllow: [secret] } })
  })

  it('decides by the policy of the conversation whether a prompt has a secret', async () => {
    const register = createRegisterPrompt(createHarness({ policy: SMALL }).log, systemClock)
    const prepared = createFoldInSummarizer({
      model: createScriptedLanguageModel(['A summary.']),
      prompt: createPrompt('mine', 'For order ORD-123456: {messages}'),
    }).prepare(chunkJob())
    const by = { actor: 'test', correlationId: 'c', causationId: 'c' }
    const settings: PolicySettings = { secretPatterns: { order: 'ORD-[0-9]{6}' } }
    await register(prepared, by, undefined)
    await expect(register(prepared, by, settings)).rejects.toThrow(/mine contains a secret \(order\)/u)
    await register(prepared, by, { ...settings, secretAllow: ['ORD-1[0-9]{5}'] })
    await register(prepared, by, { ...settings, redaction: 'off' })
  })
})

describe('the search for secrets', () => {
  it('lists the requests for summaries that had one, also through an earlier summary', async () => {
    const [one] = plantedSecrets(1, 14)
    const { text, kind } = one ?? { text: '', kind: '' }
    const open = await openLedger({
      store: 'memory',
      ahead: false,
      summarizer: () => Promise.resolve(`a summary with ${text}`),
      policy: { ...SMALL, redaction: 'off' },
    })
    await open.append('sums', [{ id: 'first', role: 'user', content: `use ${text}` }, ...talk(30)])
    await open.compact('sums', { force: true })
    await open.append('sums', talk(40).slice(30))
    await open.compact('sums', { force: true })
    const summaries: RecordedEvent[] = []
    for await (const event of open.log('sums')) if (event.type === 'ChunkSummarized') summaries.push(event)
    const { secrets } = await open.admin.secrets.scan({ conversationId: 'sums' })
    expect(secrets).toMatchObject([{ kind }])
    const [first] = summaries
    expect(summaries.length).toBeGreaterThan(1)
    expect(secrets[0]?.seenBy.summaries[0]?.revision).toBe(first?.revision)
    // Each later request has the summary before it as its background.
    expect(secrets[0]?.seenBy.summaries.map(({ revision }) => revision)).toEqual(
      expect.arrayContaining(summaries.map(({ revision }) => revision)),
    )
    await open.close()
  })
})

describe('a message from before redaction', () => {
  const [one, two] = plantedSecrets(2, 9)
  const list: MessageInput[] = [
    { role: 'user', content: `use ${one?.text ?? ''}` },
    { role: 'assistant', content: `I used ${two?.text ?? ''}` },
    { role: 'user', content: 'and now?' },
  ]

  it('is known again by append', async () => {
    const messages = list.map((message, at) => ({ ...message, id: `m${String(at)}` }))
    await ledger.append('old append', messages, { policy: OFF })
    expect((await ledger.append('old append', messages, { policy: ON })).recorded).toEqual([])
    expect(await appendedIn('old append')).toBe(3)
  })

  it('is known again in a host’s list', async () => {
    await ledger.append('old list', list, { policy: OFF })
    await ledger.append('old list', { role: 'assistant', content: 'we go on' }, { policy: ON })
    const host: MessageInput[] = [
      ...list,
      { role: 'assistant', content: 'we go on' },
      { role: 'user', content: 'more' },
    ]
    expect((await ledger.compress(host, 'old list')).history).toEqual(host)
    expect((await eventsOf('old list')).some(({ type }) => type === 'MessagesWithdrawn')).toBe(false)
    expect(await appendedIn('old list')).toBe(5)
  })

  it('is known again by an import', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'redaction-'))
    const file = join(folder, 'session.jsonl')
    const uuid = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`
    const lines = list.map(({ role, content }, at) =>
      JSON.stringify({
        type: role,
        uuid: uuid(at),
        parentUuid: at === 0 ? null : uuid(at - 1),
        isSidechain: false,
        userType: 'external',
        cwd: '/home/someone/project',
        sessionId: '22222222-2222-4222-8222-222222222222',
        version: '2.1.219',
        timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString(),
        message:
          role === 'user'
            ? { role, content }
            : { id: 'msg_1', role, model: 'm', content: [{ type: 'text', text: content }] },
      }),
    )
    await writeFile(file, `${lines.join('\n')}\n`)
    const first = await ledger.transcripts.import(file, { from: 'claude-code', policy: OFF })
    expect(first.conversations[0]?.messages).toBe(3)
    const id = first.conversations[0]?.conversationId ?? ''
    await ledger.transcripts.observe(
      id,
      { program: 'claude-code', messages: [{ id: 'later', role: 'user', content: 'x' }] },
      { policy: ON },
    )
    const copy = join(folder, 'copy.jsonl')
    await writeFile(copy, `${lines.join('\n')}\n`)
    const secondImport = await ledger.transcripts.import(copy, { from: 'claude-code' })
    expect(secondImport.conversations[0]).toMatchObject({ messages: 0, known: 3 })
    expect(await appendedIn(id)).toBe(4)
    await rm(folder, { recursive: true })
  })
})
