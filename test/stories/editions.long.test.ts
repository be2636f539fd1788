/**
 * An edition from the prompt to adoption and back: real `replay` processes with a model server that is sometimes busy,
 * silent or returns an empty answer, killed (-9) repeatedly. Then the edition is compared, adopted, reverted and
 * rebuilt, while an agent appends and readers query the read models.
 *
 * `CONTEXT_LEDGER_TEST_EDITIONS` is the number of kills (default 1, with a few small conversations in a folder). `all`
 * means 20 kills with every conversation of the data folder, on the server of CONTEXT_LEDGER_TEST_POSTGRES.
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
import { createSummarizer, type OpenAiSummarizerConfig } from '../../src/application/summarizers/index.js'
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
import { startOpenAiStub, stubAnswers, type OpenAiStub, stubFlags } from '../support/openai-stub.js'
import { createTestDatabase, testServer } from '../support/postgres.js'

const setting = process.env['CONTEXT_LEDGER_TEST_EDITIONS'] ?? '1'
const whole = setting === 'all' && dataFolder !== undefined && testServer !== ''
const KILLS = setting === 'all' ? 20 : Number(setting)
const CONCURRENCY = 4
const TEXT = 'Some berths were booked, and none failed.'
const PROMPT = 'Say in other words what happened.\n{existing_summary}\n{messages}\n'

/**
 * One call in 20 finds the model busy, one in 50 gets no answer, and one in 40 an empty one. The rest get answers, which
 * are counted.
 */
let answers = 0
const unreliable = (_call: unknown, number: number): ReturnType<typeof stubAnswers.text> => {
  if (number % 20 === 7) return stubAnswers.rateLimited('0')
  if (number % 50 === 13) return stubAnswers.silence()
  if (number % 40 === 21) return stubAnswers.empty()
  answers += 1
  return stubAnswers.text(TEXT)
}

interface ProcessResult {
  readonly code: number | null
  readonly output: string
}

/** Starts two readers of the read models. */
function startReaders(db: Database, ids: readonly string[]) {
  const readers = [startReading(db, ids, inOneStatement, 2), startReading(db, ids, inOneTransaction, 2)]
  return {
    /**
     * Stops them and checks that no answer mixes two states. Returns the number of reads, of different answers, and of
     * answers with an edition in force.
     */
    async prove(): Promise<{ readonly reads: number; readonly different: number; readonly inForce: number }> {
      const results = await Promise.all(readers.map((reader) => reader.stop()))
      const events = await eventsOfConversations({
        store: createPostgresEventStore(db),
        bodies: createPostgresBodyStore(db),
      })
      let different = 0
      let inForce = 0
      for (const { rowsRead: answersById } of results) {
        for (const [id, views] of answersById) {
          const expected = expectedSeen(events.get(id) ?? [], id, new Set(views.map(({ revision }) => revision)))
          for (const view of views) expect(view).toEqual(expected.get(view.revision))
          different += views.length
          inForce += views.filter(({ edition }) => edition !== null).length
        }
      }
      return { reads: results.reduce((sum, { reads }) => sum + reads, 0), different, inForce }
    },
  }
}

/** Appends to one conversation after another until `stop`, and records the ids of its messages. */
function startAgent(ledger: Ledger, ids: readonly string[]) {
  const appendedIds = new Map<string, string[]>(ids.map((id) => [id, []]))
  const stopping = new AbortController()
  let pause: { readonly begun: ReturnType<typeof latch>; readonly over: ReturnType<typeof latch> } | undefined
  const run = (async () => {
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      pause?.begun.open()
      await pause?.over.opened
      const id = ids[turn % ids.length] ?? ''
      const messageId = `agent-${String(turn)}`
      await ledger.append(id, {
        id: messageId,
        role: turn % 2 === 0 ? 'user' : 'assistant',
        content: `The agent continues its work, step ${String(turn)}.`,
      })
      appendedIds.get(id)?.push(messageId)
      await new Promise((resolve) => {
        setTimeout(resolve, 5)
      })
    }
  })()
  return {
    appendedIds,
    /** Runs work while the agent is paused. */
    async whilePaused<T>(work: () => Promise<T>): Promise<T> {
      const { begun, over } = (pause = { begun: latch(), over: latch() })
      try {
        // Waits for the running append; rejects if the agent has failed.
        await Promise.race([begun.opened, run])
        await ledger.admin.waitForCompaction()
        return await work()
      } finally {
        pause = undefined
        over.open()
      }
    },
    async stop() {
      stopping.abort()
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
    stub = await startOpenAiStub(unreliable)
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
        await ledger.admin.waitForCompaction(id)
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
    ...stubFlags(stub.baseUrl),
    '--timeout',
    '1',
    '--prompt',
    join(folder, 'other-words.txt'),
  ]

  /** Runs a command to its end, or kills it after this number of further model calls. */
  async function run(words: readonly string[], killAfterCalls?: number): Promise<ProcessResult> {
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

  it(`is killed ${String(KILLS)} times, buys no recorded summary again, stays within its bound, is adopted and reverted, and the agent loses no message`, async () => {
    // Without a terminal to confirm, the command prints only the estimate.
    const estimate = await run(['replay', '--all', ...summarizer()])
    expect(estimate).toEqual({ code: 2, output: expect.stringContaining('nothing was done') })
    expect(stub.calls).toHaveLength(0)
    const [, editionId = ''] = /edition ([0-9a-f]{12}):/u.exec(estimate.output) ?? []
    const figure = (pattern: RegExp): number => Number((pattern.exec(estimate.output)?.[1] ?? '').replaceAll(',', ''))
    const maxCalls = figure(/([\d,]+) model calls/u)
    const estimated = figure(/([\d,]+) prompt tokens/u) + figure(/([\d,]+) completion tokens/u)

    // On a server an agent works at the same time.
    const agentLedger = whole ? await openLedger({ store }) : undefined
    const first = agentLedger === undefined ? undefined : startAgent(agentLedger, ids.slice(0, 5))
    const readerDatabase = whole ? await openPostgres(store) : undefined
    const firstReaders = readerDatabase === undefined ? undefined : startReaders(readerDatabase, ids)

    // A bound that is too small ends the replay cleanly, with the option that continues it.
    const TOO_SMALL = 4_000
    const bounded = await run(replay(TOO_SMALL))
    expect(bounded).toEqual({ code: 3, output: expect.stringContaining('with a higher --max-tokens') })
    // Every answer counts as 150 tokens, and their sum stays within the bound.
    expect(answers * 150).toBeLessThanOrEqual(TOO_SMALL)

    // The estimate, plus a margin for killed calls and for the agent's messages.
    const BOUND = Math.ceil(1.5 * estimated)
    const runs: ProcessResult[] = []
    for (let kill = 0; kill < KILLS; kill += 1) {
      runs.push(await run(replay(BOUND), Math.ceil((maxCalls / (KILLS + 2)) * (0.3 + Math.random() * 0.7))))
    }
    // A run that was not killed had finished before.
    expect(runs.filter(({ code }) => code !== null && code !== 0)).toEqual([])
    const killed = runs.filter(({ code }) => code === null).length
    await first?.stop()
    const firstReads = await firstReaders?.prove()
    if (firstReads !== undefined)
      process.stdout.write(
        `${String(firstReads.reads)} reads during the replay, ${String(firstReads.different)} different answers, none mixed\n`,
      )
    await readerDatabase?.close()
    await agentLedger?.close()
    const last = await run(replay(BOUND))
    expect(last).toEqual({
      code: 0,
      output: expect.stringContaining(
        `edition ${editionId}: ${String(ids.length)} of ${String(ids.length)} conversations complete`,
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
    // The readers share the database with the ledger, because a folder has one process and one connection.
    const db = whole ? await openPostgres(store) : await openFolder(store)
    const model = createOpenAiLanguageModel(config)
    if (E.isLeft(model)) throw new Error(model.left.detail)
    // Problems are expected, because the model is sometimes silent.
    const ledger = await ledgerOn(db, { summarizer: createSummarizer(config, model.right), onProblem: () => undefined })
    try {
      const edition = await ledger.editions.show(editionId)
      const bought = edition.summariesBought
      expect(answers).toBeLessThanOrEqual(bought + killed * CONCURRENCY)
      // A job fails, and the fallback makes its summary, only if both of its requests fail.
      expect(edition.failures).toBeLessThanOrEqual(Math.ceil(bought / 50))
      expect(tokensOf(edition.spent)).toBeLessThanOrEqual(BOUND)
      expect(tokensOf(edition.spent)).toBeGreaterThanOrEqual(bought * 150)
      process.stdout.write(
        `${String(ids.length)} conversations, ${String(killed)} kills, ${String(bought)} summaries recorded, ${String(answers)} answers given, ${String(stub.calls.length)} calls; at most ${String(maxCalls)} estimated; ${String(tokensOf(edition.spent))} tokens counted of a bound of ${String(BOUND)}\n`,
      )

      const agent = startAgent(ledger, ids)
      const readers = startReaders(db, ids)
      const verify = async (): Promise<void> => {
        const { ok, problems } = await agent.whilePaused(() => ledger.admin.verify())
        expect([ok, problems]).toEqual([true, []])
      }
      const { conversations } = await ledger.editions.compare('all', editionId)
      expect(conversations.map(({ conversationId }) => conversationId).toSorted()).toEqual(ids.toSorted())
      await verify()
      for (const id of ids) expect(await ledger.editions.adopt(id, editionId)).toMatchObject({ changed: true })
      expect((await ledger.editions.show(editionId)).states['in-force']).toBe(ids.length)
      await verify()
      for (const id of ids) expect(await ledger.editions.revert(id, editionId)).toMatchObject({ changed: true })
      await verify()
      await ledger.admin.projections.rebuild('all')
      await verify()
      await agent.stop()
      await ledger.admin.waitForCompaction()
      const read = await readers.prove()
      // They read while editions were in force, and before and after that.
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
        const appended = [...(first?.appendedIds.get(id) ?? []), ...(agent.appendedIds.get(id) ?? [])]
        expect(new Set(recorded)).toEqual(new Set(appended))
        messages += appended.length
      }
      expect(messages).toBeGreaterThan(0)
      process.stdout.write(`${String(messages)} messages of the agent, none lost\n`)
    } finally {
      await ledger.close()
      await db.close()
    }
  }, 1_500_000)
})
