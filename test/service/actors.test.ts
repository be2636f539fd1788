/**
 * Every event that a request records carries the name of the key that made the request. The routes come from the
 * contract, so a new route must be added here too.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { createScriptedLanguageModel } from '../../src/adapters/scripted/language-model.js'
import { createMemoryTokenBudget } from '../../src/adapters/memory/token-budget.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { createPostgresJobStore } from '../../src/adapters/postgres/service-jobs.js'
import { createPostgresKeyStore } from '../../src/adapters/postgres/service-keys.js'
import { metadataSchema } from '../../src/domain/events/metadata.js'
import type { Ledger } from '../../src/index.js'
import { systemClock } from '../../src/ports/clock.js'
import type { EventStore } from '../../src/ports/event-store.js'
import { ROLES } from '../../src/ports/service-state.js'
import type { Database } from '../../src/ports/sql.js'
import { createService, type Service } from '../../src/interfaces/service/app.js'
import { routes, type RouteName } from '../../src/schema/index.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { say, SMALL, talk } from '../support/conversations.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { PEPPER } from '../support/service.js'

let db: Database
let store: EventStore
let ledger: Ledger
/** Another process on the same log. It does not compact, so its appends wait for the process under test. */
let observer: Ledger
let service: Service
const keys = (): ReturnType<typeof createPostgresKeyStore> => createPostgresKeyStore(db)

beforeAll(async () => {
  db = await openTestDatabase()
  store = createPostgresEventStore(db)
  const languageModel = createScriptedLanguageModel(['{"rules":[]}'])
  ledger = await ledgerOn(db, { policy: SMALL, alone: false, languageModel })
  observer = await ledgerOn(db, { policy: SMALL, alone: false, workers: 'elsewhere' })
  service = createService({
    ledger,
    stores: {
      keys: keys(),
      jobs: createPostgresJobStore(db),
      isShared: false,
      budget: (limits) => createMemoryTokenBudget(limits, systemClock),
      onCompaction: () => undefined,
      ping: () => Promise.resolve(),
    },
    pepper: PEPPER,
  })
})
afterAll(async () => {
  await service.stop()
  await ledger.close()
  await observer.close()
  await db.close()
})

interface RequestParts {
  /** Path parameters by name. The conversation is `c` by default. */
  readonly params?: Readonly<Record<string, string>>
  readonly body?: object
}

/** The edition that the replay made. */
const edition = { id: '' }
const all = { conversations: ['c'] }
/** Routes that record something, in the order in which they are asked. */
const RECORDING: { readonly [Name in RouteName]?: () => RequestParts | Promise<RequestParts> } = {
  appendMessages: () => ({ body: { messages: talk(30) } }),
  pinMessage: () => ({ params: { message: 'm29' } }),
  unpinMessage: () => ({ params: { message: 'm29' } }),
  addRule: () => ({ body: { text: 'Never push to the main branch.' } }),
  reviewRules: () => ({ body: {} }),
  judgeRule: async () => ({
    params: { rule: (await ledger.rules.list('c')).rules.at(-1)?.id ?? '' },
    body: { judgement: 'dropped' },
  }),
  compact: async () => {
    await observer.append('c', talk(9, 30))
    return { body: { force: true } }
  },
  undo: async () => ({ body: { cycle: (await ledger.admin.stats('c')).cycles } }),
  useTool: async () => {
    await observer.append('due', talk(30))
    return { params: { conversation: 'due', tool: 'compact_context' }, body: {} }
  },
  amend: () => ({ body: { withdraw: ['m38'], append: [say(38, { id: 'in-its-place' })] } }),
  observe: () => ({
    params: { conversation: 'seen' },
    body: { observation: { program: 'somebody', messages: talk(2) } },
  }),
  pushTranscript: () => ({
    body: {
      upload: 'u',
      offset: 0,
      program: 'claude-code',
      items: [
        { kind: 'conversation', sourceId: 'pushed', where: { file: 'a.jsonl' } },
        {
          kind: 'message',
          sourceId: 'm1',
          part: 0,
          body: { role: 'user', content: 'Which berth?' },
          where: { file: 'a.jsonl', line: 1 },
        },
      ],
    },
  }),
  compress: () => ({ params: { conversation: 'listed' }, body: { messages: talk(30) } }),
  replay: () => ({ body: { ...all, policy: { keepRecent: 3 } } }),
  compareEdition: () => ({ params: { edition: edition.id }, body: all }),
  adoptEdition: async () => {
    // Newer events are caught up, in the edition's own stream.
    await observer.append('c', talk(20, 40))
    return { params: { edition: edition.id }, body: { policy: { keepRecent: 3 } } }
  },
  revertEdition: () => ({ body: {} }),
  dropEdition: () => ({ params: { edition: edition.id } }),
  setRetentionRules: () => ({ body: { scope: 'acme', keepAtLeast: '1 year', reason: 'law' } }),
  placeRetentionHold: () => ({ body: { conversationId: 'c', reason: 'case 7' } }),
  releaseRetentionHold: async () => ({
    params: { hold: (await ledger.admin.retention.status()).holds[0]?.holdId ?? '' },
    body: { reason: 'closed' },
  }),
}
/** Routes that are no GET, and record nothing. */
const READING: { readonly [Name in RouteName]?: RequestParts } = {
  settle: {},
  search: { body: { query: 'berth' } },
  explain: { body: {} },
  recall: { body: {} },
  forgottenAll: {},
  listRules: { body: {} },
  confirmedRules: { body: {} },
  checkRules: { body: {} },
  checkRulesAll: { body: {} },
  statsAll: { body: {} },
  verify: {},
  verifyAll: {},
  estimateReplay: { body: all },
  whatIf: { body: { ...all, policies: [{ name: 'a', settings: {} }] } },
  rebuildProjections: { body: { names: ['live-messages'] } },
  catchUpProjections: {},
  fillVectors: { body: {} },
  cancelJob: { params: { job: 'x' } },
  draftCheckpoint: {},
}
/** Routes that need an erasable ledger or a signing key: test/service/trust.test.ts. */
const ELSEWHERE: readonly RouteName[] = [
  'storeCheckpoint',
  'attachToCheckpoint',
  'planErasure',
  'erase',
  'planErasureOfPerson',
  'erasePerson',
  'resumeErasures',
  'runRetention',
]

// oxlint-disable-next-line typescript/no-explicit-any -- what is asked of it is asked by expectations
async function ask(name: RouteName, { params = {}, body }: RequestParts): Promise<{ status: number; body: any }> {
  const { method, path } = routes[name]
  const { key } = await createKey(keys(), PEPPER, { name, roles: ROLES, bound: undefined })
  const filled = path.replaceAll(/\{(\w+)\}/gu, (_match, each: string) => params[each] ?? 'c')
  const response = await service.app.request(
    `http://127.0.0.1${filled}`,
    {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${key}`, prefer: 'wait=20', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    },
    {},
  )
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}

/** The events recorded after a position: type and actor of each. */
async function recordedAfter(after: number): Promise<{ readonly type: string; readonly actor: unknown }[]> {
  const found: { readonly type: string; readonly actor: unknown }[] = []
  for await (const { type, metadata } of store.readAll({ after }))
    found.push({ type, actor: metadataSchema.parse(JSON.parse(metadata)).actor })
  return found
}

/** The event types that a route records at least. Default: a message. */
const PROVES: { readonly [Name in RouteName]?: readonly string[] } = {
  appendMessages: ['MessageAppended', 'PromptRegistered', 'ChunkSummarized', 'MessagesPruned'],
  pinMessage: ['MessagePinned'],
  unpinMessage: ['MessageUnpinned'],
  reviewRules: ['RulesReviewed'],
  addRule: ['RuleAdded'],
  judgeRule: ['RuleJudged'],
  compact: ['MessagesPruned'],
  undo: ['CycleUndone'],
  useTool: ['MessagesPruned'],
  compress: ['MessageAppended', 'MessagesPruned'],
  replay: ['EditionStarted', 'ChunkSummarized', 'MessagesPruned'],
  compareEdition: ['EditionCompared'],
  adoptEdition: ['EditionAdopted', 'ChunkSummarized'],
  revertEdition: ['EditionReverted'],
  dropEdition: ['EditionDropped'],
  setRetentionRules: ['RetentionRulesSet'],
  placeRetentionHold: ['RetentionHoldPlaced'],
  releaseRetentionHold: ['RetentionHoldReleased'],
}

const isRoute = (name: string): name is RouteName => name in routes
const namesOf = (of: object): RouteName[] => Object.keys(of).filter(isRoute)

it('every route is known here as one that records, or as one that does not', () => {
  const known = [...Object.keys(RECORDING), ...Object.keys(READING), ...ELSEWHERE]
  const changing = Object.values(routes).filter(({ method }) => method !== 'get')
  expect(known.toSorted()).toEqual(changing.map(({ id }) => id).toSorted())
})

it('every fact that a request records names its key, and what only reads records nothing', async () => {
  for (const name of namesOf(RECORDING)) {
    const input = (await RECORDING[name]?.()) ?? {}
    const before = await store.head()
    const answer = await ask(name, input)
    expect([name, answer.status < 300, answer.body?.problem]).toEqual([name, true, undefined])
    if (name === 'replay') edition.id = answer.body.result.editionId
    await ledger.admin.waitForCompaction()
    const recorded = await recordedAfter(before)
    expect([name, recorded.filter(({ actor }) => actor !== `key:${name}`)]).toEqual([name, []])
    const types = recorded.map(({ type }) => type)
    expect([name, types]).toEqual([name, expect.arrayContaining([...(PROVES[name] ?? ['MessageAppended'])])])
  }
  const before = await store.head()
  for (const name of namesOf(READING)) {
    const { status } = await ask(name, READING[name] ?? {})
    // There is no such job; whatever else is asked is done.
    expect([name, status < 300]).toEqual([name, name !== 'cancelJob'])
  }
  expect(await recordedAfter(before)).toEqual([])
})
