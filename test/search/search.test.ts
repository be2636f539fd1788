/** Search in the archive index, from events to hits, on the embedded engine and on a server if one is configured. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { taskEither as TE } from 'fp-ts'
import { coalesce } from '../../projections/engine/fold.js'
import { archiveIndex } from '../../projections/read-models/archive-index/projection.js'
import { createArchiveIndex } from '../../projections/read-models/archive-index/queries.js'
import { createVectorTable } from '../../projections/read-models/archive-index/vectors.js'
import { changesOf } from '../../projections/engine/projection.js'
import { openGenerations, writeNetChanges } from '../../projections/engine/store.js'
import { search as searched, type SearchHit, type SearchOptions } from '../../src/application/search/search.js'
import type { Event } from '../../src/domain/events/index.js'
import type { EmbeddingModel } from '../../src/ports/embedding-model.js'
import type { ArchiveIndex } from '../../src/ports/archive-index.js'
import type { Database } from '../../src/ports/sql.js'
import { appended, archived, at, configured, recorded, resummarized } from '../support/builders.js'
import { openTestDatabase } from '../support/memory-database.js'
import { serverDescribe } from '../support/length.js'
import { openTestSchema } from '../support/postgres.js'

async function project(db: Database, conversationId: string, events: readonly Event[], from = 0): Promise<void> {
  const all = (await recorded(conversationId, events)).slice(from)
  const net = coalesce(
    archiveIndex.tables,
    all.flatMap((event) => changesOf(archiveIndex, event)),
  )
  const generation = (await openGenerations(db, [archiveIndex], 1))[0]?.generation ?? 1
  await db.transaction(async (sql) => {
    await writeNetChanges(sql, archiveIndex.tables, generation, net)
  })
}

const userMessage = (messageId: string, content: string, some: Parameters<typeof appended>[1] = {}): Event =>
  appended(messageId, { content, ...some })

// Revisions 0 to 9; the first four messages are archived as b1, the next two as b2, and both became b3.
const garden: readonly Event[] = [
  configured({ scope: 'tenant-a' }),
  userMessage('m1', 'The zebra escaped from the zoo'),
  userMessage('m2', 'It was seen near the river', { role: 'assistant' }),
  userMessage('m3', 'Somebody planted tulips'),
  userMessage('m4', 'Call the office', {
    role: 'assistant',
    content: null,
    toolCalls: [
      { id: 'c1', type: 'function', function: { name: 'phone_directory', arguments: '{"person":"Quimby"}' } },
    ],
  }),
  userMessage('m5', 'The harbour was closed for repairs'),
  userMessage('m6', 'Because of the storm', { role: 'assistant' }),
  archived('b1', ['m1', 'm2', 'm4'], {
    content: `[depth:0|start:${at(0)}|end:${at(4)}|count:3]\nA zebra escaped; an expedition began.`,
    firstRevision: 1,
    lastRevision: 4,
  }),
  archived('b2', ['m5', 'm6'], {
    content: `[depth:0|start:${at(0)}|end:${at(2)}|count:2]\nThe harbour closed.`,
    firstRevision: 5,
    lastRevision: 6,
  }),
  userMessage('m7', 'Lighthouse keys are under the mat'),
]
const merged: Event = resummarized('b3', ['b1', 'b2'], {
  content: `[depth:1|start:${at(0)}|end:${at(2)}|count:2]\nAn expedition, then maintenance.`,
  firstRevision: 1,
  lastRevision: 6,
})

/** Stores a vector for each message. */
async function embedAll(db: Database, embedding: EmbeddingModel): Promise<void> {
  await createVectorTable(db)
  const messages = await db.query<{ text: string; hash: string }>(
    'select distinct text, text_hash as hash from archive_messages',
  )
  const vectors = await embedding.embed(messages.map(({ text }) => text))()
  if (vectors._tag === 'Left') throw new Error(vectors.left.detail)
  await db.query(
    'insert into archive_vectors select $1, u.hash, $2::int4, u.vector::vector from unnest($3::text[], $4::text[]) as u(hash, vector) on conflict do nothing',
    [
      embedding.model,
      vectors.right[0]?.length ?? 0,
      messages.map(({ hash }) => hash),
      vectors.right.map((vector) => JSON.stringify(vector)),
    ],
  )
}

const search = async (...asked: Parameters<typeof searched>): Promise<readonly SearchHit[]> =>
  (await searched(...asked)).hits

const ids = (hits: readonly SearchHit[]): readonly string[] =>
  hits.map((hit) => (hit.kind === 'batch' ? (hit.batchId ?? '') : hit.messageIds.join()))

interface Opened {
  readonly db: Database
  readonly close: () => Promise<void>
}

function searchIsRight(open: () => Promise<Opened>): void {
  let opened: Opened
  let db: Database
  let index: ArchiveIndex

  const found = async (query: string, options: Partial<SearchOptions> = {}): Promise<readonly SearchHit[]> =>
    await search({ index }, query, { within: { conversationId: 'garden' }, ...options })

  beforeAll(async () => {
    opened = await open()
    db = opened.db
    await project(db, 'garden', garden)
    await project(db, 'other', [
      configured(),
      userMessage('o1', 'A zebra in another conversation'),
      userMessage('o2', 'Nothing\0 odd \ud800 here, only a walrus'),
    ])
    index = createArchiveIndex(db)
  })

  afterAll(async () => {
    await opened.close()
  })

  describe('search within a conversation', () => {
    test('finds messages with their provenance, and nothing of another conversation', async () => {
      const hits = await found('escaped zebras', { include: 'messages' })
      expect(ids(hits)).toEqual(['m1', 'm2', 'm3'])
      expect(hits[0]).toMatchObject({
        conversationId: 'garden',
        batchId: 'b1',
        messageIds: ['m1'],
        firstRevision: 1,
        lastRevision: 1,
        startTime: at(0),
        endTime: at(0),
        text: 'The zebra escaped from the zoo',
      })
    })

    test('a message in the run of a batch that does not cover it is live', async () => {
      const [hit] = await found('tulips', { include: 'messages' })
      expect(hit).toMatchObject({ messageIds: ['m3'], batchId: null })
    })

    test('finds the names and arguments of tool calls', async () => {
      expect(ids(await found('Quimby', { include: 'messages' }))[0]).toBe('m4')
    })

    test('live messages are found', async () => {
      expect(ids(await found('lighthouse keys'))).toEqual(['m7', 'm6', 'm5'])
    })

    test('a batch that repeats its messages comes after them, and one with further words is found by them', async () => {
      expect(ids(await found('zebra'))).toEqual(['m1', 'm2', 'm3', 'b1'])
      const [hit] = await found('expedition')
      expect(hit).toMatchObject({
        kind: 'batch',
        batchId: 'b1',
        messageIds: ['m1', 'm2', 'm4'],
        firstRevision: 1,
        lastRevision: 4,
      })
      expect(ids(await found('harbour', { include: 'batches' }))).toEqual(['b2'])
    })

    test('the header line of a batch is not searched', async () => {
      expect(ids(await found('depth count', { include: 'batches' }))).toEqual([])
    })

    test('a query of function words only is searched as a phrase', async () => {
      expect(ids(await found('because of the'))).toEqual(['m6'])
      expect(ids(await found('under the'))).toEqual(['m7'])
      expect(await found('of of of')).toEqual([])
      expect(await found('   ')).toEqual([])
    })

    test('the limit is respected', async () => {
      expect(await found('zebra river harbour storm', { limit: 2 })).toHaveLength(2)
      expect(await found('zebra', { limit: 0 })).toEqual([])
    })

    test('text with NUL and lone surrogates is found', async () => {
      const [hit] = await search({ index }, 'walrus', { within: { conversationId: 'other' } })
      expect(hit?.text).toBe('Nothing odd \ufffd here, only a walrus')
    })
  })

  describe('search over a scope', () => {
    test.each<[string, SearchOptions['within'], readonly string[]]>([
      ['everything', { everywhere: true }, ['m1', 'o1']],
      // A small scope is ranked like a conversation, including the reply to a message with the word.
      ['one scope', { scope: 'tenant-a' }, ['m1', 'm2', 'm3']],
      ['conversations without a scope', { scope: null }, ['o1']],
      ['a scope that is not there', { scope: 'tenant-b' }, []],
    ])('%s', async (_name, within, expected) => {
      const hits = await search({ index }, 'zebra', { within, include: 'messages' })
      expect(ids(hits).toSorted()).toEqual(expected)
    })

    test('batches and phrases of function words are restricted to the scope too', async () => {
      expect(ids(await search({ index }, 'expedition', { within: { scope: 'tenant-a' } }))).toEqual(['b1'])
      expect(ids(await search({ index }, 'expedition', { within: { scope: null } }))).toEqual([])
      expect(ids(await search({ index }, 'because of the', { within: { scope: null } }))).toEqual([])
    })
  })

  describe('search by meaning', () => {
    // Three axes: animals, water, and the rest.
    const embedding: EmbeddingModel = {
      model: 'axes',
      embed: (texts) =>
        TE.right(
          texts.map((text) => [
            /zebra|walrus|animal/i.test(text) ? 1 : 0,
            /river|harbour|ocean/i.test(text) ? 1 : 0,
            0.1,
          ]),
        ),
    }

    test('without vectors it uses full text only', async () => {
      expect(ids(await search({ index, embedding }, 'lighthouse', { within: { conversationId: 'garden' } }))[0]).toBe(
        'm7',
      )
    })

    test('vectors find messages without a common word, in a conversation and in a scope', async () => {
      await embedAll(db, embedding)
      expect(
        ids(await search({ index, embedding }, 'ocean', { within: { conversationId: 'garden' }, limit: 2 })).toSorted(),
      ).toEqual(['m2', 'm5'])
      expect(
        ids(await search({ index, embedding }, 'animals', { within: { scope: null }, limit: 2 })).toSorted(),
      ).toEqual(['o1', 'o2'])
      expect(
        ids(await search({ index, embedding }, 'ocean', { within: { scope: 'tenant-a' }, limit: 2 })).toSorted(),
      ).toEqual(['m2', 'm5'])
    })

    test('matches by words come before matches by meaning, and of two equal matches the nearer one is first', async () => {
      const chat = 'near'
      await project(db, chat, [
        configured(),
        userMessage('one', 'The violin of my grandmother is broken'),
        userMessage('two', 'The violin of my zebra is broken'),
        userMessage('all', 'I brought the broken violin to Ljubljana to be mended'),
        // More than fifty with the same vector as the query.
        ...Array.from({ length: 60 }, (_, place) =>
          userMessage(`far${String(place)}`, `Walrus ${String(place)} swam by`),
        ),
      ])
      await embedAll(db, embedding)
      const hits = await search({ index, embedding }, 'Which animal had a broken violin mended in Ljubljana?', {
        within: { conversationId: chat },
      })
      expect(ids(hits).slice(0, 3)).toEqual(['all', 'two', 'one'])
      expect(ids(hits)[3]).toBe('far0')
    })

    test('a zero vector matches nothing', async () => {
      const nowhere: EmbeddingModel = { model: 'nowhere', embed: (texts) => TE.right(texts.map(() => [0, 0, 0])) }
      await embedAll(db, nowhere)
      const by = { within: { conversationId: 'garden' } } as const
      expect(await search({ index, embedding: nowhere }, 'lighthouse', by)).toEqual(
        await search({ index }, 'lighthouse', by),
      )
      expect(await search({ index, embedding: nowhere }, 'expedition zzz', by)).toEqual(
        await search({ index }, 'expedition zzz', by),
      )
    })

    test('if the model fails, the result is that of full text with the failure', async () => {
      const failing: EmbeddingModel = {
        model: 'axes',
        embed: () => TE.left({ kind: 'EmbeddingFailed', detail: 'no answer' }),
      }
      const answer = await searched({ index, embedding: failing }, 'lighthouse', {
        within: { conversationId: 'garden' },
      })
      expect(ids(answer.hits)[0]).toBe('m7')
      expect(answer.failure).toEqual({ kind: 'EmbeddingFailed', detail: 'no answer' })
    })
  })

  describe('later events', () => {
    test('are visible to the next search, and sources of a condensed batch are no longer found', async () => {
      await project(db, 'garden', [...garden, merged, userMessage('m8', 'A giraffe came by')], garden.length)
      expect(ids(await found('giraffe'))).toEqual(['m8'])
      const [hit] = await found('maintenance')
      expect(hit).toMatchObject({ batchId: 'b3', messageIds: ['m1', 'm2', 'm4', 'm5', 'm6'] })
      expect(ids(await found('expedition', { include: 'batches' }))).toEqual(['b3'])
      expect(ids(await found('harbour', { include: 'batches' }))).toEqual([])
      expect((await found('harbour', { include: 'messages' }))[0]).toMatchObject({ messageIds: ['m5'], batchId: 'b2' })
    })

    test('the cache is limited, and the results are the same without it', async () => {
      const small = createArchiveIndex(db, { cacheBytes: 1 })
      for (let time = 0; time < 2; time += 1)
        expect(ids(await search({ index: small }, 'giraffe', { within: { conversationId: 'garden' } }))).toEqual(['m8'])
    })

    test('concurrent searches do not add rows twice', async () => {
      const fresh = createArchiveIndex(db)
      const sizes = await Promise.all(
        Array.from({ length: 5 }, async () => (await fresh.read((reads) => reads.conversation('garden'))).size),
      )
      expect(new Set(sizes)).toEqual(new Set([8]))
    })
  })
}

describe('embedded', () => {
  searchIsRight(async () => {
    const db = await openTestDatabase()
    return { db, close: () => db.close() }
  })
})

// Skipped without a server.

serverDescribe('on a server', () => {
  searchIsRight(async () => {
    const { db, drop } = await openTestSchema()
    const close = async (): Promise<void> => {
      await db.close()
      await drop()
    }
    return { db, close }
  })
})
