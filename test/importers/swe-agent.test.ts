/** Handwritten trajectories of SWE-agent, in the format of `.traj` files. */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { sweAgent } from '../../src/application/importers/swe-agent.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { asFile, violationsOf, itemsFrom, linesOf, ofKind, refusedIn, itemsWithoutEnd } from './reading.js'

const FILE = '/home/somebody/trajectories/task-1.traj'
const read = (): ReturnType<typeof sweAgent.read> => sweAgent.read(FILE, plainContentId)
const itemsOfTrajectory = (value: unknown): readonly TranscriptItem[] => itemsFrom(read(), asFile(value, FILE))

type Fields = Readonly<Record<string, unknown>>
const entry = (role: string, content: unknown, over: object = {}): Fields => ({ role, content, agent: 'main', ...over })
const answer = (content: string, action: string, callId: string): Fields =>
  entry('assistant', content, {
    action,
    message_type: 'action',
    tool_calls: [{ id: callId, type: 'function', function: { name: 'bash', arguments: `{"command":"${action}"}` } }],
  })
const result = (callId: string, content: unknown): Fields =>
  entry('tool', content, { tool_call_ids: [callId], message_type: 'observation' })
const step = (action: string, over: object = {}): Fields => ({
  action,
  observation: `result of ${action}`,
  response: `I do ${action}`,
  thought: `I do ${action}`,
  ...over,
})

const opening = [entry('system', 'You fix.'), entry('user', 'Fix it.', { message_type: 'observation' })]
const history = [
  ...opening,
  answer('I look.', 'ls', 'c1'),
  result('c1', 'a\nb'),
  answer('I read.', 'cat a', 'c2'),
  result('c2', 'text'),
]
const steps = [step('ls'), step('cat a')]
const config = { replay_config: { agent: { model: { name: 'some-model' } } }, info: { swe_agent_version: '1.1.0' } }

describe('a trajectory', () => {
  it('yields its history with calls and results', () => {
    const items = itemsOfTrajectory({ ...config, history, trajectory: steps })
    expect(linesOf(items)).toEqual([
      'history[0].0 system: You fix.',
      'history[1].0 user: Fix it.',
      'history[2].0 assistant: I look. +c1',
      'history[3].0 tool: a\nb =c1',
      'history[4].0 assistant: I read. +c2',
      'history[5].0 tool: text =c2',
    ])
    expect(items[0]).toEqual(
      expect.objectContaining({ kind: 'conversation', title: 'task-1', programVersion: '1.1.0' }),
    )
    expect(ofKind(items, 'message')[2]?.model).toBe('some-model')
  })

  it('reads a configuration that is a JSON string', () => {
    const items = itemsOfTrajectory({ history, trajectory: steps, replay_config: JSON.stringify(config.replay_config) })
    expect(ofKind(items, 'message')[2]?.model).toBe('some-model')
  })

  it('adds the last step, which some versions omit from the history', () => {
    const items = itemsOfTrajectory({ history, trajectory: [...steps, step('submit')] })
    expect(linesOf(items).slice(-2)).toEqual([
      'trajectory[2].0 assistant: I do submit +trajectory[2]',
      'trajectory[2].1 tool: result of submit =trajectory[2]',
    ])
    expect(ofKind(items, 'message').at(-2)?.body.toolCalls).toEqual([
      { id: 'trajectory[2]', type: 'custom', custom: { name: 'action', input: 'submit' } },
    ])
  })

  it('skips steps that do not match the history', () => {
    const items = itemsOfTrajectory({ history, trajectory: [step('other'), step('another'), step('submit')] })
    expect(linesOf(items)).toHaveLength(6)
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual(['step without its place in the history'])
  })

  it('distinguishes the task, command output and demonstrations', () => {
    const textual = [
      entry('system', 'You fix.'),
      entry('user', 'Look at this run.', { is_demo: true }),
      entry('assistant', 'a demonstration', { is_demo: true }),
      entry('user', 'Fix it.', { message_type: 'observation' }),
      entry('assistant', 'I look.\n```\nls\n```', { action: 'ls\n', message_type: 'action' }),
      entry('user', 'a b', { message_type: 'observation' }),
    ]
    const items = itemsOfTrajectory({
      history: textual,
      trajectory: [step('ls\n'), step('submit', { response: '```\nsubmit\n```' })],
    })
    expect(linesOf(items)).toEqual([
      'history[0].0 system: You fix.',
      'history[1].0 user (program): Look at this run.',
      'history[2].0 assistant (program): a demonstration',
      'history[3].0 user: Fix it.',
      'history[4].0 assistant: I look.\n```\nls\n```',
      'history[5].0 user (program): a b',
      'trajectory[1].0 assistant: ```\nsubmit\n```',
      'trajectory[1].1 user (program): result of submit',
    ])
  })

  it('yields masked results as edits before the first query that masks them', () => {
    const omittedLines = 'Old environment output: (2 lines omitted)'
    const cached = (content: string): Fields =>
      entry('user', [{ type: 'text', text: content, cache_control: { type: 'ephemeral' } }])
    const query = [opening[0], cached('Fix it.'), history[2], entry('tool', omittedLines, { tool_call_ids: ['c1'] })]
    const items = itemsOfTrajectory({
      history,
      trajectory: [step('ls', { query: opening }), step('cat a', { query: query }), step('submit', { query: query })],
    })
    expect(items.map((item) => (item.kind === 'message' ? item.sourceId : item.kind))).toEqual([
      'conversation',
      'history[0]',
      'history[1]',
      'history[2]',
      'history[3]',
      'edit',
      'history[4]',
      'history[5]',
      'trajectory[2]',
      'trajectory[2]',
    ])
    expect(ofKind(items, 'edit')).toEqual([
      expect.objectContaining({ sourceId: 'history[3]', part: 0, content: omittedLines, why: 'masked' }),
    ])
  })

  it('yields the messages of another agent as a separate conversation', () => {
    const items = itemsOfTrajectory({
      history: [
        ...history,
        entry('user', 'Check it.', { agent: 'checker' }),
        entry('assistant', 'Good.', { agent: 'checker' }),
      ],
      trajectory: steps,
    })
    const [main, other, again] = ofKind(items, 'conversation')
    expect(other?.sourceId).toBe(`${String(main?.sourceId)}/checker`)
    expect(other?.parent).toEqual({ sourceId: main?.sourceId, how: 'sub-agent' })
    expect(again?.sourceId).toBe(main?.sourceId)
  })

  it('yields each attempt as a conversation, and skips the copy of the chosen one', () => {
    const secondRun = [...opening, answer('Another way.', 'find', 'c9')]
    const items = itemsOfTrajectory({
      attempts: [
        { history, trajectory: steps },
        { history: secondRun, trajectory: [step('find')] },
      ],
      history,
      trajectory: steps,
    })
    expect(new Set(ofKind(items, 'conversation').map(({ sourceId }) => sourceId)).size).toBe(2)
    expect(linesOf(items).slice(-1)).toEqual(['attempts[1].history[2].0 assistant: Another way. +c9'])
  })

  it('has an id that does not change when it grows, and differs from other runs of the same task', () => {
    const idOf = (value: unknown): unknown => ofKind(itemsOfTrajectory(value), 'conversation')[0]?.sourceId
    const id = idOf({ history: history.slice(0, 4), trajectory: steps.slice(0, 1) })
    expect(idOf({ history, trajectory: steps })).toBe(id)
    expect(idOf({ history: [...opening, answer('Otherwise.', 'ls', 'c7')], trajectory: [] })).not.toBe(id)
  })

  it('is read from its steps if it has no history', () => {
    expect(linesOf(itemsOfTrajectory({ trajectory: [step('ls')] }))).toEqual([
      'trajectory[0].0 assistant: I do ls',
      'trajectory[0].1 user (program): result of ls',
    ])
  })
})

describe('recognition', () => {
  const recognize = (value: unknown, text = ''): unknown =>
    sweAgent.recognize({ path: FILE, records: value === undefined ? [] : [value], text })

  it('accepts trajectories, even one that is too large to parse', () => {
    expect(recognize({ history, trajectory: steps, environment: 'main' })).toBe('json')
    expect(recognize({ attempts: [{ history, trajectory: steps }] })).toBe('json')
    expect(recognize(undefined, '{\n  "environment": "main",\n  "trajectory": [')).toBe('json')
  })

  it('rejects files of other programs', () => {
    expect(recognize({ trajectory: [{ role: 'user' }] })).toBeUndefined()
    expect(recognize({ history: [{ role: 'user' }] })).toBeUndefined()
    expect(recognize([history])).toBeUndefined()
  })

  it('searches the directory that the environment names', () => {
    expect(sweAgent.homes({}, '/home/somebody')).toEqual([])
    expect(sweAgent.homes({ SWE_AGENT_TRAJECTORY_DIR: '/t' }, '/home/somebody')).toEqual(['/t'])
  })
})

describe('any trajectory', () => {
  const roles = fc.constantFrom('system', 'user', 'assistant', 'tool', 'other')
  const anyEntry = fc.record({
    role: roles,
    content: fc.oneof(fc.string(), fc.jsonValue()),
    agent: fc.constantFrom('main', 'main', 'checker', undefined),
    is_demo: fc.constantFrom(true, false, undefined),
    tool_calls: fc.constantFrom(
      null,
      [],
      [
        { id: 'c', function: { name: '', arguments: {} } },
        { id: 'c', function: {} },
      ],
    ),
    tool_call_ids: fc.constantFrom(undefined, null, ['c']),
  })
  const trajectory = fc.record({
    history: fc.array(anyEntry, { maxLength: 10 }),
    trajectory: fc.array(
      fc.record({ action: fc.string(), observation: fc.string(), query: fc.array(anyEntry, { maxLength: 10 }) }),
      { maxLength: 5 },
    ),
  })

  it('satisfies the rules for all transcripts', () => {
    fc.assert(
      fc.property(trajectory, (value) => {
        expect(violationsOf(read, asFile(value, FILE))).toEqual([])
      }),
    )
  })

  it('yields the same first items from a longer history', () => {
    fc.assert(
      fc.property(fc.nat({ max: 3 }), (more) => {
        const before = { history, trajectory: steps }
        const after = {
          history: [...history, ...Array.from({ length: more }, (_, at) => answer('More.', 'ls', `d${String(at)}`))],
          trajectory: [...steps, ...Array.from({ length: more }, () => step('ls'))],
        }
        const first = itemsWithoutEnd(read(), asFile(before, FILE))
        expect(itemsWithoutEnd(read(), asFile(after, FILE)).slice(0, first.length)).toEqual(first)
      }),
    )
  })

  it('never throws, for any JSON', () => {
    const values = fc.oneof(
      fc.jsonValue(),
      fc.record({ history: fc.array(fc.jsonValue()), trajectory: fc.array(fc.jsonValue()), attempts: fc.jsonValue() }),
    )
    fc.assert(
      fc.property(values, (value) => {
        expect(refusedIn(itemsOfTrajectory(value))).toEqual([])
      }),
    )
  })
})
