/** Totals of usage: the rows count what the events and `stats` count, after any history, and after a rebuild. */
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { archiveIndex } from '../../../../projections/read-models/archive-index/projection.js'
import { clipArchive } from '../../../../projections/read-models/clip-archive/projection.js'
import { liveMessages } from '../../../../projections/read-models/live-messages/projection.js'
import { usageProjection } from '../../../../projections/read-models/usage/projection.js'
import { countUsage } from '../../../../projections/read-models/usage/queries.js'
import { createProjectionRunner, type ProjectionRunner } from '../../../../projections/engine/runner.js'
import type { RecordedEvent } from '../../../../src/domain/events/index.js'
import { totalsOf, type CountedUse } from '../../../../src/domain/reports/totals.js'
import type { MessageInput } from '../../../../src/domain/values/message.js'
import type { Database } from '../../../../src/ports/sql.js'
import { isSummarizerFailure } from '../../../../src/ports/summarizer.js'
import { decodeStored } from '../../../support/builders.js'
import { SMALL } from '../../../support/conversations.js'
import { editionHistory, editionSteps, everyStep, projectedEvents } from '../../../support/edition-history.js'
import { counted } from '../../../support/explain-conversation.js'
import { CONVERSATION, createHarness, createScriptedSummarizer, type Harness } from '../../../support/harness.js'
import { runsOf } from '../../../support/length.js'
import { describeOnDatabases } from '../../../support/projections.js'

/** A third of the answers report no usage, so that both kinds occur in a history. */
const isUnreported = (requestHash: string): boolean => Number.parseInt(requestHash.slice(-2), 16) % 3 === 0

/** A summarizer that does not always report usage. */
function forgetful(): ReturnType<typeof createScriptedSummarizer> {
  const summarizer = createScriptedSummarizer()
  const usual = summarizer.summarize.bind(summarizer)
  return Object.assign(summarizer, {
    summarize: async (prepared: Parameters<typeof usual>[0]) => {
      const answer = await usual(prepared)
      if (isSummarizerFailure(answer)) return answer
      const { usage: _usage, ...rest } = answer
      return isUnreported(prepared.requestHash)
        ? rest
        : { ...rest, usage: { promptTokens: 700, completionTokens: 33, cachedTokens: 500 } }
    },
  })
}

const figure = fc.integer({ min: 0, max: 5_000 })
const usage = fc.record(
  {
    inputTokens: figure,
    outputTokens: figure,
    cacheReadTokens: figure,
    cacheWriteTokens: figure,
    cost: fc.constant(0.5),
  },
  { requiredKeys: [] },
)
/** Attributes of an answer: usage in several messages of it, in a later one, none, or what is no usage. */
const attributes = fc.record(
  {
    answerId: fc.constantFrom('a1', 'a2', 'a3'),
    model: fc.constantFrom('gpt-5', 'unlisted', 5),
    usage: fc.oneof({ weight: 4, arbitrary: usage }, fc.constantFrom(null, 'many', { inputTokens: -1 })),
    earlierUsage: fc.record({ answerId: fc.constantFrom('a1', 'a2'), usage }),
    byProgram: fc.constant(true),
  },
  { requiredKeys: [] },
)
const answers = fc.array(fc.record({ role: fc.constantFrom('assistant' as const, 'user' as const), attributes }), {
  maxLength: 8,
})

/** A summary without reported usage that is recorded after an edition was adopted. */
const lateSummary: Parameters<typeof editionHistory>[0] = [
  { do: 'append', count: 7 },
  { do: 'append', count: 9 },
  { do: 'compact-while', nth: 3, step: { do: 'adopt', edition: 'e1' } },
  { do: 'append', count: 8 },
]

/** The read models that the totals read. */
const READ = [liveMessages, archiveIndex, clipArchive, usageProjection]

type Figures = Readonly<Record<string, number>>
const larger = (a: Figures, b: Figures): Figures => {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return Object.fromEntries([...names].map((name) => [name, Math.max(a[name] ?? 0, b[name] ?? 0)]))
}

interface Answer {
  readonly model: string
  readonly isAnswer: boolean
  readonly figures: Figures
}

const NAMES = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'cost'] as const

/** The figures that count: none if one is wrong, or if there are neither tokens of the prompt or answer nor a cost. */
function figuresIn(value: unknown): Figures {
  if (typeof value !== 'object' || value === null) return {}
  const found: [string, number][] = []
  for (const name of NAMES) {
    const figureOfName: unknown = Reflect.get(value, name)
    if (typeof figureOfName === 'number') found.push([name, figureOfName])
  }
  const names = found.map(([name]) => name)
  const isUsage = found.every(([, each]) => each >= 0) && names.some((name) => !name.startsWith('cache'))
  return isUsage ? { inputTokens: 0, ...Object.fromEntries(found) } : {}
}

/** The answers by the events themselves: their models and largest figures. */
function answersIn(events: readonly RecordedEvent[]): readonly Answer[] {
  const byId = new Map<string, Answer>()
  const add = (id: string, { model, isAnswer, figures }: Answer): void => {
    const before = byId.get(id) ?? { model: '', isAnswer: false, figures: {} }
    byId.set(id, {
      model: before.model > model ? before.model : model,
      isAnswer: before.isAnswer || isAnswer,
      figures: larger(before.figures, figures),
    })
  }
  for (const event of events) {
    if (event.type !== 'MessageAppended') continue
    const {
      answerId = `at ${String(event.revision)}`,
      model,
      usage: own,
      earlierUsage,
      byProgram,
    } = event.data.attributes ?? {}
    const figures = figuresIn(own)
    const isAnswer = byProgram !== true
    if (event.data.role === 'assistant' && (isAnswer || 'inputTokens' in figures))
      add(String(answerId), { model: typeof model === 'string' ? model : '', isAnswer, figures })
    if (typeof earlierUsage === 'object' && earlierUsage !== null) {
      const later = figuresIn(Reflect.get(earlierUsage, 'usage'))
      if ('inputTokens' in later)
        add(String(Reflect.get(earlierUsage, 'answerId')), { model: '', isAnswer: false, figures: later })
    }
  }
  return [...byId.values()]
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** The figures of answers by model. */
function byModel(all: readonly Answer[]): unknown {
  const models = [...new Set(all.map(({ model }) => model))].toSorted()
  return models.map((model) => {
    const own = all.filter((each) => each.model === model)
    const total = (name: string): number => sum(own.map(({ figures }) => figures[name] ?? 0))
    return {
      model,
      answers: own.filter(({ isAnswer }) => isAnswer).length,
      unreported: own.filter(({ isAnswer, figures }) => isAnswer && !('inputTokens' in figures)).length,
      figures: NAMES.map(total),
    }
  })
}

/** The same by the rows. */
function rowsByModel(uses: readonly CountedUse[]): unknown {
  const ofAnswers = uses.filter(({ kind }) => kind === 'answers')
  const models = [...new Set(ofAnswers.map(({ model = '' }) => model))].toSorted()
  return models.map((model) => {
    const own = ofAnswers.filter((each) => (each.model ?? '') === model)
    const total = (name: keyof CountedUse): number => sum(own.map((each) => Number(each[name] ?? 0)))
    return {
      model,
      answers: total('times'),
      unreported: total('unreported'),
      figures: [
        total('promptTokens'),
        total('completionTokens'),
        total('cachedTokens'),
        total('cacheWriteTokens'),
        total('reportedCost'),
      ],
    }
  })
}

async function expectCounted(harness: Harness, db: Database): Promise<void> {
  const uses = await countUsage(db)
  const events = await projectedEvents(harness.log.store, CONVERSATION)
  const withdrawn = events.flatMap((event) => (event.type === 'MessagesWithdrawn' ? event.data.messages : []))
  const ids = new Set(withdrawn.map(({ messageId }) => messageId))
  const shown = events.flatMap((event) =>
    event.type === 'MessageAppended' && !ids.has(event.data.messageId) ? [event.data] : [],
  )
  expect(totalsOf(uses, {})).toMatchObject({
    conversations: 1,
    messages: shown.length,
    tokens: sum(shown.map(({ tokens }) => tokens)),
  })
  expect(rowsByModel(uses)).toEqual(byModel(answersIn(events)))
  const summaries = (await counted(harness)).total.models.filter(({ provider }) => provider !== 'none')
  expect(
    uses
      .filter(({ kind }) => kind === 'summaries')
      .map(({ provider, model, promptTokens, completionTokens, cachedTokens, estimated }) => ({
        provider,
        model,
        promptTokens,
        completionTokens,
        cachedTokens,
        estimated,
      }))
      .toSorted((a, b) => ((a.model ?? '') < (b.model ?? '') ? -1 : 1)),
  ).toEqual(
    summaries
      .map(({ provider, model, promptTokens, completionTokens, cachedTokens, estimated }) => ({
        provider,
        model,
        promptTokens,
        completionTokens,
        cachedTokens,
        estimated,
      }))
      .toSorted((a, b) => (a.model < b.model ? -1 : 1)),
  )
}

describeOnDatabases('totals of usage', (database) => {
  test('equal what the events and the statistics count, after any history and after a rebuild', async () => {
    const estimates = { chunk: 0, merged: 0 }
    await fc.assert(
      fc.asyncProperty(editionSteps, answers, fc.integer({ min: 1, max: 60 }), async (steps, given, batchSize) => {
        const db = await database.fresh()
        const harness = createHarness({ policy: SMALL, summarizer: forgetful() })
        await editionHistory(steps, harness)
        for (const [at, each] of given.entries()) {
          const message: MessageInput = { id: `answer-${String(at)}`, content: `answer ${String(at)}`, ...each }
          await harness.appended(message)
        }
        const messageIds = given.flatMap((_each, at) => (at % 3 === 0 ? [`answer-${String(at)}`] : []))
        if (messageIds.length > 0)
          await harness.conversations.handle(CONVERSATION, [{ type: 'WithdrawMessages', messageIds, why: 'edited' }], {
            actor: 'test',
            correlationId: 'c',
            causationId: 'c',
          })
        const { store } = harness.log
        const runner = (): ProjectionRunner =>
          createProjectionRunner({ db, store, decode: decodeStored, projections: READ, batchSize })
        await runner().catchUp()
        await expectCounted(harness, db)
        await runner().rebuild(['usage'], { batchSize: batchSize + 3 })
        await expectCounted(harness, db)
        for (const { type, data } of await projectedEvents(store, CONVERSATION)) {
          if (type === 'ChunkSummarized' && data.summarizer.usage === undefined) estimates.chunk += 1
          if (type === 'BatchesResummarized' && data.summarizer.usage === undefined) estimates.merged += 1
        }
      }),
      {
        numRuns: runsOf(30),
        examples: [
          [everyStep, [], 7],
          [lateSummary, [], 29],
        ],
        timeout: 60_000,
      },
    )
    expect(estimates.chunk).toBeGreaterThan(0)
    expect(estimates.merged).toBeGreaterThan(0)
  })
})
