/** SWE-agent. The trajectories here are written for these tests, and imitate `.traj` files. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { sweAgent } from '../../src/importers/swe-agent.js'
import type { TranscriptItem } from '../../src/importers/transcript.js'
import { asFile, brokenLaws, itemsOf, linesOf, ofKind, refusedIn, taken } from './reading.js'

const FILE = '/home/somebody/trajectories/task-1.traj'
const read = (): ReturnType<typeof sweAgent.read> => sweAgent.read(FILE)
const itemsOfTrajectory = (value: unknown): readonly TranscriptItem[] => itemsOf(read(), asFile(value, FILE))

type Fields = Readonly<Record<string, unknown>>
const entry = (role: string, content: unknown, over: object = {}): Fields => ({ role, content, agent: 'main', ...over })
const said = (content: string, action: string, callId: string): Fields =>
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
  said('I look.', 'ls', 'c1'),
  result('c1', 'a\nb'),
  said('I read.', 'cat a', 'c2'),
  result('c2', 'text'),
]
const steps = [step('ls'), step('cat a')]
const config = { replay_config: { agent: { model: { name: 'some-model' } } }, info: { swe_agent_version: '1.1.0' } }

describe('a trajectory', () => {
  it('gives its history with calls and results', () => {
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

  it('reads a configuration that is JSON in a text', () => {
    const items = itemsOfTrajectory({ history, trajectory: steps, replay_config: JSON.stringify(config.replay_config) })
    expect(ofKind(items, 'message')[2]?.model).toBe('some-model')
  })

  it('adds the last step, which the history of some versions lacks', () => {
    const items = itemsOfTrajectory({ history, trajectory: [...steps, step('submit')] })
    expect(linesOf(items).slice(-2)).toEqual([
      'trajectory[2].0 assistant: I do submit +trajectory[2]',
      'trajectory[2].1 tool: result of submit =trajectory[2]',
    ])
    expect(ofKind(items, 'message').at(-2)?.body.toolCalls).toEqual([
      { id: 'trajectory[2]', type: 'custom', custom: { name: 'action', input: 'submit' } },
    ])
  })

  it('leaves steps out that do not go with the history', () => {
    const items = itemsOfTrajectory({ history, trajectory: [step('other'), step('another'), step('submit')] })
    expect(linesOf(items)).toHaveLength(6)
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual(['step without its place in the history'])
  })

  it('tells the task from what commands brought, and demonstrations from both', () => {
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

  it('tells what a query hid from the model as edits, where it was first hidden', () => {
    const masked = 'Old environment output: (2 lines omitted)'
    const cached = (content: string): Fields =>
      entry('user', [{ type: 'text', text: content, cache_control: { type: 'ephemeral' } }])
    const seen = [opening[0], cached('Fix it.'), history[2], entry('tool', masked, { tool_call_ids: ['c1'] })]
    const items = itemsOfTrajectory({
      history,
      trajectory: [step('ls', { query: opening }), step('cat a', { query: seen }), step('submit', { query: seen })],
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
      expect.objectContaining({ sourceId: 'history[3]', part: 0, content: masked, why: 'masked' }),
    ])
  })

  it('gives the messages of another agent a conversation of their own', () => {
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

  it('gives each attempt a conversation, and none to the copy of the chosen one', () => {
    const other = [...opening, said('Another way.', 'find', 'c9')]
    const items = itemsOfTrajectory({
      attempts: [
        { history, trajectory: steps },
        { history: other, trajectory: [step('find')] },
      ],
      history,
      trajectory: steps,
    })
    expect(new Set(ofKind(items, 'conversation').map(({ sourceId }) => sourceId)).size).toBe(2)
    expect(linesOf(items).slice(-1)).toEqual(['attempts[1].history[2].0 assistant: Another way. +c9'])
  })

  it('has an id that stays when it grows, and differs from that of another run of the same task', () => {
    const idOf = (value: unknown): unknown => ofKind(itemsOfTrajectory(value), 'conversation')[0]?.sourceId
    const id = idOf({ history: history.slice(0, 4), trajectory: steps.slice(0, 1) })
    expect(idOf({ history, trajectory: steps })).toBe(id)
    expect(idOf({ history: [...opening, said('Otherwise.', 'ls', 'c7')], trajectory: [] })).not.toBe(id)
  })

  it('is read from its steps where it has no history', () => {
    expect(linesOf(itemsOfTrajectory({ trajectory: [step('ls')] }))).toEqual([
      'trajectory[0].0 assistant: I do ls',
      'trajectory[0].1 user (program): result of ls',
    ])
  })
})

describe('recognition', () => {
  const recognize = (value: unknown, text = ''): unknown =>
    sweAgent.recognize({ path: FILE, records: value === undefined ? [] : [value], text })

  it('takes trajectories, also one that is too large to be looked at whole', () => {
    expect(recognize({ history, trajectory: steps, environment: 'main' })).toBe('json')
    expect(recognize({ attempts: [{ history, trajectory: steps }] })).toBe('json')
    expect(recognize(undefined, '{\n  "environment": "main",\n  "trajectory": [')).toBe('json')
  })

  it('leaves what is of others', () => {
    expect(recognize({ trajectory: [{ role: 'user' }] })).toBeUndefined()
    expect(recognize({ history: [{ role: 'user' }] })).toBeUndefined()
    expect(recognize([history])).toBeUndefined()
  })

  it('looks in the folder that the environment names', () => {
    expect(sweAgent.homes({}, '/home/somebody')).toEqual([])
    expect(sweAgent.homes({ SWE_AGENT_TRAJECTORY_DIR: '/t' }, '/home/somebody')).toEqual(['/t'])
  })
})

describe('laws', () => {
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

  it('hold for any trajectory', () => {
    fc.assert(
      fc.property(trajectory, (value) => {
        expect(brokenLaws(read, asFile(value, FILE))).toEqual([])
      }),
    )
  })

  it('a history that has grown says what it said before', () => {
    fc.assert(
      fc.property(fc.nat({ max: 3 }), (more) => {
        const before = { history, trajectory: steps }
        const after = {
          history: [...history, ...Array.from({ length: more }, (_, at) => said('More.', 'ls', `d${String(at)}`))],
          trajectory: [...steps, ...Array.from({ length: more }, () => step('ls'))],
        }
        const first = taken(read(), asFile(before, FILE))
        expect(taken(read(), asFile(after, FILE)).slice(0, first.length)).toEqual(first)
      }),
    )
  })

  it('whatever JSON comes, nothing is thrown', () => {
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
