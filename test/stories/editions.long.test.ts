/**
 * An edition from the prompt to adoption and back: real `replay` processes over a model's server that is busy, silent
 * or answers nothing now and then, killed (-9) again and again; then compared, adopted, put back and rebuilt, while an
 * agent appends and readers ask the read models throughout.
 *
 * `CONTEXT_LEDGER_TEST_EDITIONS` says how often it is killed (default 2, over a few small conversations in a folder);
 * with `all` it is 20 kills over every conversation of the data folder, on the server that CONTEXT_LEDGER_TEST_POSTGRES
 * names.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conversationsOf, dataFolder } from '../../bench/support/data.js'
import { createOpenAiLanguageModel } from '../../src/adapters/openai/language-model.js'
import { openFolder } from '../../src/adapters/pglite/sql.js'
import { createPostgresBodyStore } from '../../src/adapters/postgres/body-store.js'
import { createPostgresEventStore } from '../../src/adapters/postgres/event-store.js'
import { openPostgres } from '../../src/adapters/postgres/sql.js'
import { tokensOf } from '../../src/domain/reports/prices.js'
import { openLedger, type Ledger, type MessageInput } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { createSummarizer, type OpenAiSummarizerConfig } from '../../src/summarizers/index.js'
import { startCli } from '../support/cli.js'
import { SMALL, talk } from '../support/conversations.js'
import { latch } from '../support/latch.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import {
  expectedSeen,
  eventsOfConversations,
  inOneStatement,
  inOneTransaction,
  startReading,
} from '../support/reading-rows.js'
import { startOpenAiStub, stubAnswers, type OpenAiStub } from '../support/openai-stub.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

const asked = process.env['CONTEXT_LEDGER_TEST_EDITIONS'] ?? '2'
const whole = asked === 'all' && dataFolder !== undefined && testServer !== ''
const KILLS = asked === 'all' ? 20 : Number(asked)
const CONCURRENCY = 4
const TEXT = 'Some steps were done, and none failed.'
const PROMPT = 'Say in other words what happened.\n{existing_summary}\n{messages}\n'

/**
 * One call in 20 finds the model busy, one in 50 gets no answer, one in 40 an empty one. The rest are answers, and are
 * counted.
 */
let answers = 0
const moody = (_call: unknown, number: number): ReturnType<typeof stubAnswers.text> => {
  if (number % 20 === 7) return stubAnswers.rateLimited('0')
  if (number % 50 === 13) return stubAnswers.silence()
  if (number % 40 === 21) return stubAnswers.empty()
  answers += 1
  return stubAnswers.text(TEXT)
}

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** Two readers of the read models, and the proof that neither saw a mixture. */
function startReaders(db: Database, ids: readonly string[]) {
  const readers = [startReading(db, ids, inOneStatement, 2), startReading(db, ids, inOneTransaction, 2)]
  return {
    /** Stops them; how often they read, and how often their answers said that an edition is in force. */
    async prove(): Promise<{ readonly reads: number; readonly different: number; readonly inForce: number }> {
      const told = await Promise.all(readers.map((reader) => reader.stop()))
      const events = await eventsOfConversations({
        store: createPostgresEventStore(db),
        bodies: createPostgresBodyStore(db),
      })
      let different = 0
      let inForce = 0
      for (const { seen } of told) {
        for (const [id, each] of seen) {
          const expected = expectedSeen(events.get(id) ?? [], id, new Set(each.map(({ revision }) => revision)))
          for (const one of each) expect(one).toEqual(expected.get(one.revision))
          different += each.length
          inForce += each.filter(({ edition }) => edition !== null).length
        }
      }
      return { reads: told.reduce((sum, { reads }) => sum + reads, 0), different, inForce }
    },
  }
}

/** Appends to one conversation after another until it is told to stop, and knows what it has said. */
function startAgent(ledger: Ledger, ids: readonly string[]) {
  const said = new Map<string, string[]>(ids.map((id) => [id, []]))
  const enough = new AbortController()
  let pause: { readonly stands: ReturnType<typeof latch>; readonly over: ReturnType<typeof latch> } | undefined
  const run = (async () => {
    for (let turn = 0; !enough.signal.aborted; turn += 1) {
      pause?.stands.open()
      await pause?.over.opened
      const id = ids[turn % ids.length] ?? ''
      const messageId = `agent-${String(turn)}`
      await ledger.append(id, {
        id: messageId,
        role: turn % 2 === 0 ? 'user' : 'assistant',
        content: `The agent goes on with its work, step ${String(turn)}.`,
      })
      said.get(id)?.push(messageId)
      await new Promise((resolve) => {
        setTimeout(resolve, 5)
      })
    }
  })()
  return {
    said,
    /** Does something while the agent is silent. */
    async silent<T>(work: () => Promise<T>): Promise<T> {
      const { stands, over } = (pause = { stands: latch(), over: latch() })
      try {
        // One append may be under way; an agent that failed says so.
        await Promise.race([stands.opened, run])
        await ledger.settled()
        return await work()
      } finally {
        pause = undefined
        over.open()
      }
    },
    async stop() {
      enough.abort()
      await run
    },
  }
}

describe('an edition from the prompt to adoption', () => {
  let folder: string
  let store: string
  let drop: () => Promise<void> = async () => undefined
  let stub: OpenAiStub
  const ids: string[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'context-ledger-editions-'))
    store = join(folder, 'ledger')
    if (whole) ({ address: store, drop } = await createTestDatabase())
    stub = await startOpenAiStub(moody)
    await writeFile(join(folder, 'other-words.txt'), PROMPT)
    const ledger = await openLedger({ store, policy: whole ? { modelMaxTokens: 8_000 } : SMALL })
    const histories =
      whole && dataFolder !== undefined
        ? conversationsOf(dataFolder)
        : [0, 1, 2, 3].map((number) => ({ id: `c${String(number)}`, messages: talk(80) }))
    for (const { id, messages } of histories) {
      ids.push(id)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the ledger parses them
      const inputs = messages as unknown as MessageInput[]
      for (let at = 0; at < inputs.length; at += 25) {
        await ledger.append(id, inputs.slice(at, at + 25))
        await ledger.settled(id)
      }
    }
    await ledger.close()
  }, 600_000)
  afterAll(async () => {
    await stub.close()
    await drop()
    await rm(folder, { recursive: true, force: true })
  })

  const summarizer = (): string[] => [
    '--summarizer',
    'openai',
    '--model',
    'stub-1',
    '--base-url',
    stub.baseUrl,
    '--api-key',
    'test',
    '--timeout',
    '1',
    '--prompt',
    join(folder, 'other-words.txt'),
  ]

  /** Runs a command to its end, or kills it once the model was asked so many times more. */
  async function run(words: readonly string[], killAfterCalls?: number): Promise<Ended> {
    const child = startCli([...words, '--store', store])
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        output += text.toString()
      })
    const before = stub.calls.length
    const watching =
      killAfterCalls === undefined
        ? undefined
        : setInterval(() => {
            if (stub.calls.length - before >= killAfterCalls) child.kill('SIGKILL')
          }, 3)
    const code = await new Promise<number | null>((resolve) => {
      child.on('close', resolve)
    })
    clearInterval(watching)
    return { code, output }
  }

  const replay = (tokens: number): string[] => [
    'replay',
    '--all',
    ...summarizer(),
    '--yes',
    '--concurrency',
    String(CONCURRENCY),
    '--max-tokens',
    String(tokens),
  ]

  it(`is killed ${String(KILLS)} times and buys no recorded summary again, keeps its bound, is adopted and put back, and the agent loses nothing`, async () => {
    // The estimate, where nobody can be asked: nothing is begun.
    const estimate = await run(['replay', '--all', ...summarizer()])
    expect(estimate).toEqual({ code: 2, output: expect.stringContaining('nothing was done') })
    expect(stub.calls).toHaveLength(0)
    const [, editionId = ''] = /edition ([0-9a-f]{12}):/u.exec(estimate.output) ?? []
    const figure = (found: RegExp): number => Number((found.exec(estimate.output)?.[1] ?? '').replaceAll(',', ''))
    const most = figure(/([\d,]+) model calls/u)
    const estimated = figure(/([\d,]+) tokens to the model/u) + figure(/([\d,]+) from it/u)

    // On a server an agent goes on meanwhile.
    const beside = whole ? await openLedger({ store }) : undefined
    const first = beside === undefined ? undefined : startAgent(beside, ids.slice(0, 5))
    const beforehand = whole ? await openPostgres(store) : undefined
    const firstReaders = beforehand === undefined ? undefined : startReaders(beforehand, ids)

    // A bound that is too small ends it cleanly, and says what to type.
    const TOO_SMALL = 4_000
    const bounded = await run(replay(TOO_SMALL))
    expect(bounded).toEqual({ code: 3, output: expect.stringContaining('--max-tokens goes on') })
    // What is paid is at most what the model's server counted.
    expect(answers * 150).toBeLessThanOrEqual(TOO_SMALL)

    // What was estimated, and room for what killed calls may have cost and for what the agent adds.
    const BOUND = Math.ceil(1.5 * estimated)
    const killings: Ended[] = []
    for (let kill = 0; kill < KILLS; kill += 1) {
      killings.push(await run(replay(BOUND), Math.ceil((most / (KILLS + 2)) * (0.3 + Math.random() * 0.7))))
    }
    // One that was not killed had come to its end before.
    expect(killings.filter(({ code }) => code !== null && code !== 0)).toEqual([])
    const killed = killings.filter(({ code }) => code === null).length
    await first?.stop()
    const meanwhile = await firstReaders?.prove()
    if (meanwhile !== undefined)
      process.stdout.write(
        `${String(meanwhile.reads)} reads meanwhile, ${String(meanwhile.different)} different answers, none mixed\n`,
      )
    await beforehand?.close()
    await beside?.close()
    const last = await run(replay(BOUND))
    expect(last).toEqual({
      code: 0,
      output: expect.stringContaining(
        `edition ${editionId}: ${String(ids.length)} of ${String(ids.length)} conversations whole`,
      ),
    })

    const config: OpenAiSummarizerConfig = {
      kind: 'openai',
      model: 'stub-1',
      baseUrl: stub.baseUrl,
      apiKey: 'test',
      timeoutMs: 1_000,
      prompt: { name: 'other-words', text: PROMPT },
    }
    // The readers share the database with the ledger: a folder belongs to one process and has one connection.
    const db = whole ? await openPostgres(store) : await openFolder(store)
    const model = createOpenAiLanguageModel(config)
    if (E.isLeft(model)) throw new Error(model.left.detail)
    // A model that is silent now and then is no surprise here.
    const ledger = await ledgerOn(db, { summarizer: createSummarizer(config, model.right), onProblem: () => undefined })
    try {
      const edition = await ledger.editions.show(editionId)
      const bought = edition.summariesBought
      expect(answers).toBeLessThanOrEqual(bought + killed * CONCURRENCY)
      expect(edition.failures).toBe(0)
      expect(tokensOf(edition.spent)).toBeLessThanOrEqual(BOUND)
      expect(tokensOf(edition.spent)).toBeGreaterThanOrEqual(bought * 150)
      process.stdout.write(
        `${String(ids.length)} conversations, ${String(killed)} kills, ${String(bought)} summaries recorded, ${String(answers)} answers given, ${String(stub.calls.length)} calls; at most ${String(most)} estimated; ${String(tokensOf(edition.spent))} tokens reckoned of a bound of ${String(BOUND)}\n`,
      )

      const agent = startAgent(ledger, ids)
      const readers = startReaders(db, ids)
      const proved = async (): Promise<void> => {
        const { ok, problems } = await agent.silent(() => ledger.verify())
        expect([ok, problems]).toEqual([true, []])
      }
      const { conversations } = await ledger.editions.compare('all', editionId)
      expect(conversations.map(({ conversationId }) => conversationId).toSorted()).toEqual(ids.toSorted())
      await proved()
      for (const id of ids) expect(await ledger.editions.adopt(id, editionId)).toMatchObject({ changed: true })
      expect((await ledger.editions.show(editionId)).states['in-force']).toBe(ids.length)
      await proved()
      for (const id of ids) expect(await ledger.editions.revert(id, editionId)).toMatchObject({ changed: true })
      await proved()
      await ledger.projections.rebuild('all')
      await proved()
      await agent.stop()
      await ledger.settled()
      const read = await readers.prove()
      // They looked while editions were in force, and before and behind it.
      expect(read.inForce).toBeGreaterThan(0)
      expect(read.different).toBeGreaterThan(read.inForce)
      process.stdout.write(
        `${String(read.reads)} reads, ${String(read.different)} different answers, ${String(read.inForce)} of them with an edition in force, none mixed\n`,
      )
      let messages = 0
      for (const id of ids) {
        const recorded: string[] = []
        for await (const event of ledger.log(id))
          if (event.type === 'MessageAppended' && event.data.messageId.startsWith('agent-'))
            recorded.push(event.data.messageId)
        const own = [...(first?.said.get(id) ?? []), ...(agent.said.get(id) ?? [])]
        expect(new Set(recorded)).toEqual(new Set(own))
        messages += own.length
      }
      expect(messages).toBeGreaterThan(0)
      process.stdout.write(`${String(messages)} messages of the agent, none lost\n`)
    } finally {
      await ledger.close()
      await db.close()
    }
  }, 1_500_000)
})
