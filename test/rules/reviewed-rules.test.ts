/** Rules and breaks that a model found: what is recorded of its answer, and what lists and checks make of it. */
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createScriptedLanguageModel, scriptedFailure } from '../../src/adapters/scripted/language-model.js'
import { Reviews } from '../../src/application/rules/reviews.js'
import { openLedger, type CheckedRule, type Ledger, type MessageInput } from '../../src/index.js'
import type { LanguageModelRequest } from '../../src/ports/language-model.js'
import type { Database } from '../../src/ports/sql.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { runsOf } from '../support/length.js'
import { startOpenAiStub, stubAnswers } from '../support/openai-stub.js'

type Answer = Parameters<typeof createScriptedLanguageModel>[0][number]

let opened: { readonly ledger: Ledger; readonly db: Database } | undefined
afterEach(async () => {
  await opened?.ledger.close()
  await opened?.db.close()
  opened = undefined
})

async function ledgerWith(...answers: readonly [Answer, ...Answer[]]) {
  const model = createScriptedLanguageModel(answers, { windowTokens: 4_000 })
  const db = await openTestDatabase()
  opened = { ledger: await ledgerOn(db, { languageModel: model }), db }
  return { ledger: opened.ledger, model }
}

const user = (content: string): MessageInput => ({ role: 'user', content })
const agent = (content: string): MessageInput => ({ role: 'assistant', content })
let calls = 0
function shell(command: string, result = 'done'): MessageInput[] {
  calls += 1
  const id = `call_${String(calls)}`
  const called = { id, type: 'function' as const, function: { name: 'Bash', arguments: JSON.stringify({ command }) } }
  return [
    { role: 'assistant', content: null, tool_calls: [called] },
    { role: 'tool', tool_call_id: id, content: result },
  ]
}

const RULE = 'the ledger of the harbour is Aiko’s pet, hands stay in pockets'
const HISTORY = [
  user(`Morning! ${RULE} please.`),
  agent('Understood.'),
  user('Tidy up.'),
  ...shell('rm "ledgers/harbour.csv"'),
]

/** An answer: revisions begin at 1, because the first event configures the conversation. */
const answer = (given: object): string => JSON.stringify({ rules: [], repeated: [], ended: [], calls: [], ...given })
const FOUND = { id: 'N1', revision: 'r1', quote: "the ledger of the harbour is Aiko's pet,\nhands stay in pockets" }
const BROKEN = {
  rule: 'N1',
  revision: 'r4',
  words: 'rm "ledgers/harbour.csv"',
  why: 'It deletes it.',
  verdict: 'broken',
}

async function rulesOf(ledger: Ledger): Promise<readonly CheckedRule[]> {
  let rules: readonly CheckedRule[] = []
  await ledger.rules.check('c', { onConversation: (check) => void ({ rules } = check) })
  return rules
}

describe('a review', () => {
  it('finds a rule and its break that code does not, each with its place', async () => {
    const { ledger, model } = await ledgerWith(answer({ rules: [FOUND], calls: [BROKEN] }))
    await ledger.append('c', HISTORY)
    expect(await rulesOf(ledger)).toEqual([])
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 1, rules: 1, breaks: 1, rejected: 0 })
    expect(await rulesOf(ledger)).toMatchObject([
      {
        id: 'r1.2',
        text: RULE,
        verdict: 'broken',
        calls: 1,
        breaks: [{ id: 'r1.2-r4-1', words: 'rm "ledgers/harbour.csv"', context: { presence: 'there' } }],
      },
    ])
    expect((await ledger.rules.list('c')).rules.map(({ text }) => text)).toEqual([RULE])
    expect(model.requests[0]?.prompt).toContain('r4 assistant')
    expect((await ledger.admin.verify()).problems).toEqual([])
  })

  it('does not send again what was read, and code judges the calls after it', async () => {
    const rule = { id: 'N1', revision: 'r1', quote: 'Never push to main.' }
    const { ledger, model } = await ledgerWith(answer({ rules: [rule] }), answer({}))
    await ledger.append('c', [user('Never push to main.'), ...shell('git push origin main')])
    await ledger.rules.review('c')
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 0 })
    await ledger.append('c', [user('Go on.'), ...shell('git push origin main')])
    expect(await rulesOf(ledger)).toMatchObject([{ verdict: 'broken', breaks: [{ revision: 6 }] }])
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 1 })
    expect(model.requests).toHaveLength(2)
    expect(model.requests[1]?.prompt).toMatch(/r1\.1: Never push to main\.[^]*r5 user/u)
    expect(model.requests[1]?.prompt).not.toContain('r2 assistant')
    expect(await rulesOf(ledger)).toMatchObject([{ verdict: 'kept', breaks: [] }])
  })

  it('replaces what code found in the same messages, except rules that a person confirmed', async () => {
    const { ledger } = await ledgerWith(answer({}))
    await ledger.append('c', [user('Never push to main. Do not touch legacy/.'), ...shell('git push origin main')])
    expect((await ledger.rules.list('c')).rules).toHaveLength(2)
    await ledger.rules.confirm('c', 'r1.1')
    await ledger.rules.review('c')
    expect(await rulesOf(ledger)).toMatchObject([{ id: 'r1.1', standing: 'confirmed', verdict: 'kept' }])
  })

  it('says nothing about rules of files: code compares them', async () => {
    const { ledger } = await ledgerWith(answer({}))
    await ledger.append('c', [user('Never push to main. Do not touch legacy/.'), ...shell('git push origin main')])
    await ledger.rules.review('c')
    const file = { name: 'AGENTS.md', text: '- Never push to main.' }
    await ledger.rules.check('c', {
      files: [file],
      onConversation: ({ rules }) => {
        expect(rules.find(({ source }) => source === 'file')).toMatchObject({ verdict: 'broken' })
      },
    })
  })

  it('takes back and repeats rules as the model says', async () => {
    const ended = { rule: 'N1', revision: 'r5' }
    const late = { ...BROKEN, revision: 'r6', words: 'rm old.csv' }
    const { ledger } = await ledgerWith(answer({ rules: [FOUND], ended: [ended], calls: [late] }))
    await ledger.append('c', [
      ...HISTORY.slice(0, 3),
      agent('Ok.'),
      user('Aiko gave it to me, go ahead.'),
      ...shell('rm old.csv'),
    ])
    expect(await ledger.rules.review('c')).toMatchObject({ breaks: 0, rejected: 1 })
    expect(await rulesOf(ledger)).toMatchObject([{ verdict: 'kept', takenBack: { revision: 5 } }])
  })

  it('makes one rule of two in a sentence, and one break of two statements about it', async () => {
    const two = [
      { id: 'N1', revision: 'r1', quote: 'the ledger of the harbour is Aiko’s pet' },
      { id: 'N2', revision: 'r1', quote: 'hands stay in pockets' },
    ]
    const { ledger } = await ledgerWith(answer({ rules: two, calls: [BROKEN, { ...BROKEN, rule: 'N2' }] }))
    await ledger.append('c', HISTORY)
    expect(await ledger.rules.review('c')).toMatchObject({ rules: 1, breaks: 1 })
    expect(await rulesOf(ledger)).toMatchObject([{ text: RULE, breaks: [{ revision: 4 }] }])
  })

  it('knows a rule that was taken back and stated again', async () => {
    const given = {
      rules: [FOUND],
      ended: [{ rule: 'N1', revision: 'r3' }],
      repeated: [{ rule: 'N1', revision: 'r5' }],
      calls: [{ ...BROKEN, revision: 'r6', words: 'rm b.csv' }],
    }
    const { ledger } = await ledgerWith(answer(given))
    const talk = [user(RULE), agent('Ok.'), user('Go ahead this week.'), agent('Ok.'), user('Pockets again!')]
    await ledger.append('c', [...talk, ...shell('rm b.csv')])
    expect(await ledger.rules.review('c')).toMatchObject({ breaks: 1, rejected: 0 })
    const [rule] = await rulesOf(ledger)
    expect(rule).toMatchObject({ verdict: 'broken', breaks: [{ revision: 6 }] })
    expect(rule?.takenBack).toBeUndefined()
  })

  it('counts the sentences of a message with marks as code does', async () => {
    const text = 'Use tabs in `src`.\n\n**Never** push to *main*.'
    const rule = { id: 'N1', revision: 'r1', quote: '**Never** push to *main*.' }
    const { ledger } = await ledgerWith(answer({ rules: [rule] }))
    await ledger.append('c', [user(text), ...shell('ls')])
    const found = (await ledger.rules.list('c')).rules.map(({ id }) => id)
    await ledger.rules.review('c')
    expect((await ledger.rules.list('c')).rules.map(({ id }) => id)).toEqual(found)
  })

  it.each([
    ['with the escapes of JSON', String.raw`del C:\\temp\\new`],
    ['without them', String.raw`del C:\temp\new`],
  ])('finds words of a call %s', async (_name, words) => {
    const { ledger } = await ledgerWith(answer({ rules: [FOUND], calls: [{ ...BROKEN, words }] }))
    await ledger.append('c', [...HISTORY.slice(0, 3), ...shell(String.raw`del C:\temp\new`)])
    expect(await ledger.rules.review('c')).toMatchObject({ breaks: 1, rejected: 0 })
  })

  it('that was asked for before another one was recorded is not used', async () => {
    let recorded: (() => Promise<unknown>) | undefined
    const late = async (): Promise<string> => {
      const inBetween = recorded
      recorded = undefined
      await inBetween?.()
      return answer(inBetween === undefined ? { rules: [FOUND] } : { rules: [{ ...FOUND, quote: 'Morning!' }] })
    }
    const { ledger } = await ledgerWith(late)
    await ledger.append('c', HISTORY)
    recorded = () => ledger.rules.review('c')
    await ledger.rules.review('c')
    expect((await ledger.rules.list('c')).rules.map(({ text }) => text)).toEqual([RULE])
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 0 })
  })

  it('halves a part whose answer was cut off', async () => {
    const cut = scriptedFailure('cut-off')
    const { ledger, model } = await ledgerWith((request) =>
      (request.prompt.match(/^r\d+ /gmu) ?? []).length > 8 ? cut : answer({}),
    )
    await ledger.append(
      'c',
      Array.from({ length: 16 }, (_none, at) => user(`${String(at)} ${'some words of a talk '.repeat(12)}`)),
    )
    const review = await ledger.rules.review('c')
    expect(review.upTo).toBeGreaterThanOrEqual(16)
    expect(model.requests.length).toBeGreaterThan(review.requests)
  })

  it('has no words of messages, and the rule of an erased message is gone', async () => {
    const stub = await startOpenAiStub(stubAnswers.text(answer({ rules: [FOUND], calls: [BROKEN] })))
    const summarizer = { kind: 'openai', model: 'stub', apiKey: 'none', baseUrl: stub.baseUrl } as const
    const ledger = await openLedger({ store: 'memory', erasable: true, summarizer })
    try {
      await ledger.append('c', [user(`${RULE}, please.`), ...HISTORY.slice(1)])
      await ledger.rules.review('c')
      const recorded = []
      for await (const { type, data } of ledger.log('c')) if (type === 'RulesReviewed') recorded.push(data)
      expect(recorded).toMatchObject([{ reviewer: { model: 'stub' } }])
      expect(JSON.stringify(recorded)).not.toMatch(/harbour|Aiko/u)
      expect(await rulesOf(ledger)).toHaveLength(1)
      const { messages } = await ledger.messages('c')
      await ledger.admin.erasure.run(
        { conversationId: 'c', messageId: messages[0]?.messageId ?? '' },
        { reason: 'test' },
      )
      expect(await rulesOf(ledger)).toEqual([])
    } finally {
      await ledger.close()
      await stub.close()
    }
  })
})

describe('left out', () => {
  it.each([
    ['a quotation that no message has', { rules: [{ ...FOUND, quote: 'Never touch the ledger.' }] }],
    ['words of the agent', { rules: [{ id: 'N1', revision: 'r2', quote: 'Understood.' }] }],
    ['a revision that does not exist', { rules: [{ ...FOUND, revision: 'r99' }] }],
    ['a break of an unknown rule', { calls: [BROKEN] }],
    ['words that the call does not have', { rules: [FOUND], calls: [{ ...BROKEN, words: 'git push --force' }] }],
    [
      'a call before the rule',
      { rules: [{ id: 'N1', revision: 'r6', quote: 'Never remove files.' }], calls: [BROKEN] },
    ],
    ['the end of a rule by the agent', { rules: [FOUND], ended: [{ rule: 'N1', revision: 'r2' }] }],
  ])('%s', async (_name, given) => {
    const { ledger } = await ledgerWith(answer(given))
    await ledger.append('c', [...HISTORY, user('Never remove files.')])
    expect(await ledger.rules.review('c')).toMatchObject({ rejected: 1, breaks: 0 })
  })

  it('a call that the user refused, and one that the model is unsure of', async () => {
    const refused = 'The user doesn’t want to proceed with this tool use. The tool use was rejected.'
    const unsure = { ...BROKEN, revision: 'r6', words: 'rm b', verdict: 'unsure' }
    const { ledger } = await ledgerWith(answer({ rules: [FOUND], calls: [BROKEN, unsure] }))
    await ledger.append('c', [...HISTORY.slice(0, 3), ...shell('rm "ledgers/harbour.csv"', refused), ...shell('rm b')])
    expect(await ledger.rules.review('c')).toMatchObject({ breaks: 0, rejected: 1 })
  })
})

describe('a model that fails', () => {
  it.each<[string, Answer]>([
    ['prose', 'I found no rule.'],
    ['a refusal', scriptedFailure('refused')],
  ])('%s: nothing is recorded, and the error says so', async (_name, failing) => {
    const { ledger } = await ledgerWith(failing)
    const { revision } = await ledger.append('c', HISTORY)
    await expect(ledger.rules.review('c')).rejects.toMatchObject({ kind: 'ReviewFailed' })
    expect((await ledger.context('c')).revision).toBe(revision)
  })

  it('in the second request keeps the first, and the next review goes on there', async () => {
    const rule = { id: 'N1', revision: 'r1', quote: 'Never push to main.' }
    const read = (request: LanguageModelRequest): string =>
      answer(request.prompt.includes('r1 user') ? { rules: [rule] } : {})
    const { ledger, model } = await ledgerWith(read, scriptedFailure('timeout'), read)
    const long = Array.from({ length: 12 }, (_none, at) => user(`${String(at)} ${'words of a long talk '.repeat(60)}`))
    await ledger.append('c', [user('Never push to main.'), ...long])
    await expect(ledger.rules.review('c')).rejects.toMatchObject({ kind: 'ReviewFailed' })
    const sent = model.requests.length
    const review = await ledger.rules.review('c')
    expect(review.upTo).toBeGreaterThan(12)
    expect(model.requests.slice(sent).every(({ prompt }) => !prompt.includes('\nr1 user'))).toBe(true)
    expect((await ledger.rules.list('c')).rules.map(({ id }) => id)).toEqual(['r1.1'])
  })

  it('a ledger without one says what to do', async () => {
    const db = await openTestDatabase()
    opened = { ledger: await ledgerOn(db), db }
    await opened.ledger.append('c', HISTORY)
    await expect(opened.ledger.rules.review('c')).rejects.toMatchObject({ kind: 'BadInput' })
  })
})

it('law: whatever a model answers, a review has only places of the messages, and everything can be read', async () => {
  const some = <T>(...values: readonly T[]) => fc.constantFrom(...values)
  const statement = fc.record(
    {
      id: some('N1', 'N2', 'r1.1', ''),
      rule: some<unknown>('N1', 'N2', 'r1.1', 7),
      revision: fc.oneof(some<unknown>('r1', 'r2', 'r4', 'r5', 'R6', 5, null), fc.anything()),
      quote: fc.oneof(some<unknown>(RULE, 'Tidy up.', 'Morning', '', 'Under'), fc.anything()),
      words: fc.oneof(some<unknown>('rm', 'harbour.csv', 'Bash', 'Understood', ''), fc.anything()),
      verdict: some<unknown>('broken', 'broken', 'kept', 1),
    },
    { requiredKeys: [] },
  )
  const list = fc.oneof(fc.array(statement, { maxLength: 4 }), fc.jsonValue())
  const review = fc.record({ rules: fc.array(statement, { maxLength: 4 }), repeated: list, ended: list, calls: list })
  await fc.assert(
    fc.asyncProperty(fc.array(review, { minLength: 1, maxLength: 2 }), async (answers) => {
      const [first = '', ...more] = answers.map((each) => JSON.stringify(each))
      const { ledger } = await ledgerWith(first, ...more)
      try {
        await ledger.append('c', HISTORY)
        for (const _each of answers) {
          await ledger.rules.review('c')
          await ledger.append('c', [user('Tidy up.'), ...shell('rm x')])
        }
        for (const { text, breaks } of await rulesOf(ledger)) {
          expect(JSON.stringify(HISTORY)).toContain(text)
          for (const { words } of breaks) expect(words).toMatch(/rm|Understood/u)
        }
        expect((await ledger.admin.verify()).problems).toEqual([])
      } finally {
        await ledger.close()
        await opened?.db.close()
        opened = undefined
      }
    }),
    { numRuns: runsOf(60) },
  )
})

it('a review with another prompt replaces the parts that it read, and the others stay', () => {
  const review = (sha256: string, upTo: number, id: string, revision: number) => ({
    from: 0,
    upTo,
    known: [],
    rules: [{ id, revision, start: 0, end: 3 }],
    repeated: [],
    ended: [],
    breaks: [],
    reviewer: {
      provider: 'p',
      model: 'm',
      parameters: {},
      prompt: { name: 'n', sha256 },
      rejected: 0,
      durationMs: 1,
    },
  })
  const reviews = new Reviews()
  reviews.take(review('old', 500, 'r150.1', 150), 501)
  reviews.take({ ...review('new', 100, 'r3.1', 3), previous: 501 }, 502)
  const of = (revision: number) => reviews.hasJudged(revision > 100 ? 'r150.1' : 'r3.1', { revision })
  expect([0, 100, 101, 500, 501].map(of)).toEqual([true, true, true, true, false])
  expect(reviews.hasJudged('r150.1', { revision: 50 })).toBe(false)
  expect(reviews.placesOf(new Set(['r150.1'])).map(({ id }) => id)).toEqual(['r150.1'])
  expect([reviews.upTo, reviews.nextWith('new'), reviews.nextWith('old'), reviews.nextWith('other')]).toEqual([
    500, 101, 501, 0,
  ])
})

describe('a review of summaries', () => {
  const STATED = 'Never push to main.'
  const SUMMARY = 'The user asked for a list of berths.\nAiko does not want surprises on main.'

  /** A session that another program compacted, and a call that breaks the rule after it. */
  async function compacted(summary: string, ...answers: readonly Answer[]) {
    const { ledger, model } = await ledgerWith(
      answer({
        rules: [{ id: 'N1', revision: 'r2', quote: STATED }],
        calls: [{ rule: 'N1', revision: 'r8', words: 'git push origin main', why: 'It pushes.', verdict: 'broken' }],
      }),
      ...answers,
    )
    const message = (id: string, given: MessageInput) => ({ ...given, id })
    await ledger.transcripts.observe('c', {
      program: 'other',
      messages: [message('m1', user(STATED)), message('m2', agent('Understood.'))],
    })
    const [call, result] = shell('git push origin main')
    await ledger.transcripts.observe('c', {
      program: 'other',
      compaction: {
        sourceId: 'compaction-1',
        trigger: 'auto',
        summary: { kind: 'text', text: summary },
        context: [{ inserted: user(summary), isSummary: true }],
      },
      messages: [message('m3', user('Go on.')), message('m4', call ?? user('')), message('m5', result ?? user(''))],
    })
    return { ledger, model }
  }
  const about = (verdict: string, line: string): string => JSON.stringify({ rules: [{ rule: 'r2.1', line, verdict }] })
  const contextOf = async (ledger: Ledger) => (await rulesOf(ledger)).flatMap(({ breaks }) => breaks)[0]?.context

  it('decides where words alone cannot, and is asked once', async () => {
    const { ledger, model } = await compacted(SUMMARY, about('there', '2'))
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 2, rules: 1, breaks: 1, rejected: 0 })
    expect(await contextOf(ledger)).toEqual({ presence: 'there', text: 'Aiko does not want surprises on main.' })
    expect(model.requests[1]?.prompt).toContain('2: Aiko does not')
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 0 })
    expect((await ledger.admin.verify()).problems).toEqual([])
  })

  it.each([
    ['gone', '', { presence: 'gone', sinceCycle: 1 }],
    ['changed', 'line 2', { presence: 'changed', sinceCycle: 1, text: 'Aiko does not want surprises on main.' }],
  ])('says %s', async (verdict, line, context) => {
    const { ledger } = await compacted(SUMMARY, about(verdict, line))
    await ledger.rules.review('c')
    expect(await contextOf(ledger)).toEqual(context)
  })

  it.each([
    ['a line that does not exist', about('there', '17'), 1],
    ['no line', about('there', ''), 1],
    ['that it is unsure', about('unsure', ''), 0],
    ['nothing about the rule', JSON.stringify({ rules: [] }), 0],
    [
      'two things',
      JSON.stringify({
        rules: [
          { rule: 'r2.1', line: '1', verdict: 'there' },
          { rule: 'r2.1', line: '', verdict: 'gone' },
        ],
      }),
      0,
    ],
  ])('changes nothing if the model says %s', async (_name, text, rejected) => {
    const { ledger } = await compacted(SUMMARY, text)
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 2, rejected })
    expect(await contextOf(ledger)).toMatchObject({ presence: 'unclear', sinceCycle: 1 })
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 0 })
  })

  it('is not asked where the words of the summary have the rule', async () => {
    const { ledger } = await compacted(`The user said: ${STATED}`)
    expect(await ledger.rules.review('c')).toMatchObject({ requests: 1 })
    expect(await contextOf(ledger)).toMatchObject({ presence: 'there' })
  })
})
