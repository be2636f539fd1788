/** What was done again behind a compaction: which calls ask the same, and where nobody can say. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { forgottenOf, type ForgottenReport } from '../../../../src/domain/reports/forgotten/forgotten.js'
import type { Said } from '../../../../src/domain/reports/forgotten/said.js'
import { createTalk, forgetting } from './said.js'

type Talk = ReturnType<typeof createTalk>
const CODE = Array.from({ length: 40 }, (_none, at) => `export const value${String(at)} = ${String(at)}`)
const numbered = (from: number, to: number): string =>
  CODE.slice(from, to)
    .map((line, at) => `${String(from + at + 1).padStart(6)}→${line}`)
    .join('\n')

/** The report on messages that left and others behind them. */
function reportOn(
  write: (talk: Talk) => { left: readonly Said[]; after: readonly Said[]; stayed?: readonly Said[] },
): ForgottenReport {
  return forgottenOf(forgetting({ ...write(createTalk()), text: 'Some work was done.' }))
}

const pairsOf = ({ doneAgain }: ForgottenReport): unknown[] =>
  doneAgain.map(({ verdict, why, use }) => [verdict, ...(why === undefined ? [] : [why]), use])

describe('a file that is read again', () => {
  it('is done again where its text is the same, and costs its call, its tokens and its time', () => {
    const { doneAgain, behind } = reportOn((talk) => ({
      left: talk.work('Read', { file_path: '/quay/src/berth.ts' }, numbered(0, 40)),
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

  it('is so in part, in another tool, and with its path in short', () => {
    const report = reportOn((talk) => ({
      left: talk.work('Read', { file_path: '/quay/src/berth.ts' }, numbered(0, 40)),
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

  it('is another question once it was written to, by a tool or a command', () => {
    const after = (talk: Talk): Said[] => talk.work('read', { path: 'src/berth.ts' }, CODE.join('\n'))
    const writes: ((talk: Talk) => Said[])[] = [
      (talk) => talk.work('edit', { path: 'src/berth.ts', oldText: 'a', newText: 'b' }, 'ok'),
      (talk) => talk.work('apply_patch', '*** Begin Patch\n*** Update File: src/berth.ts\n@@\n-a\n+b\n', 'ok'),
      (talk) => talk.work('bash', { command: "sed -i 's/a/b/' src/berth.ts" }, ''),
      (talk) => talk.work('bash', { command: 'cp other.ts src/berth.ts' }, ''),
    ]
    for (const write of writes) {
      const report = reportOn((talk) => ({ left: [...after(talk), ...write(talk)], after: after(talk) }))
      expect(pairsOf(report)).toEqual([])
    }
  })

  it('is the same question where a write failed, or was of another file, or only recorded it', () => {
    const read = (talk: Talk): Said[] => talk.work('read', { path: 'src/berth.ts' }, CODE.join('\n'))
    const others: ((talk: Talk) => Said[])[] = [
      (talk) => talk.work('edit', { path: 'src/berth.ts' }, 'not found', true),
      (talk) => talk.work('edit', { path: 'src/crane/other.ts' }, 'ok'),
      (talk) => talk.work('bash', { command: 'git add src/berth.ts && git commit -m "berths"' }, 'ok'),
      (talk) => talk.work('bash', { command: 'cp src/berth.ts backup.ts' }, ''),
    ]
    for (const other of others) {
      const report = reportOn((talk) => ({ left: [...read(talk), ...other(talk)], after: read(talk) }))
      expect(pairsOf(report)).toEqual([['doneAgain', 'read']])
    }
  })

  it('is unknown where a line in its middle is another one, or nothing was answered', () => {
    const changed = CODE.with(20, 'export const value20 = 2000')
    const report = reportOn((talk) => ({
      left: [
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

  it('is no matter where its text stayed, or the program attached it, or it was read again already', () => {
    const read = (talk: Talk): Said[] => talk.work('Read', { file_path: 'src/berth.ts' }, CODE.join('\n'))
    expect(pairsOf(reportOn((talk) => ({ left: read(talk), stayed: read(talk), after: read(talk) })))).toEqual([])
    expect(
      pairsOf(
        reportOn((talk) => ({
          left: read(talk),
          after: [talk.byProgram(`Contents of src/berth.ts:\n${CODE.join('\n')}`), ...read(talk)],
        })),
      ),
    ).toEqual([])
    expect(pairsOf(reportOn((talk) => ({ left: read(talk), after: [...read(talk), ...read(talk)] })))).toHaveLength(1)
  })

  it('is no matter where it had never been in the context', () => {
    expect(
      pairsOf(
        reportOn((talk) => ({ left: [talk.user('Hello.')], after: talk.work('Read', { file_path: 'a.ts' }, 'x = 1') })),
      ),
    ).toEqual([])
  })
})

describe('a command that is run again', () => {
  const status = (talk: Talk, says = 'On branch quay\nnothing to commit'): Said[] =>
    talk.work('Bash', { command: 'cd /quay && git status 2>&1', description: 'look' }, says)

  it('is done again where nothing was changed since and it says the same, but for how long it took', () => {
    const report = reportOn((talk) => ({
      left: [...status(talk), ...talk.work('Bash', { command: 'npm test' }, '12 passed in 3.41 s')],
      after: [...status(talk), ...talk.work('Bash', { command: 'npm  test' }, '12 passed in 2.9 s')],
    }))
    expect(pairsOf(report)).toEqual([
      ['doneAgain', 'command'],
      ['doneAgain', 'command'],
    ])
  })

  it('is unknown where anything was changed since, or it says something else, or it failed', () => {
    const report = reportOn((talk) => ({
      left: [
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
    const run = (talk: Talk): Said[] => talk.work('bash', { command }, 'done, as before')
    expect(pairsOf(reportOn((talk) => ({ left: run(talk), after: run(talk) })))).toEqual([])
  })
})

describe('a search, the web and tools that nobody knows', () => {
  it('are done again where they answer the same, whatever the order of their arguments', () => {
    const report = reportOn((talk) => ({
      left: [
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

  it('a tool whose name does not say that it only reads may have changed something', () => {
    const click = (talk: Talk): Said[] => talk.work('browser_click', { at: 'Pay' }, 'clicked')
    expect(pairsOf(reportOn((talk) => ({ left: click(talk), after: click(talk) })))).toEqual([])
  })
})

describe('a question that is put to the user again', () => {
  const asks = (talk: Talk, answer: string): Said[] =>
    talk.work('AskUserQuestion', { questions: [{ question: 'Which quay?', options: [{ label: 'A' }] }] }, answer)

  it('with a tool: done again where the answer is the same, unknown where it is another one', () => {
    expect(pairsOf(reportOn((talk) => ({ left: asks(talk, 'A'), after: asks(talk, 'A') })))).toEqual([
      ['doneAgain', 'question'],
    ])
    expect(pairsOf(reportOn((talk) => ({ left: asks(talk, 'A'), after: asks(talk, 'B') })))).toEqual([
      ['unknown', 'otherAnswer', 'question'],
    ])
  })

  it('in words: as it was asked, with the message that answers it', () => {
    const says = (talk: Talk, answer: string): Said[] => [
      talk.assistant('I looked. Should the tariff table of the harbour be stored in cents or in decimals?'),
      talk.user(answer),
    ]
    expect(pairsOf(reportOn((talk) => ({ left: says(talk, 'In cents.'), after: says(talk, 'in cents') })))).toEqual([
      ['doneAgain', 'question'],
    ])
    expect(pairsOf(reportOn((talk) => ({ left: says(talk, 'In cents.'), after: says(talk, 'Later.') })))).toEqual([
      ['unknown', 'otherAnswer', 'question'],
    ])
  })
})

describe('the stretch before', () => {
  it('is as long as the one behind, and counts what was repeated without any compaction', () => {
    const { compared, behind } = reportOn((talk) => {
      const read = (): Said[] => talk.work('Read', { file_path: 'src/berth.ts' }, CODE.join('\n'))
      const look = (): Said[] => talk.work('Bash', { command: 'git log -3' }, 'three commits')
      return { left: [...read(), ...look(), ...read(), ...look()], after: [...read(), ...look(), ...look()] }
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
  const play = (talk: Talk, done: readonly (readonly [string, string, number])[]): Said[] =>
    done.flatMap(([file, tool, version]) =>
      tool === 'ls'
        ? talk.work('Bash', { command: 'ls' }, `listing ${String(version)}`)
        : talk.work(tool, { file_path: file }, `text of ${file}, ${String(version)}`),
    )

  it('no more is done again than was called behind, and nothing where nothing left', () => {
    fc.assert(
      fc.property(calls, calls, (first, then) => {
        const talk = createTalk()
        const [left, after] = [play(talk, first), play(talk, then)]
        const { behind, compared } = forgottenOf(forgetting({ left, after }))
        expect(behind.calls + behind.unknown).toBeLessThanOrEqual(then.length)
        expect(compared.messages * 2).toBeLessThanOrEqual(Math.max(left.length, after.length * 2))
        expect(forgottenOf(forgetting({ stayed: left, after })).behind.calls).toBe(0)
      }),
    )
  })
})
