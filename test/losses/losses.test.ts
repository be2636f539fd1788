/** The order of losses by their consequence: a law over generated conversations and summaries, and its examples. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { forgottenOf, type ForgottenReport } from '../../src/application/losses/forgotten.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'
import { createTalk, forgetting } from '../loss-report/report-input.js'

const NAMES = new Set(['file', 'identifier', 'number'])

const itemsOf = ({ foremost }: ForgottenReport): ForgottenReport['items'] =>
  foremost.losses.flatMap((loss) => (loss.kind === 'item' ? [loss.item] : []))
const textsOf = (report: ForgottenReport): string[] => itemsOf(report).map(({ text }) => text)

interface Statement {
  readonly text: string
  readonly takenBack: string
}

/** Statements of a user, each with the words that take it back. */
const STATEMENTS: readonly Statement[] = [
  {
    text: 'Never deploy the crane software without asking me.',
    takenBack: 'Actually, you may deploy the crane software without asking me.',
  },
  {
    text: 'The ferry bill must stay under 340 dollars a month.',
    takenBack: 'The ferry bill may go up to 520 dollars a month, the old figure no longer holds.',
  },
  {
    text: 'We decided to store pilot licences in the harbour office.',
    takenBack: 'I changed my mind: store pilot licences in the lighthouse instead of the harbour office.',
  },
  {
    text: 'Immer alle Zollformulare prüfen, bevor du eine Rechnung änderst.',
    takenBack: 'Vergiss die Zollformulare, du musst sie vor einer Rechnung nicht mehr prüfen.',
  },
  {
    text: 'Only use the beacon chart of the northern coast.',
    takenBack: 'Scrap the beacon chart of the northern coast, use the southern one.',
  },
  {
    text: 'I prefer rope winches over hydraulic ones.',
    takenBack: 'On second thought I prefer hydraulic winches over rope ones.',
  },
]

interface Stated extends Statement {
  readonly fate: 'kept' | 'lost' | 'takenBack'
}

/** Statements in any order, and what becomes of them. */
const conversation = fc
  .shuffledSubarray([...STATEMENTS], { minLength: 1 })
  .chain((all) =>
    fc
      .array(fc.constantFrom('kept', 'lost', 'takenBack'), { minLength: all.length, maxLength: all.length })
      .map((fates) => all.map((each, at): Stated => ({ ...each, fate: fates[at] ?? 'lost' }))),
  )

/** The messages of a conversation of work: statements, answers with names, and what is taken back at the end. */
function messagesOf(all: readonly Stated[]): ReportMessage[] {
  const talk = createTalk()
  return [
    talk.user('Please look after the harbour.'),
    ...talk.work('Read', { file_path: '/harbour/plan.md' }, 'the plan'),
    ...all.flatMap(({ text }, at) => [
      talk.user(text),
      talk.assistant(`Noted in src/notes-${String(at)}.ts, with parseNote${String(at)} and noteTable_${String(at)}.`),
    ]),
    ...all.filter(({ fate }) => fate === 'takenBack').map(({ takenBack }) => talk.user(takenBack)),
    talk.assistant('All of it is noted.'),
  ]
}

const reportOf = (all: readonly Stated[], lines: readonly string[] = []): ForgottenReport =>
  forgottenOf(
    forgetting({
      removed: messagesOf(all),
      text: [
        'They looked after the harbour.',
        ...lines,
        ...all.flatMap(({ text, takenBack, fate }) =>
          fate === 'kept' ? [text] : fate === 'takenBack' ? [takenBack] : [],
        ),
      ].join('\n'),
    }),
  )

describe('for any conversation and summary', () => {
  it('the losses are the statements that are neither kept nor taken back, before names and files, and all are counted', () => {
    fc.assert(
      fc.property(conversation, (all) => {
        const report = reportOf(all)
        const texts = textsOf(report)
        for (const { text, takenBack, fate } of all) {
          expect([text, fate, texts.includes(text)]).toEqual([text, fate, fate === 'lost'])
          expect(texts).not.toContain(takenBack)
        }
        // Names and files are below the fold, and come after what matters.
        expect(itemsOf(report).filter(({ kind }) => NAMES.has(kind))).toEqual([])
        expect(report.foremost.others['identifier']).toBeGreaterThan(0)
        const places = report.items.map(({ matters }) => matters === true)
        expect(places.toSorted((a, b) => Number(b) - Number(a))).toEqual(places)
        expect(report.losses).toBe(report.foremost.losses.length + report.foremost.more)
        expect(report.items.filter(({ matters }) => matters === true)).toHaveLength(report.losses)
      }),
    )
  })
})

describe('a loss', () => {
  it('is shown in whole sentences of the user, not cut within a word', () => {
    const talk = createTalk()
    const long = Array.from(
      { length: 12 },
      (_none, at) => `Never moor the ship number ${String(at)} at the northern quay of the harbour.`,
    ).join(' ')
    const [text = ''] = textsOf(forgottenOf(forgetting({ removed: [talk.user(long)], text: 'They worked.' })))
    expect(text).toMatch(/^Never moor the ship number 0 .*harbour\. …$/u)
  })

  it('is an answer with its question, a refusal with the call, and not plain assent', () => {
    const talk = createTalk()
    const refusal =
      "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the tidal table instead, the lunar one is wrong"
    const removed = [
      talk.user('Look after the harbour.'),
      talk.assistant('Shall the beacon burn in green or in white?'),
      talk.user('white, since ships from the north expect it'),
      talk.assistant('Should I light it now?'),
      talk.user('yes, go ahead'),
      ...talk.work('Bash', { command: 'use lunar.csv' }, refusal, true),
      talk.assistant('Understood.'),
    ]
    expect(textsOf(forgottenOf(forgetting({ removed, text: 'They painted a wall.' })))).toEqual([
      'refused Bash(use lunar.csv): use the tidal table instead, the lunar one is wrong',
      'asked “Shall the beacon burn in green or in white?”, answered: white, since ships from the north expect it',
    ])
  })

  it('is an open task of the agent, and no finished request', () => {
    const talk = createTalk()
    const todos = [
      { content: 'Paint the northern wall', status: 'completed' },
      { content: 'Measure the southern quay', status: 'pending' },
    ]
    const removed = [
      talk.user('Look after the harbour.'),
      talk.user('Please paint the northern wall.'),
      ...talk.work('TodoWrite', { todos }, 'ok'),
      talk.assistant('The northern wall is painted.'),
    ]
    const report = forgottenOf(forgetting({ removed, text: 'They looked after the harbour.' }))
    expect(textsOf(report)).toEqual(['Measure the southern quay'])
    expect(report.foremost.others['request']).toBeGreaterThan(0)
  })

  it('is no text of a program, and no document that the user pasted', () => {
    const talk = createTalk()
    const document = '# Rules\n\nAlways salute the captain.\n\n## More\n\nNever whistle on the bridge.'
    const removed = [
      talk.byProgram('Always run the hooks before each commit.'),
      talk.user(document),
      talk.user('Never whistle at the quay.'),
    ]
    expect(textsOf(forgottenOf(forgetting({ removed, text: 'They worked.' })))).toEqual(['Never whistle at the quay.'])
  })
})

describe('what was needed later', () => {
  const talk = createTalk()
  const removed = [
    talk.user('Look after the harbour.'),
    ...talk.work('Bash', { command: 'git log' }, 'a commit'),
    talk.assistant('The tide table was broken by commit 288a28a at 11:48:11.'),
    talk.user('Never open the lock at 17:45:30 in the evening.'),
  ]

  it('comes first, with the message that looked for it', () => {
    const [log, shown] = talk.work('Bash', { command: 'git log --oneline' }, '288a28a tide table')
    const after = [log, shown, talk.assistant('The commit is 288a28a.'), talk.user('When was it, 17:45:30?')]
    const found = itemsOf(forgottenOf(forgetting({ removed, after, text: 'They looked after the harbour.' })))
    expect(found.map(({ text, neededAt }) => [text, neededAt?.messageId])).toEqual([
      ['Never open the lock at 17:45:30 in the evening.', after[3]?.messageId],
      ['288a28a', shown.messageId],
    ])
    expect(found[1]?.said.text).toContain('The tide table was broken by commit 288a28a')
  })

  it('is not a value that only a result has', () => {
    const after = [...talk.work('Bash', { command: 'git log' }, '288a28a'), talk.assistant('Done.')]
    expect(textsOf(forgottenOf(forgetting({ removed, after, text: 'They looked after the harbour.' })))).not.toContain(
      '288a28a',
    )
  })

  it('is an error that happens again', () => {
    const fail = () => talk.work('Bash', { command: 'dock' }, 'Exit code 1\nError: the berth 7 is taken', true)
    const again = fail()
    const found = itemsOf(
      forgottenOf(
        forgetting({ removed: [...removed, ...fail()], after: again, text: 'They looked after the harbour.' }),
      ),
    )
    expect(found[0]).toMatchObject({ kind: 'error', neededAt: { messageId: again[1].messageId } })
  })
})
