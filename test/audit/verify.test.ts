/** The problems that verify finds in tampered logs, and no others: over random histories, and in named cases. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { originOf } from '../../src/application/audit/against-manifest.js'
import { createVerify, type Problem } from '../../src/application/audit/verify.js'
import { undoCycles } from '../../src/application/editions/undo-and-revert.js'
import { IdFilter } from '../../src/application/audit/id-filter.js'
import { encode, encodeData, GENESIS_HASH, type Provenance } from '../../src/domain/events/codec.js'
import type { Event, RecordedEvent } from '../../src/domain/events/index.js'
import { conversationStream, editionStream, eventIdOf, messageEventId } from '../../src/domain/values/ids.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'
import { createFoldInSummarizer, createStructuredSummarizer } from '../../src/application/summarizers/index.js'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { checkRequest } from '../../src/application/summarizers/check-request.js'
import type { Manifest, StreamHead } from '../../src/ports/manifest.js'
import type { CheckRows } from '../../src/ports/row-check.js'
import type { SummaryJob } from '../../src/ports/summarizer.js'
import { busyPolicies, interleavings, namedHistories } from '../support/arbitraries.js'
import { checkScripted } from '../support/check-scripted.js'
import { answering, calling, say, SMALL, talk } from '../support/conversations.js'
import { revert, tryToAdopt } from '../support/edition-history.js'
import { adoptEdition, editionOf } from '../support/editions.js'
import { CONVERSATION, createHarness, createScriptedSummarizer, type Harness } from '../support/harness.js'
import { interleave } from '../support/interleave.js'
import { jsonAs } from '../support/json.js'
import { noRows } from '../support/row-differences.js'
import { runsOf } from '../support/length.js'

const STREAM = conversationStream(CONVERSATION)
const EDITION = 'e1'
const EDITION_STREAM = editionStream(EDITION, CONVERSATION)

/** The store as if `change` had been applied to its data: an event is replaced or missing. */
function tampered(store: EventStore, change: (event: StoredEvent) => StoredEvent | undefined): EventStore {
  return {
    ...store,
    async *readStream(stream, options) {
      for await (const event of store.readStream(stream, options)) {
        const changed = change(event)
        if (changed !== undefined) yield changed
      }
    },
  }
}

async function problemsOf(harness: Harness, store: EventStore = harness.store): Promise<readonly Problem[]> {
  const { ok, problems } = await createVerify({
    log: { ...harness.log, store },
    checkRequest,
    rowCheck: () => noRows,
  })()
  expect(ok).toBe(problems.length === 0)
  return problems
}

async function eventsOf(harness: Harness): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const event of harness.store.readAll()) events.push(event)
  return events
}

const FIELDS = ['id', 'type', 'data', 'metadata'] as const

/** Changes one byte of a text. */
function withByte(text: string, at: number, to: number): string {
  const bytes = Buffer.from(text, 'utf8')
  bytes[at % bytes.length] = to
  return bytes.toString('utf8')
}

describe('the hash chain', () => {
  it('reveals any changed byte of any stored event', async () => {
    await fc.assert(
      fc.asyncProperty(
        busyPolicies,
        namedHistories(25),
        interleavings(10),
        fc.array(
          fc.record({
            event: fc.nat(10_000),
            field: fc.constantFrom(...FIELDS),
            at: fc.nat(100_000),
            to: fc.integer({ min: 32, max: 126 }),
          }),
          { minLength: 20, maxLength: 20 },
        ),
        async (policy, history, steps, changes) => {
          const { harness } = await interleave(policy, history, steps)
          expect(await problemsOf(harness)).toEqual([])
          const events = await eventsOf(harness)
          for (const { event: stored, field, at, to } of changes) {
            const victim = events[stored % events.length]
            if (victim === undefined) continue
            const changed = { ...victim, [field]: withByte(victim[field], at, to) }
            if (changed[field] === victim[field]) continue
            const problems = await problemsOf(
              harness,
              tampered(harness.store, (each) =>
                each.stream === victim.stream && each.revision === victim.revision ? changed : each,
              ),
            )
            expect(
              problems.some(({ stream, revision }) => stream === victim.stream && revision === victim.revision),
            ).toBe(true)
          }
        },
      ),
      { numRuns: runsOf(12) },
    )
  })

  it('reveals any missing event except the last, and any two swapped events', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(10))
    await harness.compact('force')
    const last = await harness.store.streamRevision(STREAM)
    for (let revision = 0; revision < last; revision += 1) {
      const missing = await problemsOf(
        harness,
        tampered(harness.store, (stored) =>
          stored.stream === STREAM && stored.revision === revision ? undefined : stored,
        ),
      )
      expect(missing[0]).toMatchObject({ stream: STREAM, revision: revision + 1, rule: 'order' })
      const swapped = await problemsOf(
        harness,
        tampered(harness.store, (stored) =>
          stored.stream === STREAM && (stored.revision === revision || stored.revision === revision + 1)
            ? { ...stored, revision: 2 * revision + 1 - stored.revision }
            : stored,
        ),
      )
      expect(swapped[0]).toMatchObject({ stream: STREAM })
    }
    const cut = await problemsOf(
      harness,
      tampered(harness.store, (stored) => (stored.stream === STREAM && stored.revision === last ? undefined : stored)),
    )
    expect(cut.map(({ rule }) => rule)).toContain('archive-before-prune')
  })

  it('reveals metadata with the same content in another text', async () => {
    const harness = createHarness()
    await harness.appended(say(0))
    const problems = await problemsOf(
      harness,
      tampered(harness.store, (stored) => ({ ...stored, metadata: stored.metadata.replace('{', '{ ') })),
    )
    expect(problems[0]).toMatchObject({ rule: 'hash', detail: expect.stringContaining('metadata') })
  })

  it('an event with damaged metadata is one problem, and the intact event after it is none', async () => {
    const harness = createHarness()
    await harness.appended(talk(5))
    const problems = await problemsOf(
      harness,
      tampered(harness.store, (stored) => (stored.revision === 2 ? { ...stored, metadata: '{' } : stored)),
    )
    expect(problems.map(({ rule, revision }) => [rule, revision])).toEqual([['readable', 2]])
  })

  it('lists at most 100 problems of a stream, and says that there are more', async () => {
    const harness = createHarness()
    await harness.appended(talk(120))
    const problems = await problemsOf(
      harness,
      tampered(harness.store, (stored) => ({ ...stored, metadata: '{' })),
    )
    expect(problems.length).toBe(100)
    expect(problems.filter(({ detail }) => detail.includes('further problems')).length).toBe(1)
  })

  it('reveals two events swapped in the order of the log', async () => {
    const harness = createHarness()
    await harness.appended(talk(4))
    const [one = -1, other = -1] = (await eventsOf(harness))
      .filter(({ revision }) => revision === 2 || revision === 3)
      .map(({ position }) => position)
    const problems = await problemsOf(
      harness,
      tampered(harness.store, (stored) => ({
        ...stored,
        position: stored.position === one ? other : stored.position === other ? one : stored.position,
      })),
    )
    expect(problems).toEqual([
      expect.objectContaining({
        stream: STREAM,
        revision: 3,
        rule: 'order',
        detail: expect.stringContaining('has position'),
      }),
    ])
  })

  it('reveals a time that decreases and an id that does not match its content', async () => {
    const harness = await forged([
      ({ event }) => event,
      ({ event }) => ({ ...event, recordedAt: '2020-01-01T00:00:00.000Z' }),
      ({ event }) => ({ ...event, id: '00000000-0000-8000-8000-000000000000' }),
    ])
    expect((await problemsOf(harness)).map(({ rule, revision }) => `${rule} ${revision.toString()}`)).toEqual([
      'time 1',
      'id 2',
    ])
  })
})

const eventsIn = (harness: Harness, stream: string): Promise<RecordedEvent[]> =>
  stream === STREAM ? harness.events() : harness.editionEvents(EDITION)

interface Forgery {
  readonly data: Event
  readonly recordedAt?: string
  readonly id?: string
}

/** A log with forged events and a valid hash chain: the recorded events, each changed by a function. */
async function forged(
  changes: readonly (({ event }: { event: Forgery }) => Forgery | undefined)[],
  story: (harness: Harness) => Promise<void> = async (harness) => {
    await harness.appended(talk(3))
  },
  target = STREAM,
): Promise<Harness> {
  const real = createHarness({ policy: SMALL })
  await story(real)
  const copy = createHarness()
  for (const stored of await eventsOf(real))
    if (stored.stream !== target) await copy.store.append(stored.stream, 'any', [stored])()
  const provenance: Provenance = { actor: 'forger', correlationId: 'c', causationId: 'c' }
  let previousHash = GENESIS_HASH
  let revision = 0
  for (const [at, event] of (await eventsIn(real, target)).entries()) {
    const { type, data, metadata } = event
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- type and data are those of one fact
    const plain = { type, data } as Event
    const change = changes[at]
    const forgery = change === undefined ? { data: plain } : change({ event: { data: plain } })
    if (forgery === undefined) continue
    const text = encodeData(forgery.data)
    const id =
      forgery.id ??
      (forgery.data.type === 'MessageAppended'
        ? messageEventId(target, forgery.data.data.messageId)
        : eventIdOf(target, revision, forgery.data.type, text))
    const { toStore: stored, hash } = encode(
      forgery.data,
      text,
      { stream: target, revision, id, previousHash, recordedAt: forgery.recordedAt ?? metadata.recordedAt },
      provenance,
    )
    await copy.store.append(target, 'any', [stored])()
    previousHash = hash
    revision += 1
  }
  return copy
}

/** Changes the first event of a type. */
async function forgedEvent<Type extends Event['type']>(
  type: Type,
  change: (data: Extract<Event, { type: Type }>['data'], events: readonly RecordedEvent[]) => object,
  story: (harness: Harness) => Promise<void>,
  target = STREAM,
): Promise<{ readonly problems: readonly Problem[]; readonly revision: number }> {
  const real = createHarness({ policy: SMALL })
  await story(real)
  const events = await eventsIn(real, target)
  const at = events.findIndex((event) => event.type === type)
  const harness = await forged(
    [
      ...Array.from(
        { length: at },
        () =>
          ({ event }: { event: Forgery }) =>
            event,
      ),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      ({ event }) => ({ data: { type, data: change(event.data.data as never, events) } as Event }),
    ],
    story,
    target,
  )
  return { problems: await problemsOf(harness), revision: at }
}

const cycle = async (harness: Harness): Promise<void> => {
  await harness.appended([calling('c', ['x']), answering('r', 'x'), ...talk(12)])
  await harness.compact('force')
  await harness.appended(say(20))
}

describe('forged events with a valid hash chain', () => {
  it('an untouched copy has no problems', async () => {
    expect(await problemsOf(await forged([], cycle))).toEqual([])
  })

  it.each([
    [
      'a message with another count of tokens',
      'MessageAppended',
      (data: object) => ({ ...data, tokens: 1 }),
      'figures',
    ],
    [
      'a summary of a message that is not live',
      'ChunkSummarized',
      (data: { messageIds: string[] }) => ({ ...data, messageIds: [...data.messageIds, 'ghost'] }),
      'coverage',
    ],
    [
      'a summary of another time',
      'ChunkSummarized',
      (data: object) => ({ ...data, endTime: '2030-01-01T00:00:00.000Z' }),
      'figures',
    ],
    ['a summary with another id', 'ChunkSummarized', (data: object) => ({ ...data, chunkId: 'chunk-made-up' }), 'id'],
    [
      'a batch with another text',
      'BatchArchived',
      (data: { content: string }) => ({ ...data, content: `${data.content}!` }),
      'figures',
    ],
    [
      'a batch of fewer messages',
      'BatchArchived',
      (data: { messageIds: string[] }) => ({ ...data, messageIds: data.messageIds.slice(1) }),
      'coverage',
    ],
    [
      'a batch of a chunk that is not there',
      'BatchArchived',
      (data: object) => ({ ...data, chunkId: 'chunk-made-up' }),
      'coverage',
    ],
    [
      'a prune of fewer messages than are covered',
      'MessagesPruned',
      (data: { pruned: { batchId: string; messageIds: string[] }[] }) => ({
        ...data,
        pruned: data.pruned.map((part) => ({ ...part, messageIds: part.messageIds.slice(0, -1) })),
      }),
      'archive-before-prune',
    ],
    [
      'a prune that forgets a batch',
      'MessagesPruned',
      (data: { carried: object }) => ({ ...data, carried: { ...data.carried, batches: [] } }),
      'coverage',
    ],
    [
      'a prune that carries another configuration',
      'MessagesPruned',
      (data: { carried: { configuration: { policy: object } } }) => ({
        ...data,
        carried: {
          ...data.carried,
          configuration: {
            ...data.carried.configuration,
            policy: { ...data.carried.configuration.policy, keepRecent: 99 },
          },
        },
      }),
      'carried',
    ],
    [
      'a prune that miscounts',
      'MessagesPruned',
      (data: { carried: { messagesCompressed: number } }) => ({
        ...data,
        carried: { ...data.carried, messagesCompressed: data.carried.messagesCompressed + 1 },
      }),
      'carried',
    ],
    [
      'a prune with another window',
      'MessagesPruned',
      (data: { windowStart: number }) => ({ ...data, windowStart: data.windowStart + 1 }),
      'carried',
    ],
    [
      'a prune with another context',
      'MessagesPruned',
      (data: object) => ({ ...data, contextHash: 'f'.repeat(64) }),
      'context',
    ],
    ['a prune with other tokens', 'MessagesPruned', (data: object) => ({ ...data, tokensAfter: 1 }), 'figures'],
    ['a prune of another cycle', 'MessagesPruned', (data: object) => ({ ...data, cycle: 7 }), 'carried'],
  ] as const)('%s', async (_what, type, change, rule) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each row knows its own fact
    const { problems, revision } = await forgedEvent(type, change as never, cycle)
    expect(problems).toContainEqual(expect.objectContaining({ stream: STREAM, revision, rule }))
  })

  it('a prune that removes a pinned message', async () => {
    const real = createHarness({ policy: SMALL })
    await cycle(real)
    const batch = (await real.events()).find((event) => event.type === 'BatchArchived')
    const messageId = batch?.data.messageIds[0] ?? ''
    const pinned = await forged(
      (await real.events()).map(
        () =>
          ({ event }: { event: Forgery }) =>
            event.data.type === 'MessageAppended' && event.data.data.messageId === messageId
              ? { data: { ...event.data, data: { ...event.data.data, pinned: true as const } } }
              : event,
      ),
      cycle,
    )
    expect(await problemsOf(pinned)).toContainEqual(
      expect.objectContaining({ rule: 'coverage', detail: `prunes message ${messageId}, which is pinned` }),
    )
  })

  it('a result without a call is not a problem; a message that is recorded twice is', async () => {
    const answers = await forgedEvent(
      'MessageAppended',
      () => ({
        messageId: 'r',
        role: 'tool',
        content: 'of nothing',
        toolCallId: 'nobody',
        createdAt: '2026-01-01T00:00:00.000Z',
        tokens: 7,
      }),
      async (harness) => {
        await harness.appended(talk(2))
      },
    )
    // A host's list may have such a result: it is shown as a user message.
    expect(answers.problems).toEqual([])
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(2))
    const first = (await harness.events()).find((event) => event.type === 'MessageAppended')
    const last = (await eventsOf(harness)).findLast((stored) => stored.stream === STREAM)
    if (first?.type !== 'MessageAppended' || last === undefined) throw new Error('nothing was recorded')
    const { type, data } = first
    const { hash } = jsonAs<{ hash: string }>(last.metadata)
    const target = {
      stream: STREAM,
      revision: last.revision + 1,
      id: first.id,
      previousHash: hash,
      recordedAt: '2026-02-01T00:00:00.000Z',
    }
    const { toStore: stored } = encode({ type, data }, encodeData({ type, data }), target, {
      actor: 'forger',
      correlationId: 'c',
      causationId: 'c',
    })
    // A store that detects no duplicates, for example because its index of ids was removed.
    const doubled: EventStore = {
      ...harness.store,
      streamRevision: (stream) =>
        stream === STREAM ? Promise.resolve(target.revision) : harness.store.streamRevision(stream),
      async *readStream(stream, options) {
        yield* harness.store.readStream(stream, options)
        if (stream === STREAM) yield { ...stored, stream, revision: target.revision, position: 99 }
      },
    }
    expect(await problemsOf(harness, doubled)).toContainEqual(
      expect.objectContaining({
        revision: target.revision,
        rule: 'messages',
        detail: expect.stringContaining('again'),
      }),
    )
  })

  it('an unregistered estimator stops the check with a problem', async () => {
    const { problems } = await forgedEvent(
      'ConversationConfigured',
      (data) => ({ ...data, estimator: 'unheard-of' }),
      async (harness) => {
        await harness.appended(talk(2))
      },
    )
    expect(problems).toEqual([
      expect.objectContaining({ revision: 0, rule: 'readable', detail: expect.stringContaining('unheard-of') }),
    ])
  })
})

describe('a forged change of the active batches with a valid hash chain', () => {
  const undone = async (harness: Harness): Promise<void> => {
    await harness.appended(talk(14))
    await harness.compact('force')
    const result = await undoCycles(harness, CONVERSATION, 1, { actor: 'test', correlationId: 'c', causationId: 'c' })
    if (result._tag === 'Left') throw new Error(result.left.kind)
  }
  const adopted = async (harness: Harness): Promise<void> => {
    await harness.appended(talk(30))
    await harness.compact('force')
    await adoptEdition(harness, await editionOf(harness, SMALL, createScriptedSummarizer({ model: 'another' })))
  }

  it('the real events have no problems', async () => {
    expect(await problemsOf(await forged([], undone))).toEqual([])
    expect(await problemsOf(await forged([], adopted))).toEqual([])
  })

  it.each([
    [
      'a message that comes back as another',
      'CycleUndone',
      undone,
      (data: { restored: object[] }) => ({
        ...data,
        restored: data.restored.map((message, at) => (at === 0 ? { ...message, content: 'Never said.' } : message)),
      }),
      'carried',
    ],
    [
      'a message that does not come back',
      'CycleUndone',
      undone,
      (data: { restored: object[] }) => ({ ...data, restored: data.restored.slice(1) }),
      'coverage',
    ],
    [
      'a batch that stays out of force unsaid',
      'CycleUndone',
      undone,
      (data: object) => ({ ...data, retired: [] }),
      'coverage',
    ],
    [
      'a batch with another text',
      'EditionAdopted',
      adopted,
      (data: { batches: { content: string }[] }) => ({
        ...data,
        batches: data.batches.map((batch) => ({ ...batch, content: `${batch.content}!` })),
      }),
      'carried',
    ],
    [
      'a batch less',
      'EditionAdopted',
      adopted,
      (data: { batches: object[]; carried: { batches: object[] } }) => ({
        ...data,
        batches: data.batches.slice(1),
        carried: { ...data.carried, batches: data.carried.batches.slice(1) },
      }),
      'coverage',
    ],
    [
      'another edition than it says',
      'EditionAdopted',
      adopted,
      (data: object) => ({ ...data, editionId: 'e2' }),
      'carried',
    ],
  ] as const)('%s', async (_what, type, story, change, rule) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each row knows its own fact
    const { problems, revision } = await forgedEvent(type, change as never, story)
    expect(problems).toContainEqual(expect.objectContaining({ stream: STREAM, revision, rule }))
  })
})

describe('a forged edition with a valid hash chain', () => {
  const made = async (harness: Harness): Promise<void> => {
    await harness.appended([calling('c', ['x']), answering('r', 'x'), ...talk(40)])
    await (await editionOf(harness, { ...SMALL, buffer: 1 }, createScriptedSummarizer({ model: 'another' }))).advance()
  }

  it('the real events of an unadopted edition have no problems', async () => {
    expect(await problemsOf(await forged([], made, EDITION_STREAM))).toEqual([])
  })

  it.each([
    [
      'the edition of another conversation',
      'EditionStarted',
      (data: object) => ({ ...data, conversationId: 'c2' }),
      'id',
    ],
    [
      'a conversation that was seen further than it goes',
      'EditionAdvanced',
      (data: object) => ({ ...data, conversationRevision: 999 }),
      'order',
    ],
    [
      'a conversation that was seen less far than what was made of it',
      'EditionAdvanced',
      (data: object) => ({ ...data, conversationRevision: 1 }),
      'coverage',
    ],
    [
      'a summary of a message that is not live',
      'ChunkSummarized',
      (data: { messageIds: string[] }) => ({ ...data, messageIds: [...data.messageIds, 'ghost'] }),
      'coverage',
    ],
    [
      'a batch with another text',
      'BatchArchived',
      (data: { content: string }) => ({ ...data, content: `${data.content}!` }),
      'figures',
    ],
    [
      'a prune with another window',
      'MessagesPruned',
      (data: { windowStart: number }) => ({ ...data, windowStart: data.windowStart + 1 }),
      'carried',
    ],
    [
      'a prune with another context',
      'MessagesPruned',
      (data: object) => ({ ...data, contextHash: 'f'.repeat(64) }),
      'context',
    ],
    [
      'a re-summarization of fewer batches',
      'BatchesResummarized',
      (data: { sourceBatchIds: string[] }) => ({ ...data, sourceBatchIds: data.sourceBatchIds.toReversed() }),
      'coverage',
    ],
  ] as const)('%s', async (_what, type, change, rule) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each row knows its own fact
    const { problems } = await forgedEvent(type, change as never, made, EDITION_STREAM)
    expect(problems).toContainEqual(expect.objectContaining({ stream: EDITION_STREAM, rule }))
  })
})

describe('concurrent checks of events and rows', () => {
  const recorded = async (): Promise<Harness> => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(40))
    return harness
  }

  it('the rows of a conversation with untrusted events are not reported', async () => {
    const harness = await recorded()
    await harness.appended(say(1), 'other')
    const differs = (conversationId: string) => ({ conversationId, revision: 3, detail: 'a row differs' })
    const store = tampered(harness.store, (event) =>
      event.stream === STREAM && event.revision === 5 ? undefined : event,
    )
    const { problems } = await createVerify({
      log: { ...harness.log, store },
      checkRequest,
      rowCheck: () => ({ ...noRows, finish: () => Promise.resolve([differs(CONVERSATION), differs('other')]) }),
    })()
    expect(problems.filter(({ rule }) => rule === 'rows')).toEqual([
      { stream: 'conversation-other', conversationId: 'other', revision: 3, rule: 'rows', detail: 'a row differs' },
    ])
    expect(problems.find(({ stream }) => stream === STREAM)).toMatchObject({ rule: 'order', revision: 6 })
  })

  it('unreadable rows are reported as such', async () => {
    const { log } = await recorded()
    const why = new Error('the database went away')
    await expect(
      createVerify({ log, checkRequest, rowCheck: () => ({ ...noRows, finish: () => Promise.reject(why) }) })(),
    ).rejects.toBe(why)
    const store: EventStore = { ...log.store, head: () => Promise.resolve(1_000_000) }
    await expect(
      createVerify({
        log: { ...log, store },
        checkRequest,
        rowCheck: () => noRows,
        checkRowsApart: () => () => Promise.reject(why),
      })(),
    ).rejects.toBe(why)
  })

  it('an unreadable log is reported as such, and the check of the rows is aborted', async () => {
    const { log } = await recorded()
    const why = new Error('the log went away')
    const store: EventStore = {
      ...log.store,
      head: () => Promise.resolve(1_000_000),
      streamRevision: () => Promise.reject(why),
    }
    const checkRowsApart: CheckRows = async (_id, signal) =>
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason)
        })
      })
    await expect(
      createVerify({
        log: { ...log, store },
        checkRequest,
        rowCheck: () => noRows,
        checkRowsApart: () => checkRowsApart,
      })(),
    ).rejects.toBe(why)
  })
})

describe('a manifest compared with one conversation', () => {
  const heads = async (harness: Harness, { without = '' } = {}): Promise<Pick<Manifest, 'header' | 'heads'>> => {
    const found: StreamHead[] = []
    await createVerify({ log: harness.log, checkRequest: checkScripted, rowCheck: () => noRows })(undefined, {
      onStream: async (head) => {
        if (head.stream !== without) found.push(head)
      },
    })
    const origin = await originOf(harness.log)
    if (origin === undefined) throw new Error('the log is empty')
    return {
      header: { ledger: 'x', origin, takenAt: '2026-01-02T03:04:05.000Z' },
      heads: async function* () {
        yield* found
      },
    }
  }
  /** The store without a stream, as if the stream was deleted and the store updated. */
  const without = (store: EventStore, gone: string): EventStore => ({
    ...store,
    streamRevision: (stream) => (stream === gone ? Promise.resolve(-1) : store.streamRevision(stream)),
    readRevisions: (stream, revisions) =>
      stream === gone ? Promise.resolve([]) : store.readRevisions(stream, revisions),
    readStream: (stream, options) => store.readStream(stream === gone ? 'nobody' : stream, options),
    async *streams(prefix) {
      for await (const stream of store.streams(prefix)) if (stream !== gone) yield stream
    },
  })
  const checkManifest = async (
    harness: Harness,
    against: Pick<Manifest, 'header' | 'heads'>,
    store: EventStore = harness.store,
    id: string | undefined = CONVERSATION,
  ) =>
    await createVerify({ log: { ...harness.log, store }, checkRequest: checkScripted, rowCheck: () => noRows })(id, {
      against,
    })
  const story = async (): Promise<Harness> => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(40))
    await (await editionOf(harness, { ...SMALL, buffer: 1 }, createScriptedSummarizer({ model: 'another' }))).advance()
    await harness.appended(say(1), 'other')
    return harness
  }

  it('counts the compared streams: its own and those of its editions', async () => {
    const harness = await story()
    const events =
      (await harness.store.streamRevision(STREAM)) + (await harness.store.streamRevision(EDITION_STREAM)) + 2
    expect(await checkManifest(harness, await heads(harness))).toMatchObject({
      ok: true,
      streams: 2,
      events,
      against: { streams: 2, events },
    })
    const whole = await createVerify({ log: harness.log, checkRequest: checkScripted, rowCheck: () => noRows })(
      undefined,
      { against: await heads(harness) },
    )
    expect(whole.against).toEqual({ streams: whole.streams, events: whole.events })
  })

  it('reveals that the stream of an edition is missing', async () => {
    const harness = await story()
    const { problems } = await checkManifest(harness, await heads(harness), without(harness.store, EDITION_STREAM))
    expect(problems).toEqual([
      expect.objectContaining({
        stream: EDITION_STREAM,
        rule: 'manifest',
        detail: expect.stringContaining('the stream is missing'),
      }),
    ])
  })

  it('that does not name the conversation is reported as no proof', async () => {
    const harness = await story()
    const { ok, problems, against } = await checkManifest(
      harness,
      await heads(harness, { without: 'conversation-other' }),
      harness.store,
      'other',
    )
    expect([ok, against]).toEqual([false, { streams: 0, events: 0 }])
    expect(problems).toEqual([
      expect.objectContaining({
        stream: 'conversation-other',
        revision: -1,
        rule: 'manifest',
        detail: expect.stringContaining('does not name this conversation'),
      }),
    ])
  })

  it('reports an event missing in the middle as missing, not as a cut stream', async () => {
    const harness = await story()
    const manifest = await heads(harness)
    const last = await harness.store.streamRevision(STREAM)
    await harness.appended(say(1_000))
    const store: EventStore = {
      ...harness.store,
      readRevisions: async (stream, revisions) =>
        (await harness.store.readRevisions(stream, revisions)).filter(
          (event) => event.stream !== STREAM || event.revision !== last,
        ),
    }
    expect((await checkManifest(harness, manifest, store)).problems).toContainEqual(
      expect.objectContaining({
        stream: STREAM,
        revision: last,
        rule: 'manifest',
        detail: expect.stringMatching(/^the event at this revision is missing/u),
      }),
    )
  })
})

describe('read models that do not reach the end of the log', () => {
  it('are separate problems, and do not stop the check', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(5))
    const store = tampered(harness.store, (event) =>
      event.stream === STREAM && event.revision === 3
        ? { ...event, metadata: event.metadata.replace('{', '{ ') }
        : event,
    )
    const verify = createVerify({
      log: { ...harness.log, store },
      checkRequest,
      rowCheck: () => noRows,
      catchUp: async () => [
        { readModel: 'live-messages', detail: 'live-messages was never built' },
        { readModel: 'editions', at: { stream: STREAM, revision: 3 }, detail: 'editions stopped' },
      ],
    })
    expect(
      (await verify()).problems.map(({ stream, conversationId, revision, rule }) => [
        rule,
        stream,
        conversationId,
        revision,
      ]),
    ).toEqual([
      ['hash', STREAM, CONVERSATION, 3],
      ['rows', 'live-messages', undefined, -1],
      ['rows', STREAM, CONVERSATION, 3],
    ])
  })
})

describe('two concurrent checks', () => {
  it('wait for rows independently: rows that lag for one do not affect the other', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(5))
    const checkedIds: string[] = []
    const answers = [[], [{ readModel: 'live-messages', detail: 'it does not come' }]]
    const verify = createVerify({
      log: harness.log,
      checkRequest,
      rowCheck: (everyConversation, catchUp) => ({
        ...noRows,
        async finish() {
          checkedIds.push(everyConversation ? 'all' : 'one')
          await catchUp()
          return []
        },
      }),
      catchUp: async () => {
        checkedIds.push('catch up')
        return answers.shift() ?? []
      },
    })
    // The first run is still reading when the second one starts, finds rows that lag, and ends.
    const first = await verify(undefined, {
      async onStream() {
        const second = await verify(CONVERSATION)
        expect(second.problems.map(({ detail }) => detail)).toEqual(['it does not come'])
      },
    })
    expect(first.problems).toEqual([])
    expect(checkedIds).toEqual(['catch up', 'catch up', 'one', 'all', 'catch up'])
  })

  it('of the same and of different logs find what each finds alone', async () => {
    const harnesses = await Promise.all(
      [12, 30, 12].map(async (messages) => {
        const harness = createHarness({ policy: SMALL })
        await harness.appended(talk(messages))
        await harness.compact('force')
        return harness
      }),
    )
    const cases = harnesses.flatMap((harness) =>
      [
        harness.store,
        tampered(harness.store, (event) => (event.revision === 4 ? undefined : event)),
        harness.store,
      ].map((store) => ({ harness, store })),
    )
    const alone: (readonly Problem[])[] = []
    for (const { harness, store } of cases) alone.push(await problemsOf(harness, store))
    expect(alone.map((problems) => problems.length > 0)).toEqual(cases.map((_case, at) => at % 3 === 1))
    expect(await Promise.all(cases.map(({ harness, store }) => problemsOf(harness, store)))).toEqual(alone)
  })
})

describe('summaries', () => {
  it('of a custom strategy are counted, not reported as problems', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(12))
    await harness.compact('force')
    const verification = await createVerify({ log: harness.log, checkRequest, rowCheck: () => noRows })()
    expect(verification).toMatchObject({ ok: true, summaries: { recomputed: 0 } })
    expect(verification.summaries.notRecomputed).toBeGreaterThan(0)
  })

  const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }
  const ROOMY = { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25 }

  /** Runs `work` while one of the next summaries is made. */
  const meanwhile = (harness: Harness, nth: number, work: () => Promise<unknown>): void => {
    const from = harness.summarizer.calls.length
    harness.summarizer.answer = async (_prepared, call) => {
      if (call === from + nth) expect(await work()).not.toBe(false)
      return undefined
    }
  }

  const WHILE: readonly (readonly [
    what: string,
    before: (harness: Harness) => Promise<boolean>,
    during: (harness: Harness) => Promise<unknown>,
  ])[] = [
    [
      'an edition was put back',
      async (harness) => await tryToAdopt(harness, EDITION),
      async (harness) => await revert(harness),
    ],
    ['an edition was adopted', async () => true, async (harness) => await tryToAdopt(harness, EDITION)],
    [
      'an edition was adopted and put back',
      async () => true,
      async (harness) => (await tryToAdopt(harness, EDITION)) && (await revert(harness)),
    ],
    [
      'another temperature was asked for',
      async () => true,
      async (harness) =>
        await harness.conversations.handle(
          CONVERSATION,
          [
            {
              type: 'Configure',
              settings: { ...ROOMY, temperature: 0.9 },
              scope: undefined,
              summarizerWindowTokens: 128_000,
            },
          ],
          BY,
        ),
    ],
  ]

  it.each([1, 2, 3].flatMap((nth) => WHILE.map((each) => [nth, ...each] as const)))(
    'that were under way, the %d. of them, while %s, are proved by what they were asked with',
    async (nth, _what, before, during) => {
      const harness = createHarness({ policy: ROOMY })
      await harness.appended(talk(60))
      await harness.compact('force')
      expect(await before(harness)).toBe(true)
      await harness.appended(talk(20, 1_000))
      const chunks = (await harness.eventsOf('ChunkSummarized')).length
      meanwhile(harness, nth, async () => await during(harness))
      await harness.compact('force')
      expect((await harness.eventsOf('ChunkSummarized')).length - chunks).toBeGreaterThanOrEqual(nth)
      const verification = await createVerify({
        log: harness.log,
        checkRequest: checkScripted,
        rowCheck: () => noRows,
      })()
      expect(verification.problems).toEqual([])
      expect(verification.summaries.notRecomputed).toBe(0)
    },
  )

  const messages = (count: number, characters: number): SummaryJob & { kind: 'chunk' } => ({
    kind: 'chunk',
    maxSummaryTokens: 100,
    temperature: 0.3,
    persona: 'a harbour master',
    existingSummary: 'before',
    messages: Array.from({ length: count }, (_unused, at) => ({
      messageId: `m${String(at)}`,
      revision: at,
      role: 'user',
      content: `${String(at)} `.padEnd(characters, 'x'),
      createdAt: '2026-01-01T00:00:00.000Z',
    })),
  })

  it.each([
    ['fold-in', createFoldInSummarizer, 128_000, 20, 200],
    ['structured', createStructuredSummarizer, 128_000, 20, 200],
    ['fold-in in a window that shortens', createFoldInSummarizer, 2_000, 40, 2_000],
  ] as const)(
    '%s: the same from the facts alone, and another where anything changed',
    (_name, create, windowTokens, count, characters) => {
      const summarizer = create({ model: createScriptedLanguageModel(['-'], { windowTokens }) })
      const job = messages(count, characters)
      const { strategy, provider, model, parameters, prompt, formatterVersion, requestHash } = summarizer.prepare(job)
      const events = {
        strategy,
        provider,
        model,
        parameters: { ...parameters },
        prompt: { name: prompt.name, sha256: prompt.sha256 },
        formatterVersion,
        requestHash,
        durationMs: 0,
      }
      expect(checkRequest(events, job, prompt.text)).toBe('same')
      expect(checkRequest(events, { ...job, existingSummary: 'other' }, prompt.text)).toBe('other')
      expect(checkRequest(events, { ...job, persona: '' }, prompt.text)).toBe('other')
      expect(checkRequest(events, job, `${prompt.text}!`)).toBe('other')
      expect(checkRequest({ ...events, model: 'another' }, job, prompt.text)).toBe('other')
      expect(checkRequest({ ...events, formatterVersion: 99 }, job, prompt.text)).toBe('unknown')
      expect(checkRequest({ ...events, strategy: 'my-own' }, job, prompt.text)).toBe('unknown')
      // Events from before the window was recorded: requests that were shortened for it cannot be rebuilt, others can.
      const { windowTokens: _window, ...older } = events.parameters as Record<string, unknown>
      const shortened = characters > 1_000
      expect(checkRequest({ ...events, parameters: older }, job, prompt.text)).toBe(shortened ? 'unknown' : 'same')
    },
  )
})

describe('the id filter', () => {
  it('never misses a duplicate, and seldom reports a new id', () => {
    const filter = new IdFilter()
    const id = (at: number): string => messageEventId('conversation-a', `m${String(at)}`)
    let unsure = 0
    for (let at = 0; at < 20_000; at += 1) if (filter.add(id(at))) unsure += 1
    expect(unsure).toBe(0)
    for (let at = 0; at < 20_000; at += 97) expect(filter.add(id(at))).toBe(true)
  })
})
