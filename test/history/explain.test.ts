/** Explanations of summaries and lines: trees over small histories, and copied lines. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { headAfterNumber } from '../../src/domain/conversation/clip-archive.js'
import { explain } from '../../src/application/history/explain.js'
import { NO_SECTIONS, type CarryForward, type Event, type RecordedEvent } from '../../src/domain/events/index.js'
import { sha256 } from '../../src/domain/values/hash.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import { contentText } from '../../src/domain/values/message.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { createExtractiveSummarizer } from '../../src/application/summarizers/index.js'
import {
  appended,
  archived,
  configuration,
  eventsFor,
  prunedBy,
  resummarized,
  summarized,
  summarizer,
} from '../support/builders.js'
import { say, SMALL, talk } from '../support/conversations.js'
import { revert, undo } from '../support/edition-history.js'
import { CONVERSATION, contextIn, createHarness, createScriptedSummarizer, type Harness } from '../support/harness.js'
import { explainConversation, batchesOf, explained, leaves, makeEdition } from '../support/explain-conversation.js'

/** A conversation with several cycles, and batches of batches. */
async function compacted(policy = {}): Promise<Harness> {
  const harness = createHarness({
    policy: { ...SMALL, view: 'clip-archive', buffer: 2, clipFirst: 1, clipLast: 1, clipMiddle: 1, ...policy },
  })
  for (const message of talk(90)) {
    await harness.appended(message)
    await harness.compact()
  }
  return harness
}

const CONFIGURATION = configuration({ estimator: defaultEstimator.name })
const configured: Event = { type: 'ConversationConfigured', data: CONFIGURATION }

/** A forged prune with this carried state. */
function pruned(covered: Readonly<Record<string, readonly string[]>>, carried: Partial<CarryForward> = {}): Event {
  const event = prunedBy(covered)
  return {
    ...event,
    data: { ...event.data, carried: { ...event.data.carried, configuration: CONFIGURATION, ...carried } },
  }
}

async function withEvents(events: readonly Event[]): Promise<Harness> {
  const harness = createHarness()
  const stream = conversationStream(CONVERSATION)
  const stored = await harness.log.store.append(stream, 'no_stream', eventsFor(stream, events).events)()
  if (E.isLeft(stored)) throw new Error(stored.left.kind)
  return harness
}

describe('a batch', () => {
  it('is shown down to its messages, with the author, time and trigger of the summary', async () => {
    const harness = await compacted()
    const [first] = await harness.eventsOf('BatchArchived')
    const [chunk] = await harness.eventsOf('ChunkSummarized')
    const [prune] = await harness.eventsOf('MessagesPruned')
    if (first === undefined || chunk === undefined || prune === undefined) throw new Error('nothing was compacted')
    const { batch, prompts } = await explained(harness, 'batch', { batchId: first.data.batchId, open: true })
    expect(batch).toMatchObject({
      batchId: first.data.batchId,
      depth: 0,
      content: first.data.content,
      state: 'shown',
      missing: [],
      sources: [],
    })
    expect(batch.recorded).toMatchObject({
      stream: 'conversation-c1',
      revision: first.revision,
      actor: 'test',
      recordedAt: first.metadata.recordedAt,
    })
    expect(batch.chunk).toMatchObject({
      chunkId: first.data.chunkId,
      messageIds: first.data.messageIds,
      summarizer: chunk.data.summarizer,
      recorded: { revision: chunk.revision },
    })
    expect(batch.chunk?.messages?.map(({ messageId }) => messageId)).toEqual(first.data.messageIds)
    expect(batch.chunk?.messages?.[0]?.message.content).toBe(say(0).content)
    expect(batch.cycle).toEqual(
      expect.objectContaining({
        cycle: 1,
        trigger: 'soft',
        threshold: 800,
        terms: 'terms' in prune.data.why ? prune.data.why.terms : undefined,
        tokensBefore: prune.data.tokensBefore,
        tokensAfter: prune.data.tokensAfter,
      }),
    )
    expect(batch.cycle?.recorded.revision).toBe(prune.revision)
    expect(prompts).toEqual([
      { sha256: chunk.data.summarizer.prompt.sha256, kind: 'template', text: 'Summarize {messages}' },
    ])
  })

  it('is found by the beginning of its id; several matches are listed', async () => {
    const harness = await compacted()
    const [first, ...others] = (await harness.eventsOf('BatchArchived')).map(({ data }) => data.batchId)
    if (first === undefined) throw new Error('nothing was compacted')
    let length = first.length
    while (!others.some((id) => id.startsWith(first.slice(0, length - 1)))) length -= 1
    for (const batchId of [first.slice(0, length), first.slice('batch-'.length, Math.max(length, 'batch-'.length + 4))])
      expect((await explained(harness, 'batch', { batchId })).batch.batchId).toBe(first)
    expect(await explainConversation(harness, { batchId: first.slice(0, length - 1) })).toMatchObject(
      E.left({ kind: 'SeveralBatches', batchIds: expect.arrayContaining([first]) }),
    )
    expect(await explainConversation(harness, { batchId: `${first.slice(0, -1)}z` })).toMatchObject(
      E.left({ kind: 'NoSuchBatch', nearest: first }),
    )
    for (const batchId of ['batch-', 'batch'])
      expect(E.isLeft(await explainConversation(harness, { batchId }))).toBe(true)
  })

  it('made of batches leads to each of them, and names the cycle that first showed it', async () => {
    const harness = await compacted()
    const made = await harness.eventsOf('BatchesResummarized')
    const deepest = made.toSorted((a, b) => b.data.depth - a.data.depth)[0]
    if (deepest === undefined) throw new Error('nothing was re-summarized')
    const { batch } = await explained(harness, 'batch', { batchId: deepest.data.batchId, open: true })
    expect(batch.sources.map(({ batchId }) => batchId)).toEqual(deepest.data.sourceBatchIds)
    expect(batch.sources.every(({ state }) => state === 'retired')).toBe(true)
    expect(batch.summarizer).toEqual(deepest.data.summarizer)
    expect(leaves(batch)).toHaveLength(deepest.data.messageCount)
    const next = (await harness.eventsOf('MessagesPruned')).find(({ revision }) => revision > deepest.revision)
    expect(batch.cycle?.cycle).toBe(next?.data.cycle)
  })

  it('that is active is found without reading the whole conversation, and a retired one by the read model', async () => {
    const harness = await compacted()
    const { batches } = await harness.conversations.load(CONVERSATION)
    const last = batches.at(-1)
    if (last === undefined) throw new Error('nothing was compacted')
    const state = await harness.conversations.load(CONVERSATION)
    const events = await harness.events()
    harness.store.reads = 0
    expect(
      E.isRight(
        await explain({ log: harness.log, placeOf: async () => await Promise.resolve(undefined) }, state, {
          batchId: last.batchId,
        }),
      ),
    ).toBe(true)
    expect(harness.store.reads).toBeLessThan(events.length / 3)

    const retired = (await harness.eventsOf('BatchArchived'))[3]
    if (retired === undefined) throw new Error('too few batches')
    harness.store.reads = 0
    const placeOf = async () =>
      await Promise.resolve({ firstRevision: retired.data.firstRevision, revision: retired.revision })
    expect(E.isRight(await explain({ log: harness.log, placeOf }, state, { batchId: retired.data.batchId }))).toBe(true)
    expect(harness.store.reads).toBeLessThan(events.length / 3)
  })

  it('is found in the log if the read model is wrong', async () => {
    const harness = await compacted()
    const [, , retired] = await harness.eventsOf('BatchArchived')
    const wrong = async () => await Promise.resolve({ firstRevision: 100_000, revision: 100_001 })
    const answer = await explainConversation(harness, { batchId: retired?.data.batchId ?? '' }, wrong)
    expect(answer).toMatchObject(E.right({ kind: 'batch', batch: { batchId: retired?.data.batchId, missing: [] } }))
  })

  it('with a mistyped id gets the nearest id', async () => {
    const harness = await compacted()
    const [first] = await harness.eventsOf('BatchArchived')
    const id = first?.data.batchId ?? ''
    const last = id.at(-1) === '0' ? '1' : '0'
    for (const typed of [`${id.slice(0, -1)}${last}`, `${id}0`]) {
      expect(await explainConversation(harness, { batchId: typed })).toEqual(
        E.left({ kind: 'NoSuchBatch', conversationId: CONVERSATION, batchId: typed, nearest: id }),
      )
    }
    expect(await explainConversation(harness, { batchId: 'something else' })).toEqual(
      E.left({ kind: 'NoSuchBatch', conversationId: CONVERSATION, batchId: 'something else', nearest: undefined }),
    )
  })

  it('names what its log lacks: a source, a chunk, a message, the text of a prompt', async () => {
    const harness = await withEvents([
      configured,
      appended('m1'),
      appended('m2'),
      summarized('k', ['m1', 'm2', 'lost'], { summarizer: summarizer({ persona: { sha256: 'e'.repeat(64) } }) }),
      archived('b1', ['m1', 'm2'], { chunkId: 'k' }),
      archived('b2', ['m2'], { chunkId: 'gone' }),
      pruned({ b1: ['m1', 'm2'] }),
      resummarized('b3', ['b1', 'b2', 'never']),
    ])
    const { batch, prompts } = await explained(harness, 'batch', { batchId: 'b3', open: true })
    expect(batchesOf(batch).map(({ batchId, missing }) => [batchId, missing])).toEqual([
      ['b3', ['never']],
      ['b1', ['lost']],
      ['b2', ['gone']],
    ])
    expect(prompts.map(({ kind, text }) => [kind, text])).toEqual([
      ['template', undefined],
      ['persona', undefined],
    ])
  })

  it('that names itself as its source does not loop', async () => {
    const harness = await withEvents([configured, appended('m1'), resummarized('b1', ['b1', 'b2'])])
    expect((await explained(harness, 'batch', { batchId: 'b1' })).batch.missing).toEqual(['b1', 'b2'])
  })

  it('of the fallback is marked', async () => {
    const harness = createHarness({ policy: SMALL })
    harness.summarizer.answer = () => ({ failure: 'unreachable' })
    await harness.appended(talk(27))
    await harness.compact()
    const { batches } = await explained(harness, 'view')
    expect(batches.length).toBeGreaterThan(0)
    for (const { chunk, cycle } of batches)
      expect([chunk?.summarizer.fallback, chunk?.summarizer.strategy, cycle?.trigger]).toEqual([
        true,
        'extractive',
        'hard',
      ])
  })
})

describe('the whole view', () => {
  it('is one tree for each of its batches', async () => {
    const harness = await compacted()
    const state = await harness.conversations.load(CONVERSATION)
    const view = await explained(harness, 'view', { open: true })
    expect(view.batches.map(({ batchId }) => batchId)).toEqual(state.visibleBatches.map(({ batchId }) => batchId))
    expect(view).toMatchObject({ cycles: state.cycles, liveMessages: state.window.length })
    const shownIds = state.view?.parts.flatMap((part) => (part.kind === 'batch' ? [part.batchId] : []))
    expect(view.batches.filter((batch) => batch.state === 'shown').map(({ batchId }) => batchId)).toEqual(shownIds)
  })

  it('is empty without compaction', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(2))
    expect(await explained(harness, 'view')).toMatchObject({ batches: [], cycles: 0, liveMessages: 2, prompts: [] })
  })
})

describe('a line', () => {
  it('of the view leads to its batch: exactly, in part, with its heading, or ignoring white space', async () => {
    const harness = await compacted()
    const state = await harness.conversations.load(CONVERSATION)
    const parts = state.view?.parts ?? []
    for (const [at, part] of parts.entries()) {
      if (part.kind !== 'batch') continue
      for (const line of [part.text, parts[at - 1]?.text ?? '', `${parts[at - 1]?.text ?? ''}\n${part.text}`]) {
        expect(await explained(harness, 'batch', { line })).toMatchObject({
          batch: { batchId: part.batchId },
          found: { line, match: 'exact' },
        })
      }
      const spaced = part.text.replaceAll(' ', '\n  ')
      expect(await explained(harness, 'batch', { line: spaced })).toMatchObject({
        batch: { batchId: part.batchId },
        found: { match: 'spacing' },
      })
    }
  })

  it('generated by the view leads to the whole view', async () => {
    const harness = await compacted()
    for (const line of ['## Recent context', 'compaction cycles]'])
      expect((await explained(harness, 'view', { line })).batches.length).toBeGreaterThan(1)
  })

  it('generated by an earlier view leads to all batches of that view and to its cycle', async () => {
    const harness = await compacted()
    const [first, second] = await harness.eventsOf('MessagesPruned')
    const then = await harness.conversations.loadAt(CONVERSATION, second?.revision ?? 0)
    const line = then.view?.parts[0]?.text ?? ''
    const view = await explained(harness, 'view', { line })
    expect(view).toMatchObject({
      cycles: 2,
      found: { line, match: 'exact' },
      asOf: { revision: second?.revision, recordedAt: second?.metadata.recordedAt },
    })
    expect(view.batches.map(({ batchId }) => batchId)).toEqual(then.visibleBatches.map(({ batchId }) => batchId))
    expect(view.batches.some(({ state }) => state === 'retired')).toBe(true)
    expect(first?.revision).toBeLessThan(view.asOf?.revision ?? 0)
  })

  it('of an earlier context names the revision of a note, and leads from shortened text to its message', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended([say(0), { id: 'long', role: 'user', content: `begin ${'long '.repeat(1_000)} end` }])
    const { messages, messageIds, revision: shortenedAt } = await harness.context()
    const mark =
      contentText(messages[messageIds.indexOf('long')]?.content)
        .split('\n')
        .find((part) => part.includes('left out')) ?? ''
    await harness.appended(talk(200, 1))
    const full = await harness.context()
    const note = contentText(full.messages[full.messageIds.indexOf(undefined)]?.content)
    expect([shortenedAt < full.revision, mark, note]).toEqual([
      true,
      expect.stringContaining('message long'),
      expect.stringContaining('earlier messages or call groups'),
    ])
    await harness.compact('force')
    expect((await harness.context()).shortened).toBeUndefined()
    const named = await explained(harness, 'shown-only', { line: note })
    expect(named).toMatchObject({ what: 'note', text: note })
    // The summaries of the cycle were recorded before its prune.
    const [prune] = await harness.eventsOf('MessagesPruned')
    expect([named.asOf.revision >= full.revision, named.asOf.revision < (prune?.revision ?? 0)]).toEqual([true, true])
    const then = contextIn(await harness.conversations.loadAt(CONVERSATION, named.asOf.revision))
    expect(then.messages.map(({ content }) => content)).toContain(note)
    const { message, batch } = await explained(harness, 'message', { line: mark })
    expect(message.messageId).toBe('long')
    expect(batch?.chunk?.messageIds).toContain('long')
  })

  it('of an earlier view leads to the retired batch, by its text and by its heading', async () => {
    const harness = await compacted()
    const { batches } = await harness.conversations.load(CONVERSATION)
    const retired = (await harness.eventsOf('BatchArchived')).find(
      ({ data }) => !batches.some(({ batchId }) => batchId === data.batchId),
    )
    if (retired === undefined) throw new Error('no batch has retired')
    const { batchId, content, depth, startTime, endTime } = retired.data
    const summary = content.slice(content.indexOf('\n') + 1)
    for (const line of [
      summary,
      content,
      `[Batch 2 — depth ${String(depth)}, ${startTime} to ${endTime}]`,
      `[Batch 2 — depth ${String(depth)}, ${startTime} to ${endTime}]\n${summary}`,
      `[Batch 2${headAfterNumber(retired.data)}\n${summary}`,
    ]) {
      expect(await explained(harness, 'batch', { line })).toMatchObject({ batch: { batchId, state: 'retired' } })
    }
  })

  it('of a live message leads to it; of an archived one to it and its batch', async () => {
    const harness = await compacted()
    expect(await explained(harness, 'message', { line: 'Message 89: the berth' })).toMatchObject({
      message: { messageId: 'm89', recorded: { actor: 'test' } },
      found: { match: 'exact' },
    })
    expect((await explained(harness, 'message', { line: 'Message 89: the berth' })).batch).toBeUndefined()
    const old = await explained(harness, 'message', { line: 'Message 4: the\tberth' })
    expect(old).toMatchObject({ message: { messageId: 'm4' }, found: { match: 'spacing' } })
    expect(old.batch?.chunk?.messageIds).toContain('m4')
  })

  it('of a withdrawn message names the event, by its text and by its id', async () => {
    const harness = createHarness({ policy: SMALL })
    const list = talk(4)
    await harness.compress(list)
    await harness.compress(list.with(2, { id: 'm2', role: 'user', content: 'The other berth, please.' }))
    const [event] = await harness.eventsOf('MessagesWithdrawn')
    const withdrawn = {
      revision: event?.revision,
      recordedAt: event?.metadata.recordedAt,
      actor: 'test',
      why: event?.data.why,
    }
    for (const line of ['Message 2: the berth', 'user [m2]']) {
      const explanation = await explained(harness, 'message', { line })
      expect(explanation).toMatchObject({ message: { messageId: 'm2' }, withdrawn })
      expect(explanation.batch).toBeUndefined()
    }
    expect(await explained(harness, 'message', { line: 'The other berth, please.' })).not.toHaveProperty('withdrawn')
    // Recorded twice and withdrawn twice: each source names its event.
    await harness.compress([...list.slice(0, 2), say(7, { content: 'The other berth, please.' })])
    await harness.compress(list.slice(0, 2))
    const { sources } = await explained(harness, 'several', { line: 'The other berth, please.' })
    const events = await harness.eventsOf('MessagesWithdrawn')
    expect(sources.map((source) => source.kind === 'message' && source.withdrawn?.revision)).toEqual(
      events.slice(1).map(({ revision }) => revision),
    )
  })

  it('of a call, or of shortened text, leads to its message', async () => {
    const harness = createHarness({ policy: { ...SMALL, keepRecent: 4 } })
    await harness.appended([
      say(0),
      {
        id: 'call',
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'x', type: 'function', function: { name: 'dig', arguments: '{"where":"harbour"}' } }],
      },
    ])
    for (const line of ['"where":"harbour"', '→ dig({"where":"harbour"})'])
      expect((await explained(harness, 'message', { line })).message.messageId).toBe('call')
    await harness.appended([
      { id: 'r', role: 'tool', tool_call_id: 'x', content: `begin ${'long '.repeat(1_000)} end` },
    ])
    const { messages, messageIds, shortened } = await harness.context()
    expect(shortened).toMatchObject([{ id: 'r' }])
    const text = contentText(messages[messageIds.indexOf('r')]?.content)
    for (const line of ['begin long', text.split('\n').find((part) => part.includes('left out')) ?? '', text])
      expect((await explained(harness, 'message', { line })).message.messageId).toBe('r')
  })

  it('with an id or name leads to its message if no text contains the line', async () => {
    const harness = createHarness({ policy: SMALL })
    const dig = { id: 'call_1', type: 'function', function: { name: 'dig', arguments: '{}' } } as const
    await harness.appended([
      { ...say(0), name: 'Ines Ferro' },
      { id: 'asks', role: 'assistant', content: null, tool_calls: [dig, { ...dig, id: 'call_10' }] },
      { id: 'stone', role: 'tool', tool_call_id: 'call_1', content: 'a stone' },
    ])
    const expectFound = async (): Promise<void> => {
      for (const line of ['Ines_Ferro', 'user (Ines_Ferro) [m0]', 'm0'])
        expect((await explained(harness, 'message', { line })).message.messageId).toBe('m0')
      for (const line of ['→ dig({}) [call_1]', '→ dig({}) [call_10]', '[call_10]', 'assistant [asks]'])
        expect((await explained(harness, 'message', { line })).message.messageId).toBe('asks')
      for (const line of ['tool answers call_1 [stone]', 'answers call_1'])
        expect((await explained(harness, 'message', { line })).message.messageId).toBe('stone')
      expect(
        (await explained(harness, 'several', { line: 'call_1' })).sources.map(
          (source) => source.kind === 'message' && source.messageId,
        ),
      ).toEqual(['asks', 'stone'])
      // A role or a part of an id does not match.
      for (const line of ['assistant', 'answers', 'call_', 'Ines_'])
        expect(await explainConversation(harness, { line })).toMatchObject(E.left({ kind: 'NoSuchLine' }))
    }
    await expectFound()
    expect(await explained(harness, 'shown-only', { line: 'tool answers call_10 [not recorded]' })).toMatchObject({
      what: 'placeholder',
    })
    await harness.appended({ id: 'sand', role: 'tool', tool_call_id: 'call_10', content: 'sand' })
    await harness.appended(talk(27, 1))
    await harness.compact('force')
    await expectFound()
    expect(
      (await explained(harness, 'message', { line: 'tool answers call_1 [stone]' })).batch?.chunk?.messageIds,
    ).toContain('stone')
    // A text that contains the line takes precedence over labels.
    await harness.appended({ id: 'says', role: 'user', content: 'what did call_1 give to Ines_Ferro?' })
    for (const line of ['call_1', 'Ines_Ferro'])
      expect((await explained(harness, 'message', { line })).message.messageId).toBe('says')
  })

  it('of an extractive summary leads to the quoted message, through any depth', async () => {
    const harness = createHarness({
      policy: {
        ...SMALL,
        view: 'clip-archive',
        maxSummaryTokens: 64,
        buffer: 2,
        clipFirst: 1,
        clipLast: 1,
        clipMiddle: 1,
      },
      summarizer: { ...createScriptedSummarizer(), ...createExtractiveSummarizer() },
    })
    for (let at = 0; at < 60; at += 1) {
      await harness.appended(
        say(at, {
          content: `We decided that berth ${String(at)} belongs to ship ${String(at * 7)}. The **harbour** master said so, and the rest is talk of the weather over the sea.`,
        }),
      )
      await harness.compact()
    }
    const state = await harness.conversations.load(CONVERSATION)
    let [lines, deep] = [0, 0]
    for (const { content, depth } of state.visibleBatches) {
      for (const line of content.split('\n').filter((each) => each.includes('We decided that berth'))) {
        const answer = await explainConversation(harness, { line, open: true })
        // A short line may be in a batch and in a deeper one.
        if (E.isLeft(answer) || answer.right.kind !== 'batch') continue
        const { said, batch } = answer.right
        const expectedIds = [...line.matchAll(/berth (\d+) belongs/gu)].map(([, at]) => `m${at ?? ''}`)
        expect(said?.map(({ messageId }) => messageId)).toEqual(expectedIds)
        expect(said?.[0]?.recorded.revision).toBeGreaterThan(0)
        expect(leaves(batch).map(({ messageId }) => messageId)).toEqual(expect.arrayContaining(expectedIds))
        lines += 1
        if (depth > 0) deep += 1
      }
    }
    expect([lines > 3, deep > 0]).toEqual([true, true])
  })

  it('with several sources lists them', async () => {
    const harness = await compacted()
    const several = await explained(harness, 'several', { line: 'is booked twice' })
    const live = (await harness.conversations.load(CONVERSATION)).window
    expect(several.sources.map((source) => source.kind === 'message' && source.messageId)).toEqual(
      live.map(({ messageId }) => messageId),
    )
    const batches = await explained(harness, 'several', { line: 'chunk ' })
    expect(batches.sources.every((source) => source.kind === 'batch' && source.excerpt.includes('chunk'))).toBe(true)
  })

  it('that the ledger generates is marked as such; one that was never shown is rejected', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended([
      say(0),
      {
        id: 'call',
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'x', type: 'function', function: { name: 'dig', arguments: '{}' } }],
      },
      say(2),
    ])
    expect(await explained(harness, 'shown-only', { line: 'no result of this call has been recorded' })).toMatchObject({
      conversationId: CONVERSATION,
      what: 'placeholder',
    })
    const { revision } = await harness.conversations.load(CONVERSATION)
    await harness.appended({ id: 'r', role: 'tool', tool_call_id: 'x', content: 'a stone' })
    expect(await explained(harness, 'shown-only', { line: 'no result of this call has been recorded' })).toMatchObject({
      what: 'placeholder',
      asOf: { revision: revision - 1 },
    })
    expect(await explainConversation(harness, { line: 'nobody ever said this' })).toEqual(
      E.left({ kind: 'NoSuchLine', conversationId: CONVERSATION }),
    )
  })

  it('of a session summary leads to the batch of its section, and its task to the first message', async () => {
    const ofSessions = { ...CONFIGURATION, policy: { ...CONFIGURATION.policy, view: 'session-summary' as const } }
    const sections = {
      ...NO_SECTIONS,
      completedWork: [{ file: 'a.ts', action: 'edit', description: 'made it | faster' }],
      decisions: ['to wait'],
      openItems: ['to ship'],
    }
    const harness = await withEvents([
      { type: 'ConversationConfigured', data: ofSessions },
      appended('m1'),
      appended('m2'),
      summarized('k', ['m1', 'm2']),
      archived('b1', ['m1', 'm2'], { chunkId: 'k', sections }),
      pruned(
        { b1: ['m1', 'm2'] },
        { configuration: ofSessions, originalTask: 1, batches: [{ batchId: 'b1', revision: 4 }] },
      ),
    ])
    for (const line of ['- to wait', '- [ ] to ship', '| a.ts | edit | made it \\| faster |'])
      expect((await explained(harness, 'batch', { line })).batch).toMatchObject({ batchId: 'b1', state: 'shown' })
    expect((await explained(harness, 'message', { line: 'content of m1' })).message.messageId).toBe('m1')
    expect((await explained(harness, 'view', { line: '### Open items' })).batches).toHaveLength(1)
  })

  it('of a session summary without files leads to its batch too; one about a shortened section to the view', async () => {
    const policy = { ...CONFIGURATION.policy, view: 'session-summary', modelMaxTokens: 600, outputReserve: 0 } as const
    const tight = { ...CONFIGURATION, policy }
    const sections = {
      ...NO_SECTIONS,
      completedWork: [{ file: '', action: 'attended', description: 'the parade' }],
      decisions: Array.from({ length: 90 }, (_none, number) => `to wait for berth number ${String(number)}`),
    }
    const harness = await withEvents([
      { type: 'ConversationConfigured', data: tight },
      appended('m1'),
      appended('m2'),
      summarized('k', ['m1', 'm2']),
      archived('b1', ['m1', 'm2'], { chunkId: 'k', sections }),
      pruned(
        { b1: ['m1', 'm2'] },
        { configuration: tight, originalTask: 1, batches: [{ batchId: 'b1', revision: 4 }] },
      ),
    ])
    expect((await explained(harness, 'batch', { line: '| attended | the parade |' })).batch.batchId).toBe('b1')
    const { messages, shortened } = await harness.context()
    expect(shortened).toMatchObject([{ id: 'decisions', how: 'shortened' }])
    const mark = contentText(messages[0]?.content)
      .split('\n')
      .find((line) => line.includes('the whole text: decisions'))
    expect((await explained(harness, 'view', { line: mark ?? '' })).batches).toHaveLength(1)
  })
})

describe('a batch of an undone cycle', () => {
  it('names the undo with time and actor; a new cycle with the same number is not undone', async () => {
    const harness = createHarness({ policy: { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25 } })
    const live = async (count: number, from: number): Promise<void> => {
      for (const message of talk(count, from)) {
        await harness.appended(message)
        await harness.compact()
      }
    }
    await live(60, 0)
    const { cycles } = await harness.conversations.load(CONVERSATION)
    const prune = (await harness.eventsOf('MessagesPruned')).at(-1)
    const batchId = prune?.data.pruned.at(-1)?.batchId ?? ''
    expect((await explained(harness, 'batch', { batchId })).batch).not.toHaveProperty('putOut')
    expect(await undo(harness)).toBe(true)
    const [undone] = await harness.eventsOf('CycleUndone')
    const recorded = { revision: undone?.revision, recordedAt: undone?.metadata.recordedAt, actor: 'test' }
    const { batch } = await explained(harness, 'batch', { batchId })
    expect(batch).toMatchObject({
      state: 'retired',
      cycle: { cycle: cycles, undone: recorded },
      putOut: { type: 'CycleUndone', recorded },
    })
    await live(40, 60)
    const secondCycle = (await harness.eventsOf('MessagesPruned')).find(
      ({ data, revision }) => data.cycle === cycles && revision > (undone?.revision ?? 0),
    )
    expect(
      (await explained(harness, 'batch', { batchId: secondCycle?.data.pruned[0]?.batchId ?? '' })).batch.cycle,
    ).not.toHaveProperty('undone')
    expect((await explained(harness, 'batch', { batchId })).batch.cycle?.undone).toMatchObject(recorded)
  })
})

describe('an edition', () => {
  it('that was adopted is explained from its own stream; its lines lead to it, and earlier lines stay readable', async () => {
    const harness = await compacted()
    const [before] = await harness.eventsOf('BatchArchived')
    const otherSummarizer = createScriptedSummarizer({ model: 'another' })
    otherSummarizer.answer = ({ requestHash }) => ({ text: `other ${requestHash.slice(0, 8)}` })
    await makeEdition(harness, 'e1', { ...SMALL, buffer: 1 }, otherSummarizer)
    const [adoption] = await harness.eventsOf('EditionAdopted')
    const view = await explained(harness, 'view', { open: true })
    expect(view.batches.length).toBeGreaterThan(1)
    for (const batch of view.batches) {
      expect(batch).toMatchObject({
        missing: [],
        recorded: { stream: 'edition-e1-c1', actor: 'operator' },
        takenOver: { type: 'EditionAdopted', editionId: 'e1', recorded: { revision: adoption?.revision } },
      })
      expect((batch.summarizer ?? batch.chunk?.summarizer)?.model).toBe('another')
    }
    expect(view.batches.filter(({ depth }) => depth === 0).map(({ cycle }) => cycle?.recorded.stream)).toContain(
      'edition-e1-c1',
    )
    const shownBatch = view.batches.find(({ state }) => state === 'shown')
    expect(await explained(harness, 'batch', { line: shownBatch?.content.split('\n')[1] ?? '' })).toMatchObject({
      batch: { batchId: shownBatch?.batchId },
    })
    expect(await explained(harness, 'batch', { batchId: before?.data.batchId ?? '' })).toMatchObject({
      batch: {
        state: 'retired',
        recorded: { stream: 'conversation-c1' },
        chunk: { summarizer: { model: 'scripted-1' } },
      },
    })
    // A batch of the edition that was never active was never seen by the model, but can be explained by its id.
    await makeEdition(harness, 'e2', { ...SMALL, buffer: 1 }, createScriptedSummarizer({ model: 'third' }), false)
    const never = (await harness.editionEvents('e2')).find((event) => event.type === 'BatchArchived')
    if (never?.type !== 'BatchArchived') throw new Error('the edition is empty')
    expect(await explained(harness, 'batch', { batchId: never.data.batchId })).toMatchObject({
      batch: { state: 'retired', recorded: { stream: 'edition-e2-c1' } },
    })
  })

  it('leads from a compacted message to the batch that covers it', async () => {
    const harness = createHarness({ policy: { ...SMALL, modelMaxTokens: 10_000 } })
    await harness.appended(talk(40))
    await makeEdition(harness, 'e1', SMALL, createScriptedSummarizer({ model: 'another' }))
    const old = await explained(harness, 'message', { line: 'Message 4: the berth' })
    expect(old.batch).toMatchObject({ recorded: { stream: 'edition-e1-c1' } })
    expect(old.batch?.chunk?.messageIds).toContain('m4')
  })

  it('leads from a message to the active batch: the edition’s while it is adopted, and the previous one after a revert', async () => {
    const policy = {
      ...SMALL,
      modelMaxTokens: 3_200,
      contextBudget: 0.25,
      buffer: 1,
      clipFirst: 0,
      clipLast: 1,
      view: 'session-summary',
    } as const
    const harness = createHarness({ policy })
    const live = async (count: number, from: number): Promise<void> => {
      for (const message of talk(count, from)) {
        await harness.appended(message)
        await harness.compact()
      }
    }
    // The first message is the task, which the view shows; the other is only in a batch.
    const batchOf = async (id: string): Promise<string | undefined> =>
      (await explained(harness, 'message', { line: `Message ${id}: the berth` })).batch?.batchId
    const archivedIn = (events: readonly RecordedEvent[], id: string): string | undefined =>
      events
        .flatMap((event) =>
          event.type === 'BatchArchived' && event.data.messageIds.includes(`m${id}`) ? [event.data.batchId] : [],
        )
        .at(-1)
    const expectIn = async (events: readonly RecordedEvent[]): Promise<void> => {
      for (const id of ['0', '4']) expect([id, await batchOf(id)]).toEqual([id, archivedIn(events, id)])
    }
    await live(40, 0)
    const before = await harness.events()
    await expectIn(before)
    await makeEdition(harness, 'e1', { ...policy, chunkSize: 5 }, createScriptedSummarizer({ model: 'another' }))
    await expectIn(await harness.editionEvents('e1'))
    await live(80, 40)
    // Its batches are sources of the conversation's batches.
    expect((await harness.conversations.load(CONVERSATION)).batches[0]?.origin).toBeUndefined()
    await expectIn(await harness.editionEvents('e1'))
    expect(await revert(harness)).toBe(true)
    await expectIn(before)
  })
})

describe('personas', () => {
  it('are shown with their text', async () => {
    const persona = { text: 'a harbour master', sha256: sha256('a harbour master') }
    const scripted = createScriptedSummarizer()
    const prepare = scripted.prepare.bind(scripted)
    const harness = createHarness({
      policy: SMALL,
      summarizer: Object.assign(scripted, {
        prepare: (job: Parameters<typeof prepare>[0]) => ({ ...prepare(job), persona }),
      }),
    })
    await harness.appended(talk(10))
    await harness.compact('force')
    expect((await explained(harness, 'view')).prompts).toContainEqual({
      sha256: persona.sha256,
      kind: 'persona',
      text: persona.text,
    })
  })
})
