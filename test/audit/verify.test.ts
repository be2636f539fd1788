/**
 * What verify finds in logs that were tampered with, and what it does not make up: over random histories, and by named
 * cases.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { originOf } from '../../src/audit/against-manifest.js'
import { createVerify, type Problem } from '../../src/audit/verify.js'
import { undoCycles } from '../../src/editions/undo-and-revert.js'
import { SeenIds } from '../../src/audit/seen-ids.js'
import { encode, encodeData, GENESIS_HASH, type Provenance } from '../../src/domain/events/codec.js'
import type { Event, RecordedEvent } from '../../src/domain/events/index.js'
import { conversationStream, editionStream, eventIdOf, messageEventId } from '../../src/domain/values/ids.js'
import type { EventStore, StoredEvent } from '../../src/ports/event-store.js'
import { createFoldInSummarizer, createStructuredSummarizer } from '../../src/summarizers/index.js'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { checkRequest } from '../../src/summarizers/check-request.js'
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

/** The store as it would be if `change` had been made behind our back: an event becomes another, or none. */
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

/** One byte of a text as another. */
function withByte(text: string, at: number, to: number): string {
  const bytes = Buffer.from(text, 'utf8')
  bytes[at % bytes.length] = to
  return bytes.toString('utf8')
}

describe('the hash chain', () => {
  it('shows any single byte of any stored event that is another', async () => {
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

  it('shows any event that is missing but the last, and any two that are swapped', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(10))
    await harness.compact('force')
    const last = await harness.store.streamRevision(STREAM)
    for (let revision = 0n; revision < last; revision += 1n) {
      const missing = await problemsOf(
        harness,
        tampered(harness.store, (stored) =>
          stored.stream === STREAM && stored.revision === revision ? undefined : stored,
        ),
      )
      expect(missing[0]).toMatchObject({ stream: STREAM, revision: revision + 1n, rule: 'order' })
      const swapped = await problemsOf(
        harness,
        tampered(harness.store, (stored) =>
          stored.stream === STREAM && (stored.revision === revision || stored.revision === revision + 1n)
            ? { ...stored, revision: 2n * revision + 1n - stored.revision }
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

  it('names a metadata text that says the same in another way', async () => {
    const harness = createHarness()
    await harness.appended(say(0))
    const problems = await problemsOf(
      harness,
      tampered(harness.store, (stored) => ({ ...stored, metadata: stored.metadata.replace('{', '{ ') })),
    )
    expect(problems[0]).toMatchObject({ rule: 'hash', detail: expect.stringContaining('metadata') })
  })

  it('names two that were swapped in the order of the log', async () => {
    const harness = createHarness()
    await harness.appended(talk(4))
    const [one = -1n, other = -1n] = (await eventsOf(harness))
      .filter(({ revision }) => revision === 2n || revision === 3n)
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
        revision: 3n,
        rule: 'order',
        detail: expect.stringContaining('at position'),
      }),
    ])
  })

  it('names a time that goes back and an id that is not what is recorded', async () => {
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

/**
 * A log whose facts were made up, with a chain that holds: what the real ledger recorded, each changed by a function.
 */
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
  let revision = 0n
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
    revision += 1n
  }
  return copy
}

/** Changes the first fact of a type, whatever stands before it. */
async function forgedEvent<Type extends Event['type']>(
  type: Type,
  change: (data: Extract<Event, { type: Type }>['data'], events: readonly RecordedEvent[]) => object,
  story: (harness: Harness) => Promise<void>,
  target = STREAM,
): Promise<{ readonly problems: readonly Problem[]; readonly revision: bigint }> {
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
  return { problems: await problemsOf(harness), revision: BigInt(at) }
}

const cycle = async (harness: Harness): Promise<void> => {
  await harness.appended([calling('c', ['x']), answering('r', 'x'), ...talk(12)])
  await harness.compact('force')
  await harness.appended(say(20))
}

describe('facts that were made up, in a chain that holds', () => {
  it('an untouched copy has nothing wrong', async () => {
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
      (data: { windowStart: bigint }) => ({ ...data, windowStart: data.windowStart + 1n }),
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

  it('a result that answers no call, and a message that is recorded twice', async () => {
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
    expect(answers.problems).toContainEqual(expect.objectContaining({ revision: answers.revision, rule: 'context' }))
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(2))
    const first = (await harness.events()).find((event) => event.type === 'MessageAppended')
    const last = (await eventsOf(harness)).findLast((stored) => stored.stream === STREAM)
    if (first?.type !== 'MessageAppended' || last === undefined) throw new Error('nothing was recorded')
    const { type, data } = first
    const { hash } = jsonAs<{ hash: string }>(last.metadata)
    const place = {
      stream: STREAM,
      revision: last.revision + 1n,
      id: first.id,
      previousHash: hash,
      recordedAt: '2026-02-01T00:00:00.000Z',
    }
    const { toStore: stored } = encode({ type, data }, encodeData({ type, data }), place, {
      actor: 'forger',
      correlationId: 'c',
      causationId: 'c',
    })
    // A store that notices nothing, as one whose index of ids was taken away.
    const doubled: EventStore = {
      ...harness.store,
      streamRevision: (stream) =>
        stream === STREAM ? Promise.resolve(place.revision) : harness.store.streamRevision(stream),
      async *readStream(stream, options) {
        yield* harness.store.readStream(stream, options)
        if (stream === STREAM) yield { ...stored, stream, revision: place.revision, position: 99n }
      },
    }
    expect(await problemsOf(harness, doubled)).toContainEqual(
      expect.objectContaining({ revision: place.revision, rule: 'messages', detail: expect.stringContaining('again') }),
    )
  })

  it('an estimator that nobody registered stops the proof, and says so', async () => {
    const { problems } = await forgedEvent(
      'ConversationConfigured',
      (data) => ({ ...data, estimator: 'unheard-of' }),
      async (harness) => {
        await harness.appended(talk(2))
      },
    )
    expect(problems).toEqual([
      expect.objectContaining({ revision: 0n, rule: 'readable', detail: expect.stringContaining('unheard-of') }),
    ])
  })
})

describe('what puts other batches into force, made up in a chain that holds', () => {
  const undone = async (harness: Harness): Promise<void> => {
    await harness.appended(talk(14))
    await harness.compact('force')
    const done = await undoCycles(harness, CONVERSATION, 1, { actor: 'test', correlationId: 'c', causationId: 'c' })
    if (done._tag === 'Left') throw new Error(done.left.kind)
  }
  const adopted = async (harness: Harness): Promise<void> => {
    await harness.appended(talk(30))
    await harness.compact('force')
    await adoptEdition(harness, await editionOf(harness, SMALL, createScriptedSummarizer({ model: 'another' })))
  }

  it('nothing is wrong with what is real', async () => {
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

describe('an edition, made up in a chain that holds', () => {
  const made = async (harness: Harness): Promise<void> => {
    await harness.appended([calling('c', ['x']), answering('r', 'x'), ...talk(40)])
    await (await editionOf(harness, { ...SMALL, buffer: 1 }, createScriptedSummarizer({ model: 'another' }))).advance()
  }

  it('nothing is wrong with what is real, though nobody adopted it', async () => {
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
      (data: object) => ({ ...data, conversationRevision: 999n }),
      'order',
    ],
    [
      'a conversation that was seen less far than what was made of it',
      'EditionAdvanced',
      (data: object) => ({ ...data, conversationRevision: 1n }),
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
      (data: { windowStart: bigint }) => ({ ...data, windowStart: data.windowStart + 1n }),
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

describe('facts and rows are looked at beside each other', () => {
  const recorded = async (): Promise<Harness> => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(40))
    return harness
  }

  it('the rows of a conversation whose facts cannot be trusted are nobody’s concern', async () => {
    const harness = await recorded()
    await harness.appended(say(1), 'other')
    const differs = (conversationId: string) => ({ conversationId, revision: 3n, detail: 'a row differs' })
    const store = tampered(harness.store, (event) =>
      event.stream === STREAM && event.revision === 5n ? undefined : event,
    )
    const { problems } = await createVerify({
      log: { ...harness.log, store },
      checkRequest,
      rowCheck: () => ({ ...noRows, finish: () => Promise.resolve([differs(CONVERSATION), differs('other')]) }),
    })()
    expect(problems.filter(({ rule }) => rule === 'rows')).toEqual([
      { stream: 'conversation-other', conversationId: 'other', revision: 3n, rule: 'rows', detail: 'a row differs' },
    ])
    expect(problems.find(({ stream }) => stream === STREAM)).toMatchObject({ rule: 'order', revision: 6n })
  })

  it('where the rows cannot be read, that is what is told', async () => {
    const { log } = await recorded()
    const why = new Error('the database went away')
    await expect(
      createVerify({ log, checkRequest, rowCheck: () => ({ ...noRows, finish: () => Promise.reject(why) }) })(),
    ).rejects.toBe(why)
    const store: EventStore = { ...log.store, head: () => Promise.resolve(1_000_000n) }
    await expect(
      createVerify({
        log: { ...log, store },
        checkRequest,
        rowCheck: () => noRows,
        checkRowsApart: () => () => Promise.reject(why),
      })(),
    ).rejects.toBe(why)
  })

  it('where the log cannot be read, that is what is told, and the rows are given up', async () => {
    const { log } = await recorded()
    const why = new Error('the log went away')
    const store: EventStore = {
      ...log.store,
      head: () => Promise.resolve(1_000_000n),
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

describe('a manifest, held against one conversation', () => {
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
  /** The store without a stream, as where somebody deleted it and told the store. */
  const without = (store: EventStore, gone: string): EventStore => ({
    ...store,
    streamRevision: (stream) => (stream === gone ? Promise.resolve(-1n) : store.streamRevision(stream)),
    readRevisions: (stream, revisions) =>
      stream === gone ? Promise.resolve([]) : store.readRevisions(stream, revisions),
    readStream: (stream, options) => store.readStream(stream === gone ? 'nobody' : stream, options),
    async *streams(prefix) {
      for await (const stream of store.streams(prefix)) if (stream !== gone) yield stream
    },
  })
  const held = async (
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

  it('counts what was compared: its own stream and those of its editions', async () => {
    const harness = await story()
    const events =
      Number((await harness.store.streamRevision(STREAM)) + (await harness.store.streamRevision(EDITION_STREAM))) + 2
    expect(await held(harness, await heads(harness))).toMatchObject({
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

  it('finds that the stream of an edition is gone', async () => {
    const harness = await story()
    const { problems } = await held(harness, await heads(harness), without(harness.store, EDITION_STREAM))
    expect(problems).toEqual([
      expect.objectContaining({
        stream: EDITION_STREAM,
        rule: 'manifest',
        detail: expect.stringContaining('the stream is gone'),
      }),
    ])
  })

  it('which does not name the conversation, proves nothing of it and says so', async () => {
    const harness = await story()
    const { ok, problems, against } = await held(
      harness,
      await heads(harness, { without: 'conversation-other' }),
      harness.store,
      'other',
    )
    expect([ok, against]).toEqual([false, { streams: 0, events: 0 }])
    expect(problems).toEqual([
      expect.objectContaining({
        stream: 'conversation-other',
        revision: -1n,
        rule: 'manifest',
        detail: expect.stringContaining('does not name this conversation'),
      }),
    ])
  })

  it('says of a fact that is gone from the middle that it is gone, and not that the stream was cut', async () => {
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
    expect((await held(harness, manifest, store)).problems).toContainEqual(
      expect.objectContaining({
        stream: STREAM,
        revision: last,
        rule: 'manifest',
        detail: expect.stringMatching(/^the fact that stood here is gone/u),
      }),
    )
  })
})

describe('read models that do not come to the end of the log', () => {
  it('are problems of their own beside those of the facts, and end no proof', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(5))
    const store = tampered(harness.store, (event) =>
      event.stream === STREAM && event.revision === 3n
        ? { ...event, metadata: event.metadata.replace('{', '{ ') }
        : event,
    )
    const verify = createVerify({
      log: { ...harness.log, store },
      checkRequest,
      rowCheck: () => noRows,
      catchUp: async () => [
        { readModel: 'live-messages', detail: 'live-messages was never built' },
        { readModel: 'editions', at: { stream: STREAM, revision: 3n }, detail: 'editions stopped' },
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
      ['hash', STREAM, CONVERSATION, 3n],
      ['rows', 'live-messages', undefined, -1n],
      ['rows', STREAM, CONVERSATION, 3n],
    ])
  })
})

describe('two proofs at once', () => {
  it('wait for rows each by itself: what kept those of one back is nothing to the other', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(5))
    const asked: string[] = []
    const answers = [[], [{ readModel: 'live-messages', detail: 'it does not come' }]]
    const verify = createVerify({
      log: harness.log,
      checkRequest,
      rowCheck: (everyConversation, catchUp) => ({
        ...noRows,
        async finish() {
          asked.push(everyConversation ? 'all' : 'one')
          await catchUp()
          return []
        },
      }),
      catchUp: async () => {
        asked.push('catch up')
        return answers.shift() ?? []
      },
    })
    // The first is in the middle of its reading while the second begins, finds rows that do not come, and ends.
    const first = await verify(undefined, {
      async onStream() {
        const second = await verify(CONVERSATION)
        expect(second.problems.map(({ detail }) => detail)).toEqual(['it does not come'])
      },
    })
    expect(first.problems).toEqual([])
    expect(asked).toEqual(['catch up', 'catch up', 'one', 'all', 'catch up'])
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
        tampered(harness.store, (event) => (event.revision === 4n ? undefined : event)),
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
  it('of a strategy of somebody’s own are counted and not blamed', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(talk(12))
    await harness.compact('force')
    const verification = await createVerify({ log: harness.log, checkRequest, rowCheck: () => noRows })()
    expect(verification).toMatchObject({ ok: true, summaries: { recomputed: 0 } })
    expect(verification.summaries.notRecomputed).toBeGreaterThan(0)
  })

  const BY = { actor: 'test', correlationId: 'c', causationId: 'c' }
  const ROOMY = { ...SMALL, modelMaxTokens: 3_200, contextBudget: 0.25 }

  /** What happens while one of the next summaries is made. */
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
      // Facts of before the window was recorded: what had to be shortened for it cannot be made again, the rest can.
      const { windowTokens: _window, ...older } = events.parameters as Record<string, unknown>
      const shortened = characters > 1_000
      expect(checkRequest({ ...events, parameters: older }, job, prompt.text)).toBe(shortened ? 'unknown' : 'same')
    },
  )
})

describe('ids that were seen', () => {
  it('is never wrong about one that came before, and seldom about one that did not', () => {
    const seen = new SeenIds()
    const id = (at: number): string => messageEventId('conversation-a', `m${String(at)}`)
    let unsure = 0
    for (let at = 0; at < 20_000; at += 1) if (seen.add(id(at))) unsure += 1
    expect(unsure).toBe(0)
    for (let at = 0; at < 20_000; at += 97) expect(seen.add(id(at))).toBe(true)
  })
})
