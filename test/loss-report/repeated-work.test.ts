/** Repeated work after a compaction: which calls repeat an earlier query, and which are unknown. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { forgottenOf, type ForgottenReport } from '../../src/application/losses/forgotten.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'
import { createTalk, forgetting } from './report-input.js'

type Talk = ReturnType<typeof createTalk>
const CODE = Array.from({ length: 40 }, (_none, at) => `export const value${String(at)} = ${String(at)}`)
const numbered = (from: number, to: number): string =>
  CODE.slice(from, to)
    .map((line, at) => `${String(from + at + 1).padStart(6)}→${line}`)
    .join('\n')

/** The report on removed messages and the messages after them. */
function reportOn(
  write: (talk: Talk) => {
    removed: readonly ReportMessage[]
    after: readonly ReportMessage[]
    remaining?: readonly ReportMessage[]
  },
): ForgottenReport {
  return forgottenOf(forgetting({ ...write(createTalk()), text: 'Some work was done.' }))
}

const pairsOf = ({ doneAgain }: ForgottenReport): unknown[] =>
  doneAgain.map(({ verdict, why, use }) => [verdict, ...(why === undefined ? [] : [why]), use])

describe('a repeated read of a file', () => {
  it('counts if the text is the same, with its call, its tokens and its time', () => {
    const { doneAgain, behind } = reportOn((talk) => ({
      removed: talk.work('Read', { file_path: '/quay/src/berth.ts' }, numbered(0, 40)),
      after: talk.work('Read', { file_path: '/quay/src/berth.ts' }, numbered(0, 40)),
    }))
    expect(doneAgain).toMatchObject([
      {
        verdict: 'doneAgain',
        use: 'read',
        tool: 'Read',
        subject: '/quay/src/berth.ts',
        share: 1,
        first: { messageId: 'm1', revision: '1' },
        again: { messageId: 'm3', revision: '3' },
      },
    ])
    expect(behind).toMatchObject({ calls: 1, milliseconds: 1_000, messages: 2, unknown: 0 })
    expect(behind.tokens).toBeGreaterThan(numbered(0, 40).length / 4 - 1)
  })

  it('counts for a part of the file, with another tool, and with a shorter path', () => {
    const report = reportOn((talk) => ({
      removed: talk.work('Read', { file_path: '/quay/src/berth.ts' }, numbered(0, 40)),
      after: [
        ...talk.work(
          'shell',
          { command: ['bash', '-lc', "sed -n '5,20p' src/berth.ts"] },
          CODE.slice(4, 20).join('\n'),
        ),
        ...talk.work('Grep', { pattern: 'value' }, 'src/berth.ts'),
      ],
    }))
    expect(pairsOf(report)).toEqual([['doneAgain', 'read']])
  })

  it('does not count after a write by a tool or a command', () => {
    const after = (talk: Talk): ReportMessage[] => talk.work('read', { path: 'src/berth.ts' }, CODE.join('\n'))
    const writes: ((talk: Talk) => ReportMessage[])[] = [
      (talk) => talk.work('edit', { path: 'src/berth.ts', oldText: 'a', newText: 'b' }, 'ok'),
      (talk) => talk.work('apply_patch', '*** Begin Patch\n*** Update File: src/berth.ts\n@@\n-a\n+b\n', 'ok'),
      (talk) => talk.work('bash', { command: "sed -i 's/a/b/' src/berth.ts" }, ''),
      (talk) => talk.work('bash', { command: 'cp other.ts src/berth.ts' }, ''),
    ]
    for (const write of writes) {
      const report = reportOn((talk) => ({ removed: [...after(talk), ...write(talk)], after: after(talk) }))
      expect(pairsOf(report)).toEqual([])
    }
  })

  it('counts if a write failed, was to another file, or only recorded it', () => {
    const read = (talk: Talk): ReportMessage[] => talk.work('read', { path: 'src/berth.ts' }, CODE.join('\n'))
    const variants: ((talk: Talk) => ReportMessage[])[] = [
      (talk) => talk.work('edit', { path: 'src/berth.ts' }, 'not found', true),
      (talk) => talk.work('edit', { path: 'src/crane/other.ts' }, 'ok'),
      (talk) => talk.work('bash', { command: 'git add src/berth.ts && git commit -m "berths"' }, 'ok'),
      (talk) => talk.work('bash', { command: 'cp src/berth.ts backup.ts' }, ''),
    ]
    for (const variant of variants) {
      const report = reportOn((talk) => ({ removed: [...read(talk), ...variant(talk)], after: read(talk) }))
      expect(pairsOf(report)).toEqual([['doneAgain', 'read']])
    }
  })

  it('is unknown if a line in its middle differs, or the answer is empty', () => {
    const changed = CODE.with(20, 'export const value20 = 2000')
    const report = reportOn((talk) => ({
      removed: [
        ...talk.work('Read', { file_path: 'a.ts' }, CODE.join('\n')),
        ...talk.work('Read', { file_path: 'b.ts' }, '[Old tool result content cleared]'),
      ],
      after: [
        ...talk.work('Read', { file_path: 'a.ts' }, changed.join('\n')),
        ...talk.work('Read', { file_path: 'b.ts' }, '[Old tool result content cleared]'),
      ],
    }))
    expect(pairsOf(report)).toEqual([
      ['unknown', 'otherAnswer', 'read'],
      ['unknown', 'noAnswer', 'read'],
    ])
  })

  it('does not count if the text remained, the program attached it, or it was read again before', () => {
    const read = (talk: Talk): ReportMessage[] => talk.work('Read', { file_path: 'src/berth.ts' }, CODE.join('\n'))
    expect(pairsOf(reportOn((talk) => ({ removed: read(talk), remaining: read(talk), after: read(talk) })))).toEqual([])
    expect(
      pairsOf(
        reportOn((talk) => ({
          removed: read(talk),
          after: [talk.byProgram(`Contents of src/berth.ts:\n${CODE.join('\n')}`), ...read(talk)],
        })),
      ),
    ).toEqual([])
    expect(pairsOf(reportOn((talk) => ({ removed: read(talk), after: [...read(talk), ...read(talk)] })))).toHaveLength(
      1,
    )
  })

  it('does not count if the text was never in the context', () => {
    expect(
      pairsOf(
        reportOn((talk) => ({
          removed: [talk.user('Hello.')],
          after: talk.work('Read', { file_path: 'a.ts' }, 'x = 1'),
        })),
      ),
    ).toEqual([])
  })
})

describe('a repeated command', () => {
  const status = (talk: Talk, says = 'On branch quay\nnothing to commit'): ReportMessage[] =>
    talk.work('Bash', { command: 'cd /quay && git status 2>&1', description: 'look' }, says)

  it('counts if nothing changed and its output is the same, apart from durations', () => {
    const report = reportOn((talk) => ({
      removed: [...status(talk), ...talk.work('Bash', { command: 'npm test' }, '12 passed in 3.41 s')],
      after: [...status(talk), ...talk.work('Bash', { command: 'npm  test' }, '12 passed in 2.9 s')],
    }))
    expect(pairsOf(report)).toEqual([
      ['doneAgain', 'command'],
      ['doneAgain', 'command'],
    ])
  })

  it('is unknown if anything changed, the output differs, or it failed', () => {
    const report = reportOn((talk) => ({
      removed: [
        ...talk.work('Bash', { command: 'npm run lint' }, 'Exit code 1\nError: tabs', true),
        ...talk.work('Bash', { command: 'git diff --stat' }, '1 file changed'),
        ...status(talk),
      ],
      after: [
        ...talk.work('Bash', { command: 'npm run lint' }, 'Exit code 1\nError: tabs', true),
        ...talk.work('Bash', { command: 'git diff --stat' }, '2 files changed'),
        ...talk.work('Write', { file_path: 'a.ts', content: 'x' }, 'ok'),
        ...status(talk),
      ],
    }))
    expect(pairsOf(report)).toEqual([
      ['unknown', 'failed', 'command'],
      ['unknown', 'otherAnswer', 'command'],
      ['unknown', 'changedBetween', 'command'],
    ])
  })

  it.each([
    'git commit -m x',
    'npm install',
    'mkdir -p a',
    'sleep 5; cat log',
    'gh run view 7',
    'echo done',
    'rm a.ts',
  ])('%s is run for its effect, or waits: it asks nothing', (command) => {
    const run = (talk: Talk): ReportMessage[] => talk.work('bash', { command }, 'done, as before')
    expect(pairsOf(reportOn((talk) => ({ removed: run(talk), after: run(talk) })))).toEqual([])
  })
})

describe('repeated searches, web requests and unknown tools', () => {
  it('count if the answer is the same, in any order of arguments', () => {
    const report = reportOn((talk) => ({
      removed: [
        ...talk.work('Grep', { pattern: 'moor', path: 'src', glob: '' }, 'src/berth.ts:3: moor()'),
        ...talk.work('WebSearch', { query: 'harbour tariffs' }, 'Tariffs are 12 cents.'),
        ...talk.work('get_reservation_details', { id: 'H8Q05L', full: true }, '{"status":"open"}'),
      ],
      after: [
        ...talk.work('Grep', { path: 'src', pattern: 'moor' }, 'src/berth.ts:3: moor()'),
        ...talk.work('WebSearch', { query: 'harbour tariffs' }, 'Tariffs are 12 cents.'),
        ...talk.work('get_reservation_details', { full: true, id: 'H8Q05L' }, '{"status":"open"}'),
      ],
    }))
    expect(pairsOf(report)).toEqual([
      ['doneAgain', 'search'],
      ['doneAgain', 'web'],
      ['doneAgain', 'other'],
    ])
  })

  it('an unknown tool whose name does not mean reading may have changed something', () => {
    const click = (talk: Talk): ReportMessage[] => talk.work('browser_click', { at: 'Pay' }, 'clicked')
    expect(pairsOf(reportOn((talk) => ({ removed: click(talk), after: click(talk) })))).toEqual([])
  })
})

describe('a repeated question to the user', () => {
  const askWithTool = (talk: Talk, answer: string): ReportMessage[] =>
    talk.work('AskUserQuestion', { questions: [{ question: 'Which quay?', options: [{ label: 'A' }] }] }, answer)

  it('with a tool: counts if the answer is the same, unknown if it differs', () => {
    expect(pairsOf(reportOn((talk) => ({ removed: askWithTool(talk, 'A'), after: askWithTool(talk, 'A') })))).toEqual([
      ['doneAgain', 'question'],
    ])
    expect(pairsOf(reportOn((talk) => ({ removed: askWithTool(talk, 'A'), after: askWithTool(talk, 'B') })))).toEqual([
      ['unknown', 'otherAnswer', 'question'],
    ])
  })

  it('in words: with the same text, and the message that answers it', () => {
    const askInWords = (talk: Talk, answer: string): ReportMessage[] => [
      talk.assistant('I looked. Should the tariff table of the harbour be stored in cents or in decimals?'),
      talk.user(answer),
    ]
    expect(
      pairsOf(reportOn((talk) => ({ removed: askInWords(talk, 'In cents.'), after: askInWords(talk, 'in cents') }))),
    ).toEqual([['doneAgain', 'question']])
    expect(
      pairsOf(reportOn((talk) => ({ removed: askInWords(talk, 'In cents.'), after: askInWords(talk, 'Later.') }))),
    ).toEqual([['unknown', 'otherAnswer', 'question']])
  })
})

describe('the stretch before the compaction', () => {
  it('is as long as the stretch after it, and counts repetitions without any compaction', () => {
    const { compared, behind } = reportOn((talk) => {
      const read = (): ReportMessage[] => talk.work('Read', { file_path: 'src/berth.ts' }, CODE.join('\n'))
      const look = (): ReportMessage[] => talk.work('Bash', { command: 'git log -3' }, 'three commits')
      return { removed: [...read(), ...look(), ...read(), ...look()], after: [...read(), ...look(), ...look()] }
    })
    expect(behind).toMatchObject({ messages: 6, calls: 2 })
    expect(compared).toMatchObject({
      messages: 4,
      behind: { messages: 4, calls: 2 },
      before: { messages: 4, calls: 2 },
    })
  })
})

describe('for any calls', () => {
  const calls = fc.array(
    fc.tuple(fc.constantFrom('a.ts', 'b/a.ts', 'c.ts'), fc.constantFrom('Read', 'Write', 'ls'), fc.nat(2)),
    {
      maxLength: 14,
    },
  )
  const play = (talk: Talk, done: readonly (readonly [string, string, number])[]): ReportMessage[] =>
    done.flatMap(([file, tool, version]) =>
      tool === 'ls'
        ? talk.work('Bash', { command: 'ls' }, `listing ${String(version)}`)
        : talk.work(tool, { file_path: file }, `text of ${file}, ${String(version)}`),
    )

  it('there are no more repetitions than later calls, and none without removed messages', () => {
    fc.assert(
      fc.property(calls, calls, (first, then) => {
        const talk = createTalk()
        const [left, after] = [play(talk, first), play(talk, then)]
        const { behind, compared } = forgottenOf(forgetting({ removed: left, after }))
        expect(behind.calls + behind.unknown).toBeLessThanOrEqual(then.length)
        expect(compared.messages * 2).toBeLessThanOrEqual(Math.max(left.length, after.length * 2))
        expect(forgottenOf(forgetting({ remaining: left, after })).behind.calls).toBe(0)
      }),
    )
  })
})
