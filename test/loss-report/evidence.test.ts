/** Evidence in the report on a compaction, conditions for an item, and the order of losses. */
import { describe, expect, it } from '@jest/globals'
import { forgottenOf, type ForgottenReport } from '../../src/application/losses/forgotten.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'
import { createTalk, forgetting } from './report-input.js'

const itemsOf = (report: ForgottenReport, kind: string): Record<string, string> =>
  Object.fromEntries(report.items.filter((item) => item.kind === kind).map(({ text, verdict }) => [text, verdict]))

describe('open calls', () => {
  const codex = (chunk: string, session: string): string =>
    `Chunk ID: ${chunk}\nWall time: 1.0012 seconds\nProcess running with session ID ${session}\nOriginal token count: 3\nOutput:\nready in background with ID: x9\n`

  it('are calls whose session still runs, not chunks of their output', () => {
    const talk = createTalk()
    const left = [
      ...talk.work('exec_command', { cmd: 'npm run dev' }, codex('a1', '700')),
      ...talk.work('exec_command', { cmd: 'npm test' }, codex('b2', '701')),
      ...talk.work('write_stdin', { session_id: 700, chars: '' }, codex('a3', '700')),
      ...talk.work(
        'write_stdin',
        { session_id: 701, chars: '' },
        'Chunk ID: c4\nProcess exited with code 0\nOutput:\nok',
      ),
    ]
    const report = forgottenOf(forgetting({ removed: left, text: 'nothing' }))
    expect(Object.keys(itemsOf(report, 'openCall'))).toEqual(['exec_command(npm run dev)'])
  })

  it('exclude calls that a later prompt of the user stopped', () => {
    const talk = createTalk()
    const left = [talk.call('Read', { file_path: '/quay/tide.ts' }), talk.user('Stop. Read the other file first.')]
    expect(itemsOf(forgottenOf(forgetting({ removed: left })), 'openCall')).toEqual({})
  })

  it('are not proved by a general instruction of the program', () => {
    const left = [createTalk().call('Bash', { command: 'continue last task conversation' })]
    const text = 'Please continue the conversation from where we left off. Continue with the last task.'
    expect(Object.values(itemsOf(forgottenOf(forgetting({ removed: left, text })), 'openCall'))).not.toContain('kept')
  })
})

describe('evidence', () => {
  it('of a file is not a function of the same name', () => {
    const left = createTalk().work('Read', { file_path: '/quay/app/__init__.py' }, 'x = 1')
    const report = forgottenOf(forgetting({ removed: left, text: 'The class begins with `def __init__(self):`.' }))
    expect(['lost', 'unknown']).toContain(itemsOf(report, 'file')['/quay/app/__init__.py'])
  })

  it('of a name ends at the boundaries of the name', () => {
    const left = [createTalk().user('Use rate-limit-worker and 3f9a2c1d77.')]
    const report = forgottenOf(forgetting({ removed: left, text: 'rate-limit-worker-old; xx3f9a2c1 was reverted' }))
    expect(Object.values(itemsOf(report, 'identifier'))).not.toContain('kept')
  })

  it('of a short sentence needs its words, not only their letters inside others', () => {
    const left = [createTalk().user('Can you undo that tide?')]
    const report = forgottenOf(forgetting({ removed: left, text: 'They said: can you undo that tidewater thing' }))
    expect(Object.values(itemsOf(report, 'request'))).not.toContain('kept')
  })

  it('does not come from a remaining system prompt', () => {
    const talk = createTalk()
    const left = [talk.user('Never write to the production ledger without an approval.')]
    const system: ReportMessage = { ...talk.user(left[0]?.text ?? ''), role: 'system' }
    const report = forgottenOf(forgetting({ removed: left, remaining: [system], text: 'The lighthouse was painted.' }))
    expect(Object.values(itemsOf(report, 'constraint'))).toEqual(['lost'])
  })
})

describe('items', () => {
  it('exclude output without the form of an error', () => {
    const talk = createTalk()
    const left = [
      ...talk.work(
        'Bash',
        { command: 'ps' },
        'Exit code 1\n  PID TTY          TIME CMD\n 4711 pts/0 00:00:01 node',
        true,
      ),
      ...talk.work(
        'Bash',
        { command: 'ls -l' },
        'Exit code 2\ntotal 8\n-rw-r--r-- 1 me me 12 Mar 1 10:00 berth.ts',
        true,
      ),
      ...talk.work('Bash', { command: 'find .' }, 'Exit code 1\n./src/berth.ts\n./src/crane.ts', true),
      ...talk.work('Edit', { file_path: 'a.ts' }, 'String to replace not found in file.', true),
    ]
    expect(Object.keys(itemsOf(forgottenOf(forgetting({ removed: left })), 'error'))).toEqual([
      'String to replace not found in file.',
    ])
  })

  it('are listed once, however often and by whichever call they occur', () => {
    const talk = createTalk()
    const failed = 'TypeError: berth.moor is not a function'
    const left = [
      ...talk.work('Bash', { command: 'npm test' }, `Exit code 1\n${failed}`, true),
      ...talk.work('Bash', { command: 'npm test -- berth' }, `Exit code 1\n${failed}`, true),
      talk.user('Please add the tide table to the harbour page!'),
      talk.user('please add the  tide table to the harbour page.'),
    ]
    const { items } = forgottenOf(forgetting({ removed: left }))
    expect(Object.fromEntries(items.map(({ kind, mentions }) => [kind, mentions]))).toEqual({ error: 2, request: 2 })
    expect(items).toHaveLength(2)
  })

  it('are not taken from a file that a program put into a user message', () => {
    const left = [
      createTalk().user(
        'Move berth_table to crane.ts.\n<path>/a.ts</path>\n<content>\n1: const hidden_name = 4711\n</content>',
      ),
    ]
    const { items } = forgottenOf(forgetting({ removed: left }))
    expect(items.map(({ text }) => text)).not.toContain('hidden_name')
    expect(items.map(({ text }) => text)).toContain('berth_table')
  })

  it('exclude small talk from constraints', () => {
    const talk = createTalk()
    const left = [
      ...talk.work('Bash', { command: 'ls' }, 'a'),
      talk.user('I never liked that harbour anyway. It must have been the tide.'),
      talk.user('The plan must be written in English.'),
    ]
    expect(Object.keys(itemsOf(forgottenOf(forgetting({ removed: left })), 'constraint'))).toEqual([
      'The plan must be written in English.',
    ])
  })
})

describe('the foremost losses', () => {
  const talk = createTalk()
  const left = [
    talk.user('Please explain why the harbour index is rebuilt twice at night.'),
    talk.user('Never write to the production ledger without an approval.'),
    talk.assistant(Array.from({ length: 30 }, (_none, at) => `berth_${String(at)}_table`).join(', ')),
    ...talk.work('Read', { file_path: '/quay/tide.ts' }, 'export const tide = 1\nexport const ebb = 2'),
  ]
  const after = [
    ...talk.work('Read', { file_path: '/quay/tide.ts' }, 'export const tide = 1\nexport const ebb = 2'),
    talk.assistant('Now berth_7_table is needed.'),
  ]
  const named = ({ foremost }: ForgottenReport): readonly string[] =>
    foremost.losses.map((loss) => (loss.kind === 'repeated' ? `repeated ${loss.subject}` : loss.item.text))

  it('are what the user stated, then a cheap repeated call; names are below the fold and only counted', () => {
    const report = forgottenOf(forgetting({ removed: left, after, text: 'The lighthouse was painted.' }))
    expect(named(report)).toEqual([
      'Never write to the production ledger without an approval.',
      'Please explain why the harbour index is rebuilt twice at night.',
      'repeated /quay/tide.ts',
    ])
    expect(report.losses).toBe(3)
    expect(report.foremost).toMatchObject({ more: 0, others: { identifier: 30, file: 1 } })
  })

  it('begin with a repeated call that costs much', () => {
    const chart = 'export const tide = 1 // of the northern quay\n'.repeat(120)
    const read = (): ReturnType<typeof talk.work> => talk.work('Read', { file_path: '/quay/chart.ts' }, chart)
    const report = forgottenOf(
      forgetting({ removed: [...left, ...read()], after: [...after, ...read()], text: 'The lighthouse was painted.' }),
    )
    expect(named(report)[0]).toBe('repeated /quay/chart.ts')
  })

  it('are at most ten if no summary replaced the removed messages; the others are counted', () => {
    const rules = Array.from({ length: 14 }, (_none, at) =>
      talk.user(`Never sail to the quay number ${String(at)} at night.`),
    )
    const report = forgottenOf(forgetting({ removed: [...left, ...rules], after, summary: { kind: 'none' } }))
    expect(report.foremost.losses).toHaveLength(10)
    expect(report.foremost.more).toBe(report.losses - 10)
  })
})
