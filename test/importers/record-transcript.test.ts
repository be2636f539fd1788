/**
 * Records another program’s conversations: the context at every step is the program’s context, verification passes, and
 * a repeated or longer transcript records only the new items.
 */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { createVerify } from '../../src/application/audit/verify.js'
import { contextOf } from '../../src/domain/compaction/context.js'
import { placeholderFor } from '../../src/domain/conversation/placeholders.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import type { MessageBody } from '../../src/domain/values/message.js'
import { createRecordTranscript } from '../../src/application/importers/record-transcript.js'
import type { RecordedTranscript } from '../../src/application/importers/recorded-transcript.js'
import { sessionConversationId } from '../../src/domain/values/session-ids.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { decodeEvent, isOfType } from '../../src/application/recording/read-event.js'
import { loadConversation } from '../../src/application/recording/load-conversation.js'
import { checkRequest } from '../../src/application/summarizers/check-request.js'
import type { RecordedEvent } from '../../src/domain/events/index.js'
import { createHarness, createTestClock, type Harness } from '../support/harness.js'
import { runsOf } from '../support/length.js'
import { noRows } from '../support/row-differences.js'
import { steps, transcriptOf, type Step } from '../support/transcripts.js'

const ID = sessionConversationId('made-up', 's1')
const PROVENANCE = { actor: 'test', correlationId: 'r', causationId: 'r' }

async function* all(items: readonly TranscriptItem[]): AsyncGenerator<TranscriptItem> {
  yield* items
}

async function record(harness: Harness, items: readonly TranscriptItem[]): Promise<RecordedTranscript> {
  const recordTranscript = createRecordTranscript({
    log: harness.log,
    conversations: harness.conversations,
    clock: createTestClock(),
    summarizerWindowTokens: 128_000,
  })
  const result = await recordTranscript(all(items), { program: 'made-up', provenance: PROVENANCE })
  if (E.isLeft(result)) throw new Error(JSON.stringify(result.left))
  return result.right
}

async function eventsOf(harness: Harness): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const stored of harness.store.readStream(conversationStream(ID)))
    events.push(await decodeEvent(stored, harness.log))
  return events
}

const dataOf = async (harness: Harness): Promise<unknown[]> =>
  (await eventsOf(harness)).map(({ type, data }) => ({ type, data }))

/** The contents of the context, without what the ledger adds to make calls valid: placeholders, and a heading of results. */
async function contentsAt(harness: Harness, at?: number): Promise<unknown[]> {
  const context = contextOf(await loadConversation(harness.log, ID, at))
  if (E.isLeft(context)) throw new Error(context.left.kind)
  const placeholder = placeholderFor('').content
  return context.right.messages.flatMap(({ content }): unknown[] => {
    if (content === placeholder) return []
    return typeof content === 'string' ? [content.replace(/^\[late result of the call [^\]]*\]\n/u, '')] : [content]
  })
}

async function verified(harness: Harness): Promise<readonly unknown[]> {
  const { problems } = await createVerify({ log: harness.log, checkRequest, rowCheck: () => noRows })()
  return problems
}

describe('a recorded transcript', () => {
  it('knows a message again that was recorded when messages could have any number of values', async () => {
    const harness = createHarness()
    const where = { file: 'large.jsonl' }
    const part = { type: 'table', rows: Array.from({ length: 11_000 }, () => 1) }
    const large = { role: 'user' as const, content: [part] }
    const message = (sourceId: string, body: MessageBody): TranscriptItem => {
      return { kind: 'message', sourceId, part: 0, body, where }
    }
    const first: readonly TranscriptItem[] = [
      { kind: 'conversation', sourceId: 's1', where },
      message('m1', { role: 'user', content: 'hello' }),
    ]
    await record(harness, first)
    const now = '2026-01-01T00:00:00.000Z'
    const messages = [{ ...large, messageId: 'm2' }]
    await harness.conversations.handle(ID, [{ type: 'AppendMessages', messages, now }], PROVENANCE)
    const before = await dataOf(harness)
    const secondResult = await record(harness, [...first, message('m2', large), message('m3', large)])
    expect(secondResult.conversations).toMatchObject([{ known: 2, messages: 1 }])
    const after = await dataOf(harness)
    expect(after.slice(0, before.length)).toEqual(before)
    expect(after.at(-1)).toMatchObject({ data: { content: [{ type: 'other', json: JSON.stringify(part) }] } })
  })

  it('has the program’s context at every step, and passes verification', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const { items, contexts } = transcriptOf(given)
        const harness = createHarness()
        for (let end = 1; end <= items.length; end += 1) {
          await record(harness, items.slice(0, end))
          expect(await contentsAt(harness)).toEqual(contexts[end - 1])
        }
        expect(await verified(harness)).toEqual([])
      }),
      { numRuns: runsOf(200) },
    )
  })

  it('records nothing if it is read again, and the same events in halves as in one', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), async (given, cut) => {
        const { items } = transcriptOf(given)
        const whole = createHarness()
        await record(whole, items)
        const once = await dataOf(whole)
        await record(whole, items)
        expect(await dataOf(whole)).toEqual(once)
        const halves = createHarness()
        await record(halves, items.slice(0, 1 + (cut % items.length)))
        await record(halves, items)
        expect(await dataOf(halves)).toEqual(once)
      }),
      { numRuns: runsOf(200) },
    )
  })

  it('accounts for every live message: covered, kept or unknown', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const harness = createHarness()
        await record(harness, transcriptOf(given).items)
        const leading = new Set((await loadConversation(harness.log, ID)).leading.map(({ messageId }) => messageId))
        let live = new Set<string>()
        for (const event of await eventsOf(harness)) {
          if (isOfType(event, 'MessageAppended')) live.add(event.data.messageId)
          if (isOfType(event, 'MessagesWithdrawn'))
            for (const { messageId } of event.data.messages) live.delete(messageId)
          if (!isOfType(event, 'CompactionObserved')) continue
          const stays = event.data.context.flatMap((entry) => (entry.kind === 'message' ? [entry.messageId] : []))
          const covered = event.data.covered?.messageIds ?? []
          expect(new Set([...stays, ...covered, ...leading])).toEqual(new Set([...live, ...leading]))
          live = new Set([...live].filter((id) => !covered.includes(id)))
        }
      }),
      { numRuns: runsOf(100) },
    )
  })

  it('records a message again if it was incomplete and is longer now, and only then', async () => {
    const harness = createHarness()
    const say = (text: string): TranscriptItem[] => [
      ...transcriptOf([{ kind: 'say', role: 'assistant', text, answer: 0 }]).items,
    ]
    await record(harness, say('half a'))
    await record(harness, say('half a turn'))
    await record(harness, say('half a turn, and the rest'))
    const once = await dataOf(harness)
    await record(harness, say('half a turn, and the rest'))
    expect(await dataOf(harness)).toEqual(once)
    expect(await contentsAt(harness)).toEqual(['half a turn, and the rest'])
    expect(await verified(harness)).toEqual([])
  })

  it('is unchanged if only recorded numbers were rounded, and different otherwise', async () => {
    const harness = createHarness()
    const [begins, said] = transcriptOf([{ kind: 'say', role: 'assistant', text: 'so', answer: 0 }]).items
    if (begins === undefined || said?.kind !== 'message') throw new Error('nothing was said')
    /** The message as an importer yields it, and as version 0.9.0 recorded it. */
    const saying = (id: string, read: (digits: string) => unknown, more = ''): TranscriptItem[] => [
      begins,
      {
        ...said,
        body: {
          role: 'assistant',
          content: [{ type: 'x', of: [`at 12345678901234567891${more}`, { n: read(id) }] }],
          toolCalls: [
            { id: 'c', type: 'function', function: { name: 'f', arguments: `{"id":${String(read(id))},"n":1}` } },
          ],
        },
      },
    ]
    await record(harness, saying('9007199254740993', Number))
    const before = await dataOf(harness)
    expect(await record(harness, saying('9007199254740993', String))).toMatchObject({
      conversations: [{ messages: 0, known: 1 }],
    })
    expect(await dataOf(harness)).toEqual(before)
    for (const changed of [
      saying('9007199254740995', String),
      saying('9007199254740993', String, '!'),
      saying('9007199254740993', () => true),
    ])
      await expect(record(harness, changed)).rejects.toThrow('TranscriptsContradict')
  })

  it('is rejected if a recorded message has another text, and both files are named', async () => {
    const harness = createHarness()
    const say = (text: string): Step => ({ kind: 'say', role: 'user', text, answer: 0 })
    await record(harness, transcriptOf([say('one')]).items)
    const recordTranscript = createRecordTranscript({
      log: harness.log,
      conversations: harness.conversations,
      clock: createTestClock(),
      summarizerWindowTokens: 128_000,
    })
    const items = transcriptOf([say('another')]).items.map((item) => ({
      ...item,
      where: { ...item.where, file: 'copy.jsonl' },
    }))
    const result = await recordTranscript(all(items), { program: 'made-up', provenance: PROVENANCE })
    expect(result).toEqual(
      E.left({
        kind: 'TranscriptsContradict',
        conversationId: ID,
        messageId: 'r2',
        where: { file: 'copy.jsonl', line: 2 },
        recorded: { file: 'made-up.jsonl', line: 1 },
      }),
    )
  })

  it('keeps a text of the program that it writes again with other content, as on another day', async () => {
    const harness = createHarness()
    const at = (day: string): TranscriptItem[] =>
      transcriptOf([
        { kind: 'say', role: 'user', text: `today is ${day}`, answer: 0 },
        { kind: 'say', role: 'user', text: 'go', answer: 0 },
      ]).items.map((item) =>
        item.kind === 'message' && item.body.content !== 'go' ? { ...item, byProgram: true } : item,
      )
    await record(harness, at('Monday'))
    const before = await dataOf(harness)
    expect(await record(harness, at('Tuesday'))).toMatchObject({ conversations: [{ messages: 0, known: 2 }] })
    expect(await dataOf(harness)).toEqual(before)
  })
})

describe('the title of a transcript', () => {
  const where = { file: '/sessions/s1.jsonl', line: 1 }
  const titled = (title?: string): TranscriptItem => ({ kind: 'conversation', sourceId: 's1', title, where })
  const message: TranscriptItem = {
    kind: 'message',
    sourceId: 'u1',
    part: 0,
    body: { role: 'user', content: 'hello' },
    where,
  }
  const titlesOf = async (harness: Harness): Promise<unknown[]> =>
    (await eventsOf(harness)).flatMap((event) =>
      isOfType(event, 'ConversationObserved') || isOfType(event, 'ConversationTitled')
        ? [[event.type, event.data.title]]
        : [],
    )

  it('that comes before the first append is in its first event', async () => {
    const harness = createHarness()
    await record(harness, [titled(), message, titled('The date bug')])
    expect(await titlesOf(harness)).toEqual([['ConversationObserved', 'The date bug']])
  })

  it('is recorded when it changes, the latest of an import, and once', async () => {
    const harness = createHarness()
    await record(harness, [titled('A'), message])
    const longer = [titled('A'), message, titled('B'), titled(), titled('C'), titled('')]
    for (const items of [longer, longer, [titled('A'), message]]) await record(harness, items)
    expect(await titlesOf(harness)).toEqual([
      ['ConversationObserved', 'A'],
      ['ConversationTitled', 'C'],
    ])
  })

  it('records nothing for a conversation without content', async () => {
    const harness = createHarness()
    await record(harness, [titled('A'), titled('B')])
    expect(await eventsOf(harness)).toEqual([])
  })
})
