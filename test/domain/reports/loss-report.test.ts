/**
 * Kept and lost items of two compactions: hand-made examples in several languages and in code, and properties of any
 * report.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  createLossReport,
  createTextIndex,
  type KindReport,
  type LossKind,
  type ReportedMessage,
  type ComparedSide,
} from '../../../src/domain/reports/loss-report.js'
import { contentText, type Role } from '../../../src/domain/values/message.js'
import { numbersIn } from '../../../src/domain/text/numbers.js'
import { texts } from '../../support/arbitraries.js'
import { longTest } from '../../support/length.js'

const message = (messageId: string, content: string, role: Role = 'user'): ReportedMessage => ({
  messageId,
  role,
  content,
})

/** A side with the summary texts `kept` and the context texts `shown`. */
const side = (kept: readonly string[], shown = kept, liveIds: readonly string[] = []): ComparedSide => ({
  kept: createTextIndex(kept),
  shown: createTextIndex(shown),
  liveIds: new Set(liveIds),
  shownIds: new Set(liveIds),
})

function reportOn(
  messages: readonly ReportedMessage[],
  against: ComparedSide,
  edition: ComparedSide,
  pinned: readonly string[] = [],
): Readonly<Record<LossKind, KindReport>> {
  const report = createLossReport(against, edition, new Set(pinned))
  for (const each of messages) report.add(each)
  const result = report.result()
  const of = (kind: LossKind): KindReport => {
    const found = result.find((one) => one.kind === kind)
    if (found === undefined) throw new Error(`no ${kind}`)
    return found
  }
  return {
    pinned: of('pinned'),
    constraints: of('constraints'),
    files: of('files'),
    identifiers: of('identifiers'),
    numbers: of('numbers'),
  }
}

const lostTexts = (kind: KindReport): string[] => kind.lost.kept.items.map(({ text }) => text)
const gainedTexts = (kind: KindReport): string[] => kind.gained.kept.items.map(({ text }) => text)

describe('names', () => {
  const namingMessages = [
    message('m1', 'The rate limiter in src/api/rate-limit.ts reads MAX_RETRIES; see parseConfig and #412.'),
    message('m2', 'Look at ./lib/util.py too, and at src/api/rate-limit.ts again.', 'assistant'),
  ]

  it('a file or an identifier is kept if a summary names it, and lost otherwise', () => {
    const { files, identifiers } = reportOn(
      namingMessages,
      side(['rate-limit.ts was changed, MAX_RETRIES and #412', 'lib/util.py']),
      side(['src/api/rate-limit.ts calls parseConfig()']),
    )
    expect({ total: files.total, against: files.against, edition: files.edition }).toEqual({
      total: 2,
      against: { kept: 2, shown: 2 },
      edition: { kept: 1, shown: 1 },
    })
    expect(lostTexts(files)).toEqual(['lib/util.py'])
    expect(lostTexts(identifiers)).toEqual(['MAX_RETRIES', '#412'])
    expect(gainedTexts(identifiers)).toEqual(['parseConfig'])
  })

  it('lists the first message with an item and the number of mentions, most mentions first', () => {
    const { files } = reportOn(namingMessages, side(['src/api/rate-limit.ts and lib/util.py']), side(['nothing']))
    expect(files.lost.kept).toEqual({
      count: 2,
      items: [
        { text: 'src/api/rate-limit.ts', messageId: 'm1', mentions: 2 },
        { text: 'lib/util.py', messageId: 'm2', mentions: 1 },
      ],
    })
  })

  it('the bare name of a file in two folders names neither of them', () => {
    const { files } = reportOn(
      [message('m1', 'src/a/index.ts and src/b/index.ts')],
      side(['a/index.ts, b/index.ts']),
      side(['index.ts']),
    )
    expect(lostTexts(files)).toEqual(['src/a/index.ts', 'src/b/index.ts'])
  })

  it('a longer path names the file, but not another file of the same name', () => {
    expect(
      reportOn([message('m1', 'in lib/util.py')], side(['/home/ines/lib/util.py']), side(['tools/other/util.py']))
        .files,
    ).toMatchObject({ against: { kept: 1 }, edition: { kept: 0 } })
  })

  it('a file in several spellings is one item, kept in any of them', () => {
    const messages = [
      message('m1', 'see rate-limit-notes.md'),
      message('m2', 'in ../.changeset/rate-limit-notes.md.'),
      message('m3', '/home/ines/harbour/.changeset/rate-limit-notes.md and rate-limit-notes.md'),
    ]
    const { files } = reportOn(messages, side(['changed .changeset/rate-limit-notes.md']), side(['nothing']))
    expect(files).toMatchObject({
      total: 1,
      against: { kept: 1 },
      lost: {
        kept: { items: [{ text: '/home/ines/harbour/.changeset/rate-limit-notes.md', messageId: 'm1', mentions: 3 }] },
      },
    })
    expect(reportOn(messages, side(['rate-limit-notes.md']), side(['notes.md'])).files).toMatchObject({
      against: { kept: 1 },
      edition: { kept: 0 },
    })
  })

  it('a diff names one file, and is not searched for names with dashes', () => {
    const diff: ReportedMessage = {
      messageId: 'm2',
      role: 'tool',
      toolCallId: 'c',
      content: '--- a/lib/util.py\n+++ b/lib/util.py\n+bg-dark-green-500',
    }
    const { files, identifiers } = reportOn([message('m1', 'lib/util.py'), diff], side([]), side([]))
    expect([files.total, identifiers.total]).toEqual([1, 0])
  })

  it('a name of two files is not a third file', () => {
    expect(
      reportOn([message('m1', 'index.ts? src/a/index.ts or src/b/index.ts')], side([]), side([])).files.total,
    ).toBe(2)
  })

  it('a version is the same with and without a v', () => {
    expect(
      reportOn([message('m1', 'published 1.3.5')], side(['published v1.3.5']), side(['published 1.3.50'])).identifiers,
    ).toMatchObject({ total: 1, against: { kept: 1 }, edition: { kept: 0 } })
  })

  it.each([
    [
      'files',
      'The Makefile and docker/Dockerfile.dev, .gitignore and go.mod',
      ['Makefile', 'docker/Dockerfile.dev', '.gitignore', 'go.mod'],
    ],
    ['files', 'Mail A.B.C or p.m. and make files', []],
    [
      'identifiers',
      'HTTPServer calls parseJSON in std::fs::read of rate-limit-worker for locomo-26',
      ['HTTPServer', 'parseJSON', 'std::fs::read', 'rate-limit-worker', 'locomo-26'],
    ],
    ['identifiers', 'Order #W1234567 is not W1234568', ['#W1234567', 'W1234568']],
    ['identifiers', 'An up-to-date, state-of-the-art, ten-year-old well-known PDFs and APIs, step-by-step', []],
  ] as const)('%s in "%s"', (kind, text, names) => {
    expect(lostTexts(reportOn([message('m1', text)], side([text]), side(['']))[kind])).toEqual(names)
  })

  it('arguments and results of tools count', () => {
    const called: ReportedMessage = {
      messageId: 'm1',
      role: 'assistant',
      content: null,
      toolCalls: [{ id: 'c', type: 'function', function: { name: 'read_file', arguments: '{"path":"src/berth.ts"}' } }],
    }
    const { files, identifiers } = reportOn(
      [called, { messageId: 'm2', role: 'tool', toolCallId: 'c', content: 'export function bookBerth()' }],
      side(['read_file src/berth.ts: bookBerth']),
      side(['']),
    )
    expect([lostTexts(files), lostTexts(identifiers)]).toEqual([['src/berth.ts'], ['read_file', 'bookBerth']])
  })

  it('a name inside Chinese text without spaces is found', () => {
    expect(
      reportOn([message('m1', '请使用parseConfig函数')], side(['使用parseConfig读取']), side(['没有'])).identifiers,
    ).toMatchObject({ total: 1, against: { kept: 1 }, edition: { kept: 0 } })
  })
})

describe('numbers', () => {
  const valuesOf = (text: string): string[] => numbersIn(text).map(({ value }) => value)

  it('a number has one value in every spelling', () => {
    expect(valuesOf('1,000 and 1000 and 1’000 and 1\u202f000 and 1k')).toEqual(['1000', '1000', '1000', '1000', '1000'])
    expect(valuesOf('1.50 and 1,5 and 1.5')).toEqual(['1.5', '1.5', '1.5'])
    expect(valuesOf('1.234.567 and 1,234,567.80')).toEqual(['1234567', '1234567.8'])
    expect(valuesOf('共３０人，预算3万元，涨了5%')).toEqual(['30', '30000', '5%'])
    expect(valuesOf('on 2026-03-10 at 06:12, $5, 10GB, 30分钟')).toEqual(['2026-03-10', '06:12', '5', '10', '30'])
  })

  it('spaces group digits if that is certain', () => {
    expect(valuesOf('1 000 000, 12 500,50 € and 250 000')).toEqual(['1000000', '12500.5', '250000'])
    expect(valuesOf('100 200 300; 20 30 400; 5 June 2024 500')).toEqual([
      '100',
      '200',
      '300',
      '20',
      '30',
      '400',
      '2024',
      '500',
    ])
    expect(
      reportOn([message('m1', 'a budget of 1 000 000')], side(['1,000,000']), side(['2 000 000'])).numbers,
    ).toMatchObject({ total: 1, against: { kept: 1 }, edition: { kept: 0 } })
  })

  it('numbers of lists, versions, hashes and issues do not count', () => {
    expect(valuesOf('1. first\n2) second, v1.2.3, 1.2.3, 8ae9093f, a12, #412, file2.txt, step 3')).toEqual([])
  })

  it('is kept in another spelling, and tool output does not count', () => {
    const { numbers } = reportOn(
      [message('m1', 'The budget is 12,500 € and 40 people come'), message('m2', '99 98 97', 'tool')],
      side(['12500 euros for 40']),
      side(['12.500,00 or so, 40 people']),
    )
    expect({ total: numbers.total, lost: lostTexts(numbers) }).toEqual({ total: 2, lost: ['12,500'] })
  })
})

describe('constraints', () => {
  const rules = [
    message('m1', 'Morning. Never touch the production database harbour_prod. How are you?'),
    message('m2', 'Amounts must always be integer cents.'),
    message('m3', 'I never saw such a thing in the production database.', 'assistant'),
  ]

  it('are rules by roles that give orders; the wording may change', () => {
    const { constraints } = reportOn(
      rules,
      side([
        'The user said: the production database harbour_prod is not to be touched.',
        'Amounts are integer cents, always.',
      ]),
      side(['Amounts are kept as integer cents.']),
    )
    expect({ total: constraints.total, against: constraints.against.kept, lost: lostTexts(constraints) }).toEqual({
      total: 2,
      against: 2,
      lost: ['Never touch the production database harbour_prod.'],
    })
  })

  it('are lost if the summary has the same words without the negation', () => {
    expect(
      reportOn(
        rules.slice(0, 1),
        side(['never touch the production database harbour_prod']),
        side(['Touch the production database harbour_prod.']),
      ).constraints.lost.kept.count,
    ).toBe(1)
  })

  it.each([
    ['You must use tabs in Makefiles.', 'You must not use tabs in Makefiles.'],
    ['You must keep the API stable.', 'The user no longer requires to keep the API stable.'],
    ['Always run the tests before a release.', 'It is not required to run the tests always before a release.'],
    ['No more than 40 people may come to the harbour.', 'More than 40 people may come to the harbour.'],
    ['金额必须使用整数分', '金额不要使用整数分'],
    ['リリース前に必ずテストを実行する', 'リリース前に必ずテストを実行する必要はない'],
  ])('"%s" is lost in "%s"', (rule, denial) => {
    expect(createTextIndex([denial]).sentence(rule)).toBe(false)
  })

  it.each([
    ['Amounts must always be integer cents.', 'Amounts are always integer cents, never floats.'],
    ['You must keep the API stable.', 'Keep the API stable and do not rename anything.'],
    ['You must keep the API stable.', 'Do not rename anything. Keep the API stable.'],
    ['At most 40 people may come to the harbour.', 'No more than 40 people may come to the harbour.'],
    ['Always deploy with approval of the team.', 'Never deploy without approval of the team, always.'],
    ['金额必须使用整数分', '金额必须使用整数分，不要使用浮点数'],
    ['リリース前に必ずテストを実行する', 'リリース前に必ずテストを実行しなければならない'],
  ])('"%s" is kept by "%s"', (rule, summary) => {
    expect(createTextIndex([summary]).sentence(rule)).toBe(true)
  })

  it('are not found in words scattered over a long text', () => {
    const scattered = 'The production line runs. '.concat(
      'Nobody came by. '.repeat(3),
      'A database was there. ',
      'It was never so quiet. '.repeat(3),
      'They touch harbour_prod walls.',
    )
    expect(
      reportOn(rules.slice(0, 1), side(['never touch the production database harbour_prod']), side([scattered]))
        .constraints.edition.kept,
    ).toBe(0)
  })

  it('in Chinese and Japanese', () => {
    const { constraints } = reportOn(
      [message('m1', '金额必须使用整数分。天气不错。'), message('m2', '本番のデータベースには触れてはいけません。')],
      side(['用户要求金额必须使用整数分', '本番のデータベースに触れてはいけません']),
      side(['天气不错', '本番のデータベース']),
    )
    expect({ total: constraints.total, against: constraints.against.kept, edition: constraints.edition.kept }).toEqual({
      total: 2,
      against: 2,
      edition: 0,
    })
  })

  it('quoted by any role count too', () => {
    const { constraints } = reportOn(
      [message('m1', 'The contract says “deliveries must arrive before noon on Fridays”, as I read it.', 'assistant')],
      side(['deliveries must arrive before noon on Fridays']),
      side(['the contract was read']),
    )
    expect(lostTexts(constraints)).toEqual(['deliveries must arrive before noon on Fridays'])
  })
})

describe('pinned messages', () => {
  it('are kept while they are live, and shown while the context shows them whole', () => {
    const live: ComparedSide = { ...side([]), liveIds: new Set(['m1', 'm2']), shownIds: new Set(['m1']) }
    const { pinned } = reportOn(
      [message('m1', 'one'), message('m2', 'two'), message('m3', 'three')],
      live,
      side([], [], ['m2']),
      ['m1', 'm2'],
    )
    expect({ total: pinned.total, against: pinned.against, edition: pinned.edition, lost: lostTexts(pinned) }).toEqual({
      total: 2,
      against: { kept: 2, shown: 1 },
      edition: { kept: 1, shown: 1 },
      lost: ['one'],
    })
  })
})

describe('what counts', () => {
  it('messages that neither side compacted do not count; those that one side compacted are kept where they are live', () => {
    const messages = [message('m1', 'see src/a.ts'), message('m2', 'see src/b.ts')]
    const { files } = reportOn(
      messages,
      side(['see src/a.ts'], ['see src/a.ts'], ['m1', 'm2']),
      side([''], [''], ['m2']),
    )
    expect({ total: files.total, lost: lostTexts(files) }).toEqual({ total: 1, lost: ['src/a.ts'] })
  })

  it('kept and shown are counted separately', () => {
    const { files } = reportOn(
      [message('m1', 'src/a.ts')],
      side(['src/a.ts'], ['src/a.ts']),
      side(['src/a.ts'], ['older batches are left out']),
    )
    expect([files.lost.kept.count, files.lost.shown.count]).toEqual([0, 1])
  })

  it('lists are capped, and counted in full', () => {
    const many = Array.from({ length: 100 }, (_, at) => `src/file-${String(at)}.ts`)
    const { files } = reportOn([message('m1', many.join('\n'))], side([many.join('\n')]), side(['']))
    expect([files.lost.kept.count, files.lost.kept.items.length]).toEqual([100, 12])
  })

  // Counting pair by pair would take hours and time out.
  longTest(
    'is done for 10,000 messages',
    () => {
      const words = Array.from({ length: 10_000 }, (_, at) =>
        message(
          `m${String(at)}`,
          `Never change src/module-${String(at % 700)}/part-${String(at)}.ts without ticket HAR-${String(at)}. It costs ${String(at * 17)} €. 必须先测试第${String(at)}号。`,
        ),
      )
      const summaries = Array.from({ length: 20 }, (_, at) =>
        words
          .slice(at * 10, at * 10 + 10)
          .map(({ content }) => contentText(content))
          .join('\n'),
      )
      const { constraints } = reportOn(words, side(summaries), side(summaries.slice(5)))
      expect(constraints.lost.kept.count).toBeGreaterThan(0)
    },
    60_000,
  )
})

describe('laws', () => {
  const conversations = fc
    .array(
      fc.oneof(
        texts,
        fc.constantFrom(
          'Never touch src/prod/db.ts at 10,000 €.',
          '必须保留 config.yaml，不要超过30个。',
          'parseConfig in v1.2.3, at most 40 %',
          '“you must not pass 22:00”',
        ),
      ),
      { minLength: 1, maxLength: 12 },
    )
    .map((list) => list.map((text, at) => message(`m${String(at)}`, text)))
  const parts = (messages: readonly ReportedMessage[], keep: readonly boolean[]): string[] =>
    messages.filter((_message, at) => keep[at % keep.length] === true).map(({ content }) => contentText(content))
  const keeps = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 })

  it('a side compared with itself loses and gains nothing', () => {
    fc.assert(
      fc.property(conversations, keeps, (messages, keep) => {
        const same = side(parts(messages, keep))
        for (const kind of Object.values(reportOn(messages, same, same, ['m0'])))
          expect([
            kind.lost.kept.count,
            kind.lost.shown.count,
            kind.gained.kept.count,
            kind.gained.shown.count,
          ]).toEqual([0, 0, 0, 0])
      }),
    )
  })

  it('the edition keeps what the other side keeps, minus the lost and plus the gained items, and never more than the total', () => {
    fc.assert(
      fc.property(conversations, keeps, keeps, keeps, (messages, one, two, three) => {
        const [against, edition] = [side(parts(messages, one)), side(parts(messages, two), parts(messages, three))]
        const reversed = reportOn(messages, against, edition)
        const back = reportOn(messages, edition, against)
        for (const kind of Object.values(reversed)) {
          for (const level of ['kept', 'shown'] as const) {
            expect(kind.edition[level]).toBe(kind.against[level] - kind.lost[level].count + kind.gained[level].count)
            expect(Math.max(kind.edition[level], kind.against[level])).toBeLessThanOrEqual(kind.total)
          }
          expect(back[kind.kind].gained).toEqual(kind.lost)
        }
        expect(reportOn(messages, against, edition)).toEqual(reversed)
      }),
    )
  })

  it('a text with every message verbatim keeps everything except pinned messages', () => {
    fc.assert(
      fc.property(conversations, (messages) => {
        for (const kind of Object.values(
          reportOn(messages, side(messages.map(({ content }) => contentText(content))), side([])),
        ))
          expect(kind.against.kept).toBe(kind.total)
      }),
    )
  })
})
