/** The report on one compaction: hand-made examples in four languages, and properties of any report. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { forgottenOf, type ForgottenReport } from '../../src/application/losses/forgotten.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'
import { createTalk, forgetting } from './report-input.js'

/** The verdicts on the items of a kind, by their text. */
const verdicts = (report: ForgottenReport, kind: string): Record<string, string> =>
  Object.fromEntries(report.items.filter((item) => item.kind === kind).map(({ text, verdict }) => [text, verdict]))

const itemOf = (report: ForgottenReport, kind: string, words = ''): ForgottenReport['items'][number] => {
  const found = report.items.find((item) => item.kind === kind && item.text.includes(words))
  if (found === undefined) throw new Error(`no ${kind} with ${words}`)
  return found
}

describe('removed messages', () => {
  it('are counted by role and by tool, with their tokens', () => {
    const talk = createTalk()
    const left = [
      talk.user('Please read the parser.'),
      ...talk.work('Read', { file_path: 'src/parser.ts' }, 'export const parse = 1'),
      ...talk.work('Bash', { command: 'npm test' }, '12 passed'),
      ...talk.work('Bash', { command: 'npm run build' }, 'built'),
    ]
    const { left: counted } = forgottenOf(forgetting({ removed: left }))
    expect(counted.messages).toBe(7)
    expect(counted.tokens).toBe(left.reduce((sum, { tokens }) => sum + tokens, 0))
    expect(Object.entries(counted.byRole).map(([role, { messages }]) => [role, messages])).toEqual([
      ['assistant', 3],
      ['tool', 3],
      ['user', 1],
    ])
    expect(Object.entries(counted.byTool).map(([tool, { messages }]) => [tool, messages])).toEqual([
      ['Bash', 2],
      ['Read', 1],
    ])
  })
})

describe('requests, constraints and decisions', () => {
  const talk = createTalk()
  const left = [
    talk.user('Please add a retry with backoff to the berth uploader.'),
    talk.user('Can you explain why the harbour index is rebuilt twice at night?'),
    talk.user('Never write to the production ledger without an approval of the harbour master.'),
    talk.assistant('We decided to store tariffs as integer cents instead of decimals.'),
    talk.byProgram('Please always run the hooks of the program before each commit.'),
  ]
  const text = [
    'The user asked to add a retry with a backoff: the berth uploader.',
    'Tariffs are stored as integer cents, that was decided.',
  ].join('\n')

  it('are kept if a line contains them, with that line as the proof', () => {
    const report = forgottenOf(forgetting({ removed: left, text }))
    expect(itemOf(report, 'request', 'retry')).toMatchObject({
      verdict: 'kept',
      proof: { kind: 'summary', line: 1 },
      said: { messageId: 'm1', revision: '1' },
    })
    expect(itemOf(report, 'decision', 'cents').verdict).not.toBe('lost')
  })

  it('are lost if no line has their words, with the original message as the proof', () => {
    const report = forgottenOf(forgetting({ removed: left, text }))
    expect(itemOf(report, 'request', 'harbour index')).toMatchObject({ verdict: 'lost', said: { messageId: 'm2' } })
    expect(itemOf(report, 'constraint', 'production')).toMatchObject({ verdict: 'lost', said: { messageId: 'm3' } })
  })

  it('are kept if a remaining message contains them', () => {
    const stayed = [talk.assistant('Right: never write to the production ledger without an approval.')]
    const constraint = itemOf(
      forgottenOf(forgetting({ removed: left, remaining: stayed, text })),
      'constraint',
      'production',
    )
    expect(constraint.verdict).not.toBe('lost')
    expect(constraint.proof).toMatchObject({ kind: 'message', messageId: stayed[0]?.messageId })
  })

  it('are partial if the negation is missing', () => {
    const report = forgottenOf(
      forgetting({ removed: left, text: 'Write to the production ledger with approval of the harbour master.' }),
    )
    expect(itemOf(report, 'constraint', 'production').verdict).toBe('partial')
  })

  it('exclude text that a program inserted as the user', () => {
    expect(forgottenOf(forgetting({ removed: left, text })).items.some((item) => item.text.includes('hooks'))).toBe(
      false,
    )
  })

  it('are unknown if a summary has some of their words', () => {
    const report = forgottenOf(
      forgetting({ removed: left, text: 'Something about an approval of the master is open.' }),
    )
    expect(itemOf(report, 'constraint', 'production').verdict).toBe('unknown')
  })

  it('in a message with a long pasted text, are those before and after it', () => {
    const plan = Array.from(
      { length: 80 },
      (_none, at) => `${String(at)}. Add the step ${String(at)} to the berth plan.`,
    )
    const pasted = createTalk().user(
      ['Implement the plan below for the lighthouse.', plan.join('\n'), 'Then tell me what the crane costs.'].join(
        '\n\n',
      ),
    )
    const { items } = forgottenOf(forgetting({ removed: [pasted] }))
    expect(items.filter(({ kind }) => kind === 'request').map(({ text: request }) => request)).toEqual([
      'Implement the plan below for the lighthouse.',
    ])
  })
})

describe('a rule in an earlier note', () => {
  it('is kept: the note has its words, with the revision after them', () => {
    const talk = createTalk()
    const said = talk.user('Rule: never touch harbour_prod. [[step-0: read notes.txt]]')
    const note = talk.byProgram(
      'Rules of the user\n- “Rule: never touch harbour_prod. [[step-0: read notes.txt]]” (r3)',
    )
    const { items } = forgottenOf({ ...forgetting({ removed: [said], text: 'The work goes on.' }), remaining: [note] })
    expect(items[0]).toMatchObject({ kind: 'constraint', verdict: 'kept' })
  })
})

describe('other languages', () => {
  const cases: readonly (readonly [string, string, string, string])[] = [
    ['Chinese', '请把港口费用改成按整数分保存。', '用户要求把港口费用改成按整数分保存。', '今天天气很好，船长在睡觉。'],
    [
      'Japanese',
      '港湾の料金表をREADMEに追加してください。',
      '港湾の料金表をREADMEに追加する依頼。',
      '今日は天気がよくて船長は寝ている。',
    ],
    [
      'Korean',
      '항만 요금표를 문서에 추가해 주세요.',
      '항만 요금표를 문서에 추가해 달라는 요청.',
      '오늘은 날씨가 좋고 선장은 자고 있다.',
    ],
  ] as const

  it.each(cases)(
    '%s: kept where the summary says it, gone where it says something else',
    (_name, said, says, other) => {
      const left = [createTalk().user(said)]
      expect(forgottenOf(forgetting({ removed: left, text: says })).items[0]).toMatchObject({
        text: said,
        verdict: 'kept',
      })
      expect(forgottenOf(forgetting({ removed: left, text: other })).items[0]).toMatchObject({
        text: said,
        verdict: 'lost',
      })
    },
  )

  it.each(cases)('%s: unknown if the summary is in English', (_name, said) => {
    const left = [createTalk().user(said)]
    const text = 'The user wanted the fees of the harbour changed, and we did so in several files of the project.'
    expect(forgottenOf(forgetting({ removed: left, text })).items[0]).toMatchObject({
      verdict: 'unknown',
      why: 'script',
    })
  })
})

describe('answers to questions of a tool', () => {
  it('are decisions, kept if the summary has the answer verbatim', () => {
    const talk = createTalk()
    const left = talk.work(
      'AskUserQuestion',
      { questions: [{ question: 'Which database?' }] },
      'User has answered your questions: "Which database?"="Postgres on the quay". You can now continue.',
    )
    const report = forgottenOf(forgetting({ removed: left, text: '- "Postgres on the quay" was chosen' }))
    expect(verdicts(report, 'decision')).toEqual({
      'asked “Which database?”, answered: Postgres on the quay': 'kept',
    })
  })
})

describe('errors', () => {
  const talk = createTalk()
  const failed = talk.work(
    'Bash',
    { command: 'npm test' },
    'Exit code 1\nTypeError: berth.moor is not a function',
    true,
  )
  const left = [
    ...failed,
    ...talk.work('Edit', { file_path: 'src/berth.ts', old_string: 'a', new_string: 'b' }, 'ok'),
    ...talk.work('Bash', { command: 'npm test' }, '12 passed'),
  ]

  it('are kept with their resolution', () => {
    const report = forgottenOf(
      forgetting({ removed: left, text: 'TypeError: berth.moor is not a function. Fixed by exporting it.' }),
    )
    expect(itemOf(report, 'error')).toMatchObject({
      verdict: 'kept',
      said: { messageId: failed[1].messageId },
      resolvedBy: { messageId: 'm5' },
    })
  })

  it('are partial if nothing reports the resolution', () => {
    const report = forgottenOf(forgetting({ removed: left, text: '- TypeError: berth.moor is not a function' }))
    expect(itemOf(report, 'error').verdict).toBe('partial')
  })

  it('are lost if nothing mentions them', () => {
    expect(
      itemOf(forgottenOf(forgetting({ removed: left, text: 'The lighthouse was painted.' })), 'error').verdict,
    ).toBe('lost')
  })

  it('are the error line, without the text that a program puts around it', () => {
    const result = [
      'Command: ls quay',
      'Directory: (root)',
      "Output: ls: cannot access 'quay': No such file or directory",
      'Error: (none)',
      'Exit Code: 2',
      'Signal: 0',
    ].join('\n')
    const failing = createTalk().work('run_shell_command', { command: 'ls quay' }, result)
    const report = forgottenOf(forgetting({ removed: failing }))
    expect(Object.keys(verdicts(report, 'error'))).toEqual(["ls: cannot access 'quay': No such file or directory"])
  })

  it('are not reported if the user stopped the call', () => {
    const stopped = createTalk().work('Bash', { command: 'rm x' }, "The user doesn't want to proceed.", true)
    expect(forgottenOf(forgetting({ removed: stopped })).items).toEqual([])
  })
})

describe('files, identifiers and numbers', () => {
  const talk = createTalk()
  const left = [
    talk.user('The limit in MAX_BERTHS is 1,250 and parseTariff is wrong; see v2.14.3 and #412.'),
    ...talk.work('Read', { file_path: '/dock/harbour/src/tariff-table.ts' }, 'export const x = 1'),
    ...talk.work('Read', { file_path: 'C:\\quay\\crane\\index.ts' }, 'export const y = 1'),
    ...talk.work('Read', { file_path: '/quay/ship/index.ts' }, 'export const z = 1'),
  ]

  it('are kept in any spelling', () => {
    const text = 'tariff-table.ts and crane/index.ts: MAX_BERTHS with the limit 1250, parseTariff(), 2.14.3, #412'
    const report = forgottenOf(forgetting({ removed: left, text }))
    expect(verdicts(report, 'identifier')).toEqual({
      MAX_BERTHS: 'kept',
      parseTariff: 'kept',
      'v2.14.3': 'kept',
      '#412': 'kept',
    })
    expect(verdicts(report, 'number')).toEqual({ '1,250': 'kept' })
    expect(verdicts(report, 'file')).toMatchObject({
      '/dock/harbour/src/tariff-table.ts': 'kept',
      'C:/quay/crane/index.ts': 'kept',
      // An index.ts of another folder may or may not be the same file.
      '/quay/ship/index.ts': 'unknown',
    })
  })

  it('are partial if a name or number is only approximate', () => {
    const text = 'The tariff-table and an index.ts were read; the parse_tariff step has a limit of about 1,300 or so.'
    const report = forgottenOf(forgetting({ removed: left, text }))
    expect(verdicts(report, 'file')).toEqual({
      // A name without its extension, or one that several files have, is ambiguous.
      '/dock/harbour/src/tariff-table.ts': 'unknown',
      'C:/quay/crane/index.ts': 'unknown',
      '/quay/ship/index.ts': 'unknown',
    })
    expect(verdicts(report, 'identifier')['parseTariff']).toBe('partial')
  })

  it('are unknown if a longer name contains them, and lost without any match', () => {
    const report = forgottenOf(forgetting({ removed: left, text: 'parseTariffTable was renamed.' }))
    expect(verdicts(report, 'identifier')).toEqual({
      MAX_BERTHS: 'lost',
      parseTariff: 'unknown',
      'v2.14.3': 'lost',
      '#412': 'lost',
    })
    expect(verdicts(report, 'number')).toEqual({ '1,250': 'lost' })
  })

  it.each(['about 12k container ships in the harbour', 'about 12 000 container ships in the harbour'])(
    'a number is partial if the context has it rounded, as in %s',
    (text) => {
      const removed = [talk.assistant('The harbour master counted 12,340 container ships.')]
      expect(verdicts(forgottenOf(forgetting({ removed, text })), 'number')).toEqual({ '12,340': 'partial' })
    },
  )

  it('a longer number that is rounded says nothing about a shorter one', () => {
    const removed = [talk.assistant('There were 152 users a day at the quay.')]
    const text = 'There were 1500 rows a day, about 1500 at the quay, and 150 users a day at the quay.'
    expect(verdicts(forgottenOf(forgetting({ removed, text })), 'number')).toEqual({ '152': 'unknown' })
  })

  it('a number without a word of its sentence is unknown', () => {
    expect(verdicts(forgottenOf(forgetting({ removed: left, text: 'Page 1250.' })), 'number')).toEqual({
      '1,250': 'unknown',
    })
  })

  it('are kept in remaining messages, in the text of a result and in the arguments of a call', () => {
    const stayed = [
      ...createTalk().work('Bash', { command: 'cat a\nMAX_BERTHS' }, 'function parseTariff() {}\n// v2.14.3'),
    ]
    const report = forgottenOf(forgetting({ removed: left, remaining: stayed }))
    expect(verdicts(report, 'identifier')).toMatchObject({ MAX_BERTHS: 'kept', parseTariff: 'kept', 'v2.14.3': 'kept' })
    expect(itemOf(report, 'identifier', 'parseTariff').proof).toMatchObject({ kind: 'message', messageId: 'm2' })
  })

  it('are not taken from pasted code and tool output', () => {
    const ignored = createTalk()
    const quiet = [
      ignored.user('```\nconst secretName = 4711\n```'),
      ...ignored.work('Bash', { command: 'ls' }, 'deep_file_name 99'),
    ]
    expect(forgottenOf(forgetting({ removed: quiet })).items).toEqual([])
  })
})

describe('running work', () => {
  it('is a call without an answer, an agent and a command in the background', () => {
    const talk = createTalk()
    const left = [
      talk.call('Bash', { command: 'npm run deploy:harbour' }),
      ...talk.work(
        'Task',
        { description: 'Explore the crane controllers', run_in_background: true },
        'Async agent launched successfully. agentId: a1b2c3',
      ),
      ...talk.work(
        'Task',
        { description: 'Measure the quay walls', run_in_background: true },
        'Async agent launched successfully. agentId: d4e5f6',
      ),
      ...talk.work('TaskOutput', { task_id: 'd4e5f6' }, 'status: completed\nThe walls are 40 m long.'),
    ]
    const report = forgottenOf(forgetting({ removed: left, text: 'An agent explores the crane controllers.' }))
    expect(verdicts(report, 'openCall')).toEqual({ 'Bash(npm run deploy:harbour)': 'lost' })
    expect(Object.keys(verdicts(report, 'subAgent'))).toEqual(['Task(Explore the crane controllers)'])
    expect(itemOf(report, 'subAgent').verdict).not.toBe('lost')
  })
})

describe('an unreadable summary, and no summary', () => {
  const talk = createTalk()
  const left = [talk.user('Please rename MAX_BERTHS to MAX_SHIPS in the harbour settings.'), talk.user('See #412.')]
  const stayed = [talk.assistant('MAX_BERTHS stands in the settings.')]

  it('opaque: unknown, except what remains in the context', () => {
    const report = forgottenOf(forgetting({ removed: left, remaining: stayed, summary: { kind: 'opaque' } }))
    expect(itemOf(report, 'identifier', 'MAX_BERTHS').verdict).toBe('kept')
    expect(itemOf(report, 'identifier', '#412')).toMatchObject({ verdict: 'unknown', why: 'opaque' })
  })

  it('none: lost, except what remains in the context', () => {
    const report = forgottenOf(forgetting({ removed: left, remaining: stayed, summary: { kind: 'none' } }))
    expect(itemOf(report, 'identifier', 'MAX_BERTHS').verdict).toBe('kept')
    expect(itemOf(report, 'identifier', '#412').verdict).toBe('lost')
    expect(itemOf(report, 'request', 'rename').verdict).toBe('lost')
  })
})

const RANK = { lost: 0, unknown: 1, partial: 2, kept: 3 } as const

const words = fc.constantFrom(
  ...'harbour crane berth tariff ledger approval lighthouse parser retry backoff window quay captain cargo'.split(' '),
)
const sentence = fc
  .tuple(
    fc.constantFrom('Please add', 'Never delete', 'Can you explain', 'We decided to use', 'You must keep'),
    fc.array(words, { minLength: 2, maxLength: 7 }),
    fc.option(fc.constantFrom('src/berth.ts', 'parseTariff', '1,250', '#412', 'docs/quay plan.md'), { nil: '' }),
  )
  .map(([start, said, name]) => `${start} ${said.join(' ')} ${name}.`)
const korean = fc.constantFrom(
  '항만 요금표를 문서에 추가해 주세요.',
  '请把港口费用改成整数分。',
  '港の料金表を追加してください。',
)
const conversation = fc.array(fc.oneof({ weight: 5, arbitrary: sentence }, { weight: 1, arbitrary: korean }), {
  minLength: 1,
  maxLength: 12,
})
const messagesOf = (texts: readonly string[]): ReportMessage[] => {
  const talk = createTalk()
  return texts.map((text) => talk.user(text))
}

describe('for any conversation', () => {
  it('a summary with every message verbatim loses nothing', () => {
    fc.assert(
      fc.property(conversation, fc.array(sentence, { maxLength: 5 }), (texts, others) => {
        const report = forgottenOf(forgetting({ removed: messagesOf(texts), text: [...others, ...texts].join('\n') }))
        expect(report.items.filter(({ verdict }) => verdict === 'lost')).toEqual([])
      }),
    )
  })

  it('messages that remain verbatim lose nothing', () => {
    fc.assert(
      fc.property(conversation, (texts) => {
        const stayed = messagesOf(texts).map((said) => ({ ...said, messageId: `s${said.messageId}` }))
        const report = forgottenOf(
          forgetting({ removed: messagesOf(texts), remaining: stayed, summary: { kind: 'none' } }),
        )
        expect(report.items.filter(({ verdict }) => verdict === 'lost')).toEqual([])
      }),
    )
  })

  it('an additional line with an item never worsens its verdict', () => {
    fc.assert(
      fc.property(conversation, fc.array(sentence, { maxLength: 6 }), (texts, lines) => {
        const left = messagesOf(texts)
        for (const item of forgottenOf(forgetting({ removed: left, text: lines.join('\n') })).items) {
          const quoted = item.kind === 'number' ? item.said.text : item.text
          const more = forgottenOf(forgetting({ removed: left, text: [...lines, quoted].join('\n') }))
          const now = more.items.find(({ kind, text }) => kind === item.kind && text === item.text)
          expect(RANK[now?.verdict ?? 'lost']).toBeGreaterThanOrEqual(RANK[item.verdict])
        }
      }),
      { numRuns: 40 },
    )
  })

  it('the counts match the items, every kept or partial item has a proof, and the report is JSON', () => {
    fc.assert(
      fc.property(conversation, fc.array(sentence, { maxLength: 6 }), (texts, lines) => {
        const report = forgottenOf(forgetting({ removed: messagesOf(texts), text: lines.join('\n') }))
        const counted = Object.values(report.counts).flatMap((counts) => Object.values(counts))
        expect(counted.reduce((sum, count) => sum + count, 0)).toBe(report.items.length)
        expect(
          report.items.filter(
            ({ verdict, proof }) => (verdict === 'kept' || verdict === 'partial') && proof === undefined,
          ),
        ).toEqual([])
        expect(JSON.parse(JSON.stringify(report))).toEqual(report)
        expect(Object.keys(report)).toEqual(Object.keys(forgottenOf(forgetting({}))))
      }),
    )
  })

  it('the same input gives the same report', () => {
    fc.assert(
      fc.property(conversation, fc.array(sentence, { maxLength: 6 }), (texts, lines) => {
        const input = forgetting({ removed: messagesOf(texts), text: lines.join('\n'), after: messagesOf(lines) })
        expect(JSON.stringify(forgottenOf(input))).toBe(JSON.stringify(forgottenOf(input)))
      }),
    )
  })

  it('accepts any texts and arguments', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), { maxLength: 8 }),
        fc.string({ unit: 'binary' }),
        (odd, text) => {
          const talk = createTalk()
          const left = odd.flatMap(([said, args]) => [
            talk.user(said),
            ...talk.work(said === '' ? 'x' : said, args, args),
          ])
          expect(() => forgottenOf(forgetting({ removed: left, text, after: left }))).not.toThrow()
        },
      ),
    )
  })
})

it('takes time proportional to its input', () => {
  const printed = 'a line of a file that was printed, with a_name and 4711 in it\n'.repeat(1_350)
  const talk = createTalk()
  const round = (at: number): ReportMessage[] => [
    talk.user(
      `Please change the limit of crane ${String(at)} in src/crane-${String(at % 90)}.ts to ${String(at + 100)}.`,
    ),
    ...talk.work(
      'Read',
      { file_path: `src/crane-${String(at % 90)}.ts` },
      at % 10 === 0 ? printed : `crane ${String(at)}`,
    ),
  ]
  const left = Array.from({ length: 1_600 }, (_none, at) => round(at)).flat()
  const after = Array.from({ length: 800 }, (_none, at) => round(at)).flat()
  const text = Array.from({ length: 200 }, (_none, at) => `- crane ${String(at * 3)} has another limit`).join('\n')
  const startedAt = performance.now()
  const report = forgottenOf(forgetting({ removed: left, after, text }))
  expect(report.items.length).toBeGreaterThan(3_000)
  // A second on an idle machine; quadratic work would take minutes.
  expect(performance.now() - startedAt).toBeLessThan(15_000)
})
