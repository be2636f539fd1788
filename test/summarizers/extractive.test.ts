import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { NO_SECTIONS, sectionsSchema, type Sections } from '../../src/domain/events/index.js'
import { defaultEstimator, messageTokens } from '../../src/domain/values/tokens.js'
import {
  isSummarizerFailure,
  type MessageToSummarize,
  type Summary,
  type SummaryJob,
} from '../../src/ports/summarizer.js'
import { contentText } from '../../src/domain/values/message.js'
import { checkRequest } from '../../src/application/summarizers/check-request.js'
import {
  createExtractiveSummarizer,
  EXTRACTIVE_MODELS,
  prepareExtract,
} from '../../src/application/summarizers/extractive.js'
import { describeSummarizer } from '../contracts/summarizer.js'
import { CONVERSATION, createHarness } from '../support/harness.js'
import { sampleConversation } from '../support/real-conversations.js'
import { calledTool, chunkJob, resummarizeJob, sourceMessage, session, summaryOf } from '../support/summary-jobs.js'
import { runsOf } from '../support/length.js'

describeSummarizer('extractive', { create: createExtractiveSummarizer, usesModel: false })

const summarizer = createExtractiveSummarizer()
const summarize = async (job: SummaryJob): Promise<Summary> => {
  const answer = await summarizer.summarize(summarizer.prepare(job))
  if (isSummarizerFailure(answer)) throw new Error(answer.detail)
  return answer
}
const textOf = async (messages: readonly MessageToSummarize[], maxSummaryTokens = 256): Promise<string> =>
  (await summarize(chunkJob({ messages, maxSummaryTokens }))).text

// Any UTF-16 text, including lone surrogates and control characters, mixed with cue words and scripts.
const anyText = fc.oneof(
  fc.array(fc.nat(0xffff), { maxLength: 60 }).map((units) => String.fromCharCode(...units)),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.constantFrom(
    '',
    '```\ncode\n```',
    '今天天气很好。我们决定去公园！',
    'もう一度試してください。エラーでした。',
    '…',
    '👩‍👩‍👧‍👦',
    'Never do this again. It failed because of src/a.ts.',
    'x'.repeat(9_000),
  ),
)
const anyPart = fc.oneof(
  fc.record({ type: fc.constant('text'), text: anyText }),
  fc.record({ type: fc.constantFrom('image_url', 'file', 'odd') }),
)
const anyMessage = fc.record({
  messageId: fc.constant('m'),
  role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'developer'),
  content: fc.oneof(anyText, fc.constant(null), fc.array(anyPart, { maxLength: 3 })),
  name: fc.option(anyText, { nil: undefined }),
  toolCalls: fc.option(
    fc.array(
      fc.record({
        id: fc.constantFrom('a', 'b'),
        type: fc.constant('function'),
        function: fc.record({ name: fc.constantFrom('Edit', 'Bash', '読む'), arguments: fc.oneof(anyText, fc.json()) }),
      }),
      { maxLength: 2 },
    ),
    { nil: undefined },
  ),
  toolCallId: fc.constantFrom('a', 'b', 'c', undefined),
  createdAt: fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'),
  revision: fc.nat(99),
})

describe('laws', () => {
  test('whatever was said, the summary is not empty, has a token for each that it may have, and is the same again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyMessage, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 400 }),
        async (messages, maxSummaryTokens) => {
          const summary = await summarize(chunkJob({ messages, maxSummaryTokens }))
          expect(summary.text.trim()).not.toBe('')
          expect(defaultEstimator.text(summary.text)).toBeLessThanOrEqual(maxSummaryTokens)
          expect(summary.text.isWellFormed()).toBe(true)
          expect(sectionsSchema.safeParse(summary.sections).success).toBe(true)
          expect(await summarize(chunkJob({ messages, maxSummaryTokens }))).toEqual(summary)
        },
      ),
      { numRuns: runsOf(300) },
    )
  })

  test('the same of summaries', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyText, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 400 }),
        async (texts, maxSummaryTokens) => {
          const summary = await summarize(
            resummarizeJob({ summaries: texts.map((text) => summaryOf(text)), maxSummaryTokens }),
          )
          expect(summary.text.trim()).not.toBe('')
          expect(defaultEstimator.text(summary.text)).toBeLessThanOrEqual(maxSummaryTokens)
        },
      ),
      { numRuns: runsOf(200) },
    )
  })
})

describe('what it keeps', () => {
  test('wishes, constraints, failures, decisions and files of a session, in time order', async () => {
    const text = await textOf(
      [
        ...session,
        ...Array.from({ length: 12 }, (_, index) => sourceMessage('user', `ok thanks ${String(index)}`)),
        sourceMessage('assistant', 'and on it goes '.repeat(200)),
      ],
      512,
    )
    const places = [
      'Never touch the table audit_log',
      'run_tests',
      'error',
      'decided to use PGlite',
      'src/billing/store.ts',
    ].map((part) => text.indexOf(part))
    expect(places.every((place) => place >= 0)).toBe(true)
    expect(text.indexOf('Never touch')).toBeLessThan(text.indexOf('decided to use'))
    expect(text).not.toContain('ok thanks')
  })

  test.each([
    ['Chinese', '嗯嗯，今天的天气真不错呀。', '记得，绝对不能删除订单表，必须先备份。'],
    ['Japanese', 'そうですね。いい天気です。', '本番環境には必ずバックアップを取ってからリリースしてください。'],
    ['Korean', '네, 안녕하세요.', '운영 서버에는 절대 배포하지 마세요. 반드시 백업을 먼저 해야 합니다.'],
    [
      'German',
      'Hallo, schön dich zu sehen.',
      'Die Tabelle Kunden darf niemals gelöscht werden, weil das Finanzamt sie braucht.',
    ],
    [
      'French',
      'Salut, merci beaucoup.',
      'Il ne faut jamais supprimer la table clients, parce que la comptabilité en a besoin.',
    ],
    ['Spanish', 'Hola, gracias.', 'Nunca debes borrar la tabla clientes, porque contabilidad la necesita.'],
    ['Russian', 'Привет, спасибо.', 'Никогда не удаляй таблицу клиентов, потому что она нужна бухгалтерии.'],
  ])('a constraint among small talk, in %s', async (_language, smallTalk, constraint) => {
    const talk = Array.from({ length: 19 }, (_, index) =>
      sourceMessage(index % 2 === 0 ? 'assistant' : 'user', smallTalk),
    )
    const text = await textOf([...talk.slice(0, 9), sourceMessage('user', constraint), ...talk.slice(9)], 64)
    expect(text.replaceAll('\n', '')).toContain(constraint.slice(0, 12))
  })

  test('nothing twice', async () => {
    const text = await textOf(
      Array.from({ length: 20 }, () =>
        sourceMessage('user', 'The deployment of version 2.4.1 to Frankfurt failed on Friday.'),
      ),
    )
    expect(text.split('Frankfurt').length - 1).toBe(1)
  })

  test('no more than a quarter of what was said', async () => {
    const messages = Array.from({ length: 60 }, (_, index) =>
      sourceMessage(
        'user',
        `On day ${String(index)} the team of Project${String(index)} in city number ${String(index * 7)} decided to paint wall ${String(index)} in colour ${String(index * 3)}.`,
      ),
    )
    const tokens = messages.reduce((sum, message) => sum + messageTokens(message, defaultEstimator), 0)
    expect(defaultEstimator.text(await textOf(messages, 4096))).toBeLessThanOrEqual(Math.ceil(tokens / 4))
  })

  test('what the chunk before said already counts for less', async () => {
    const messages = [
      'We decided to host everything in Frankfurt.',
      'We decided to bill everybody in Swiss francs.',
    ].map((text) => sourceMessage('user', text))
    const known = await summarize(
      chunkJob({
        messages,
        maxSummaryTokens: 14,
        existingSummary: 'user: We decided to host everything in Frankfurt.',
      }),
    )
    expect(known.text).toContain('Swiss francs')
  })

  test('days, where there is more than one', async () => {
    const messages = [
      sourceMessage('user', 'I moved to Lisbon yesterday.'),
      sourceMessage('user', 'I met Carla at the harbour in Porto.', { createdAt: '2026-02-01T10:00:00.000Z' }),
    ]
    expect(await textOf(messages)).toBe(
      '[2026-01-05]\nuser: I moved to Lisbon yesterday.\n[2026-02-01]\nuser: I met Carla at the harbour in Porto.',
    )
  })
})

describe('what is not text', () => {
  test('images and files are named', async () => {
    const text = await textOf([
      sourceMessage('user', [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'file', file: { filename: 'plan.pdf', file_data: 'AAAA' } },
      ]),
    ])
    expect(text).toBe('user: [image] [file: plan.pdf]')
  })

  test('messages without any content are counted', async () => {
    expect(await textOf([sourceMessage('assistant', null), sourceMessage('user', '')])).toBe(
      '2 messages without text (1 from assistant, 1 from user)',
    )
  })

  test('tool calls alone are named', async () => {
    expect(await textOf(calledTool('c', 'lookup_weather', { city: 'Oslo' }, 'rain'))).toBe(
      'tools: lookup_weather(city: Oslo) → rain',
    )
  })

  test('one sentence that never ends', async () => {
    const text = await textOf([sourceMessage('user', 'word '.repeat(20_000))], 32)
    expect(defaultEstimator.text(text)).toBeLessThanOrEqual(32)
    expect(text).toMatch(/^user: word word/u)
  })
})

const sections = (state: string, file: string) => ({
  ...NO_SECTIONS,
  completedWork: [{ file, action: 'edited', description: '' }],
  decisions: ['Use PGlite.'],
  currentState: [state],
})

describe('sections', () => {
  test('completed work, decisions, errors and what is pending', async () => {
    const { sections: found } = await summarize(chunkJob({ maxSummaryTokens: 1024, messages: session }))
    expect(found?.completedWork).toEqual([
      { file: 'src/billing/store.ts', action: 'written', description: expect.stringContaining('PGlite') },
    ])
    expect(found?.decisions.join('\n')).toContain('We decided to use PGlite in tests')
    expect(found?.errors.join('\n')).toContain('run_tests')
    expect(found?.openItems.join('\n')).toContain('migration of invoices')
  })

  test('requests and constraints of the user, facts, and the next step', async () => {
    const { sections: found } = await summarize(
      chunkJob({
        maxSummaryTokens: 1024,
        messages: [...session, sourceMessage('user', 'Order W2378156 of Yusuf Rossi was placed on 12 May in Lisbon.')],
      }),
    )
    expect(found?.requests).toEqual(['user: Please move the billing service to Postgres 16.'])
    expect(found?.constraints).toEqual(['user: Never touch the table audit_log, the auditors read it.'])
    expect(found?.facts).toContain('user: Order W2378156 of Yusuf Rossi was placed on 12 May in Lisbon.')
    expect(found?.nextSteps).toEqual(['Next, the migration of invoices is still pending.'])
  })

  test('work that failed is not done', async () => {
    const { sections: found } = await summarize(
      chunkJob({ messages: calledTool('c', 'Edit', { file_path: 'a.ts' }, 'error: file has not been read') }),
    )
    expect(found?.completedWork).toEqual([])
  })

  test('sections of summaries add up, and the last one says where things stand', async () => {
    const summary = await summarize(
      resummarizeJob({
        summaries: [
          summaryOf('One.', { sections: sections('first', 'a.ts') }),
          summaryOf('Two.', { sections: sections('second', 'b.ts') }),
        ],
      }),
    )
    expect(summary.sections).toEqual({
      ...NO_SECTIONS,
      completedWork: [sections('', 'a.ts').completedWork[0], sections('', 'b.ts').completedWork[0]],
      decisions: ['Use PGlite.'],
      currentState: ['second'],
    })
  })
})

describe('sections of summaries that become one', () => {
  const merged = async (...all: readonly Partial<Sections>[]): Promise<Sections | undefined> =>
    (
      await summarize(
        resummarizeJob({
          maxSummaryTokens: 2_000,
          summaries: all.map((some) => summaryOf('One.', { sections: { ...NO_SECTIONS, ...some } })),
        }),
      )
    ).sections

  test('open items stay until a later summary closes them', async () => {
    const found = await merged(
      { openItems: ['The invoice of Marit is still to be written.', 'Berth 7 needs insurance papers.'] },
      { closedItems: ['The invoice of Marit was written and sent.'], openItems: ['The crane is to be painted.'] },
      { closedItems: ['The ferry contract was dropped.'] },
    )
    expect(found?.openItems).toEqual(['Berth 7 needs insurance papers.', 'The crane is to be painted.'])
    // It closes an item of an earlier batch, which is not among the sources.
    expect(found?.closedItems).toEqual(['The ferry contract was dropped.'])
  })

  test('work without a file keeps every entry, and no section is dropped', async () => {
    const attended = Array.from({ length: 6 }, (_, at) => ({
      file: '',
      action: 'attended',
      description: `Event ${String(at)}.`,
    }))
    const lists = {
      requests: ['Book berth 7.'],
      constraints: ['"Never without insurance."'],
      facts: ['Marit: 0171 23.'],
      superseded: ['Berth 6 was replaced by berth 7.'],
      errors: ['ECONNREFUSED: second try.'],
    }
    const found = await merged(
      { ...lists, completedWork: attended.slice(0, 3) },
      { completedWork: attended.slice(3), nextSteps: ['Call Marit.'] },
    )
    expect(found).toEqual({ ...NO_SECTIONS, ...lists, completedWork: attended, nextSteps: ['Call Marit.'] })
  })

  test('law: every entry of a source is in the result, unless the limit is reached', async () => {
    const entries = fc.array(fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 }), { maxLength: 3 })
    const some = fc.record({
      requests: entries,
      constraints: entries,
      decisions: entries,
      facts: entries,
      errors: entries,
      superseded: entries,
      openItems: entries,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(some, { minLength: 1, maxLength: 4 }), async (all) => {
        const found = await merged(...all)
        const expected = Object.fromEntries(
          Object.keys(all[0] ?? {}).map((name) => [
            name,
            expect.arrayContaining(
              all.flatMap((each) => Object.entries(each).find(([key]) => key === name)?.[1] ?? []),
            ),
          ]),
        )
        expect(found).toMatchObject(expected)
      }),
      { numRuns: runsOf(50) },
    )
  })
})

test('huge tool results are sampled: 84,000 characters take milliseconds, not seconds', async () => {
  const line = 'src/module_17/file.ts:42: const value = computeSomething(argument, 0x1f) // TODO\n'
  const results = [line.repeat(1_037), 'x'.repeat(84_000), '漢字とかな。'.repeat(14_000), '{"a":'.repeat(16_800)]
  for (const result of results) {
    const messages = calledTool('c', 'Bash', { command: 'cat everything' }, result)
    await textOf(messages)
    const before = process.cpuUsage()
    await textOf(messages)
    const { user, system } = process.cpuUsage(before)
    // Measured: 2 to 12 ms. Processing the whole text takes seconds.
    expect((user + system) / 1_000).toBeLessThan(1_000)
  }
})

describe('what binds', () => {
  /** A word that is unique for each number. */
  const word = (number: number): string =>
    Array.from(
      number.toString(6).padStart(5, '0'),
      (digit) => ['ba', 'ke', 'lo', 'mi', 'ru', 'ta'][Number(digit)] ?? '',
    ).join('')
  /**
   * A message that every rule rates highly: a decision with its reason, an outcome, a day, a name, a number and a file,
   * all new.
   */
  const chatter = (id: number): MessageToSummarize => {
    const [a, b, c, d, e, f] = Array.from({ length: 6 }, (_, at) => word(id * 6 + at))
    return sourceMessage(
      'user',
      `On Monday we decided to switch to ${String(a)} because ${String(b)} fixed 1${String(id)} of ${String(c)} in src/${String(d)}.ts, and finally Marek ${String(e)} confirmed ${String(f)}.`,
    )
  }

  test.each([
    ['English', 'Before we start: never touch the production database.'],
    ['German', 'Die Produktionsdatenbank darf niemals geändert werden.'],
    ['Chinese', '任何人都不要动生产数据库。'],
    ['Japanese', '本番のデータベースには絶対に触れてはいけません。'],
    ['Korean', '운영 데이터베이스는 절대 건드리지 마세요.'],
  ])(
    'stands above what is said besides, and in what is made of the summary, and of that: %s',
    async (_language, rule) => {
      const messages = [
        ...Array.from({ length: 10 }, (_, id) => chatter(id)),
        sourceMessage('user', rule),
        ...Array.from({ length: 10 }, (_, id) => chatter(id + 10)),
      ]
      let text = await textOf(messages, 200)
      expect(text).toContain(rule)
      for (let depth = 1; depth <= 4; depth += 1) {
        const chatterText = await textOf(
          Array.from({ length: 12 }, (_, id) => chatter(id + 20 * depth)),
          200,
        )
        text = (
          await summarize(
            resummarizeJob({ summaries: [summaryOf(text), summaryOf(chatterText)], maxSummaryTokens: 200 }),
          )
        ).text
        expect(text).toContain(rule)
      }
    },
  )

  test('the rule of the sample is in every context from where it is given, through all cycles for a far too small window', async () => {
    const harness = createHarness({
      policy: { modelMaxTokens: 2_400, buffer: 4 },
      summarizer: { ...createExtractiveSummarizer(), calls: [], answer: () => undefined },
    })
    const sample = sampleConversation()
    let isReached = false
    for (const message of sample.messages) {
      await harness.appended(message)
      await harness.compact('ahead')
      const { messages } = await harness.context()
      const hasRule = messages.some(({ content }) =>
        contentText(content).includes('never touch the production database'),
      )
      isReached ||= hasRule
      expect([messages.length, hasRule]).toEqual([messages.length, isReached])
    }
    const { cycles, batches } = await harness.conversations.load(CONVERSATION)
    expect(cycles).toBeGreaterThan(10)
    expect(batches.some(({ depth }) => depth > 0)).toBe(true)
  })

  test('other work runs while a chunk of many messages is summarized', async () => {
    const messages = Array.from({ length: 1_500 }, (_none, at) =>
      sourceMessage(
        'user',
        `Never moor at berth ${String(at)} before noon. We decided it because the crane was broken.`,
      ),
    )
    let turns = 0
    let isRunning = true
    const count = (): void => {
      turns += 1
      if (isRunning) setImmediate(count)
    }
    setImmediate(count)
    await summarize(chunkJob({ messages, maxSummaryTokens: 1_000 }))
    isRunning = false
    expect(turns).toBeGreaterThan(2)
  })

  test('what an earlier version summarized is still proved by its request', () => {
    const job = chunkJob({ messages: [sourceMessage('user', 'Never touch production.')], maxSummaryTokens: 100 })
    for (const model of Object.keys(EXTRACTIVE_MODELS)) {
      const { requestHash, strategy, provider, parameters, prompt, formatterVersion } = prepareExtract(job, model)
      const events = {
        strategy,
        provider,
        model,
        parameters: { ...parameters },
        prompt,
        formatterVersion,
        requestHash,
        durationMs: 0,
      }
      expect(checkRequest(events, { ...job, persona: '' }, prompt.text)).toBe('same')
      expect(checkRequest({ ...events, requestHash: 'a'.repeat(64) }, { ...job, persona: '' }, prompt.text)).toBe(
        'other',
      )
    }
  })
})
