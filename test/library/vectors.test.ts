/**
 * Semantic search while vectors are made in the background: no call waits for them, no text is embedded twice, and
 * failures are reported.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { either as E, taskEither as TE } from 'fp-ts'
import { createMemoryClaims } from '../../src/adapters/memory/claims.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import type { Ledger } from '../../src/index.js'
import { systemClock } from '../../src/ports/clock.js'
import type { EmbeddingModel } from '../../src/ports/embedding-model.js'
import type { Database } from '../../src/ports/sql.js'
import { createVectorFiller, type VectorFiller } from '../../projections/read-models/archive-index/vector-filler.js'
import {
  createVectorIndex,
  createVectorTable,
  nearestMessages,
} from '../../projections/read-models/archive-index/vectors.js'
import { createArchiveIndex } from '../../projections/read-models/archive-index/queries.js'
import { search } from '../../src/application/search/search.js'
import { latch } from '../support/latch.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'

let db: Database
const ledgers: Ledger[] = []
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(async () => {
  await db.close()
})
beforeEach(async () => {
  await db.script('drop schema context_ledger cascade; create schema context_ledger')
})
afterEach(async () => {
  for (const ledger of ledgers.splice(0)) await ledger.close()
})

async function open(...[options]: readonly [Parameters<typeof ledgerOn>[1]?]): Promise<Ledger> {
  const ledger = await ledgerOn(db, options)
  ledgers.push(ledger)
  return ledger
}

/** Two axes, animals and water. Keeps what it was asked, and answers when it may. */
function axes(may: (texts: readonly string[]) => Promise<unknown> = () => Promise.resolve()) {
  const requests: (readonly string[])[] = []
  const model: EmbeddingModel = {
    model: 'axes',
    embed: (texts) => async () => {
      requests.push(texts)
      const refused = await may(texts)
      if (typeof refused === 'string') return E.left({ kind: 'EmbeddingFailed', detail: refused })
      return E.right(
        texts.map((text) => [
          /zebra|walrus|animal/iu.test(text) ? 1 : 0,
          /river|harbour|ocean/iu.test(text) ? 1 : 0,
          0.1,
        ]),
      )
    },
  }
  return { model, asked: requests, bought: () => requests.flat().filter((text) => text.startsWith('text ')) }
}

const texts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => ({
    role: 'user' as const,
    content: `text ${String(from + at)} ${at % 50 === 0 ? 'a zebra' : 'a stone'}`,
  }))

describe('a search while vectors are missing', () => {
  it('waits for none of them: it answers by words, and says how many messages are without', async () => {
    const mayGoOn = latch()
    const { model } = axes(async (asked) => {
      if (asked.length > 1) await mayGoOn.opened
    })
    const ledger = await open({ embedding: model })
    await ledger.append('a', texts(300))
    const found = await ledger.search('zebra', { conversationId: 'a', limit: 3 })
    expect(found.hits[0]?.text).toContain('zebra')
    expect(found.vectors).toEqual({ missing: 300, isAtLeast: false })
    expect((await ledger.search('animal')).hits).toEqual([])
    mayGoOn.open()
    expect(await ledger.admin.projections.fillVectors()).toMatchObject({ missing: 0, isAtLeast: false })
    const after = await ledger.search('animal', { conversationId: 'a', limit: 3 })
    expect(after.hits.map(({ text }) => text.includes('zebra'))).toEqual([true, true, true])
    expect(after.vectors).toBeUndefined()
  })

  it('buys each text once, whoever searches, appends and fills at the same time', async () => {
    const { model, bought } = axes()
    const ledger = await open({ embedding: model })
    await ledger.append('a', texts(90))
    await Promise.all([
      ledger.search('animal'),
      ledger.search('ocean', { conversationId: 'a' }),
      ledger.admin.projections.fillVectors(),
      ledger.append('b', texts(120)),
      ledger.admin.projections.fillVectors(),
    ])
    await ledger.admin.projections.fillVectors()
    expect(bought().toSorted()).toEqual([...new Set(bought())].toSorted())
    expect(new Set(bought()).size).toBe(120)
  })

  it('goes by words where the model fails, says so, tells of it, and does not ask for vectors again and again', async () => {
    const problems: unknown[] = []
    const { model, asked } = axes(async () => 'no such model')
    const ledger = await open({
      embedding: model,
      onProblem: (problem) => {
        problems.push(problem)
      },
    })
    await ledger.append('a', texts(10))
    for (let time = 0; time < 5; time += 1)
      expect(await ledger.search('zebra')).toMatchObject({
        hits: [{ conversationId: 'a' }],
        vectors: { missing: 10, problem: 'no such model' },
      })
    expect(problems).toContainEqual({ kind: 'EmbeddingFailed', detail: 'no such model' })
    // One that made vectors, with the question whether the model takes any at all; the others are the searches' own.
    expect(asked.filter((texts_) => texts_.some((text) => text.startsWith('text '))).length).toBeLessThanOrEqual(2)
    await expect(ledger.admin.projections.fillVectors()).rejects.toMatchObject({ kind: 'EmbeddingFailed' })
  })

  it('goes by words where the model never answers, whether or not it heeds the signal', async () => {
    const { model } = axes((asked) => (asked.length > 1 ? Promise.resolve() : new Promise(() => undefined)))
    const ledger = await open()
    await ledger.append('a', texts(60))
    await ledger.search('zebra', { conversationId: 'a' })
    const found = await search({ index: createArchiveIndex(db), embedding: model, questionTimeoutMs: 5 }, 'zebra', {
      within: { conversationId: 'a' },
      limit: 1,
    })
    expect(found).toMatchObject({
      hits: [{ text: expect.stringContaining('zebra') }],
      failure: { kind: 'EmbeddingFailed', detail: expect.stringContaining('no answer within 5 ms') },
    })
  })

  it('ends behind with the ledger, also in the middle of a request', async () => {
    const started = latch()
    const { model, asked } = axes(async (given) => {
      if (given.length === 1) return
      started.open()
      await new Promise((resolve) => {
        setTimeout(resolve, 50)
      })
    })
    const ledger = await open({ embedding: model })
    await ledger.append('a', texts(500))
    await ledger.search('zebra')
    await started.opened
    await ledger.close()
    const calls = asked.length
    await new Promise((resolve) => {
      setTimeout(resolve, 150)
    })
    expect(asked.length).toBe(calls)
    await expect(ledger.search('zebra')).rejects.toMatchObject({ kind: 'LedgerClosed' })
  })
})

describe('filling', () => {
  const filler = (
    model: EmbeddingModel,
    claims = createMemoryClaims(systemClock),
    problems: unknown[] = [],
  ): VectorFiller =>
    createVectorFiller({
      db,
      store: createPostgresEventStore(db),
      embedding: model,
      claims,
      owner: systemClock.newId(),
      onProblem: (problem) => {
        problems.push(problem)
      },
    })

  it('is one process’s at a time, and the other finds its work done', async () => {
    const ledger = await open()
    await ledger.append('a', texts(200))
    await ledger.admin.projections.catchUp()
    const { model, bought } = axes()
    const claims = createMemoryClaims(systemClock)
    const [one, two] = await Promise.all([filler(model, claims).make(), filler(model, claims).make()])
    expect([one, two].map((each) => (E.isRight(each) ? each.right.embedded : -1)).toSorted((a, b) => a - b)).toEqual([
      0, 200,
    ])
    expect(bought()).toHaveLength(200)
  })

  it('sees to a conversation that had stopped once its rows are complete', async () => {
    const first = await open({ onProblem: () => undefined })
    await first.append('a', texts(2))
    await first.admin.projections.catchUp()
    // The database refuses one text for a while.
    await db.script(`alter table archive_messages_g1 add constraint refused check (text not like 'text 5 %')`)
    await first.append('a', texts(5, 3))
    await first.append('b', texts(2, 10))
    await first.admin.projections.catchUp()
    const { model, bought } = axes()
    expect(await filler(model).make()).toMatchObject({ right: { missing: 0 } })
    expect(bought()).not.toContain('text 5 a stone')
    await db.script('alter table archive_messages_g1 drop constraint refused')
    await first.close()
    const second = await open()
    await second.admin.projections.catchUp()
    await filler(model).make()
    await filler(model).make()
    expect(bought().toSorted()).toEqual(
      [...texts(2), ...texts(5, 3), ...texts(2, 10)].map(({ content }) => content).toSorted(),
    )
  })

  it('keeps what is bought when it is told to stop, whoever asked for it', async () => {
    const ledger = await open()
    await ledger.append('a', texts(100))
    await ledger.admin.projections.catchUp()
    const [begun, mayGoOn] = [latch(), latch()]
    const { model } = axes(async () => {
      begun.open()
      await mayGoOn.opened
    })
    const one = filler(model)
    const made = one.make()
    await begun.opened
    const stopped = one.stop()
    mayGoOn.open()
    await stopped
    expect(await db.query('select from archive_vectors')).toHaveLength(64)
    expect(await made).toMatchObject({ right: { embedded: 64 } })
  })

  it('goes on from where it was, in the order of the log, and looks again at what was said in rows of another log', async () => {
    const ledger = await open()
    await ledger.append('b', texts(100))
    await ledger.append('a', texts(100, 100))
    await ledger.admin.projections.catchUp()
    const { model, bought } = axes()
    const some = { limit: 64 }
    expect(await filler(model).make(some)).toEqual(E.right({ embedded: 64, missing: 200, isAtLeast: false }))
    const first = new Set(bought())
    expect([...first].every((text) => Number(text.split(' ')[1]) < 200)).toBe(true)
    await filler(model).make()
    expect(bought()).toHaveLength(200)
    await db.query(`update archive_vector_progress set event_id = '00000000-0000-0000-0000-000000000000'`)
    await db.query('delete from archive_vectors where text_hash in (select text_hash from archive_messages limit 3)')
    expect(await filler(model).make()).toMatchObject({ right: { embedded: 3, missing: 0 } })
  })

  it('leaves out the one text that a model refuses, tells of it, and gives the others theirs', async () => {
    const ledger = await open()
    await ledger.append('a', [...texts(20), { role: 'user', content: 'text poison' }, ...texts(20, 20)])
    await ledger.admin.projections.catchUp()
    const problems: unknown[] = []
    const { model } = axes(async (asked) => (asked.some((text) => text.includes('poison')) ? 'refused' : undefined))
    expect(await filler(model, undefined, problems).make()).toMatchObject({ right: { embedded: 41, missing: 0 } })
    expect(problems).toEqual([{ kind: 'EmbeddingFailed', detail: expect.stringContaining('refused') }])
    expect(await db.query('select from archive_vectors')).toHaveLength(40)
  })

  it('keeps hashes so that the key serves the rows’ look-up, in a table from before too', async () => {
    await db.script(`
      create table archive_vectors (model text not null, text_hash text not null, dimensions int4 not null, embedding vector not null, primary key (model, text_hash));
      insert into archive_vectors values ('axes', 'h', 3, '[1,2,3]')`)
    await filler(axes().model).missing()
    const [column] = await db.query<{ name: string }>(
      `select collname as name from pg_attribute join pg_collation c on c.oid = attcollation where attrelid = 'archive_vectors'::regclass and attname = 'text_hash'`,
    )
    expect(column).toEqual({ name: 'C' })
    expect(await db.query('select from archive_vectors')).toHaveLength(1)
  })
})

describe('a small tenant beside others', () => {
  it('finds its own by meaning, however near the others’ are', async () => {
    const ledger = await open()
    await ledger.append(
      'theirs',
      Array.from({ length: 400 }, (_, at) => ({ role: 'user' as const, content: `walrus ${String(at)}` })),
      { scope: 'large' },
    )
    await ledger.append(
      'mine',
      [
        { role: 'user', content: 'the river, the zebra' },
        { role: 'assistant', content: 'a stone' },
      ],
      { scope: 'small' },
    )
    await ledger.admin.projections.catchUp()
    const { model } = axes()
    await createVectorFiller({
      db,
      store: createPostgresEventStore(db),
      embedding: model,
      claims: createMemoryClaims(systemClock),
      owner: 'me',
      onProblem: () => undefined,
    }).make()
    const { hits } = await search({ index: createArchiveIndex(db), embedding: model }, 'animal', {
      within: { scope: 'small' },
    })
    expect(hits.map(({ conversationId }) => conversationId)).toEqual(['mine', 'mine'])
    expect(hits[0]?.text).toContain('zebra')
  })

  it('finds its own by way of the index too, where more of the others’ are nearer than the index gives at a time', async () => {
    const ledger = await open()
    await ledger.append(
      'theirs',
      Array.from({ length: 600 }, (_, at) => ({ role: 'user' as const, content: `walrus ${String(at)}` })),
      { scope: 'large' },
    )
    await ledger.append(
      'mine',
      [
        { role: 'user', content: 'the zebra' },
        { role: 'assistant', content: 'a stone' },
      ],
      { scope: 'small' },
    )
    await ledger.admin.projections.catchUp()
    await createVectorTable(db)
    await createVectorIndex(db, 3)
    // All of theirs lie nearer to the question than ours, each at a place of its own: an index keeps equal vectors in
    // one.
    await db.query(
      `insert into archive_vectors select 'axes', text_hash, 3, case when conversation_id = 'mine' then '[0.1,1,' || revision || ']' else '[1,0,' || revision / 10000.0 || ']' end::vector from archive_messages`,
    )
    const hits = await db.transaction(async (sql) => {
      // So few vectors a planner would rather read one by one.
      await sql.script('set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off')
      return await nearestMessages(sql, { scope: 'small' }, 'axes', [1, 0, 0], 2, 0)
    })
    expect(hits?.map(({ conversationId }) => conversationId)).toEqual(['mine', 'mine'])
  })

  it('the query’s own vector may fail, and then it is words alone', async () => {
    const ledger = await open()
    await ledger.append('mine', [{ role: 'user', content: 'the zebra' }])
    await ledger.admin.projections.catchUp()
    const failing: EmbeddingModel = { model: 'axes', embed: () => TE.left({ kind: 'EmbeddingFailed', detail: 'away' }) }
    expect(
      await search({ index: createArchiveIndex(db), embedding: failing }, 'zebra', {
        within: { conversationId: 'mine' },
      }),
    ).toMatchObject({ hits: [{ conversationId: 'mine' }], failure: { detail: 'away' } })
  })
})
