/**
 * An odd value from one caller is refused with its field named, and nothing is recorded. An event that still cannot be
 * applied, because another program wrote it or the log was changed, stops its own conversation only.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { createRegisterPrompt } from '../../src/application/recording/register-prompt.js'
import { openLedger, registerEstimator, type Ledger, type Summarizer, type Summary } from '../../src/index.js'
import { systemClock } from '../../src/ports/clock.js'
import type { Database } from '../../src/ports/sql.js'
import { createExtractiveSummarizer, createFoldInSummarizer } from '../../src/application/summarizers/index.js'
import { guarded } from '../../src/application/summarizers/guarded.js'
import { createPrompt } from '../../src/application/summarizers/prompts.js'
import { say, SMALL, talk } from '../support/conversations.js'
import { appended as recordEvents, eventNamed } from '../support/events.js'
import { attack, ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { chunkJob } from '../support/summary-jobs.js'
import { isLong } from '../support/length.js'

let db: Database
beforeAll(async () => {
  db = await openTestDatabase()
})
beforeEach(async () => {
  await db.script('drop schema context_ledger cascade; create schema context_ledger')
})
afterAll(async () => {
  await db.close()
})

/** What a process does that opens the ledger, and ends. */
async function withLedger<T>(options: Parameters<typeof ledgerOn>[1], use: (ledger: Ledger) => Promise<T>): Promise<T> {
  const ledger = await ledgerOn(db, { policy: SMALL, ...options })
  try {
    return await use(ledger)
  } finally {
    await ledger.close()
  }
}

/**
 * What everybody else sees, by a ledger that was just opened: all of it is there, nothing is stopped, and the proof
 * holds.
 */
async function everybodyIsServed(conversationIds: readonly string[]): Promise<void> {
  await withLedger({}, async (ledger) => {
    expect((await ledger.list()).conversations.map(({ conversationId }) => conversationId).toSorted()).toEqual(
      [...conversationIds].toSorted(),
    )
    for (const conversationId of conversationIds)
      expect((await ledger.search('harbour', { conversationId })).hits).not.toEqual([])
    await ledger.admin.projections.rebuild('all')
    expect((await ledger.admin.verify()).problems).toEqual([])
  })
}

const odd = ['', 'x'.repeat(4_000), 'a\0b', 'lone \ud800', 7, null, {}] as const

describe('a value that could not be read again', () => {
  it('of who asked and for whom is refused, and names its field', async () => {
    await withLedger({}, async (ledger) => {
      await ledger.append('good', { role: 'user', content: 'the harbour is closed' })
      for (const field of ['actor', 'correlationId', 'scope'] as const) {
        for (const value of odd) {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a caller without TypeScript may pass anything
          await expect(ledger.append('odd', say(1), { [field]: value as string })).rejects.toMatchObject({
            kind: 'BadInput',
            details: { field },
          })
        }
      }
      for (const model of ['x'.repeat(4_000), 'a\0b', 'lone \ud800']) {
        await expect(ledger.append('odd', say(1), { policy: { model, modelMaxTokens: 4_000 } })).rejects.toMatchObject({
          kind: 'BadPolicy',
          details: { field: 'model' },
        })
      }
    })
    for (const actor of odd.filter((value) => value !== null))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      await expect(openLedger({ store: 'nowhere', actor: actor as string })).rejects.toMatchObject({
        kind: 'BadInput',
        details: { field: 'actor' },
      })
    await everybodyIsServed(['good'])
  })

  it('of the options of a ledger is refused before anything is opened, and names its field', async () => {
    const openai = { kind: 'openai', model: 'm', baseUrl: 'http://127.0.0.1:9/v1' } as const
    for (const value of odd) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const text = value as string
      const opens: readonly (readonly [string, Partial<Parameters<typeof openLedger>[0]>])[] = [
        ['embedding.model', { embedding: { model: text, baseUrl: 'http://127.0.0.1:9/v1' } }],
        ['summarizer.model', { summarizer: { ...openai, model: text } }],
        ['summarizer.prompt.name', { summarizer: { ...openai, prompt: { name: text, text: '{messages}' } } }],
        ['summarizer.model', { summarizer: Object.defineProperty(() => Promise.resolve(''), 'name', { value }) }],
        ['policy', { policy: { model: text } }],
      ]
      for (const [field, options] of opens) {
        // A function without a name has one of ours.
        if (value === '' && typeof options.summarizer === 'function') continue
        await expect(openLedger({ store: 'nowhere', ...options })).rejects.toMatchObject({
          message: expect.stringContaining(field),
          fault: 'input',
        })
      }
    }
    for (const [field, embedding] of [
      ['embedding.baseUrl', { model: 'm', baseUrl: 7 }],
      ['embedding.apiKey', { model: 'm', apiKey: {} }],
    ] as const)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      await expect(openLedger({ store: 'nowhere', embedding: embedding as never })).rejects.toMatchObject({
        kind: 'BadInput',
        details: { field },
      })
  })

  it('of an estimator is refused, names the estimator, and records nothing', async () => {
    const gives: readonly (readonly [string, unknown])[] = [
      ['fraction', 1.5],
      ['nan', Number.NaN],
      ['negative', -1],
      ['huge', 3e9],
      ['infinite', Infinity],
      ['text', '7'],
      ['nothing', undefined],
      ['promise', Promise.resolve(1)],
    ]
    await withLedger({}, async (ledger) => {
      await ledger.append('good', { role: 'user', content: 'the harbour is closed' })
    })
    for (const [name, value] of gives) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      registerEstimator({ name: `odd-${name}`, text: () => value as number })
      await withLedger({ estimator: `odd-${name}` }, async (ledger) => {
        await expect(ledger.append('odd', say(1))).rejects.toMatchObject({
          kind: 'EstimatorFailed',
          message: expect.stringContaining(`odd-${name}`),
        })
      })
    }
    registerEstimator({
      name: 'odd-throws',
      text: () => {
        throw new Error('no tokenizer here')
      },
    })
    await withLedger({ estimator: 'odd-throws' }, async (ledger) => {
      await expect(ledger.append('odd', say(1))).rejects.toThrow(
        'token estimator "odd-throws" threw: no tokenizer here',
      )
    })
    for (const name of odd)
      expect(() => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        registerEstimator({ name: name as string, text: () => 1 })
      }).toThrow('estimator.name')
    await everybodyIsServed(['good'])
  })
})

const usual = createExtractiveSummarizer()
const saying = (answer: unknown): Summarizer => ({
  ...usual,
  strategy: 'mine',
  provider: 'me',
  model: 'mine-1',
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  summarize: () => Promise.resolve(answer as Summary),
})

describe("a summarizer of somebody's own that answers what cannot be recorded", () => {
  const good = { text: 'They spoke of the harbour.', durationMs: 1 }
  const answers: readonly (readonly [string, Summarizer])[] = [
    ['tokens above what can be counted', saying({ ...good, usage: { promptTokens: 3e9, completionTokens: 1 } })],
    ['tokens that are no number', saying({ ...good, usage: { promptTokens: Number.NaN, completionTokens: 1 } })],
    ['a duration that is none', saying({ ...good, durationMs: -1 })],
    ['sections of its own', saying({ ...good, sections: { decisions: 'none' } })],
    [
      'a text that throws',
      saying({
        durationMs: 1,
        get text(): string {
          throw new Error('not now')
        },
      }),
    ],
    ['nothing at all', saying(undefined)],
    [
      'a text alone',
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      { ...saying(good), summarize: (() => Promise.resolve('harbour')) as unknown as Summarizer['summarize'] },
    ],
    [
      'a failure that says nothing',
      {
        ...saying(good),
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        summarize: (() => Promise.resolve({ kind: 'oops' })) as unknown as Summarizer['summarize'],
      },
    ],
    [
      'something thrown that has no text',
      {
        ...saying(good),
        summarize: () => {
          throw Object.create(null)
        },
      },
    ],
    [
      'a prompt without a name',
      {
        ...saying(good),
        prepare: (job) => ({ ...usual.prepare(job), prompt: { ...usual.prepare(job).prompt, name: '' } }),
      },
    ],
    ['a request that has no JSON', { ...saying(good), prepare: (job) => ({ ...usual.prepare(job), request: 7 }) }],
  ]

  it.each(isLong ? answers : answers.slice(0, 2))(
    '%s: it is recorded as a failure, and the conversations go on',
    async (_what, summarizer) => {
      const problems: unknown[] = []
      await withLedger(
        {
          summarizer: guarded(summarizer),
          onProblem: (problem) => {
            problems.push(problem)
          },
        },
        async (ledger) => {
          await ledger.append('good', { role: 'user', content: 'the harbour is closed' })
          await ledger.append('odd', [{ role: 'user', content: 'and the harbour opens' }, ...talk(40)])
          await ledger.admin.waitForCompaction()
          const types: string[] = []
          for await (const event of ledger.log('odd')) types.push(event.type)
          expect(types).toContain('CompactionFailed')
          await ledger.append('odd', { role: 'user', content: 'still here' })
          expect((await ledger.context('odd')).messages.at(-1)?.content).toBe('still here')
        },
      )
      await everybodyIsServed(['good', 'odd'])
    },
  )
})

describe('an event that cannot be applied', () => {
  // Events that older programs recorded, and events that no program ever recorded.
  const events: readonly (readonly [string, string])[] = [
    [
      'of a type that nobody knows',
      `insert into events select position + 1, revision + 1, gen_random_uuid(), stream, 'NobodyKnows', data, metadata from events where position = (select max(position) from events)`,
    ],
    [
      'that counts a fraction of a token',
      `insert into events select position + 1, revision + 1, gen_random_uuid(), stream, type, regexp_replace(data, '"tokens":[0-9]+', '"tokens":1.5'), metadata from events where position = (select max(position) from events)`,
    ],
    [
      'that nobody asked for',
      `insert into events select position + 1, revision + 1, gen_random_uuid(), stream, type, data, regexp_replace(metadata, '"actor":"[^"]*"', '"actor":""') from events where position = (select max(position) from events)`,
    ],
  ]

  it.each(isLong ? events : events.slice(0, 2))(
    '%s stops its own conversation, which says so; all others are served and proved',
    async (_what, insert) => {
      const problems: string[] = []
      await withLedger({}, async (ledger) => {
        for (const id of ['good', 'odd'])
          await ledger.append(id, [{ role: 'user', content: 'the harbour is closed' }, ...talk(20)])
        await ledger.admin.waitForCompaction()
        await ledger.list()
        await ledger.append('odd', { role: 'user', content: 'the last word' })
      })
      const attacker = await attack(db)
      await attacker.run(insert)
      await attacker.run(`update streams set revision = revision + 1 where stream = 'conversation-odd'`)
      await attacker.run('update log_head set position = position + 1')

      await withLedger(
        {
          onProblem: (problem) => {
            problems.push(String(problem))
          },
        },
        async (ledger) => {
          await ledger.append('good', [{ role: 'user', content: 'and the harbour opens' }, ...talk(20, 100)])
          await ledger.admin.waitForCompaction()
          const where = /cannot apply \w+ at revision \d+ of conversation-odd/u
          expect((await ledger.list()).conversations).toMatchObject([
            { conversationId: 'good' },
            { conversationId: 'odd', stopped: expect.stringMatching(where) },
          ])
          expect((await ledger.list()).conversations[0]).not.toHaveProperty('stopped')
          expect((await ledger.search('harbour opens', { conversationId: 'good' })).hits[0]).toMatchObject({
            text: 'and the harbour opens',
          })
          expect((await ledger.search('harbour opens', {})).hits.map(({ conversationId }) => conversationId)).toContain(
            'good',
          )
          await expect(ledger.search('harbour', { conversationId: 'odd' })).rejects.toThrow(where)
          await expect(ledger.messages('odd')).rejects.toThrow('conversation-odd')
          expect(problems.filter((each) => where.test(each))).toHaveLength(1)
          await ledger.admin.projections.rebuild('all')
          for (const { stopped, lagEvents, stop } of await ledger.admin.projections.status())
            expect({ stopped, lagEvents, stop }).toMatchObject({
              stopped: [{ conversationId: 'odd', stream: 'conversation-odd', reason: expect.stringMatching(where) }],
              lagEvents: 0,
              stop: undefined,
            })
          expect((await ledger.admin.verify('good')).problems).toEqual([])
          expect(new Set((await ledger.admin.verify()).problems.map(({ stream }) => stream))).toEqual(
            new Set(['conversation-odd']),
          )
          expect((await ledger.list()).conversations.map(({ conversationId }) => conversationId)).toEqual([
            'good',
            'odd',
          ])
        },
      )
    },
  )

  it('and is the first of its conversation, or a prompt: a list names what it cannot show', async () => {
    await withLedger({}, async (ledger) => {
      await ledger.append('good', say(1))
    })
    const store = createPostgresEventStore(db)
    for (const stream of ['conversation-odd', `prompt-${'a'.repeat(64)}`])
      await recordEvents(store, stream, [{ ...eventNamed(stream), type: 'PromptRegistered' }])
    const summarizer = createFoldInSummarizer({
      model: createScriptedLanguageModel(['A summary.']),
      prompt: createPrompt('good', 'Sum it up: {messages}'),
    })
    await createRegisterPrompt({ store, bodies: createPostgresBodyStore(db) }, systemClock)(
      summarizer.prepare(chunkJob()),
      { actor: 'test', correlationId: 'c', causationId: 'c' },
      undefined,
    )
    await withLedger({ onProblem: () => undefined }, async (ledger) => {
      const list = await ledger.list()
      expect(list).toMatchObject({
        conversations: [{ conversationId: 'good' }],
        unlisted: [{ conversationId: 'odd', reason: expect.stringContaining('PromptRegistered') }],
      })
      expect(await ledger.list({ match: 'good' })).not.toHaveProperty('unlisted')
      expect(await ledger.admin.prompts.list()).toMatchObject({
        prompts: [{ name: 'good', version: 1 }],
        unreadable: [{ sha256: 'a'.repeat(64), reason: expect.stringContaining('PromptRegistered') }],
      })
      expect(await ledger.admin.prompts.show('good')).toMatchObject({ text: 'Sum it up: {messages}' })
      await expect(ledger.admin.prompts.show('a'.repeat(12))).rejects.toThrow('PromptRegistered')
    })
  })
})
